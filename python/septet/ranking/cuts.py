"""Cuts: which of the ranked candidates leave the engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.entry import CHARS_A_TOKEN

if TYPE_CHECKING:
    from septet.ranking.pool import Candidate
    from septet.ranking.profile import Cuts

__all__ = ["budgeted", "guarded", "tokens_of"]


def guarded(cuts: Cuts, *, limit: int | None, matches: int) -> bool:
    """Say whether the small-corpus guard returns everything.

    It does when the caller named no limit, the full text found fewer than ``guard_below`` entries, and the default
    limit would drop more than half of them.
    """
    return limit is None and matches < cuts.guard_below and cuts.limit < matches / 2


def tokens_of(candidate: Candidate) -> int:
    """Return what a whole entry costs a token budget: characters / 4 of its text and tags, rounded up."""
    return math.ceil((candidate.to_entry().text_chars + len(candidate.tags_json)) / CHARS_A_TOKEN)


def budgeted(cuts: Cuts, ranked: Sequence[Candidate], best: float, max_tokens: int) -> int:
    """Return how many of the ranked candidates fit a token budget; at least one, even when it alone is too large."""
    if cuts.confident_score is not None and best >= cuts.confident_score:
        ranked = ranked[: cuts.confident_limit]
    spent = 0
    for place, candidate in enumerate(ranked):
        spent += tokens_of(candidate)
        if spent > max_tokens and place > 0:
            return place
    return len(ranked)
