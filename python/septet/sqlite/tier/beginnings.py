"""Prefixes of words, expanded to the indexed words in memory."""

from __future__ import annotations

from collections.abc import Sequence

from septet.query.plan import Plan
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.tiers import begun


def completed(plans: Sequence[Plan], snapshot: Snapshot) -> Sequence[Plan]:
    """Add the indexed words of prefixes to plans; return them unchanged if full text is not in memory."""
    if snapshot.postings is None:
        return plans

    def words_from(beginnings: Sequence[str]) -> dict[str, list[str]]:
        """Return the indexed words by prefix."""
        matches = {prefix: snapshot.corpus.words_from(prefix, begun.MOST) or () for prefix in beginnings}
        return {prefix: [word for word, _, _ in words] for prefix, words in matches.items()}

    return begun.completed(plans, words_from)
