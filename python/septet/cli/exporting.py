"""Export formats besides JSON lines. Each converts the stream of `Vault.export`, which reads one snapshot."""

from __future__ import annotations

import csv
import json
from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path
from typing import IO, Any

from septet.cli.terminal import harmless
from septet.errors import QueryError

FORMATS = ("jsonl", "json", "csv", "md")
_PLURALS = {"link": "links", "feedback": "rows of feedback", "vector": "vectors"}


class ExportStream(ABC):
    """A text stream that converts JSON lines of an export to another format.

    Attributes:
        counts: number of records by type, ``entry``, ``link``, ``feedback``; and of entries with a ``vector``.
        unsupported: the types that the format does not store.
    """

    unsupported: tuple[str, ...] = ("link", "feedback", "vector")

    def __init__(self, out: IO[str]) -> None:
        self.out = out
        self.counts: Counter[str] = Counter()

    def write(self, line: str) -> int:
        """Convert a line; return its length."""
        record = json.loads(line)
        self.take(record)
        self.counts[record["record"]] += 1
        self.counts["vector"] += "vector" in record
        return len(line)

    @abstractmethod
    def take(self, record: dict[str, Any]) -> None:
        """Write a record."""

    def finish(self) -> None:
        """Write the end of the output."""
        self.out.flush()

    def omitted(self) -> str:
        """Describe the records that the format does not store; empty if none."""
        return ", ".join(f"{self.counts[name]:,} {_PLURALS[name]}" for name in self.unsupported if self.counts[name])


class JsonStream(ExportStream):
    """One JSON array of all records."""

    unsupported = ()

    def take(self, record: dict[str, Any]) -> None:
        """Write a record."""
        self.out.write((",\n" if self.counts else "[\n") + json.dumps(record, ensure_ascii=False))

    def finish(self) -> None:
        """Write the end of the array."""
        self.out.write("\n]\n" if self.counts else "[]\n")
        super().finish()


class CsvStream(ExportStream):
    """A CSV table of the entries (RFC 4180)."""

    def __init__(self, out: IO[str], *, for_people: bool) -> None:
        from septet.exchange.tables import COLUMNS

        super().__init__(out)
        self._for_people = for_people
        self._rows = csv.writer(out, lineterminator="\r\n")
        self._rows.writerow(COLUMNS)

    def take(self, record: dict[str, Any]) -> None:
        """Write an entry as a row."""
        from septet.exchange.tables import row_of

        if record["record"] == "entry":
            row = row_of(record)
            self._rows.writerow([harmless(cell.replace("\r\n", "\n")) for cell in row] if self._for_people else row)


class MarkdownStream(ExportStream):
    """The entries in the format that `septet add -` reads, concatenated."""

    def take(self, record: dict[str, Any]) -> None:
        """Write an entry with front matter."""
        from septet.cli.front_matter import as_text
        from septet.model.entry import Entry
        from septet.model.fields import Span

        if record["record"] == "entry":
            fields = {name: value for name, value in record.items() if name not in ("record", "vector", "span")}
            span = record.get("span")
            entry = Entry(**{**fields, "tags": tuple(fields["tags"])}, span=None if span is None else Span(**span))
            self.out.write(as_text(entry) + "\n")


def format_for(named: str | None, target: str) -> str:
    """Return the named format, else that of the file's suffix, else ``jsonl``.

    Raises:
        QueryError: an unknown format.
    """
    if named is None:
        suffix = Path(target).suffix.lower().removeprefix(".")
        return suffix if suffix in FORMATS else "jsonl"
    if named not in FORMATS:
        raise QueryError(f"unknown --format {named!r}; available: {', '.join(FORMATS)}")
    return named


def writer(format: str, out: IO[str], *, for_people: bool = False) -> ExportStream:
    """Return the stream that writes ``json``, ``csv`` or ``md``.

    Args:
        for_people: replace terminal control characters.
    """
    if format == "csv":
        return CsvStream(out, for_people=for_people)
    return JsonStream(out) if format == "json" else MarkdownStream(out)
