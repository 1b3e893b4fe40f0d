"""Other formats of an export: each takes the lines of `Vault.export`, so that all of them are of one moment."""

from __future__ import annotations

import csv
import json
from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path
from typing import IO, Any

from septet.cli.terminal import harmless
from septet.errors import QueryError

__all__ = ["AsCsv", "AsJson", "AsMarkdown", "Written", "format_for", "writer"]

FORMATS = ("jsonl", "json", "csv", "md")
_PLURALS = {"link": "links", "feedback": "rows of feedback", "vector": "vectors"}


class Written(ABC):
    """A stream that takes the lines of an export and writes them in another format.

    Attributes:
        counts: the records by what they are, ``entry``, ``link``, ``feedback``; and the entries with a ``vector``.
        left_out: those of them that the format cannot hold.
    """

    left_out: tuple[str, ...] = ("link", "feedback", "vector")

    def __init__(self, out: IO[str]) -> None:
        self.out = out
        self.counts: Counter[str] = Counter()

    def write(self, line: str) -> int:
        """Take a line; return its length."""
        record = json.loads(line)
        self.take(record)
        self.counts[record["record"]] += 1
        self.counts["vector"] += "vector" in record
        return len(line)

    @abstractmethod
    def take(self, record: dict[str, Any]) -> None:
        """Write a record."""

    def finish(self) -> None:
        """Write what ends the whole."""
        self.out.flush()

    def said(self) -> str:
        """Return in words what the format left out; nothing if it holds all."""
        words = [f"{self.counts[name]:,} {_PLURALS[name]}" for name in self.left_out if self.counts[name]]
        return ", ".join(words)


class AsJson(Written):
    """One JSON array of all records."""

    left_out = ()

    def take(self, record: dict[str, Any]) -> None:
        """Write a record behind those before it."""
        self.out.write((",\n" if self.counts else "[\n") + json.dumps(record, ensure_ascii=False))

    def finish(self) -> None:
        """Write the end of the array."""
        self.out.write("\n]\n" if self.counts else "[]\n")
        super().finish()


class AsCsv(Written):
    """A table of the entries, as of RFC 4180."""

    def __init__(self, out: IO[str], *, for_people: bool) -> None:
        from septet.exchange.rows import COLUMNS

        super().__init__(out)
        self._for_people = for_people
        self._rows = csv.writer(out, lineterminator="\r\n")
        self._rows.writerow(COLUMNS)

    def take(self, record: dict[str, Any]) -> None:
        """Write an entry as a row."""
        from septet.exchange.rows import row_of

        if record["record"] == "entry":
            row = row_of(record)
            self._rows.writerow([harmless(cell.replace("\r\n", "\n")) for cell in row] if self._for_people else row)


class AsMarkdown(Written):
    """The entries as texts that `septet add -` reads, one behind the other."""

    def take(self, record: dict[str, Any]) -> None:
        """Write an entry as text."""
        from septet.cli.front_matter import as_text
        from septet.model.entry import Entry, Span

        if record["record"] == "entry":
            fields = {name: value for name, value in record.items() if name not in ("record", "vector", "span")}
            span = record.get("span")
            entry = Entry(**{**fields, "tags": tuple(fields["tags"])}, span=None if span is None else Span(**span))
            self.out.write(as_text(entry) + "\n")


def format_for(named: str | None, target: str) -> str:
    """Return the format that is named, else the one that the name of the file says, else JSON lines.

    Raises:
        QueryError: there is no such format.
    """
    if named is None:
        suffix = Path(target).suffix.lower().removeprefix(".")
        return suffix if suffix in FORMATS else "jsonl"
    if named not in FORMATS:
        raise QueryError(f"--format is {named!r}: an export is written as {', '.join(FORMATS)}")
    return named


def writer(format: str, out: IO[str], *, for_people: bool = False) -> Written:
    """Return the stream that writes ``json``, ``csv`` or ``md``.

    Args:
        for_people: without characters that could steer a terminal.
    """
    if format == "csv":
        return AsCsv(out, for_people=for_people)
    return AsJson(out) if format == "json" else AsMarkdown(out)
