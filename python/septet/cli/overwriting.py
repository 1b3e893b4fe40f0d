"""Files that a command would replace: asked for on a terminal, refused elsewhere, unless ``--force`` says so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from septet.cli.exits import USAGE
from septet.cli.terminal import say

__all__ = ["Force", "replaces"]

Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there, without asking.")]


def replaces(target: Path, force: bool, what: str = "") -> None:
    """Ask whether a file may be replaced; end the command where it may not.

    Devices and pipes are written, not replaced.

    Args:
        target: the file that would be written.
        force: replace it without asking.
        what: what it holds, for the question.
    """
    if force or not target.is_file():
        return
    message = f"{target} is there already" + (f": {what}" if what else "")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        say(f"septet: {message}; --force replaces it")
        raise typer.Exit(USAGE)
    if not typer.confirm(f"{message}. Replace it?", err=True):
        say("nothing written")
        raise typer.Exit(USAGE)
