"""Explain the rank of an entry, or its absence from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from septet.errors import EntryNotFound, SeptetError, StoreBusy
from septet.inputs.arguments import shown
from septet.model.explanation import Explanation, LegReport
from septet.query.plan import MEMORY, SearchPlan
from septet.ranking.score import RankedCandidate, named
from septet.search.arranging import BudgetCut
from septet.search.federated import FederatedSearch, next_attempt
from septet.search.run import (
    NO_VALUES,
    RankedQuery,
    arranged,
    budget_of,
    likenesses_of,
    parts,
    ranked,
    read,
    search_alone,
)
from septet.tiers.protocol import Inspected, SearchAgain, Tier

if TYPE_CHECKING:
    from septet.search.arranging import Likenesses
    from septet.search.run import Read


def explain(tiers: Sequence[Tier], plan: SearchPlan, entry_id: str) -> Explanation:
    """Run a search and explain the rank or absence of one entry.

    Raises:
        EntryNotFound: no tier contains the entry.
        SeptetError: every tier failed.
    """
    attempts = 1
    while True:
        try:
            search, result, budget, inspected = _searched(tiers, plan, entry_id)
            break
        except SearchAgain as fault:
            attempts = next_attempt(attempts, fault)
    if not inspected:
        if search.late:
            slow = ", ".join(tiers[place].name for place in search.late)
            raise StoreBusy(f"{slow} did not answer within timeout_s: raise it")
        raise EntryNotFound(
            f"no entry {shown(entry_id)} in {', '.join(t.name for t in tiers)}: check the id, or `add` it first"
        )
    ranking = _ranked_place(result, budget, inspected)
    tier, inspection = next(iter(inspected.items()))
    rank, candidate = ranking.rank, ranking.candidate
    if candidate is not None:
        tier = result.tier(candidate)
        inspection = inspected.get(tier, inspection)
    breakdown, signals = ({}, {}) if candidate is None else parts(result, candidate)
    budget_notes = () if budget is None else budget.notes
    raw = NO_VALUES if candidate is None else candidate.raw or NO_VALUES
    estimated = plan.profile.estimated if raw["cosine"] is None else ()
    return Explanation(
        id=entry_id,
        query=plan.query.text if plan.web is None else plan.web.query,
        found=ranking.is_returned,
        rank=None if rank is None else rank + 1,
        limit=plan.most_hits,
        candidates=search.plan.taken(),
        score=None if candidate is None else candidate.score,
        reason=_reason(entry_id, result, ranking, budget, inspection),
        tier=tiers[tier].name,
        breakdown=breakdown,
        signals=signals,
        estimated=tuple([name for name in estimated if signals.get(name) is not None]),
        confidence=0.0 if candidate is None else candidate.confidence,
        raw=raw,
        weights=result.ranking.named_weights(),
        filters=inspection.filters,
        legs=tuple(inspection.legs),
        notes=(*result.notes, *search.notes(0, result.mismatches), *budget_notes),
    )


def _searched(
    tiers: Sequence[Tier], plan: SearchPlan, entry_id: str
) -> tuple[FederatedSearch, RankedQuery, BudgetCut | None, dict[int, Inspected]]:
    search = search_alone(tiers, plan)
    try:
        result, candidates, alike, inspected = search.with_remaining(lambda s: _inspected(s, plan, entry_id))
    finally:
        search.close()
    if plan.depth is not None:
        result = arranged(search, result, candidates, alike)
    return search, result, budget_of(search, result, candidates), inspected


def _inspected(
    search: FederatedSearch, plan: SearchPlan, entry_id: str
) -> tuple[RankedQuery, Read, Likenesses | None, dict[int, Inspected]]:
    result = ranked(search, 0)
    candidates = read(search, [result])
    likenesses = None if plan.depth is None else likenesses_of(search, result, candidates)
    inspected: dict[int, Inspected] = {}
    for answer in search.answers:
        # A tier that fails is in the search's notes already.
        with suppress(SeptetError):
            if (inspection := answer.session.inspect(entry_id)) is not None:
                inspected[answer.place] = inspection
    return result, candidates, likenesses, inspected


class RankedPlace(NamedTuple):
    """The place of an entry among all candidates.

    Attributes:
        of: number of candidates.
        rank: 0-based; None if the entry is not a candidate.
        returned: positions of the returned candidates.
        last: 0-based rank of the last returned candidate; None without any.
    """

    of: int
    rank: int | None
    candidate: RankedCandidate | None
    returned: Set[int]
    last: int | None

    @property
    def is_returned(self) -> bool:
        """True if the search returns the entry."""
        return self.candidate is not None and self.candidate.position in self.returned


def _ranked_place(result: RankedQuery, budget: BudgetCut | None, inspected: Mapping[int, Inspected]) -> RankedPlace:
    positions = [candidate.position for candidate in result.best]
    returned = frozenset(positions if budget is None else [positions[place] for place in budget.places])
    copies = {(tier, inspection.candidate.row) for tier, inspection in inspected.items()}
    memories = [(memory.tier, memory.entry.row) for memory in result.memories]
    score = result.plan.profile.memory_score or 0.0
    of, rank, candidate, last = result.ranking.place(copies, memories, score, returned)
    return RankedPlace(of, rank, None if candidate is None else named(candidate), returned, last)


def _reason(
    entry_id: str,
    result: RankedQuery,
    ranking: RankedPlace,
    budget: BudgetCut | None,
    inspection: Inspected,
) -> str:
    of, rank, candidate, returned, last = ranking
    if rank is None or candidate is None:
        return f"{entry_id} did not come back: {_why_no_candidate(result.plan, inspection)}."
    score, confidence = candidate.score, candidate.confidence
    plan = result.plan
    where = f"{entry_id} ranks {rank + 1} of {of} candidates with {score:.4f}"
    if ranking.is_returned:
        breakdown, _ = parts(result, candidate)
        top = sorted(breakdown.items(), key=lambda kv: -kv[1])[:2]
        return f"{where}; most of it from {' and '.join(f'{n} ({v:.3f})' for n, v in top if v > 0) or 'nothing'}."
    if plan.min_score is not None and score < plan.min_score:
        return f"{where}, under min_score {plan.min_score:g}."
    if plan.min_confidence is not None and confidence < plan.min_confidence:
        return f"{where} and confidence {confidence:.4f}, under min_confidence {plan.min_confidence:g}."
    place = next((at for at, best in enumerate(result.best) if best.position == candidate.position), None)
    if result.keys is not None:
        if place is not None:
            return f"{where}, but it does not fit in max_tokens {plan.max_tokens}."
        return f"{where}, in a group after the {len(set(result.keys))} that were returned."
    if result.plan.depth is not None and place is None and rank < result.plan.most_hits:
        rearrangers = ["the reranker"] * (plan.reranking is not None) + ["diversity"] * bool(plan.diversity)
        return f"{where}, but {' and '.join(rearrangers)} moved others ahead of it."
    if budget is None or place is None:
        after = last is None or rank > last
        return f"{where}, {'after' if after else 'on a page before'} the {len(returned)} that were returned."
    if place in budget.left_out:
        spent = sum(budget.costs[at] for at in budget.places if at < place)
        cost = budget.costs[place]
        return f"{where}, but it takes {cost} of max_tokens {plan.max_tokens}, and those before it take {spent}."
    return (
        f"{where}, after the {len(returned)} that were returned: the best score reached confident_score, so "
        "fewer results are returned."
    )


def _why_no_candidate(plan: SearchPlan, inspection: Inspected) -> str:
    if inspection.candidate.parent == inspection.candidate.id:
        return "it was split, and its parts are searched instead"
    failed = [name for name, ok in inspection.filters.items() if not ok]
    if failed:
        is_memory = inspection.candidate.kind == MEMORY and "kind" in failed
        hint = " (memories come with include_memories=True)" if is_memory else ""
        return f"it does not pass the filter {' nor '.join(failed)}{hint}"
    return "; ".join(_leg_reason(plan, leg) for leg in inspection.legs)


def _leg_reason(plan: SearchPlan, leg: LegReport) -> str:
    if leg.rank is None:
        return f"{leg.leg} leg: {leg.detail}"
    if leg.rank > leg.taken:
        cuts = plan.profile.cuts
        most = "" if cuts.maximum is None else f", at most {cuts.maximum}"
        rule = f" ({cuts.factor} x limit, at least {cuts.minimum}{most})" if cuts.factor else ""
        taken = f"only the first {leg.taken} become candidates{rule}"
        return f"{leg.leg} leg: rank {leg.rank} of {leg.of}, and {taken}"
    return f"{leg.leg} leg: rank {leg.rank} of {leg.of}"
