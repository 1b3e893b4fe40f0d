"""Cuts: select the results among the ranked candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.model.entry import CHARS_A_TOKEN

if TYPE_CHECKING:
    from septet.ranking.pool import Candidate
    from septet.ranking.profile import Cuts


def guarded(cuts: Cuts, *, limit: int | None, matches: int) -> bool:
    """Return True if the small-corpus guard returns all results.

    It does without an explicit limit, if fewer than ``guard_below`` entries match the full text, and the default limit
    would drop more than half of them.
    """
    return limit is None and matches < cuts.guard_below and cuts.limit < matches / 2


def tokens_of(candidate: Candidate) -> int:
    """Return the tokens of a full entry: characters / 4 of its text and tags, rounded up."""
    return math.ceil((candidate.to_entry().text_chars + len(candidate.tags_json)) / CHARS_A_TOKEN)


def budgeted(cuts: Cuts, costs: Sequence[int], scores: Sequence[float], max_tokens: int) -> tuple[list[int], list[int]]:
    """Cut ranked results by a token budget.

    Args:
        costs: tokens of each result, best first.
        scores: score of each result.

    Returns:
        The places that fit, and those that do not. Results cut by ``confident_limit`` are in neither.
    """
    places: list[int] = []
    left_out: list[int] = []
    spent, stopped = 0, False
    for place, cost in enumerate(costs):
        if places and (place if cuts.budget == "stop" else len(places)) >= _most(cuts, scores[places[0]]):
            break
        fits = not stopped and spent + cost <= max_tokens
        if fits or (cuts.budget == "stop" and not places):
            places.append(place)
            spent += cost
        else:
            left_out.append(place)
            stopped = cuts.budget == "stop"
    return places, left_out


def _most(cuts: Cuts, best: float) -> float:
    """Return the maximum number of results, given the best score."""
    confident = cuts.confident_score is not None and best >= cuts.confident_score
    return cuts.confident_limit if confident else math.inf
