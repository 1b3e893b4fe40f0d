"""Search queries: find candidates, merge, rank, follow links, cut, and read the returned entries."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from septet._core import Ranking
from septet.errors import StoreError
from septet.model.entry import entries_of
from septet.model.results import Hit, Results, TierReport, hits_of
from septet.notes import Note
from septet.query.plan import MOST, SearchPlan
from septet.ranking.cuts import guarded, tokens_of
from septet.ranking.pool import Candidate
from septet.ranking.profile import WeightSet
from septet.ranking.score import RankedCandidate, named, rank, weights_of
from septet.search.federated import (
    FederatedSearch,
    FixedMemory,
    PageRange,
    matched_by,
    memories_of,
    mismatches,
    next_attempt,
    query_notes,
    total_of,
)
from septet.search.merge import completed, facets_of_all, merged, with_graph
from septet.system.records import NamedTuple
from septet.tiers.protocol import SearchAgain, Tier, TierCandidates, TierLost

if TYPE_CHECKING:
    from septet.search.arranging import BudgetCut, Likenesses
    from septet.search.threads import TierThreads

NOTHING: Sequence[Note] = ()
NO_GUESSES: Mapping[str, str] = MappingProxyType({})
#: Raw values of a memory, which has a fixed score.
NO_VALUES: Mapping[str, float | None] = {"cosine": None, "bm25": None, "tfidf": None}
#: Growth of the candidates per retry, when groups are missing.
GROWTH = 4

#: Full candidates by place of tier and row.
Read: TypeAlias = Mapping[int, Mapping[int, Candidate]]


class RankedQuery(NamedTuple):
    """Ranking of one query.

    Attributes:
        best: candidates after floor, guard and limit, best first; memories have position -1, -2, …
        memories: memories with the place of their tier.
        notes: notes on the query.
        mismatches: notes on its vector.
        keys: groups of ``best``, the first of each group before all others; None without groups.
        enough: True if more candidates would not yield more groups.
        guesses: corrections of words of the query that no tier contains.
    """

    query: int
    plan: SearchPlan
    ranking: Ranking
    best: Sequence[RankedCandidate]
    memories: Sequence[FixedMemory]
    notes: Sequence[Note]
    mismatches: Sequence[Note]
    keys: Sequence[str] | None = None
    enough: bool = True
    guesses: Mapping[str, str] = NO_GUESSES

    def tier(self, candidate: RankedCandidate) -> int:
        """Return the place of the tier of a candidate."""
        return candidate.tier if candidate.position >= 0 else self.memories[-candidate.position - 1].tier


def run(tiers: Sequence[Tier], plans: Sequence[SearchPlan], threads: TierThreads | None = None) -> list[Results]:
    """Search the tiers for each query and return the results of each.

    Args:
        tiers: from the highest priority to the lowest.
        plans: one for each query; they differ in query, query vector and notes only.
        threads: for searching slow tiers in parallel; None searches sequentially.

    Raises:
        SeptetError: every tier failed; with at least one answer, failures become notes.
        VectorError: a query vector fits no tier.
    """
    attempts = 1
    while True:
        try:
            # `SearchPlan.alone`, inlined.
            first = plans[0]
            if first.group_by or first.offset or (2 * (first.limit or 0) > first.candidates and first.is_deep):
                return [results_of(search_alone(tiers, plan, threads))[0] for plan in plans]
            return results_of(FederatedSearch(tiers, plans).find_candidates(threads))
        except SearchAgain as fault:
            attempts = next_attempt(attempts, fault)


def search_alone(tiers: Sequence[Tier], plan: SearchPlan, threads: TierThreads | None = None) -> FederatedSearch:
    """Find the candidates of one plan that may need several searches: with groups, or an offset."""

    def of_stage(plan: SearchPlan, page: PageRange | None = None) -> FederatedSearch:
        if plan.group_by is None:
            return FederatedSearch(tiers, [plan]).find_candidates(threads)
        return search_groups(tiers, plan, threads, page)

    if not (plan.offset or plan.is_deep):
        return of_stage(plan)
    # Imported here: most searches have no offset.
    from septet.search.arranging import names_of, search_page

    def names(search: FederatedSearch) -> Sequence[Hashable]:
        result = search.with_remaining(lambda remaining: ranked(remaining, 0))
        return names_of(result.best, result.keys, result.memories)

    return search_page(plan, of_stage, names)


def search_groups(
    tiers: Sequence[Tier], plan: SearchPlan, threads: TierThreads | None = None, page: PageRange | None = None
) -> FederatedSearch:
    """Find enough candidates for all groups of the page, if that many groups exist."""
    started = None
    while True:
        search = FederatedSearch(tiers, [plan]).find_candidates(threads)
        search.page = page
        search.started = started = search.started if started is None else started
        try:
            result = search.with_remaining(lambda remaining: ranked(remaining, 0))
        except BaseException:
            search.close()
            raise
        if result.enough or plan.candidates >= MOST or _late(plan):
            return search
        search.close()
        plan = plan._replace(candidates=min(GROWTH * plan.candidates, MOST))


def _late(plan: SearchPlan) -> bool:
    """Return True if the deadline has passed."""
    return plan.deadline is not None and plan.deadline.passed


def results_of(search: FederatedSearch) -> list[Results]:
    """Rank the candidates, read the best, and close the search: the second half of `run`."""
    try:
        all_ranked = [ranked(search, query) for query in range(len(search.plans))]
        if search.plan.filters and 0 in [len(result.ranking.pool) for result in all_ranked]:
            from septet.search.fallbacks import reasons

            causes = reasons(search)
            all_ranked = [r if r.best else r._replace(notes=[*r.notes, *causes]) for r in all_ranked]
        candidates = read(search, all_ranked)
        if search.plan.profile.text.conversation and search.plan.depth is None and not search.plan.offset:
            all_ranked = [current(result, candidates) for result in all_ranked]
        if search.plan.facets:
            search.facets = facets_of_all(search)
        if search.stages is not None:
            search.stages.mark("read")
        results = None
        if search.plan.depth is None:
            results = [_results(search, result, candidates) for result in all_ranked]
        else:
            likenesses = [likenesses_of(search, result, candidates) for result in all_ranked]
            reports = [search.reports(result.query) for result in all_ranked]
    except TierLost as lost:
        return results_of(search.without(lost))
    except (StoreError, ValueError, TypeError, ArithmeticError) as fault:
        search.recover(fault)
        raise
    finally:
        search.close()
        if search.stages is not None:
            search.stages.mark("hits")
    if results is None:
        # With the search closed: a reranker may be slow, and may read the vaults itself.
        rearranged = [arranged(search, result, candidates, alike) for result, alike in zip(all_ranked, likenesses)]
        results = [_results(search, result, candidates, report) for result, report in zip(rearranged, reports)]
    for at, result in enumerate(all_ranked):
        if result.guesses and results[at].total == 0 and not results[at].hits:
            from septet.search.fallbacks import corrected

            results[at] = corrected(search.tiers, search.started, result.plan, result.guesses, results[at], run)
    return results


def likenesses_of(search: FederatedSearch, result: RankedQuery, candidates: Read) -> Likenesses | None:
    """Return the likenesses of the best, for a plan with a depth, while the search is open."""
    from septet.search.arranging import likenesses_of

    tiers = [result.tier(candidate) for candidate in result.best]
    return likenesses_of(search, result.query, tiers, _whole(result, candidates))


def arranged(search: FederatedSearch, result: RankedQuery, candidates: Read, alike: Likenesses | None) -> RankedQuery:
    """Return the ranking with the best rearranged, for a plan with a depth; the search may be closed."""
    from septet.search.arranging import arranged

    plan, best = result.plan, list(result.best)
    whole = result._replace(plan=plan._replace(mode="full"))
    hits = () if plan.reranking is None else _hits(search, whole, best, _whole(result, candidates))
    arrangement = arranged(plan, [candidate.score for candidate in best], hits, alike)
    for place, score in arrangement.reranked.items():
        best[place] = best[place]._replace(raw={**(best[place].raw or NO_VALUES), "reranker": score})
    notes = [*result.notes, *arrangement.notes]
    return result._replace(best=[best[place] for place in arrangement.places], notes=notes)


def ranked(search: FederatedSearch, query: int) -> RankedQuery:
    """Rank every candidate of a query and cut by score, guard and limit."""
    plan = search.plans[query]
    answers = [reply.candidates[query] for reply in search.answers]
    mode: WeightSet = "text"
    misspelt = False
    for answer in answers:
        if answer.with_vectors:
            mode = "hybrid"
        misspelt = misspelt or bool(answer.guesses)
    feedback = search.feedback()
    weights = weights_of(plan.profile, mode, feedback).values if feedback else plan.profile.weights[mode]
    pool = answers[0].pool
    if len(answers) > 1:
        pool = merged(search, query, [answer.pool for answer in answers])
        if search.stages is not None:
            search.stages.mark("merge")
    if plan.profile.asks_store:
        pool = completed(search, pool, plan)
    taken = plan.taken() if plan.profile.takes_top else None
    ranking = rank(pool, plan.profile, weights, now=plan.now, domain=plan.domain, least=plan.min_score, taken=taken)
    if search.stages is not None:
        search.stages.mark("rank")
    late, guesses = NOTHING, _guesses(answers) if misspelt else NO_GUESSES
    if search.linked and "graph" in plan.profile.columns and len(pool):
        if _late(plan):
            late = (Note("deadline", "timeout_s ran out: links were not followed", "raise timeout_s"),)
        else:
            ranking = with_graph(search, query, ranking, weights)
            if search.stages is not None:
                search.stages.mark("graph")
    ranking = _with_turns(plan, ranking, weights) if "said_at" in ranking.pool.columns else ranking
    memories = memories_of(search, query, ranking) if plan.include_memories else []
    most: int | None = plan.limit
    if most is None:
        matches = sum([answer.matches for answer in answers])
        most = None if guarded(plan.profile.cuts, limit=None, matches=matches) else plan.profile.cuts.limit
    page = search.page
    rows = ranking.best(
        None if plan.group_by is not None else plan.depth or most if page is None else page.most,
        least=plan.min_score,
        least_confidence=plan.min_confidence,
        memories=len(memories),
        memory_score=plan.profile.memory_score or 0.0,
    )
    best: Sequence[RankedCandidate] = [*map(named, rows)]
    notes = [*query_notes(plan, guesses, answers), *late]
    result = RankedQuery(query, plan, ranking, best, memories, notes, mismatches(search, query, mode), guesses=guesses)
    if plan.group_by is not None:
        # Imported here: most searches have no groups.
        from septet.search.arranging import grouped

        most = most if page is None else page.most
        best, keys, enough = grouped(search, query, best, memories, most, len(ranking.pool) + len(memories))
        result = result._replace(best=best, keys=keys, enough=enough)
    if page is not None:
        from septet.search.arranging import turned_to

        best, turned = turned_to(page, result.best, result.keys, result.memories)
        result = result._replace(best=best, keys=turned)
    return result


def _with_turns(plan: SearchPlan, first: Ranking, weights: Mapping[str, float]) -> Ranking:
    # Imported here: few queries compare messages.
    from septet.search.turns import with_turns

    return with_turns(plan, first, weights)


def _guesses(answers: Sequence[TierCandidates]) -> Mapping[str, str]:
    # Imported here: most queries contain only indexed words.
    from septet.search.fallbacks import guessed

    return guessed(answers)


def read(search: FederatedSearch, all_ranked: Sequence[RankedQuery]) -> Read:
    """Read the ranked candidates in full, by place of tier and row."""
    rows: dict[int, dict[int, None]] = {}
    for result in all_ranked:
        for candidate in result.best:
            if candidate.position >= 0:
                if candidate.tier not in rows:
                    rows[candidate.tier] = {}
                rows[candidate.tier][candidate.row] = None
    whole = {}
    for answer in search.answers:
        if answer.place in rows:
            tier_rows = list(rows[answer.place])
            whole[answer.place] = dict(zip(tier_rows, answer.session.read(tier_rows)))
    return whole


def current(result: RankedQuery, candidates: Read) -> RankedQuery:
    """Return the ranking with newer messages before those whose facts they change; groups stay as they are."""
    # Imported here: few profiles are of conversations.
    from septet.search.current import current_order

    order = None if result.keys is not None else current_order(result.plan, _whole(result, candidates))
    return result if order is None else result._replace(best=[result.best[place] for place in order])


def budget_of(search: FederatedSearch, result: RankedQuery, candidates: Read) -> BudgetCut | None:
    """Cut the best candidates by the token budget; None without a budget."""
    plan = result.plan
    if plan.max_tokens is None:
        return None
    # Imported here: most searches have no budget.
    from septet.search.arranging import cost_of_scan, within_budget

    whole = _whole(result, candidates)
    scores = [candidate.score for candidate in result.best]
    if plan.mode == "scan":
        return within_budget(plan, [cost_of_scan(hit) for hit in _hits(search, result, result.best, whole)], scores)
    return within_budget(plan, [tokens_of(candidate) for candidate in whole], scores)


def parts(result: RankedQuery, candidate: RankedCandidate) -> tuple[dict[str, float], dict[str, float | None]]:
    """Return weight x signal and the signals of a candidate, by signal."""
    if candidate.breakdown is None or candidate.signals is None:
        return {"memory": candidate.score}, dict.fromkeys(result.ranking.names)
    return candidate.breakdown, candidate.signals


def _whole(result: RankedQuery, candidates: Read) -> list[Candidate]:
    memories = result.memories
    return [
        candidates[best.tier][best.row] if best.position >= 0 else memories[-best.position - 1].entry
        for best in result.best
    ]


def _hits(
    search: FederatedSearch, result: RankedQuery, best: Sequence[RankedCandidate], whole: Sequence[Candidate]
) -> tuple[Hit, ...]:
    tiers = search.tiers
    scored = []
    for candidate in best:
        _, tier, _, score, breakdown, signals, confidence, raw = candidate
        if breakdown is None or signals is None:
            tier = result.tier(candidate)
            breakdown, signals = parts(result, candidate)
        scored.append((score, tiers[tier].name, breakdown, signals, confidence, raw or NO_VALUES))
    query, rules = result.plan.query, result.plan.profile.text
    words = ((), query.terms, False) if query.steps else (query.terms, query.begun, query.grams)
    full, around, chars = result.plan.mode == "full", rules.snippet == "match", rules.snippet_chars
    return hits_of(entries_of(whole), scored, full=full, sought=words, around=around, snippet_chars=chars)


def _results(
    search: FederatedSearch, result: RankedQuery, candidates: Read, reports: tuple[TierReport, ...] | None = None
) -> Results:
    plan = result.plan
    best, whole, keys, budget_notes = result.best, _whole(result, candidates), result.keys, NOTHING
    if plan.max_tokens is not None and (budget := budget_of(search, result, candidates)) is not None:
        best, whole = [best[at] for at in budget.places], [whole[at] for at in budget.places]
        budget_notes = budget.notes
        keys = None if keys is None else [keys[at] for at in budget.places]
    hits = _hits(search, result, best, whole)
    if keys is not None:
        from septet.search.arranging import nested

        hits = nested(hits, keys)
    return Results(
        hits=hits,
        query=plan.query.text if plan.web is None else plan.web.query,
        profile=plan.profile.name,
        mode=plan.mode,
        weights=result.ranking.named_weights(),
        confidence=result.ranking.confidence,
        notes=(*result.notes, *search.notes(result.query, result.mismatches), *budget_notes),
        tiers=search.reports(result.query) if reports is None else reports,
        took_ms=(time.perf_counter() - search.started) * 1e3,
        total=total_of(search, result.query, plan),
        offset=plan.offset,
        facets=search.facets[result.query] if search.facets else {},
        understood=None if plan.web is None else plan.web.to_dict(),
        matched_by=matched_by(plan, [a.candidates[result.query] for a in search.answers]) if plan.query.steps else None,
    )
