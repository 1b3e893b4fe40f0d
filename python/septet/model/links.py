"""Links: a typed connection from one entry to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from septet.errors import EntryError
from septet.inputs.arguments import listed, shown, utf8
from septet.model.entry import MAX_ID_CHARS
from septet.system.records import NamedTuple

#: The type of links from each part of a text, or chunk of a file, to the next one.
NEXT = "next"
#: Maximum characters of a link's note.
MOST_NOTE_CHARS = 1_000_000


class Link(NamedTuple):
    """A typed link from one entry to another."""

    source: str
    target: str
    type: str
    note: str


def checked(item: Sequence[Any]) -> Link:
    """Return a link from ``(source, target[, type[, note]])``; raise `EntryError` for others, and for one to itself."""
    expected = "(source, target, type, note), all text"
    values = listed(item, "link", EntryError, expected, 4)
    if len(values) < 2 or not all(isinstance(part, str) for part in values):
        raise EntryError(f"link {shown(item)} cannot be stored: wanted {expected}")
    texts = [utf8(part, f"link {name}", EntryError, MOST_NOTE_CHARS) for name, part in zip(Link._fields, values)]
    link = Link(*texts, *("related", "")[len(texts) - 2 :])
    if not link.type.strip() or len(link.type) > MAX_ID_CHARS:
        raise EntryError(f"link type is {shown(link.type)}: wanted 1 to {MAX_ID_CHARS} characters")
    if link.source == link.target:
        raise EntryError(f"{shown(link.source)} cannot be linked to itself: name two entries")
    return link
