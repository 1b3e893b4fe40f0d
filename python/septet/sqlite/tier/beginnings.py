"""Beginnings of words, completed from the words in memory."""

from __future__ import annotations

from collections.abc import Sequence

from septet.query.plan import Plan
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.tiers import begun

__all__ = ["completed"]


def completed(plans: Sequence[Plan], snapshot: Snapshot) -> Sequence[Plan]:
    """Return plans of beginnings of words with the words of a snapshot; where these are not in memory, as they are."""
    if snapshot.postings is None:
        return plans

    def words_from(beginnings: Sequence[str]) -> dict[str, list[str]]:
        """Return the words of the snapshot that begin with letters, by these."""
        found = {some: snapshot.corpus.words_from(some, begun.MOST) or () for some in beginnings}
        return {some: [word for word, _, _ in words] for some, words in found.items()}

    return begun.completed(plans, words_from)
