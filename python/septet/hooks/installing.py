"""The settings in which a program finds its hooks: install, uninstall, status."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from septet.errors import QueryError, StoreError
from septet.hooks.calls import CONFIDENCE, TOKENS, HookOptions
from septet.hooks.programs import PROGRAMS
from septet.hooks.settings import SettingsEntry, SettingsFile
from septet.service.places import PROJECT_VAULT, default_vault, expanded
from septet.service.program import command
from septet.system.host import host
from septet.system.session import session

#: Seconds after which a program gives up a hook.
TIMEOUT_S = 10


class Installed(NamedTuple):
    """The hooks of Septet in a program's settings.

    Attributes:
        program: a key of `PROGRAMS`.
        path: the settings.
        commands: the commands of the hooks there; empty if none are installed.
        problem: the reason for which the settings cannot be read; empty without one.
    """

    program: str
    path: str
    commands: tuple[str, ...]
    problem: str = ""


class _Settings(NamedTuple):
    """The settings of a program.

    Attributes:
        variable: environment variable that names the folder of the user's settings.
        folder: that folder, below the home folder.
        user: the file in it.
        project: the file of a project.
        entries: makes the values to add from the command of a hook.
    """

    variable: str
    folder: str
    user: str
    project: str
    entries: Callable[[str, str], list[SettingsEntry]]


def _grouped(program: str, command_line: str) -> list[SettingsEntry]:
    handler = {"type": "command", "command": command_line, "timeout": TIMEOUT_S}
    return [SettingsEntry(("hooks", event), {"hooks": [handler]}) for event in PROGRAMS[program].events]


_SETTINGS: Mapping[str, _Settings] = {
    "claude-code": _Settings("CLAUDE_CONFIG_DIR", ".claude", "settings.json", ".claude/settings.local.json", _grouped),
}


def settings_of(program: str, project: Path | None = None) -> SettingsFile:
    """Return the settings of a program: of the user, or of a project.

    Raises:
        QueryError: the program is unknown.
    """
    if program not in _SETTINGS:
        raise QueryError(f"unknown program {program!r}; available: {', '.join(PROGRAMS)}")
    known = _SETTINGS[program]
    if project is not None:
        return SettingsFile(project / known.project, program)
    named = os.environ.get(known.variable, "")
    return SettingsFile((Path(named) if named else Path.home() / known.folder) / known.user, program)


def install(options: HookOptions, project: Path | None = None) -> tuple[SettingsFile, bool]:
    """Add the hooks to the settings of a program; return them, and False if they are there already.

    Args:
        options: the program, the vault and the limits; without a vault that of the user, or of the project.
        project: the folder of a project; None for all projects of the user.

    Raises:
        SeptetError: the program is unknown, the vault is on a server, or the settings cannot be changed.
    """
    file = settings_of(options.program, project)
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
    # Programs on Windows run hooks by a shell in which a backslash escapes.
    line = " ".join(session.quoted(host.slashed(word)) for word in words)
    return file, file.install(_SETTINGS[options.program].entries(options.program, line))


def uninstall(program: str, project: Path | None = None) -> tuple[SettingsFile, bool]:
    """Remove the hooks from the settings of a program; return them, and False if there were none.

    Raises:
        SeptetError: the program is unknown, or the settings cannot be changed.
    """
    file = settings_of(program, project)
    return file, file.uninstall()


def status(project: Path | None = None) -> list[Installed]:
    """Return the hooks in the settings of each program, of the user or of a project."""
    return [_installed(program, settings_of(program, project)) for program in _SETTINGS]


def _installed(program: str, file: SettingsFile) -> Installed:
    try:
        return Installed(program, str(file.path), tuple(file.commands()))
    except StoreError as fault:
        return Installed(program, str(file.path), (), str(fault))
