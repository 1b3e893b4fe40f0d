"""Places in files as ids: ``a.md``, ``a.md#L10``, as searches print them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from septet.errors import EntryError
from septet.model.entry import Entry
from septet.model.fields import Span

#: ``a.md``, ``a.md#L3``, ``a.md#L3-L9``, ``a.pdf#p3``.
_PLACE = re.compile(r"(.+?)(?:#[Lp](\d{1,9})(?:-[Lp]?(\d{1,9}))?)?", re.DOTALL)
#: Maximum candidate ids in an error.
MOST_CANDIDATES = 10


def is_like_place(text: str) -> bool:
    """Return True if a text looks like a place; other missing ids need no scan of the paths."""
    return "\n" not in text and any(sign in text for sign in "./#")


def entry_at(vault: Any, text: str, **tier: Any) -> Entry | None:
    """Return the first chunk of the file with a path, or, with a suffix ``#L10``, the chunk with that line.

    Args:
        vault: has a method `entries` like `Vault`; paths are relative to the root, as in ``span``.

    Raises:
        EntryError: several files have the path; the message lists them.
        SeptetError: the entries cannot be read.
    """
    place = _PLACE.fullmatch(text)
    if place is None:
        return None
    # A file name may itself end in #L10.
    chunks, first_line = _chunks_at(vault, text, tier), None
    if not chunks and place[2] is not None:
        chunks, first_line = _chunks_at(vault, place[1], tier), int(place[2])
    if not chunks:
        return None
    files = {(entry.source, entry.parent): entry for _, entry in reversed(chunks)}
    if len(files) > 1:
        several = ", ".join(f"{entry.id!r} of {entry.source}" for entry in list(files.values())[::-1][:MOST_CANDIDATES])
        raise EntryError(f"{text!r} is ambiguous: {several}; use the id of a chunk")
    if first_line is None:
        return chunks[0][1]
    lines = (first_line, int(place[3] or first_line))
    exact = [entry for span, entry in chunks if (span.first_line, span.last_line) == lines]
    # Chunks overlap: only the last one with a line also has the text after it.
    holding = exact[:1] or [entry for span, entry in chunks if span.first_line <= first_line <= span.last_line]
    return holding[-1] if holding else None


def _chunks_at(vault: Any, path: str, tier: dict[str, Any]) -> list[tuple[Span, Entry]]:
    """Return the entries of a path with their spans, in the order of their lines."""
    entries: Iterable[Entry] = vault.entries({"path": path}, limit=None, **tier)
    with_spans = [(entry.span, entry) for entry in entries if entry.span is not None]
    return sorted(with_spans, key=lambda pair: (pair[0].first_line, pair[0].last_line))
