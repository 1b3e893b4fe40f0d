"""The best results in another order: by a reranker, and unlike each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet._core import tokenize
from septet.inputs.arguments import cut, printable
from septet.model.results import Hit, Note
from septet.query.plan import Plan
from septet.ranking.diversity import diversified, likeness_of_words, ranged, relevance_of, word_set
from septet.ranking.pool import Candidate
from septet.search.federated import FederatedSearch
from septet.system.threads import call_on_thread

__all__ = ["Arranged", "Likenesses", "arranged", "likenesses_of"]


class Arranged(NamedTuple):
    """An order.

    Attributes:
        places: of the results, first to last; those beyond the limit are left out.
        given: what the reranker gave, by place.
        notes: what went wrong.
    """

    places: Sequence[int]
    given: Mapping[int, float]
    notes: Sequence[Note]


class Likenesses:
    """How much results are like each other: by their vectors of one model, and otherwise by their words.

    Args:
        vectors: by model the places of results with vectors, and these at unit length ``(m, d)``.
        words: of each result; not needed where all have vectors of one model.
        notes: what is missing.
    """

    def __init__(
        self,
        vectors: Mapping[str, tuple[NDArray[np.int64], NDArray[np.float64]]],
        words: Sequence[frozenset[str]],
        notes: Sequence[Note] = (),
    ) -> None:
        self._vectors, self._words, self.notes = vectors, words, notes

    def of(self, place: int) -> NDArray[np.float64]:
        """Return how much each result is like one, 0 to 1 ``(m,)``: cosine, or common words / all words (Jaccard)."""
        likeness = likeness_of_words(self._words, place)
        for places, matrix in self._vectors.values():
            found = np.flatnonzero(places == place)
            if len(found):
                likeness[places] = np.clip(matrix @ matrix[found[0]], 0.0, 1.0)
        return likeness


def likenesses_of(
    search: FederatedSearch, query: int, tiers: Sequence[int], whole: Sequence[Candidate]
) -> Likenesses | None:
    """Return how much the results of a query are like each other, while the search is open; None if nobody asks."""
    if not search.plan.diversity:
        return None
    if search.plan.profile.cuts.likeness == "words":
        return Likenesses({}, [word_set(one.description or one.title) for one in whole])
    place_of = {(tier, one.row): place for place, (tier, one) in enumerate(zip(tiers, whole))}
    found: dict[str, tuple[list[int], list[NDArray[np.float64]]]] = {}
    for answer in search.answers:
        rows = [one.row for tier, one in zip(tiers, whole) if tier == answer.place]
        ask = partial(answer.session.vectors, query, rows)
        model, matrix = search.or_degrade(answer.place, ask, ("", None)) if rows else ("", None)
        if matrix is None:
            continue
        places, vectors = found.setdefault(f"{model} ({matrix.shape[1]})", ([], []))
        for row, vector in zip(rows, matrix):
            if not np.isnan(vector[0]):
                places.append(place_of[answer.place, row])
                vectors.append(vector)
    known = {name: (np.array(at, dtype=np.int64), np.array(rows)) for name, (at, rows) in found.items() if at}
    without = len(whole) - sum(len(at) for at, _ in known.values())
    if not without and len(known) < 2:
        return Likenesses(known, [frozenset()] * len(whole))
    words = [frozenset(tokenize(f"{one.title} {one.description}")) for one in whole]
    if not without:
        return Likenesses(known, words)
    cause = f"{without} of {len(whole)} candidates have no vector: how alike they are was told by their words"
    cure = "add entries with vector=, or open the vault with embedder="
    return Likenesses(known, words, (Note("diversity_by_words", cause, cure),))


def arranged(plan: Plan, scores: Sequence[float], hits: Sequence[Hit], alike: Likenesses | None) -> Arranged:
    """Return the order of the best results of a plan with a depth.

    Args:
        scores: best first.
        hits: whole ones, where there is a reranker.
        alike: how much they are like each other, where that counts.
    """
    notes: list[Note] = [] if alike is None else [*alike.notes]
    order, given = list(range(len(scores))), dict[int, float]()
    if plan.reranking is not None and len(scores):
        top = min(plan.reranking.top, len(scores))
        found = _reranked(plan, hits[:top])
        if isinstance(found, Note):
            notes.append(found)
        else:
            given = dict(enumerate(found))
            order[:top] = sorted(range(top), key=lambda place: -found[place])
    most = plan.most_hits
    if alike is None or len(order) < 2:
        return Arranged(order[:most], given, notes)
    if plan.deadline is not None and plan.deadline.passed:
        notes.append(Note("deadline", "timeout_s was over: results may be like each other", "raise timeout_s"))
        return Arranged(order[:most], given, notes)
    # Those that were not reranked have no score that compares with the others': they stay behind.
    first = order[: len(given)] if given else order
    scaled = ranged if given or plan.profile.cuts.likeness == "words" else relevance_of
    relevance = scaled([given[place] for place in first] if given else scores)
    at = np.array(first)
    places = diversified(relevance, lambda i: alike.of(first[i])[at], most, plan.diversity)
    return Arranged([*(first[i] for i in places), *order[len(first) :]][:most], given, notes)


def _reranked(plan: Plan, hits: Sequence[Hit]) -> Sequence[float] | Note:
    """Return what the reranker gives the hits, or why it gives nothing."""
    assert plan.reranking is not None
    reranker, _, timeout_s = plan.reranking
    if plan.deadline is not None:
        timeout_s = min(timeout_s, plan.deadline.left_s)
    query = plan.query.text

    def ask() -> Sequence[float]:
        # What comes back may be anything, and do anything when it is read.
        scores = [float(score) for score, _ in zip(reranker(query, hits), range(len(hits) + 1))]
        if len(scores) != len(hits):
            raise ValueError(f"it gave another number of scores than the {len(hits)} of the hits")
        if not np.isfinite(scores).all():
            raise ValueError("it gave a score that is NaN or infinite")
        return scores

    try:
        task = call_on_thread(ask, "septet-reranker")
    except RuntimeError as fault:
        return _failed(f"no thread to rerank on: {fault}")
    if not wait([task], timeout_s).done:
        return _failed(f"the reranker had no scores after {timeout_s:.3g} s")
    error = task.exception()
    if error is None:
        return task.result()
    try:
        said = printable(cut(str(error)))
    except Exception:  # noqa: BLE001 - an error of the caller's may fail to say what it is
        said = "it does not say why"
    return _failed(f"the reranker failed: {type(error).__name__}: {said}")


def _failed(cause: str) -> Note:
    return Note("reranker_failed", f"{cause}; the order is that of the scores", "see to the reranker")
