"""Cuts: select the results among the ranked candidates, by number, tokens and dissimilarity to earlier ones."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from septet.model.entry import CHARS_A_TOKEN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.ranking.pool import Candidate
    from septet.ranking.profile import Cuts


def guarded(cuts: Cuts, *, limit: int | None, matches: int) -> bool:
    """Return True if the small-corpus guard (``guard_below`` of `Cuts`) returns all results."""
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
        confident = places and cuts.confident_score is not None and scores[places[0]] >= cuts.confident_score
        if confident and (place if cuts.budget == "stop" else len(places)) >= cuts.confident_limit:
            break
        fits = not stopped and spent + cost <= max_tokens
        if fits or (cuts.budget == "stop" and not places):
            places.append(place)
            spent += cost
        else:
            left_out.append(place)
            stopped = cuts.budget == "stop"
    return places, left_out


_DENSE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
#: Runs of scripts without spaces between words, and words of all other scripts; compiled on first use, in 3 ms.
_WORDS = f"([{_DENSE}]+)|[^\\W{_DENSE}]+"


def relevance_of(scores: Sequence[float]) -> NDArray[np.float64]:
    """Return scores ``(m,)``, best first, as fractions of the best, 0 to 1; all 0 if the best is 0 or less."""
    values = np.array(scores, dtype=np.float64)
    if not len(values) or values[0] <= 0:
        return np.zeros(len(values))
    relevance: NDArray[np.float64] = np.clip(values / values[0], 0.0, 1.0)
    return relevance


def ranged(scores: Sequence[float]) -> NDArray[np.float64]:
    """Return scores ``(m,)`` scaled linearly from 0, the lowest, to 1, the highest; all 1 if they are equal."""
    values = np.array(scores, dtype=np.float64)
    # Halved, because the span of two large floats may overflow.
    low, span = (values.min() / 2, values.max() / 2 - values.min() / 2) if len(values) else (0.0, 0.0)
    return (values / 2 - low) / span if span > 0 else np.ones(len(values))


def word_set(text: str) -> frozenset[str]:
    """Return the lower-case words of a text; single characters and pairs for Chinese, Japanese and Korean.

    A text without words is its only word, so that it resembles only itself.
    """
    words: set[str] = set()
    for match in re.finditer(_WORDS, text.lower()):
        word = match[0]
        if match[1] is None:
            words.add(word)
        else:
            words.update(word, map("".join, pairwise(word)))
    return frozenset(words or [text])


def likeness_of_words(words: Sequence[frozenset[str]], place: int) -> NDArray[np.float64]:
    """Return the Jaccard similarity of each set with the one at a place, 0 without words ``(m,)``."""
    reference, likeness = words[place], np.zeros(len(words))
    for at, other in enumerate(words):
        union = len(reference | other)
        likeness[at] = len(reference & other) / union if union else 0.0
    return likeness


def diversified(
    relevance: NDArray[np.float64], alike: Callable[[int], NDArray[np.float64]], most: int, diversity: float
) -> list[int]:
    """Return the places of candidates by maximal marginal relevance; the first of equal ones comes first.

    The next place has the highest ``lambda * relevance - (1 - lambda) * maximum likeness to the places before``, where
    ``lambda = 1 - diversity`` (Carbonell and Goldstein 1998: The use of MMR).

    Args:
        relevance: relevance of each candidate, 0 to 1, descending ``(m,)``.
        alike: returns the likeness of each candidate to the one at a place, 0 to 1 ``(m,)``.
        most: maximum number of places.
        diversity: from 0, order of relevance, to 1, order of dissimilarity.
    """
    available = np.ones(len(relevance), dtype=bool)
    nearest = np.zeros(len(relevance))
    order: list[int] = []
    while len(order) < min(most, len(relevance)):
        values = (1.0 - diversity) * relevance - diversity * nearest
        at = int(np.argmax(np.where(available, values, -np.inf)))
        order.append(at)
        available[at] = False
        nearest = np.maximum(nearest, alike(at))
    return order
