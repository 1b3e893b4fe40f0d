"""Places in files as ids: ``a.md``, ``a.md#L10``, as searches print them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from septet.errors import EntryError
from septet.model.entry import Entry
from septet.model.fields import Span

__all__ = ["entry_at", "is_like_place"]

#: ``a.md``, ``a.md#L3``, ``a.md#L3-L9``, ``a.pdf#p3``.
_PLACE = re.compile(r"(.+?)(?:#[Lp](\d{1,9})(?:-[Lp]?(\d{1,9}))?)?", re.DOTALL)
#: So many ids are listed that a place may mean.
MOST_CANDIDATES = 10


def is_like_place(text: str) -> bool:
    """Say whether a text looks like a place, so that an id which is missing costs no look at the paths of all."""
    return "\n" not in text and any(sign in text for sign in "./#")


def entry_at(vault: Any, text: str, **tier: Any) -> Entry | None:
    """Return the first chunk of the file with a path, or with ``#L10`` behind it the chunk that holds the line.

    Args:
        vault: what lists its entries, as `Vault.entries` does; a path is below its folder, as in ``span``.

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
    files = {(one.source, one.parent): one for _, one in reversed(chunks)}
    if len(files) > 1:
        several = ", ".join(f"{one.id!r} of {one.source}" for one in list(files.values())[::-1][:MOST_CANDIDATES])
        raise EntryError(f"{text!r} may be {several}: say its id")
    if first_line is None:
        return chunks[0][1]
    lines = (first_line, int(place[3] or first_line))
    exact = [one for span, one in chunks if (span.first_line, span.last_line) == lines]
    # Chunks overlap: the last that holds a line does not only repeat it.
    held = exact[:1] or [one for span, one in chunks if span.first_line <= first_line <= span.last_line]
    return held[-1] if held else None


def _chunks_at(vault: Any, path: str, tier: dict[str, Any]) -> list[tuple[Span, Entry]]:
    """Return the entries of a path with their spans, in the order of their lines."""
    entries: Iterable[Entry] = vault.entries({"path": path}, limit=None, **tier)
    with_spans = [(entry.span, entry) for entry in entries if entry.span is not None]
    return sorted(with_spans, key=lambda pair: (pair[0].first_line, pair[0].last_line))
