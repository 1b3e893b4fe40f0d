"""`septet mcp`."""

from __future__ import annotations

import os
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.terminal import say
from septet.errors import QueryError


class Program(str, Enum):
    """An MCP client with a known configuration format."""

    claude = "claude"
    claude_code = "claude-code"
    cline = "cline"
    codex = "codex"
    cursor = "cursor"
    gemini = "gemini"
    opencode = "opencode"
    vscode = "vscode"
    windsurf = "windsurf"
    zed = "zed"


@command("embedding", "vault")
def mcp(
    shared: SharedOptions,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Tiers and their embedder, instead of --vault. Or SEPTET_CONFIG."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Only offer tools that read.")] = False,
    documented_names: Annotated[
        bool,
        typer.Option("--documented-names", help="memory_search and knowledge_query instead of search and explain."),
    ] = False,
    install: Annotated[
        Program | None,
        typer.Option(
            metavar="PROGRAM",
            help="Print the configuration that starts this server from a program: "
            + ", ".join(program.value for program in Program)
            + ".",
        ),
    ] = None,
) -> None:
    """Serve a vault, or the tiers of a configuration, to an agent: MCP over standard input and output.

    Without --vault and --config: your vault, and that of the project (.septet/vault.db) in this folder or above.
    Needs the package mcp: pip install 'septet[mcp]'.
    """
    # --config takes precedence over SEPTET_VAULT.
    file = shared.vault if config is None else None
    if install is not None:
        _print(install.value, file, config, shared.embedding, read_only=read_only, documented_names=documented_names)
        return
    try:
        from septet.mcp.stdio import serve_stdio
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise QueryError("`septet mcp` needs the extra: pip install 'septet[mcp]'") from None
    import logging

    from septet.service.opening import opened

    # Standard output carries only the protocol.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="septet: %(message)s")
    embedder: Any = {"default_embedder" if shared.embedding is None else "embedder": shared.embedder()}
    with opened(file, config, read_only=read_only, **embedder) as served:
        serve_stdio(served, documented_names=documented_names)


def _print(
    program: str,
    vault: str | None,
    config: Path | None,
    embedding: str | None,
    *,
    read_only: bool,
    documented_names: bool,
) -> None:
    """Print the configuration block of a program, and the name of its file to standard error."""
    from importlib.util import find_spec

    from septet.cli.terminal import unguarded
    from septet.mcp.clients import CLIENTS, block
    from septet.postgres.store.dsn import is_dsn, without_passwords
    from septet.service.configuration import CONFIG_VARIABLE
    from septet.service.places import expanded

    if vault is None and config is None and (named := os.environ.get(CONFIG_VARIABLE, "").strip()):
        # The program may run in another environment.
        config = Path(named)
    arguments = ["mcp"]
    if vault is not None and is_dsn(vault):
        if without_passwords(vault) != vault:
            raise QueryError(
                "the address contains a password, which would be printed: omit it, and store it in ~/.pgpass"
            )
        arguments += ["--vault", vault]
        vault = None
    for option, path in (("--vault", vault), ("--config", config)):
        if path is not None:
            arguments += [option, str(expanded(Path(path)).absolute())]
    if embedding is not None:
        file = expanded(Path(embedding))
        arguments += ["--embedding", str(file.absolute()) if file.is_file() else embedding]
    arguments += ["--read-only"] * read_only + ["--documented-names"] * documented_names
    if any("$" in text for text in arguments):
        say(f"note: a path contains '$', which {program} may expand as a variable")
    if find_spec("mcp") is None:
        say("note: the server needs the extra: pip install 'septet[mcp]'")
    say(f"{CLIENTS[program].place}:")
    out = unguarded(sys.stdout)
    out.write(block(program, arguments))
    out.flush()
