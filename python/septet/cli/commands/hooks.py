"""The command for hooks of agents: hooks."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import NOTHING, OK
from septet.cli.terminal import say


class HookAction(str, Enum):
    """An action on hooks."""

    run = "run"
    sync = "sync"


@command("vault")
def hooks(
    shared: SharedOptions,
    action: Annotated[HookAction, typer.Argument(metavar="ACTION", help="run or sync.")],
    program: Annotated[
        str | None, typer.Argument(metavar="PROGRAM", help="The program that calls the hook: claude-code.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(metavar="N", help="run: budget of what a hook prints, in tokens.")] = 800,
    min_confidence: Annotated[
        float, typer.Option(metavar="NUMBER", help="run: least confidence of an entry, 0 to 1.")
    ] = 0.5,
    wait: Annotated[bool, typer.Option("--wait", help="run: sync the transcript before the end.")] = False,
) -> None:
    """Answer the hooks of an agent: what the vault knows at its prompts, and its transcripts into the vault.

    run: answer one call, from the JSON on standard input; programs do that. It ends with 0 and prints nothing if it
    fails: the reason is in a log. sync: read the transcripts that hooks noted.
    """
    if action is HookAction.run:
        from septet.hooks.running import run

        words = [program] if program else []
        words += ["--max-tokens", str(max_tokens), "--min-confidence", str(min_confidence), *["--wait"] * wait]
        words += ["--vault", shared.vault] if shared.vault else []
        raise typer.Exit(run(words))
    from septet.hooks.keeping import sync_pending
    from septet.hooks.state import log_path

    if failed := sync_pending():
        say(f"{failed} not synced: {log_path()} has the reasons")
    raise typer.Exit(NOTHING if failed else OK)
