"""`septet import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.places import writable
from septet.cli.progress import progress
from septet.cli.stopping import stoppable
from septet.cli.terminal import say
from septet.errors import EntryError

if TYPE_CHECKING:
    from septet.exchange.source import Imported

#: Maximum skipped records to print.
SHOWN = 20


@command("vault")
def import_(
    shared: SharedOptions,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A file, a folder of texts, or - for standard input.")],
    format: Annotated[
        str | None, typer.Option("--format", help="jsonl, json, csv, tsv or text; default: by the name.")
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="NAME=FIELD", help="Map a field of the source to the entry's; NAME= drops it."),
    ] = None,
    rest: Annotated[str, typer.Option("--rest", help="Other fields: attrs, drop or error.")] = "attrs",
    on_error: Annotated[str, typer.Option("--on-error", help="At an invalid record: stop or skip.")] = "stop",
    split: Annotated[bool, typer.Option("--split", help="Split long texts into linked parts.")] = False,
) -> None:
    """Import JSON lines, a JSON array, a table, a folder of texts, or an export.

    Importing again stores new and changed records, also after Ctrl-C.
    """
    if source != "-" and not Path(source).exists():
        raise EntryError(f"{source} cannot be read: there is no such file")
    stored = before = 0
    # Closing the vault takes time too, hence the outer block.
    with stoppable(lambda: f"{stored:,} stored; import again to go on"):
        with writable(shared.vault) as opened, progress("importing") as step:
            before = len(opened)

            def report(done: int, total: int | None) -> None:
                nonlocal stored
                stored = done
                if step is not None:
                    step(done, total)

            options: dict[str, Any] = {"format": format, "rest": rest, "on_error": on_error}
            options |= {"map": _map(map or []), "split": "auto" if split else None, "progress": report}
            try:
                result = opened.import_(sys.stdin.buffer if source == "-" else source, **options)
            except KeyboardInterrupt:
                # The last commit may not have been reported.
                stored = max(stored, len(opened) - before)
                raise
        _print(result, opened.path)


def _map(pairs: list[str]) -> dict[str, str | None]:
    fields: dict[str, str | None] = {}
    for pair in pairs:
        name, sign, target = pair.rpartition("=")
        if not sign or not name:
            raise EntryError(f"--map is {pair!r}: wanted NAME=FIELD, such as text=description, or NAME= to drop it")
        fields[name] = target or None
    return fields


def _print(result: Imported, path: str) -> None:
    for fault in result.errors[:SHOWN]:
        say(f"skipped {fault.place}: {fault.message}")
    if result.skipped > SHOWN:
        say(f"skipped {result.skipped - min(SHOWN, len(result.errors)):,} more")
    for note in result.notes:
        say(f"note: {note}")
    same = f", {result.unchanged} of them unchanged" if result.unchanged else ""
    skipped = f", {result.skipped} skipped" if result.skipped else ""
    counts = f"{result.entries} entries{same}, {result.links} links, {result.feedback} feedback rows{skipped}"
    say(f"stored {counts} in {path}")
