"""`septet import`: what other programs have becomes entries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.options import VaultPath
from septet.cli.places import writable
from septet.cli.progress import progress
from septet.cli.stopping import stoppable
from septet.cli.terminal import say
from septet.errors import EntryError

if TYPE_CHECKING:
    from septet.exchange.imported import Imported

__all__ = ["import_"]

#: So many records that were skipped are shown.
SHOWN = 20


def import_(
    source: Annotated[str, typer.Argument(metavar="FILE", help="A file, a folder of texts, or - for standard input.")],
    format: Annotated[
        str | None, typer.Option("--format", help="jsonl, json, csv, tsv or text; default: by the name.")
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="NAME=FIELD", help="A field of the source and the entry's; NAME= drops it."),
    ] = None,
    rest: Annotated[str, typer.Option("--rest", help="Other fields: attrs, drop or error.")] = "attrs",
    on_error: Annotated[str, typer.Option("--on-error", help="At a wrong record: stop or skip.")] = "stop",
    split: Annotated[bool, typer.Option("--split", help="Split long texts into linked parts.")] = False,
    vault: VaultPath = None,
) -> None:
    """Store JSON lines, a JSON array, a table, a folder of texts, or an export.

    Importing again stores what is new or changed, also after Ctrl-C.
    """

    if source != "-" and not Path(source).exists():
        raise EntryError(f"{source} cannot be read: there is no such file")
    stored = before = 0
    # Closing the vault takes its time, too.
    with stoppable(lambda: f"{stored:,} stored; import again to go on"):
        with writable(vault) as opened, progress("importing") as step:
            before = len(opened)

            def told(done: int, total: int | None) -> None:
                nonlocal stored
                stored = done
                if step is not None:
                    step(done, total)

            options: dict[str, Any] = {"format": format, "rest": rest, "on_error": on_error}
            given = sys.stdin.buffer if source == "-" else source
            options |= {"map": _map(map or []), "split": "auto" if split else None, "progress": told}
            try:
                done = opened.import_(given, **options)
            except KeyboardInterrupt:
                # What was committed last may not have been reported.
                stored = max(stored, len(opened) - before)
                raise
        _say(done, opened.path)


def _map(pairs: list[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for pair in pairs:
        name, sign, target = pair.rpartition("=")
        if not sign or not name:
            raise EntryError(f"--map is {pair!r}: wanted NAME=FIELD, such as text=description, or NAME= to drop it")
        found[name] = target or None
    return found


def _say(done: Imported, path: str) -> None:
    for fault in done.errors[:SHOWN]:
        say(f"skipped {fault.place}: {fault.message}")
    if done.skipped > SHOWN:
        say(f"skipped {done.skipped - min(SHOWN, len(done.errors)):,} more")
    for note in done.notes:
        say(f"note: {note}")
    more = f", {done.unchanged} of them unchanged" if done.unchanged else ""
    left = f", {done.skipped} skipped" if done.skipped else ""
    say(f"stored {done.entries} entries{more}, {done.links} links, {done.feedback} feedback rows{left} in {path}")
