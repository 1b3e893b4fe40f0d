"""`septet demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import NOTHING
from septet.errors import EntryError


@command("embedding")
def demo(
    shared: SharedOptions,
    # Not a `Path`, as for `septet sync`.
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="A folder of Markdown or text to search; it is only read.")
    ] = None,
    question: Annotated[
        list[str] | None, typer.Option("--ask", metavar="TEXT", help="Ask DIR this; repeat for more.")
    ] = None,
    profile: Annotated[str | None, typer.Option(metavar="NAME|FILE", help="The ranking of answers from DIR.")] = None,
    path: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The vault file; for DIR, default in memory.")
    ] = None,
    no_color: Annotated[bool, typer.Option("--no-color", help="Plain text.")] = False,
) -> None:
    """Index the documentation of this Python and ask six questions; or index and search a folder.

    With DIR, chunks are embedded only with --embedding, not by a configured embedder.
    """
    from septet.cli import demo as demonstration
    from septet.cli import screen

    out = screen.console(sys.stdout, color=not no_color)
    if folder is None:
        if question or profile or shared.embedding:
            raise EntryError("--ask, --profile and --embedding are options of a folder: septet demo DIR")
        demonstration.run(out, path)
        return
    from septet.cli import demo_folder
    from septet.files.roots import root_at

    root_at(folder)
    embedder = shared.embedder() if shared.embedding else {}
    options: dict[str, Any] = {"command": demonstration.command(), "profile": profile, "embedding": embedder}
    if not demo_folder.run(out, Path(folder), path, question or [], **options):
        raise typer.Exit(NOTHING)
