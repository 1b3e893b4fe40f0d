"""The settings in which a program finds its hooks: install, uninstall, status."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from septet.errors import QueryError, StoreError
from septet.hooks.calls import CONFIDENCE, TOKENS, HookOptions
from septet.hooks.plugin_files import MARK, PluginFiles, script
from septet.hooks.programs import PROGRAMS
from septet.hooks.settings import SettingsEntry, SettingsFile
from septet.service.places import PROJECT_VAULT, default_vault, expanded
from septet.service.program import command
from septet.system.host import host
from septet.system.session import session

#: Seconds after which a program gives up a hook.
TIMEOUT_S = 10
#: The id of the plugin of OpenClaw, and its value in the settings: conversation hooks need a permission.
_PLUGIN = "septet-hooks"
_ALLOWED = {"enabled": True, "hooks": {"allowConversationAccess": True}}


class Installed(NamedTuple):
    """The hooks of Septet in a program's settings.

    Attributes:
        program: a key of `PROGRAMS`.
        path: the settings, or the plugin.
        commands: the commands of the hooks there; empty if none are installed.
        problem: the reason for which the settings cannot be read; empty without one.
    """

    program: str
    path: str
    commands: tuple[str, ...]
    problem: str = ""


class HookPlace(NamedTuple):
    """Where the hooks of a program are.

    Attributes:
        path: the file that users know.
        settings: settings that are edited, or None.
        entries: the values to add to them.
        files: files of a plugin, or None.
    """

    path: Path
    settings: SettingsFile | None
    entries: list[SettingsEntry]
    files: PluginFiles | None = None


#: Makes the place from a program, its settings folder, True in a project, and the words of the command.
_Maker = Callable[[str, Path, bool, list[str]], HookPlace]


class _Folders(NamedTuple):
    """The folders of a program's settings.

    Attributes:
        variable: environment variable that names that of the user.
        user: that of the user, below the home folder.
        project: that of a project, below its folder; None if projects have no hooks.
        place: see `_Maker`.
    """

    variable: str
    user: str
    project: str | None
    place: _Maker


def _grouped(name: str, in_project: str) -> _Maker:
    """Return the maker for programs that group the hooks of an event."""

    def place(program: str, folder: Path, project: bool, words: list[str]) -> HookPlace:
        path = folder / (in_project if project else name)
        handler = {"type": "command", "command": _line(words), "timeout": TIMEOUT_S}
        entries = [SettingsEntry(("hooks", event), {"hooks": [handler]}) for event in PROGRAMS[program].events]
        return HookPlace(path, SettingsFile(path, program), entries)

    return place


def _cursor(program: str, folder: Path, _project: bool, words: list[str]) -> HookPlace:
    path = folder / "hooks.json"
    handler = {"command": _line(words), "timeout": TIMEOUT_S}
    entries = [SettingsEntry(("hooks", event), handler) for event in PROGRAMS[program].events]
    version = SettingsEntry(("version",), 1, to_array=False)
    return HookPlace(path, SettingsFile(path, program), [version, *entries])


def _opencode(_program: str, folder: Path, _project: bool, words: list[str]) -> HookPlace:
    path = folder / "plugins" / "septet.js"
    return HookPlace(path, None, [], PluginFiles({path: script("opencode.js", words)}))


def _openclaw(program: str, folder: Path, _project: bool, words: list[str]) -> HookPlace:
    plugin, path = folder / "extensions" / _PLUGIN, folder / "openclaw.json"
    about = {"name": _PLUGIN, "version": "1.0.0", "type": "module", "description": f"Written by {MARK} install."}
    manifest = {"id": _PLUGIN, "name": "Septet hooks", "description": f"Written by {MARK} install."}
    schema = {"type": "object", "additionalProperties": False}
    files = {
        plugin / "package.json": _json({**about, "openclaw": {"extensions": ["./index.js"]}}),
        plugin / "openclaw.plugin.json": _json({**manifest, "activation": {"onStartup": True}, "configSchema": schema}),
        plugin / "index.js": script("openclaw.js", words),
    }
    member = ("plugins", "entries", _PLUGIN)
    entries = [SettingsEntry(member, _ALLOWED, to_array=False)]
    return HookPlace(path, SettingsFile(path, program, member), entries, PluginFiles(files))


_FOLDERS: Mapping[str, _Folders] = {
    "claude-code": _Folders(
        "CLAUDE_CONFIG_DIR", ".claude", ".claude", _grouped("settings.json", "settings.local.json")
    ),
    "codex": _Folders("CODEX_HOME", ".codex", ".codex", _grouped("hooks.json", "hooks.json")),
    "cursor": _Folders("", ".cursor", ".cursor", _cursor),
    "opencode": _Folders("OPENCODE_CONFIG_DIR", ".config/opencode", ".opencode", _opencode),
    "openclaw": _Folders("OPENCLAW_STATE_DIR", ".openclaw", None, _openclaw),
}


def install(options: HookOptions, project: Path | None = None) -> tuple[Path, bool]:
    """Add the hooks to the settings of a program; return their path, and False if they are there already.

    Args:
        options: the program, the vault and the limits; without a vault that of the user, or of the project.
        project: the folder of a project; None for all projects of the user.

    Raises:
        SeptetError: the program is unknown, the vault is on a server, or the settings cannot be changed.
    """
    vault = default_vault() if project is None else project / PROJECT_VAULT
    if options.vault is not None:
        if "://" in options.vault:
            raise QueryError("hooks require a vault in a file")
        vault = expanded(Path(options.vault)).absolute()
    words = [*command("cli"), "hooks", "run", options.program, "--vault", str(vault)]
    if options.max_tokens != TOKENS:
        words += ["--max-tokens", str(options.max_tokens)]
    if options.min_confidence != CONFIDENCE:
        words += ["--min-confidence", f"{options.min_confidence:g}"]
    if not options.helper:
        words.append("--no-helper")
    place = _place(options.program, project, words)
    if place.files is not None:
        place.files.check()
    changed = place.settings is not None and place.settings.install(place.entries)
    if place.files is not None:
        changed = place.files.install() or changed
    return place.path, changed


def uninstall(program: str, project: Path | None = None) -> tuple[Path, bool]:
    """Remove the hooks from the settings of a program; return their path, and False if there were none.

    Raises:
        SeptetError: the program is unknown, or the settings cannot be changed.
    """
    place = _place(program, project, [])
    changed = place.settings is not None and place.settings.uninstall()
    if place.files is not None:
        changed = place.files.uninstall() or changed
    return place.path, changed


def status(project: Path | None = None) -> list[Installed]:
    """Return the hooks in the settings of each program, of the user or of a project."""
    programs = [name for name in PROGRAMS if project is None or _FOLDERS[name].project is not None]
    return [_installed(name, _place(name, project, [])) for name in programs]


def _installed(program: str, place: HookPlace) -> Installed:
    try:
        commands = [] if place.settings is None else place.settings.commands()
        if place.files is not None and (place.settings is None or commands):
            commands = place.files.commands()
    except StoreError as fault:
        return Installed(program, str(place.path), (), str(fault))
    return Installed(program, str(place.path), tuple(commands))


def _place(program: str, project: Path | None, words: list[str]) -> HookPlace:
    if program not in _FOLDERS:
        raise QueryError(f"unknown program {program!r}; available: {', '.join(PROGRAMS)}")
    folders = _FOLDERS[program]
    if project is not None:
        if folders.project is None:
            raise QueryError(f"{program} has no hooks of a project: leave out --project")
        return folders.place(program, project / folders.project, True, words)
    named = os.environ.get(folders.variable, "") if folders.variable else ""
    return folders.place(program, Path(named) if named else Path.home() / folders.user, False, words)


def _line(words: list[str]) -> str:
    # Programs on Windows run hooks by a shell in which a backslash escapes.
    return " ".join(session.quoted(host.slashed(word)) for word in words)


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"
