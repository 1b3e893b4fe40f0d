"""From queries to results: recall, merge, rank, links, cuts, and the entries that are returned."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from septet._core import Ranking
from septet.errors import StoreError
from septet.model.entry import entries_of
from septet.model.results import Hit, Note, Results, TierReport, hits_of
from septet.query.plan import MOST, Plan
from septet.ranking.adaptive import weights_of
from septet.ranking.cuts import guarded, tokens_of
from septet.ranking.pool import Candidate, Pool
from septet.ranking.profile import WeightSet
from septet.ranking.score import Placed, rank
from septet.search.federated import (
    FederatedSearch,
    Page,
    matched_by,
    memories_of,
    mismatches,
    next_attempt,
    query_notes,
    total_of,
)
from septet.search.merge import merged
from septet.tiers.protocol import Recalled, SearchAgain, Tier, TierLost

if TYPE_CHECKING:
    from septet.search.arranging import Likenesses
    from septet.search.budget import Budgeted
    from septet.search.tier_threads import TierThreads

__all__ = ["NO_VALUES", "Ranked", "arranged", "budget_of", "likenesses_of", "parts", "ranked", "read", "recalled"]
__all__ += ["recalled_alone", "results_of", "run"]

NOTHING: Sequence[Note] = ()
NO_GUESSES: Mapping[str, str] = MappingProxyType({})
#: The raw values of what was compared with nothing.
NO_VALUES: Mapping[str, float | None] = {"cosine": None, "bm25": None, "tfidf": None}
#: When groups are missing, each leg takes so many times the candidates.
GROWTH = 4

#: Whole candidates by place of tier and row.
Read: TypeAlias = Mapping[int, Mapping[int, Candidate]]


class Ranked(NamedTuple):
    """Everything a search knows of one query.

    Attributes:
        best: the candidates that are left after floor, guard and limit, best first; memories have position -1, -2, …
        memories: the memories with the place of their tier.
        notes: what there is to say of the query.
        mismatches: what there is to say of its vector.
        keys: the groups of ``best``, whose first come before all others; None without groups.
        enough: more candidates would not make more groups.
        guesses: for words of the query that no tier holds, words that may be meant.
    """

    query: int
    plan: Plan
    ranking: Ranking
    best: Sequence[Placed]
    memories: Sequence[tuple[int, Candidate]]
    notes: Sequence[Note]
    mismatches: Sequence[Note]
    keys: Sequence[str] | None = None
    enough: bool = True
    guesses: Mapping[str, str] = NO_GUESSES

    def tier(self, placed: Placed) -> int:
        """Return the place of the tier of a candidate."""
        return placed[1] if placed[0] >= 0 else self.memories[-placed[0] - 1][0]


def run(tiers: Sequence[Tier], plans: Sequence[Plan], threads: TierThreads | None = None) -> list[Results]:
    """Search the tiers for each query and return the results of each.

    Args:
        tiers: from the highest priority to the lowest.
        plans: one for each query; they differ in query, query vector and notes only.
        threads: search slow tiers side by side; None searches one after the other.

    Raises:
        SeptetError: every tier failed; with at least one answer, failures become notes.
        VectorError: a query vector fits no tier.
    """
    attempts = 1
    while True:
        try:
            # As `Plan.alone` says, most often without a call.
            first = plans[0]
            if first.group_by or first.offset or (2 * (first.limit or 0) > first.candidates and first.is_deep):
                return [results_of(recalled_alone(tiers, plan, threads))[0] for plan in plans]
            return results_of(recalled(FederatedSearch(tiers, plans), threads))
        except SearchAgain as fault:
            attempts = next_attempt(attempts, fault)


def recalled(search: FederatedSearch, threads: TierThreads | None = None) -> FederatedSearch:
    """Return the search with the candidates of every tier, the first half of `run`; after an error it is closed."""
    try:
        search.recall(threads)
    except BaseException:
        search.close()
        raise
    return search


def recalled_alone(tiers: Sequence[Tier], plan: Plan, threads: TierThreads | None = None) -> FederatedSearch:
    """Do the same for a plan that may take several searches: with groups, or an offset."""

    def of_stage(plan: Plan, page: Page | None = None) -> FederatedSearch:
        if plan.group_by is None:
            return recalled(FederatedSearch(tiers, [plan]), threads)
        return recalled_groups(tiers, plan, threads, page)

    if not (plan.offset or plan.is_deep):
        return of_stage(plan)
    # Most searches want the first results.
    from septet.search.pages import names_of, recalled_page

    def names(search: FederatedSearch) -> Sequence[Hashable]:
        one = search.with_all_left(lambda one: ranked(one, 0))
        return names_of(one.best, one.keys, one.memories)

    return recalled_page(plan, of_stage, names)


def recalled_groups(
    tiers: Sequence[Tier], plan: Plan, threads: TierThreads | None = None, page: Page | None = None
) -> FederatedSearch:
    """Recall so many candidates that the groups wanted, all of the page, are among them if they exist."""
    started = None
    while True:
        search = recalled(FederatedSearch(tiers, [plan]), threads)
        search.page = page
        search.started = started = search.started if started is None else started
        try:
            enough = search.with_all_left(lambda one: ranked(one, 0)).enough or plan.candidates >= MOST or _late(plan)
        except BaseException:
            search.close()
            raise
        if enough:
            return search
        search.close()
        plan = plan._replace(candidates=min(GROWTH * plan.candidates, MOST))


def _completed(search: FederatedSearch, pool: Pool) -> Pool:
    # Few profiles need it.
    from septet.search.attributes import completed

    return completed(search, pool, search.plan.profile)


def _late(plan: Plan) -> bool:
    """Whether the search must answer with what it has."""
    return plan.deadline is not None and plan.deadline.passed


def results_of(search: FederatedSearch) -> list[Results]:
    """Rank what was recalled, read what is returned, and close the search: the second half of `run`."""
    try:
        all_ranked = [ranked(search, query) for query in range(len(search.plans))]
        if search.plan.filters and 0 in [len(one.ranking.pool) for one in all_ranked]:
            from septet.search.emptied import reasons

            why = reasons(search)
            all_ranked = [one if one.best else one._replace(notes=[*one.notes, *why]) for one in all_ranked]
        candidates = read(search, all_ranked)
        if search.plan.facets:
            # Few searches count what they match.
            from septet.search.facets import facets_of_all

            search.facets = facets_of_all(search)
        if search.stages is not None:
            search.stages.mark("read")
        found = None
        if search.plan.depth is None:
            found = [_results(search, one, candidates) for one in all_ranked]
        else:
            alike = [likenesses_of(search, one, candidates) for one in all_ranked]
            reports = [search.reports(one.query) for one in all_ranked]
    except TierLost as lost:
        return results_of(search.without(lost))
    except (StoreError, ValueError, TypeError, ArithmeticError) as fault:
        search.recover(fault)
        raise
    finally:
        search.close()
        if search.stages is not None:
            search.stages.mark("hits")
    if found is None:
        # A reranker may take long, and may read the vaults itself.
        again = [arranged(search, one, candidates, own) for one, own in zip(all_ranked, alike)]
        found = [_results(search, one, candidates, own) for one, own in zip(again, reports)]
    for at, one in enumerate(all_ranked):
        if one.guesses and found[at].total == 0 and not found[at].hits:
            from septet.search.typos import corrected

            found[at] = corrected(search.tiers, search.started, one.plan, one.guesses, found[at], run)
    return found


def likenesses_of(search: FederatedSearch, one: Ranked, candidates: Read) -> Likenesses | None:
    """Return how much the best are like each other, for a plan with a depth, while the search is open."""
    from septet.search.arranging import likenesses_of

    return likenesses_of(search, one.query, [one.tier(placed) for placed in one.best], _whole(one, candidates))


def arranged(search: FederatedSearch, one: Ranked, candidates: Read, alike: Likenesses | None) -> Ranked:
    """Return what was ranked with the best in another order, for a plan with a depth; the search may be closed."""
    from septet.search.arranging import arranged

    plan, best = one.plan, list(one.best)
    whole = one._replace(plan=plan._replace(mode="full"))
    hits = () if plan.reranking is None else _hits(search, whole, best, _whole(one, candidates))
    found = arranged(plan, [placed[3] for placed in best], hits, alike)
    for place, score in found.given.items():
        best[place] = (*best[place][:7], {**(best[place][7] or NO_VALUES), "reranker": score})
    return one._replace(best=[best[place] for place in found.places], notes=[*one.notes, *found.notes])


def ranked(search: FederatedSearch, query: int) -> Ranked:
    """Rank every candidate of a query and cut by score, guard and limit."""
    plan, answers = search.plans[query], search.answers
    recalled = [answer.recalled[query] for answer in answers]
    mode: WeightSet = "text"
    unknown = False
    for found in recalled:
        if found.with_vectors:
            mode = "hybrid"
        if found.guesses:
            unknown = True
    feedback = search.feedback()
    weights = weights_of(plan.profile, mode, feedback).values if feedback else plan.profile.weights[mode]
    pool = recalled[0].pool
    if len(recalled) > 1:
        pool = merged(search, query, [found.pool for found in recalled])
        if search.stages is not None:
            search.stages.mark("merge")
    if plan.profile.asks_store:
        pool = _completed(search, pool)
    taken = plan.taken() if plan.profile.takes_top else None
    ranking = rank(pool, plan.profile, weights, now=plan.now, domain=plan.domain, least=plan.min_score, taken=taken)
    if search.stages is not None:
        search.stages.mark("rank")
    late, guesses = NOTHING, _guesses(recalled) if unknown else NO_GUESSES
    if search.linked and "graph" in plan.profile.columns and len(pool):
        if _late(plan):
            late = (Note("deadline", "timeout_s was over: links were not followed", "raise timeout_s"),)
        else:
            # Most vaults hold no links.
            from septet.search.graph import with_graph

            ranking = with_graph(search, query, ranking, weights)
            if search.stages is not None:
                search.stages.mark("graph")
    memories = memories_of(search, query, ranking) if plan.include_memories else []
    most: int | None = plan.limit
    if most is None:
        matches = sum([found.matches for found in recalled])
        cuts = plan.profile.cuts
        most = None if guarded(cuts, limit=None, matches=matches) else cuts.limit
    page = search.page
    best = ranking.best(
        None if plan.group_by is not None else plan.depth or most if page is None else page.most,
        least=plan.min_score,
        least_confidence=plan.min_confidence,
        memories=len(memories),
        memory_score=plan.profile.memory_score or 0.0,
    )
    notes = [*query_notes(plan, guesses, recalled), *late]
    one = Ranked(query, plan, ranking, best, memories, notes, mismatches(search, query, mode), guesses=guesses)
    if plan.group_by is not None:
        # Most searches have no groups.
        from septet.search.groups import grouped

        most = most if page is None else page.most
        groups = grouped(search, query, best, memories, most, len(ranking.pool) + len(memories))
        one = one._replace(best=groups.best, keys=groups.keys, enough=groups.enough)
    return one if page is None else _turned(page, one)


def _guesses(recalled: Sequence[Recalled]) -> Mapping[str, str]:
    # Most queries hold no word that nobody wrote.
    from septet.search.typos import guessed

    return guessed(recalled)


def _turned(page: Page, one: Ranked) -> Ranked:
    from septet.search.pages import turned_to

    shown, keys = turned_to(page, one.best, one.keys, one.memories)
    return one._replace(best=shown, keys=keys)


def read(search: FederatedSearch, all_ranked: Sequence[Ranked]) -> Read:
    """Return the candidates that were ranked, whole, by place of tier and row."""
    rows: dict[int, dict[int, None]] = {}
    for one in all_ranked:
        for at, tier, row, *_ in one.best:
            if at >= 0:
                if tier not in rows:
                    rows[tier] = {}
                rows[tier][row] = None
    found = {}
    for answer in search.answers:
        if answer.place in rows:
            wanted = list(rows[answer.place])
            found[answer.place] = dict(zip(wanted, answer.session.read(wanted)))
    return found


def budget_of(search: FederatedSearch, one: Ranked, candidates: Read) -> Budgeted | None:
    """Return what the token budget leaves of the best candidates; None without a budget."""
    plan = one.plan
    if plan.max_tokens is None:
        return None
    # Most searches have no budget.
    from septet.search.budget import cost_of_scan, within_budget

    whole = _whole(one, candidates)
    scores = [placed[3] for placed in one.best]
    if plan.mode == "scan":
        return within_budget(plan, [cost_of_scan(hit) for hit in _hits(search, one, one.best, whole)], scores)
    return within_budget(plan, [tokens_of(candidate) for candidate in whole], scores)


def parts(one: Ranked, placed: Placed) -> tuple[dict[str, float], dict[str, float | None]]:
    """Return weight x signal and the raw signals of a candidate, by signal."""
    score, breakdown, signals = placed[3:6]
    if breakdown is None or signals is None:
        return {"memory": score}, dict.fromkeys(one.ranking.names)
    return breakdown, signals


def _whole(one: Ranked, candidates: Read) -> list[Candidate]:
    memories = one.memories
    return [candidates[tier][row] if at >= 0 else memories[-at - 1][1] for at, tier, row, *_ in one.best]


def _hits(search: FederatedSearch, one: Ranked, best: Sequence[Placed], whole: Sequence[Candidate]) -> tuple[Hit, ...]:
    tiers = search.tiers
    scored = []
    for placed in best:
        _, tier, _, score, breakdown, signals, confidence, raw = placed
        if breakdown is None or signals is None:
            tier = one.tier(placed)
            breakdown, signals = parts(one, placed)
        scored.append((score, tiers[tier].name, breakdown, signals, confidence, raw or NO_VALUES))
    query, rules = one.plan.query, one.plan.profile.text
    sought = ((), query.terms, False) if query.steps else (query.terms, query.begun, query.grams)
    full, around, chars = one.plan.mode == "full", rules.snippet == "match", rules.snippet_chars
    return hits_of(entries_of(whole), scored, full=full, sought=sought, around=around, snippet_chars=chars)


def _results(
    search: FederatedSearch, one: Ranked, candidates: Read, reports: tuple[TierReport, ...] | None = None
) -> Results:
    plan = one.plan
    best, whole, keys, cut = one.best, _whole(one, candidates), one.keys, NOTHING
    if plan.max_tokens is not None and (left := budget_of(search, one, candidates)) is not None:
        best, whole, cut = [best[at] for at in left.places], [whole[at] for at in left.places], left.notes
        keys = None if keys is None else [keys[at] for at in left.places]
    hits = _hits(search, one, best, whole)
    if keys is not None:
        from septet.search.groups import nested

        hits = nested(hits, keys)
    return Results(
        hits=hits,
        query=plan.query.text if plan.web is None else plan.web.query,
        profile=plan.profile.name,
        mode=plan.mode,
        weights=one.ranking.named_weights(),
        confidence=one.ranking.confidence,
        notes=(*one.notes, *search.notes(one.query, one.mismatches), *cut),
        tiers=search.reports(one.query) if reports is None else reports,
        took_ms=(time.perf_counter() - search.started) * 1e3,
        total=total_of(search, one.query, plan),
        offset=plan.offset,
        facets=search.facets[one.query] if search.facets else {},
        understood=None if plan.web is None else plan.web.told(),
        matched_by=None if not plan.query.steps else matched_by(plan, [a.recalled[one.query] for a in search.answers]),
    )
