"""Entries of which one makes another needless: it says the same, or changes it."""

from __future__ import annotations

from septet.model.context import LeftOutEntry
from septet.model.entry import TRUSTS, Entry
from septet.profiles.statements import SUPERSEDED_FROM
from septet.query.suggesting import begun, suggested

#: Longer texts are pages, not statements: they are the same only if their words are.
MOST_CHARS = 600


def needless(entry: Entry, better: Entry, *, pinned: bool) -> LeftOutEntry | None:
    """Return the reason why an entry is needless beside a better one; None if both say something.

    A statement is changed only by a newer one that is trusted as much.

    Args:
        pinned: True for a pin, which is needless only beside the same words.
    """
    texts = _text(entry), _text(better)
    if texts[0].casefold().split() == texts[1].casefold().split():
        return _same(entry, better)
    if pinned or max(map(len, texts)) > MOST_CHARS:
        return None
    newer, older = (better, entry) if begun(better) > begun(entry) else (entry, better)
    suggestion = suggested(newer.id, newer, [older])
    if suggestion.verdict == "new" or suggestion.probability < SUPERSEDED_FROM:
        return None
    if suggestion.verdict == "same":
        return _same(entry, better)
    if newer is entry or TRUSTS.index(better.trust) < TRUSTS.index(entry.trust):
        return None
    return LeftOutEntry(entry.id, "older", f"{better.id} {suggestion.verdict} it: {suggestion.reason}")


def _same(entry: Entry, better: Entry) -> LeftOutEntry:
    if entry.updated_at < better.updated_at:
        return LeftOutEntry(entry.id, "older", f"an older statement of {better.id}")
    return LeftOutEntry(entry.id, "same", f"says the same as {better.id}")


def _text(entry: Entry) -> str:
    return f"{entry.title}\n{entry.description}\n{entry.context}"
