"""Arrange ranked results: by a reranker, by diversity, in groups of one parent, in pages, within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import replace
from functools import partial
from math import ceil, isfinite
from threading import Event
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from septet._core import tokenize
from septet.errors import printable
from septet.inputs.arguments import cut
from septet.model.entry import CHARS_A_TOKEN
from septet.model.results import Hit, Reranker
from septet.notes import Note
from septet.query.plan import MOST, SearchPlan
from septet.ranking.cuts import budgeted, diversified, likeness_of_words, ranged, relevance_of, word_set
from septet.ranking.pool import Candidate, json_text
from septet.ranking.score import RankedCandidate
from septet.search.federated import FederatedSearch, FixedMemory, PageRange
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


def arranged(
    plan: SearchPlan, scores: Sequence[float], hits: Sequence[Hit], likenesses: Likenesses | None
) -> Arrangement:
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
        received, note = _reranked(plan, hits[:top])
        reranked = dict(enumerate(received))
        order[: len(received)] = sorted(range(len(received)), key=lambda place: -received[place])
        notes += [] if note is None else [note]
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


def _reranked(plan: SearchPlan, hits: Sequence[Hit]) -> tuple[Sequence[float], Note | None]:
    """Return the reranker's scores of the first hits, and a note if it failed or did not score all in time."""
    assert plan.reranking is not None
    reranker, timeout_s = cast("Reranker", plan.reranking.function), plan.reranking.timeout_s
    if plan.deadline is not None:
        timeout_s = min(timeout_s, plan.deadline.left_s)
    query, received, late = plan.query.text, list[float](), Event()

    def ask() -> None:
        # User code: the return value may be of any type, and iterating it may raise.
        for score, _ in zip(reranker(query, hits), range(len(hits) + 1)):
            if late.is_set():
                return
            if not isfinite(number := float(score)):
                raise ValueError("it returned a score that is NaN or infinite")
            received.append(number)
        if len(received) != len(hits):
            raise ValueError(f"it returned another number of scores than the {len(hits)} hits")

    try:
        task = call_on_thread(ask, "septet-reranker")
    except RuntimeError as fault:
        return (), _failed(f"no thread to rerank on: {fault}")
    if not wait([task], timeout_s).done:
        late.set()
        scored = received[: len(hits)]
        if len(scored) == len(hits):
            return scored, None
        if not scored:
            return (), _failed(f"the reranker returned no scores within {timeout_s:.3g} s")
        cause = f"the reranker scored {len(scored)} of {len(hits)} hits within {timeout_s:.3g} s"
        return scored, Note("reranker_late", f"{cause}; these come first", "raise its timeout_s, or lower top")
    error = task.exception()
    if error is None:
        return received, None
    try:
        message = printable(cut(str(error)))
    except Exception:  # noqa: BLE001 - str() of a user's error may fail
        message = "no message"
    return (), _failed(f"the reranker failed: {type(error).__name__}: {message}")


def _failed(cause: str) -> Note:
    return Note("reranker_failed", f"{cause}; results are ordered by score", "check the reranker")


def grouped(
    search: FederatedSearch,
    query: int,
    ranked: Sequence[RankedCandidate],
    memories: Sequence[FixedMemory],
    limit: int | None,
    total: int,
) -> tuple[Sequence[RankedCandidate], Sequence[str], bool]:
    """Return the best candidate of each group, then all others, best first.

    Args:
        ranked: candidates above the minimum score, best first.
        limit: maximum groups; None for all.
        total: number of candidates, including those below the minimum score.

    Returns:
        The candidates; the group of each, the id of its parent or its own; and True if more candidates would not yield
        more of the requested groups.
    """
    groups = _groups(search, ranked, memories)
    ordered = [*dict.fromkeys(groups)]
    # One candidate below the minimum score means that all further ones are below it.
    full = any(len(answer.candidates[query].pool) >= search.plans[query].taken() for answer in search.answers)
    # A profile with `places` decides that many whatever the limit, so that results do not depend on it.
    minimum = limit if limit is None else max(limit, search.plans[query].places or 0)
    enough = minimum is None or len(ordered) >= minimum or not full or len(ranked) < total
    returned = frozenset(ordered[:limit])
    seen: set[str] = set()
    heads: list[int] = []
    others: list[int] = []
    for at, key in enumerate(groups):
        if key in returned:
            (others if key in seen else heads).append(at)
            seen.add(key)
    order = [*heads, *others]
    return [ranked[at] for at in order], [groups[at] for at in order], enough


def nested(hits: Sequence[Hit], keys: Sequence[str]) -> tuple[Hit, ...]:
    """Return the best hit of each group with the others as its parts; groups by their best scores."""
    groups: dict[str, list[Hit]] = {}
    for hit, key in zip(hits, keys):
        groups.setdefault(key, []).append(hit)
    # The token budget may have dropped the best of a group.
    ordered = sorted(groups.values(), key=lambda group: -group[0].score)
    return tuple(group[0] if len(group) == 1 else replace(group[0], parts=tuple(group[1:])) for group in ordered)


def _groups(search: FederatedSearch, ranked: Sequence[RankedCandidate], memories: Sequence[FixedMemory]) -> list[str]:
    """Return the group of each candidate."""
    rows: dict[int, list[int]] = {}
    for candidate in ranked:
        if candidate.position >= 0:
            rows.setdefault(candidate.tier, []).append(candidate.row)
    parents: dict[int, Mapping[int, str]] = {}
    for answer in search.answers:
        if tier_rows := rows.get(answer.place):
            keys = search.or_degrade(answer.place, partial(answer.session.groups, tier_rows), [""] * len(tier_rows))
            parents[answer.place] = dict(zip(tier_rows, keys))
    return [
        # A tier that failed has groups of one.
        parents[candidate.tier][candidate.row] or f"{candidate.tier}:{candidate.row}"
        if candidate.position >= 0
        else memories[-candidate.position - 1].entry.parent or memories[-candidate.position - 1].entry.id
        for candidate in ranked
    ]


