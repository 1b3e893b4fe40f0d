"""The configuration with which each MCP client starts the server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from septet.service.program import command
from septet.system.session import session

#: The name of the server in every configuration.
NAME = "septet"


class McpClient(NamedTuple):
    """An MCP client.

    Attributes:
        place: the name of the client and its configuration file, for display.
        form: formats the block from a command and its arguments.
    """

    place: str
    form: Callable[[str, Sequence[str]], str]


def block(client: str, arguments: Sequence[str]) -> str:
    """Return the configuration block of a client, newline-terminated.

    Args:
        client: a key of `CLIENTS`.
        arguments: arguments of the command, with absolute paths: clients choose the working directory.
    """
    first, *more = command("mcp")
    return CLIENTS[client].form(first, [*more, *arguments])


def _json(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    # Escape unprintable characters: they may contain terminal control sequences.
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text) + "\n"


def _toml(text: str) -> str:
    """Return a TOML basic string."""
    escaped = ("\\" + c if c in '"\\' else c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(escaped)}"'


def _servers(key: str, **more: str) -> Callable[[str, Sequence[str]], str]:
    def form(first: str, arguments: Sequence[str]) -> str:
        return _json({key: {NAME: {**more, "command": first, "args": list(arguments)}}})

    return form


def _opencode(first: str, arguments: Sequence[str]) -> str:
    return _json({"mcp": {NAME: {"type": "local", "command": [first, *arguments], "enabled": True}}})


def _codex(first: str, arguments: Sequence[str]) -> str:
    quoted = ", ".join(map(_toml, arguments))
    return f"[mcp_servers.{NAME}]\ncommand = {_toml(first)}\nargs = [{quoted}]\n"


_home = session.home_path


def _program(folder: str, name: str) -> str:
    return session.application_path(f"{folder}/{name}", name)


CLIENTS: Mapping[str, McpClient] = {
    "claude": McpClient(
        f"Claude Desktop: {_program('Claude', 'claude_desktop_config.json')} (Settings, Developer, Edit Config)",
        _servers("mcpServers"),
    ),
    "claude-code": McpClient(
        f"Claude Code: .mcp.json in the project, or mcpServers of {_home('~/.claude.json')}",
        _servers("mcpServers", type="stdio"),
    ),
    "cline": McpClient("Cline: cline_mcp_settings.json (MCP Servers, Configure)", _servers("mcpServers")),
    "codex": McpClient(f"Codex: {_home('~/.codex/config.toml')}", _codex),
    "cursor": McpClient(
        f"Cursor: {_home('~/.cursor/mcp.json')}, or .cursor/mcp.json in the project", _servers("mcpServers")
    ),
    "gemini": McpClient(f"Gemini CLI: {_home('~/.gemini/settings.json')}", _servers("mcpServers")),
    "opencode": McpClient(f"OpenCode: opencode.json in the project or in {_home('~/.config/opencode')}", _opencode),
    "vscode": McpClient(
        f"VS Code: .vscode/mcp.json, or the user's {_program('Code/User', 'mcp.json')} (MCP: Open User Configuration)",
        _servers("servers", type="stdio"),
    ),
    "windsurf": McpClient(f"Windsurf: {_home('~/.codeium/windsurf/mcp_config.json')}", _servers("mcpServers")),
    "zed": McpClient(f"Zed: {_program('Zed', 'settings.json')}", _servers("context_servers", source="custom")),
}
