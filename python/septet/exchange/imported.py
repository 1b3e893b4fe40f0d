"""The result of an import and its faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

#: Format of a source: JSON lines; a JSON array or concatenated objects; a table; texts.
Format: TypeAlias = Literal["jsonl", "json", "csv", "tsv", "text"]
#: Treatment of fields that an entry does not have.
Rest: TypeAlias = Literal["attrs", "drop", "error"]


class ImportFault(NamedTuple):
    """A record that was not stored.

    Attributes:
        line: number of its first line, from 1; for dicts and frames, of the record; 0 for a whole file.
        path: path of the file inside an imported folder; otherwise empty.
        message: the fault and its remedy.
    """

    line: int
    path: str
    message: str

    @property
    def place(self) -> str:
        """The location as shown in errors."""
        return self.path or f"line {self.line}"


#: Treatment of a record that cannot be stored: stop, skip it, or call a function, which may raise, and skip it.
OnError: TypeAlias = "Literal['stop', 'skip'] | Callable[[ImportFault], object]"


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Attributes:
        entries: number of stored entries of the source, unchanged ones included. The last of several records with the
            same id counts.
        links: number of stored links.
        feedback: number of stored rows of feedback.
        unchanged: number of entries that were already equal and were not written.
        skipped: number of records that were not stored.
        errors: the first 100 faults.
        notes: assumptions and oddities, such as dates without a time zone, names in ``map`` that no record has, and
            duplicate ids.
    """

    entries: int
    links: int
    feedback: int
    unchanged: int = 0
    skipped: int = 0
    errors: tuple[ImportFault, ...] = ()
    notes: tuple[str, ...] = ()
