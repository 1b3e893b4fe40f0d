"""Entries of which one makes another needless: it says the same, or changes it."""

from __future__ import annotations

from septet.model.context import LeftOutEntry
from septet.model.entry import TRUSTS, Entry
from septet.profiles.statements import SUPERSEDED_FROM
from septet.query.suggesting import EntryClaims, begun, suggested

#: Longer texts are pages, not statements: they are the same only if their words are.
MOST_CHARS = 600


class ComparedEntry:
    """An entry and its text in a form to compare, which is made once: each entry is compared with all others."""

    __slots__ = ("chars", "entry", "statement", "words")

    def __init__(self, entry: Entry) -> None:
        text = f"{entry.title}\n{entry.description}\n{entry.context}"
        self.entry, self.chars = entry, len(text)
        self.words = text.casefold().split()
        self.statement = EntryClaims(entry)


def needless(item: ComparedEntry, better: ComparedEntry, *, pinned: bool) -> LeftOutEntry | None:
    """Return the reason why an entry is needless beside a better one; None if both say something.

    A statement is changed only by a newer one of its domain that is trusted as much.

    Args:
        pinned: True for a pin, which is needless only beside the same words.
    """
    entry, other = item.entry, better.entry
    if item.words == better.words:
        return _same(entry, other)
    if pinned or max(item.chars, better.chars) > MOST_CHARS:
        return None
    newer, older = (better, item) if begun(other) > begun(entry) else (item, better)
    suggestion = suggested(newer.entry.id, newer.statement, [older.statement])
    if suggestion.verdict == "new" or suggestion.probability < SUPERSEDED_FROM:
        return None
    if suggestion.verdict == "same":
        return _same(entry, other)
    if newer is item or entry.domain != other.domain or TRUSTS.index(other.trust) < TRUSTS.index(entry.trust):
        return None
    return LeftOutEntry(entry.id, "older", f"{other.id} {suggestion.verdict} it: {suggestion.reason}")


def _same(entry: Entry, better: Entry) -> LeftOutEntry:
    if entry.updated_at < better.updated_at:
        return LeftOutEntry(entry.id, "older", f"an older statement of {better.id}")
    return LeftOutEntry(entry.id, "same", f"says the same as {better.id}")
