"""The commands that copy vaults and entries: backup, restore, export, import.

Formats of an export besides JSON lines convert the stream of `Vault.export`, which reads one snapshot.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import USAGE, end_with, stoppable
from septet.cli.options import VaultPath
from septet.cli.places import existing, writable
from septet.cli.screen import progress
from septet.cli.terminal import escaped, harmless, say, say_notes, unguarded
from septet.errors import EntryError, QueryError, SeptetError
from septet.system.target import complete_file

if TYPE_CHECKING:
    from septet.exchange.source import Imported

Force = Annotated[bool, typer.Option("--force", help="Replace an existing file without asking.")]
#: Maximum skipped records to print.
SHOWN = 20
FORMATS = ("jsonl", "json", "csv", "md")
_PLURALS = {"link": "links", "feedback": "rows of feedback", "vector": "vectors"}


def backup(
    vault: Annotated[
        Path, typer.Argument(metavar="[VAULT]", help="The vault; it may be in use. Default as for other commands.")
    ],
    backup: Annotated[Path | None, typer.Argument(metavar="BACKUP", help="The file to write.")] = None,
    force: Force = False,
    named: VaultPath = None,
) -> None:
    """Copy a vault that may be in use to another file."""
    from septet.vault import Vault

    target = vault if backup is None else backup
    with existing(named) if backup is None else Vault(vault, read_only=True) as copied:
        if not (target.exists() and Path(copied.path).exists() and target.samefile(copied.path)):
            _confirm_overwrite(target, force)
        copied.backup(target)
        say(f"copied {copied.stats().entries} entries to {target}")


def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A copy that Vault.backup wrote.")],
    vault: Annotated[Path, typer.Argument(metavar="VAULT", help="The vault file to write or replace.")],
    force: Force = False,
) -> None:
    """Replace a vault by a backup.

    The backup is checked first. The vault may be damaged or missing; no program may have it open.
    """
    from septet.exchange.restoring import restore
    from septet.postgres.store.dsn import check_file

    target = Path(check_file(str(vault)))
    lost = _lost(backup, target) if target.is_file() else ""
    _confirm_overwrite(target, force, lost)
    count = restore(backup, target)
    say(f"restored {count} entries to {vault}" + (f", replacing {lost}" if lost else ""))


def _lost(backup: Path, vault: Path) -> str:
    """Describe the contents of a vault that a backup would replace."""
    from septet.vault import Vault

    with Vault(backup, read_only=True) as copy:
        last = copy.entries(order_by=[("updated_at", "desc")], limit=1).entries
    try:
        with Vault(vault, read_only=True) as current:
            count = current.stats().entries
            since = {"updated_at": {"$gt": last[0].updated_at}} if last else None
            newer = current.count(since)
    except SeptetError:
        return "a vault that cannot be read"
    return f"{count} entries, {newer} of them newer than the backup"


def _confirm_overwrite(target: Path, force: bool, contents: str = "") -> None:
    """Ask before a file is replaced; exit if the user declines, or there is no terminal. Devices are not replaced."""
    if force or not target.is_file():
        return
    message = f"{target} exists" + (f": {contents}" if contents else "")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        end_with(f"septet: {message}; --force replaces it", USAGE)
    if not typer.confirm(f"{message}. Replace it?", err=True):
        end_with("nothing written", USAGE)


@command("vault")
def export(
    shared: SharedOptions,
    target: Annotated[str, typer.Argument(metavar="FILE", help="The file to write; - for standard output.")] = "-",
    format: Annotated[
        str | None, typer.Option("--format", metavar="jsonl|json|csv|md", help="Default: by the name, else jsonl.")
    ] = None,
    force: Force = False,
) -> None:
    """Export a vault as JSON lines: entries, vectors, links, feedback. `septet import` reads them.

    csv and md contain entries only; `septet import` reads csv as well.
    """
    chosen = format_for(format, target)
    with existing(shared.vault) as opened:
        if target != "-":
            _confirm_overwrite(Path(target), force)
        if chosen == "jsonl":
            count = opened.export(escaped(sys.stdout) if target == "-" else target)
            sys.stdout.flush()
            omitted, written = "", f"{count:,} lines"
        else:
            stream = _to_file(opened, chosen, target) if target != "-" else _to_output(opened, chosen)
            omitted, written = stream.omitted(), f"{stream.counts['entry']:,} entries"
        if unsound := getattr(opened._store, "left_out", ()):
            from septet.tiers.view import rows_left_out

            say_notes([rows_left_out(unsound, "")])
    if target != "-":
        say(f"wrote {written} to {target}")
    if omitted:
        say(f"{chosen} contains entries only, without {omitted}: use --format jsonl to export all")


def _to_output(opened: Any, format: str) -> ExportStream:
    """Write an export to standard output."""
    # The cells are escaped already, and the guard would replace the CR of line ends.
    stream: Any = {"csv": unguarded, "json": escaped}.get(format, lambda plain: plain)(sys.stdout)
    out = ExportStream(format, stream, for_people=True)
    opened.export(out)
    out.finish()
    return out


def _to_file(opened: Any, format: str, target: str) -> ExportStream:
    """Write an export to a file that appears once complete."""
    with (
        complete_file(target, of=str(opened.path), cure="name a file, or - for standard output") as part,
        open(part.descriptor, "w", encoding="utf-8", newline="", closefd=False) as stream,
    ):
        out = ExportStream(format, stream)
        opened.export(out)
        out.finish()
        return out


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
    with stoppable(lambda: f"{stored:,} stored; import again to continue"):
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
        _print_import(result, opened.path)


def _map(pairs: list[str]) -> dict[str, str | None]:
    fields: dict[str, str | None] = {}
    for pair in pairs:
        name, sign, target = pair.rpartition("=")
        if not sign or not name:
            raise EntryError(f"--map is {pair!r}: wanted NAME=FIELD, such as text=description, or NAME= to drop it")
        fields[name] = target or None
    return fields


def _print_import(result: Imported, path: str) -> None:
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


class ExportStream:
    """A text stream that converts JSON lines of an export to ``json``, ``csv`` or ``md``.

    ``json`` is one array of all records. ``csv`` (RFC 4180) and ``md``, the format that `septet add -` reads, contain
    entries only.

    Args:
        for_people: True to replace terminal control characters in ``csv``.

    Attributes:
        counts: number of records by type, ``entry``, ``link``, ``feedback``; and of entries with a ``vector``.
    """

    def __init__(self, format: str, out: IO[str], *, for_people: bool = False) -> None:
        self._format, self._out, self._for_people = format, out, for_people
        self._rows = csv.writer(out, lineterminator="\r\n")
        self.counts: Counter[str] = Counter()
        if format == "csv":
            from septet.exchange.tables import COLUMNS

            self._rows.writerow(COLUMNS)

    def write(self, line: str) -> int:
        """Convert a line; return its length."""
        record = json.loads(line)
        if self._format == "json":
            self._out.write((",\n" if self.counts else "[\n") + json.dumps(record, ensure_ascii=False))
        elif record["record"] == "entry":
            self._write_row(record) if self._format == "csv" else self._write_text(record)
        self.counts[record["record"]] += 1
        self.counts["vector"] += "vector" in record
        return len(line)

    def finish(self) -> None:
        """Write the end of the output."""
        if self._format == "json":
            self._out.write("\n]\n" if self.counts else "[]\n")
        self._out.flush()

    def omitted(self) -> str:
        """Describe the records that the format does not store; empty if none."""
        omitted = {} if self._format == "json" else _PLURALS
        return ", ".join(f"{self.counts[name]:,} {plural}" for name, plural in omitted.items() if self.counts[name])

    def _write_row(self, record: dict[str, Any]) -> None:
        from septet.exchange.tables import row_of

        row = row_of(record)
        self._rows.writerow([harmless(cell.replace("\r\n", "\n")) for cell in row] if self._for_people else row)

    def _write_text(self, record: dict[str, Any]) -> None:
        from septet.cli.front_matter import as_text
        from septet.model.entry import Entry
        from septet.model.fields import Span

        fields = {name: value for name, value in record.items() if name not in ("record", "vector", "span")}
        span = record.get("span")
        entry = Entry(**{**fields, "tags": tuple(fields["tags"])}, span=None if span is None else Span(**span))
        self._out.write(as_text(entry) + "\n")


def format_for(named: str | None, target: str) -> str:
    """Return the named format, else that of the file's suffix, else ``jsonl`` (`QueryError`)."""
    if named is None:
        suffix = Path(target).suffix.lower().removeprefix(".")
        return suffix if suffix in FORMATS else "jsonl"
    if named not in FORMATS:
        raise QueryError(f"unknown --format {named!r}; available: {', '.join(FORMATS)}")
    return named
