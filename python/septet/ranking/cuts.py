"""Cuts: which of the ranked candidates leave the engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.model.entry import CHARS_A_TOKEN

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


def budgeted(cuts: Cuts, costs: Sequence[int], scores: Sequence[float], max_tokens: int) -> tuple[list[int], list[int]]:
    """Cut ranked results by a token budget.

    Args:
        costs: what each result takes, best first, in tokens.
        scores: their scores.

    Returns:
        The places that are kept, and those that the budget left out. What a confident best made unnecessary is neither.
    """
    kept: list[int] = []
    left_out: list[int] = []
    spent, stopped = 0, False
    for place, cost in enumerate(costs):
        if kept and (place if cuts.budget == "stop" else len(kept)) >= _most(cuts, scores[kept[0]]):
            break
        fits = not stopped and spent + cost <= max_tokens
        if fits or (cuts.budget == "stop" and not kept):
            kept.append(place)
            spent += cost
        else:
            left_out.append(place)
            stopped = cuts.budget == "stop"
    return kept, left_out


def _most(cuts: Cuts, best: float) -> float:
    """Return how many results are enough when the first of them has this score."""
    confident = cuts.confident_score is not None and best >= cuts.confident_score
    return cuts.confident_limit if confident else math.inf
