"""The command for hooks of agents: hooks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import NOTHING, OK
from septet.cli.places import shown
from septet.cli.terminal import flat, print_json, say
from septet.errors import QueryError
from septet.hooks.calls import CONFIDENCE, LEAST_TOKENS, TOKENS, HookOptions
from septet.hooks.programs import PROGRAMS

#: Failures that `septet hooks status` prints.
SHOWN = 5
#: Sessions that `septet hooks sessions` prints.
SESSIONS = 20
#: A step of the user without which a program does not run its hooks.
_STEPS = {
    "codex": "then review the hooks there: /hooks",
    "openclaw": "if plugins.allow is set, add septet-hooks to it",
}


class HookAction(str, Enum):
    """An action on hooks."""

    install = "install"
    uninstall = "uninstall"
    status = "status"
    sessions = "sessions"
    run = "run"
    sync = "sync"
    serve = "serve"


class _Arguments(NamedTuple):
    options: HookOptions
    project: Path | None
    as_json: bool


@command("json", "vault")
def hooks(
    shared: SharedOptions,
    action: Annotated[
        HookAction, typer.Argument(metavar="ACTION", help=f"{', '.join(action.value for action in HookAction)}.")
    ],
    program: Annotated[str | None, typer.Argument(metavar="PROGRAM", help=f"{', '.join(PROGRAMS)}.")] = None,
    project: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The settings of this project, and its vault .septet/vault.db."),
    ] = None,
    max_tokens: Annotated[
        int, typer.Option(metavar="N", min=LEAST_TOKENS, help="Budget of what a hook prints, in tokens.")
    ] = TOKENS,
    min_confidence: Annotated[
        float, typer.Option(metavar="NUMBER", min=0, max=1, help="Least confidence of an entry, 0 to 1.")
    ] = CONFIDENCE,
    wait: Annotated[bool, typer.Option("--wait", help="run: sync the transcript before the end.")] = False,
    helper: Annotated[bool, typer.Option("--helper/--no-helper", help="Keep a helper for the next calls.")] = True,
) -> None:
    """Give agents what the vault knows at their prompts, and the vault their transcripts, by the agents' hooks.

    install and uninstall change the settings of a program; status shows them, and the last failures; sessions shows
    what hooks printed from the vault, and to which session. Programs call run, with JSON on standard input: it ends
    with 0, and prints nothing if it fails. Hooks start the others themselves: sync reads the transcripts that they
    noted; serve is the helper, which makes them fast, and ends when it is idle.
    """
    options = HookOptions(program or "", shared.vault, max_tokens, min_confidence, wait, helper)
    if project is not None and not project.is_dir():
        raise QueryError(f"--project {project} is no folder")
    _ACTIONS[action](_Arguments(options, project and project.resolve(), shared.as_json))


def _install(arguments: _Arguments) -> None:
    from septet.hooks.installing import install

    path, changed = install(_named(arguments), arguments.project)
    print(f"{shown(path)}: {'hooks installed' if changed else 'the hooks are there already'}")
    if changed:
        say("restart the program, or begin a session: settings are read then")
        if step := _STEPS.get(arguments.options.program):
            say(step)


def _uninstall(arguments: _Arguments) -> None:
    from septet.hooks.installing import uninstall

    path, changed = uninstall(_named(arguments).program, arguments.project)
    print(f"{shown(path)}: {'hooks removed' if changed else 'no hooks of septet'}")
    raise typer.Exit(OK if changed else NOTHING)


def _status(arguments: _Arguments) -> None:
    from septet.hooks.helper import pid, problem
    from septet.hooks.installing import status
    from septet.hooks.keeping import pending
    from septet.hooks.state import last_failures, log_path

    programs, failures = status(arguments.project), last_failures(SHOWN)
    helper = pid()
    waiting = [item.transcript for item in pending()]
    if arguments.as_json:
        rows = [installed._asdict() | {"commands": list(installed.commands)} for installed in programs]
        print_json({"programs": rows, "helper": helper, "pending": waiting, "failures": failures})
        return
    for installed in programs:
        count = len(installed.commands)
        state = installed.problem or (
            f"{count} hook{'s' * (count > 1)} in {shown(Path(installed.path))}" if count else "not installed"
        )
        print(f"{installed.program:12} {flat(state)}")
        for line in dict.fromkeys(installed.commands):
            print(f"{'':12} {flat(line)}")
    without = problem() or "does not run; the next call starts it"
    print(f"{'helper':12} {f'runs, process {helper}' if helper else without}")
    if waiting:
        print(f"{len(waiting)} transcript{'s' * (len(waiting) > 1)} to sync: `septet hooks sync` does it now")
    if failures:
        print(f"last failures, from {shown(Path(log_path()))}:")
        for line in failures:
            print(f"  {flat(line)}")


def _sessions(arguments: _Arguments) -> None:
    from septet.cli.places import existing
    from septet.service.places import PROJECT_VAULT
    from septet.service.sessions import sessions

    place = arguments.options.vault or (arguments.project and arguments.project / PROJECT_VAULT)
    with existing(place) as vault:
        answer = sessions(vault, limit=SESSIONS)
        # A page reads a limited number of records, which may be of other vaults.
        while answer["next"] and (room := SESSIONS - len(answer["sessions"])):
            more = sessions(vault, limit=room, after=answer["next"])
            answer = more | {"sessions": answer["sessions"] + more["sessions"]}
    if arguments.as_json:
        print_json(answer)
    for session in () if arguments.as_json else answer["sessions"]:
        programs = dict.fromkeys(call["program"] for call in session["calls"])
        print(f"{session['session']}  {flat(', '.join(programs))}")
        for call in session["calls"]:
            print(f"  {time.strftime('%Y-%m-%d %H:%M', time.localtime(call['at']))}")
            for entry in call["entries"]:
                state = "" if entry["state"] == "current" else f"  ({entry['state']})"
                print(f"    {flat(entry['text'] or entry['id'])}{state}")
    raise typer.Exit(OK if answer["sessions"] else NOTHING)


def _run(arguments: _Arguments) -> None:
    from septet.hooks.running import run

    options = arguments.options
    words = [options.program, "--max-tokens", str(options.max_tokens)]
    words += [
        "--min-confidence",
        str(options.min_confidence),
        *["--wait"] * options.waits,
        *["--no-helper"] * (not options.helper),
    ]
    words += ["--vault", options.vault] if options.vault else []
    raise typer.Exit(run(words))


def _sync(arguments: _Arguments) -> None:
    from septet.hooks.keeping import sync_pending
    from septet.hooks.state import log_path

    if failed := sync_pending():
        say(f"{failed} not synced: {shown(Path(log_path()))} has the reasons")
    raise typer.Exit(NOTHING if failed else OK)


def _serve(_arguments: _Arguments) -> None:
    from septet.hooks.helper import serve

    if not serve():
        say("another helper runs")


def _named(arguments: _Arguments) -> HookOptions:
    if not arguments.options.program:
        raise QueryError(f"name a program: {', '.join(PROGRAMS)}")
    return arguments.options


_ACTIONS: Mapping[HookAction, Callable[[_Arguments], None]] = {
    HookAction.install: _install,
    HookAction.uninstall: _uninstall,
    HookAction.status: _status,
    HookAction.sessions: _sessions,
    HookAction.run: _run,
    HookAction.sync: _sync,
    HookAction.serve: _serve,
}
