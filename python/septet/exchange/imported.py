"""What an import did, and what it could not store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["Format", "ImportFault", "Imported", "OnError", "Rest"]

#: What a source holds: JSON lines; a JSON array, or objects one after the other; a table; texts.
Format: TypeAlias = Literal["jsonl", "json", "csv", "tsv", "text"]
#: What becomes of fields that an entry does not have.
Rest: TypeAlias = Literal["attrs", "drop", "error"]


class ImportFault(NamedTuple):
    """A record that was not stored.

    Attributes:
        line: the line that it begins in, from 1; of dicts and frames, the number of the record; 0 for a whole file.
        path: the file inside an imported folder; otherwise empty.
        message: what is wrong with it, and what to do.
    """

    line: int
    path: str
    message: str

    @property
    def place(self) -> str:
        """Where it is, as errors name it."""
        return self.path or f"line {self.line}"


#: What to do with a record that cannot be stored: stop, skip it, or call this and skip it, unless it raises.
OnError: TypeAlias = "Literal['stop', 'skip'] | Callable[[ImportFault], object]"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did.

    Attributes:
        entries: how many entries of the source are stored now, those that are unchanged included. Records of one id are
            one entry: the last of them.
        links: how many links were stored.
        feedback: how many rows of feedback were stored.
        unchanged: entries that were stored already just as they are; nothing was written for them.
        skipped: records that were not stored.
        errors: the first 100 of them.
        notes: what was taken to mean something, such as dates without a zone, names in ``map`` that no record has, and
            ids that came twice.
    """

    entries: int
    links: int
    feedback: int
    unchanged: int = 0
    skipped: int = 0
    errors: tuple[ImportFault, ...] = ()
    notes: tuple[str, ...] = ()
