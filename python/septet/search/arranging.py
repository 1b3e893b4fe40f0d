"""Reorder the best results: by a reranker, then by diversity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet._core import tokenize
from septet.errors import printable
from septet.inputs.arguments import cut
from septet.model.results import Hit
from septet.notes import Note
from septet.query.plan import Plan
from septet.ranking.diversity import diversified, likeness_of_words, ranged, relevance_of, word_set
from septet.ranking.pool import Candidate
from septet.search.federated import FederatedSearch
from septet.system.threads import call_on_thread


class Arrangement(NamedTuple):
    """The new order of the results.

    Attributes:
        places: positions of the results, first to last, cut at the limit.
        reranked: scores of the reranker by position.
        notes: reasons why a step was skipped or degraded.
    """

    places: Sequence[int]
    reranked: Mapping[int, float]
    notes: Sequence[Note]


class Likenesses:
    """Pairwise likeness of results: by vectors of the same model, else by words.

    Args:
        vectors: positions of the results with vectors and their unit vectors ``(m, d)``, by model.
        words: word set of each result; unused if all have vectors of one model.
        notes: notes on missing vectors.
    """

    def __init__(
        self,
        vectors: Mapping[str, tuple[NDArray[np.int64], NDArray[np.float64]]],
        words: Sequence[frozenset[str]],
        notes: Sequence[Note] = (),
    ) -> None:
        self._vectors, self._words, self.notes = vectors, words, notes

    def of(self, place: int) -> NDArray[np.float64]:
        """Return the likeness of each result to one, 0 to 1 ``(m,)``: cosine, or Jaccard similarity of the words."""
        likeness = likeness_of_words(self._words, place)
        for places, matrix in self._vectors.values():
            match = np.flatnonzero(places == place)
            if len(match):
                likeness[places] = np.clip(matrix @ matrix[match[0]], 0.0, 1.0)
        return likeness


def likenesses_of(
    search: FederatedSearch, query: int, tiers: Sequence[int], candidates: Sequence[Candidate]
) -> Likenesses | None:
    """Return the likenesses of a query's results, while the search is open; None without diversity."""
    if not search.plan.diversity:
        return None
    if search.plan.profile.cuts.likeness == "words":
        return Likenesses({}, [word_set(c.description or c.title) for c in candidates])
    place_of = {(tier, c.row): place for place, (tier, c) in enumerate(zip(tiers, candidates))}
    by_model: dict[str, tuple[list[int], list[NDArray[np.float64]]]] = {}
    for answer in search.answers:
        rows = [c.row for tier, c in zip(tiers, candidates) if tier == answer.place]
        read = partial(answer.session.vectors, query, rows)
        model, matrix = search.or_degrade(answer.place, read, ("", None)) if rows else ("", None)
        if matrix is None:
            continue
        places, vectors = by_model.setdefault(f"{model} ({matrix.shape[1]})", ([], []))
        for row, vector in zip(rows, matrix):
            if not np.isnan(vector[0]):
                places.append(place_of[answer.place, row])
                vectors.append(vector)
    matrices = {
        name: (np.array(places, dtype=np.int64), np.array(rows)) for name, (places, rows) in by_model.items() if places
    }
    missing = len(candidates) - sum(len(places) for places, _ in matrices.values())
    if not missing and len(matrices) < 2:
        return Likenesses(matrices, [frozenset()] * len(candidates))
    words = [frozenset(tokenize(f"{c.title} {c.description}")) for c in candidates]
    if not missing:
        return Likenesses(matrices, words)
    cause = f"{missing} of {len(candidates)} candidates have no vector: their likeness was measured by words"
    cure = "add entries with vector=, or open the vault with embedder="
    return Likenesses(matrices, words, (Note("diversity_by_words", cause, cure),))


def arranged(plan: Plan, scores: Sequence[float], hits: Sequence[Hit], likenesses: Likenesses | None) -> Arrangement:
    """Return the new order of the best results, for a plan with a depth.

    Args:
        scores: best first.
        hits: full hits for the reranker; empty without one.
        likenesses: None without diversity.
    """
    notes: list[Note] = [] if likenesses is None else [*likenesses.notes]
    order, reranked = list(range(len(scores))), dict[int, float]()
    if plan.reranking is not None and len(scores):
        top = min(plan.reranking.top, len(scores))
        outcome = _reranked(plan, hits[:top])
        if isinstance(outcome, Note):
            notes.append(outcome)
        else:
            reranked = dict(enumerate(outcome))
            order[:top] = sorted(range(top), key=lambda place: -outcome[place])
    limit = plan.most_hits
    if likenesses is None or len(order) < 2:
        return Arrangement(order[:limit], reranked, notes)
    if plan.deadline is not None and plan.deadline.passed:
        notes.append(Note("deadline", "timeout_s ran out: results were not diversified", "raise timeout_s"))
        return Arrangement(order[:limit], reranked, notes)
    # Scores of results that were not reranked are not comparable with the reranker's: these results stay last.
    head = order[: len(reranked)] if reranked else order
    scaled = ranged if reranked or plan.profile.cuts.likeness == "words" else relevance_of
    relevance = scaled([reranked[place] for place in head] if reranked else scores)
    pool = np.array(head)
    places = diversified(relevance, lambda i: likenesses.of(head[i])[pool], limit, plan.diversity)
    return Arrangement([*(head[i] for i in places), *order[len(head) :]][:limit], reranked, notes)


def _reranked(plan: Plan, hits: Sequence[Hit]) -> Sequence[float] | Note:
    """Return the reranker's score of each hit, or a note on its failure."""
    assert plan.reranking is not None
    reranker, _, timeout_s = plan.reranking
    if plan.deadline is not None:
        timeout_s = min(timeout_s, plan.deadline.left_s)
    query = plan.query.text

    def ask() -> Sequence[float]:
        # User code: the return value may be of any type, and iterating it may raise.
        scores = [float(score) for score, _ in zip(reranker(query, hits), range(len(hits) + 1))]
        if len(scores) != len(hits):
            raise ValueError(f"it returned another number of scores than the {len(hits)} hits")
        if not np.isfinite(scores).all():
            raise ValueError("it returned a score that is NaN or infinite")
        return scores

    try:
        task = call_on_thread(ask, "septet-reranker")
    except RuntimeError as fault:
        return _failed(f"no thread to rerank on: {fault}")
    if not wait([task], timeout_s).done:
        return _failed(f"the reranker returned no scores within {timeout_s:.3g} s")
    error = task.exception()
    if error is None:
        return task.result()
    try:
        message = printable(cut(str(error)))
    except Exception:  # noqa: BLE001 - str() of a user's error may fail
        message = "no message"
    return _failed(f"the reranker failed: {type(error).__name__}: {message}")


def _failed(cause: str) -> Note:
    return Note("reranker_failed", f"{cause}; results are ordered by score", "check the reranker")