class BudgetCut(NamedTuple):
    """Ranked results cut by a token budget.

    Attributes:
        places: positions of the results that fit, best first.
        left_out: positions of those that do not fit.
        costs: tokens of each ranked result.
        notes: a note if results do not fit.
    """

    places: Sequence[int]
    left_out: Sequence[int]
    costs: Sequence[int]
    notes: Sequence[Note]


def cost_of_scan(hit: Hit) -> int:
    """Return the tokens of a light result: characters / 4 of the texts in `Hit.to_dict`, rounded up."""
    texts = [value for value in hit.to_dict().values() if isinstance(value, str)]
    return ceil((sum(map(len, texts)) + len(json_text(hit.tags))) / CHARS_A_TOKEN)


def within_budget(plan: SearchPlan, costs: Sequence[int], scores: Sequence[float]) -> BudgetCut:
    """Cut ranked results by ``max_tokens`` of the plan, given the cost and the score of each."""
    maximum = plan.max_tokens or 0
    places, left_out = budgeted(plan.profile.cuts, costs, scores, maximum)
    spent = sum(costs[place] for place in places)
    if not left_out and spent <= maximum:
        return BudgetCut(places, left_out, costs, ())
    cause = f"max_tokens is {maximum}"
    if spent > maximum:
        cause += f", and the first result alone takes {spent}"
    if left_out:
        missing = sum(costs[place] for place in left_out)
        cause += f": no room for {len(left_out)} of the best {len(costs)} results, which would take {missing} more"
    cure = "raise max_tokens" if plan.mode == "scan" else "raise max_tokens, or ask with mode='scan' and load() fewer"
    return BudgetCut(places, left_out, costs, (Note("over_budget", cause, cure),))


#: Growth of candidates and of decided places per stage.
GROWTH = 4


def turned_to(
    page: PageRange,
    best: Sequence[RankedCandidate],
    keys: Sequence[str] | None,
    memories: Sequence[FixedMemory],
) -> tuple[Sequence[RankedCandidate], Sequence[str] | None]:
    """Return the results of a page and their groups."""
    places: dict[Hashable, list[int]] = {}
    for place, name in enumerate(names_of(best, keys, memories)):
        places.setdefault(name, []).append(place)
    decided = frozenset(page.decided)
    sequence = [*page.decided, *(name for name in places if name not in decided)]
    groups = [places[name] for name in sequence[page.first : page.last] if name in places]
    # The first of each group, then the others.
    positions = [group[0] for group in groups] + [place for group in groups for place in group[1:]]
    return [best[place] for place in positions], None if keys is None else [keys[place] for place in positions]


def search_page(
    plan: SearchPlan,
    search_stage: Callable[[SearchPlan, PageRange], FederatedSearch],
    names: Callable[[FederatedSearch], Sequence[Hashable]],
) -> FederatedSearch:
    """Return the search of the stage that decides the results of a plan with an offset; sets its ``page``.

    Pages neither overlap nor leave gaps. More candidates may change the order of the best. Therefore places are decided
    in stages: stage 0 reads the candidates of a search without an offset and decides its results (or the first
    `SearchPlan.places` if the profile has any, so that they do not depend on the limit); stage s reads 4^s times as
    many and decides the places up to 4^s times as many that no earlier stage decided. A place is the same on every
    page; the first page equals the search without an offset.

    Args:
        search_stage: searches the tiers for a stage.
        names: ranks the candidates and returns `names_of` the page.
    """
    size, end = plan.places or plan.most_hits, plan.offset + plan.most_hits
    decided: tuple[Hashable, ...] = ()
    started = None
    approximate: list[Note] = []
    while True:
        stage = PageRange(decided, len(decided), size)
        search = search_stage(plan, stage)
        search.page, search.started = stage, search.started if started is None else started
        started = search.started
        # Once every leg is exhausted, later stages find the same candidates.
        is_all = not any(len(answer.candidates[0].pool) >= search.plan.taken() for answer in search.answers)
        if end <= size or is_all or plan.candidates >= MOST:
            search.page = PageRange(decided, plan.offset, end)
            break
        try:
            more = tuple(dict.fromkeys(names(search)))
        except BaseException:
            search.close()
            raise
        decided += more
        if len(decided) < size:
            # The cuts leave no results for later places.
            search.page = PageRange(decided, plan.offset, len(decided))
            break
        approximate += (note for note in search.notes(0) if note.code == "approximate")
        search.close()
        size *= GROWTH
        plan = plan._replace(candidates=min(GROWTH * plan.candidates, MOST))
    # A deeper stage may be exact, but the places that an earlier one decided stay.
    for note in dict.fromkeys(approximate):
        if note not in search.notes(0):
            search.add_note(note)
    return search


def names_of(
    best: Sequence[RankedCandidate], keys: Sequence[str] | None, memories: Sequence[FixedMemory]
) -> Sequence[Hashable]:
    """Return a name for each result that is the same in all stages: its group, or its tier and row."""
    if keys is not None:
        return keys
    fixed = [(memory.tier, memory.entry.row) for memory in memories]
    return [
        (candidate.tier, candidate.row) if candidate.position >= 0 else fixed[-candidate.position - 1]
        for candidate in best
    ]
