"""Why an entry ranked where it did, or why it did not come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from septet.errors import EntryNotFound, SeptetError, StoreBusy
from septet.inputs.arguments import shown
from septet.model.explanation import Explanation, LegReport
from septet.query.plan import MEMORY, Plan
from septet.ranking.fusion import estimates
from septet.ranking.score import Placed
from septet.search.budget import Budgeted
from septet.search.federated import FederatedSearch, next_attempt
from septet.search.run import NO_VALUES, Ranked, arranged, budget_of, likenesses_of, parts, ranked, read, recalled_alone
from septet.tiers.protocol import Inspected, SearchAgain, Tier

if TYPE_CHECKING:
    from septet.search.arranging import Likenesses
    from septet.search.run import Read

__all__ = ["explain"]


def explain(tiers: Sequence[Tier], plan: Plan, entry_id: str) -> Explanation:
    """Run a search and say what became of one entry in it.

    Raises:
        EntryNotFound: no tier holds the entry.
        SeptetError: every tier failed.
    """
    attempts = 1
    while True:
        try:
            search, one, left, inspected = _searched(tiers, plan, entry_id)
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
    everyone = one.ranking.best(memories=len(one.memories), memory_score=one.plan.profile.memory_score or 0.0)
    rank = _rank_of(one, everyone, inspected)
    tier, own = next(iter(inspected.items()))
    placed = None if rank is None else everyone[rank]
    if placed is not None:
        tier = one.tier(placed)
        own = inspected.get(tier, own)
    breakdown, signals = ({}, {}) if placed is None else parts(one, placed)
    cut = () if left is None else left.notes
    _, raw = judged = (0.0, NO_VALUES) if placed is None else (placed[6], placed[7] or NO_VALUES)
    late = () if raw["cosine"] is not None else tuple(n for n, e in plan.profile.signals.items() if estimates(e))
    return Explanation(
        id=entry_id,
        query=plan.query.text if plan.web is None else plan.web.query,
        found=rank is not None and rank in _returned(one, everyone, left),
        rank=None if rank is None else rank + 1,
        limit=plan.most_hits,
        candidates=search.plan.taken(),
        score=None if placed is None else placed[3],
        reason=_reason(entry_id, one, everyone, rank, left, own),
        tier=tiers[tier].name,
        breakdown=breakdown,
        signals=signals,
        estimated=tuple(name for name in late if signals.get(name) is not None),
        confidence=judged[0],
        raw=raw,
        weights=one.ranking.named_weights(),
        filters=own.filters,
        legs=tuple(own.legs),
        notes=(*one.notes, *search.notes(0, one.mismatches), *cut),
    )


def _searched(
    tiers: Sequence[Tier], plan: Plan, entry_id: str
) -> tuple[FederatedSearch, Ranked, Budgeted | None, dict[int, Inspected]]:
    search = recalled_alone(tiers, plan)
    try:
        one, candidates, alike, inspected = search.with_all_left(lambda left: _inspected(left, plan, entry_id))
    finally:
        search.close()
    if plan.depth is not None:
        one = arranged(search, one, candidates, alike)
    return search, one, budget_of(search, one, candidates), inspected


def _inspected(
    search: FederatedSearch, plan: Plan, entry_id: str
) -> tuple[Ranked, Read, Likenesses | None, dict[int, Inspected]]:
    one = ranked(search, 0)
    candidates = read(search, [one])
    alike = None if plan.depth is None else likenesses_of(search, one, candidates)
    inspected: dict[int, Inspected] = {}
    for answer in search.answers:
        # A tier that fails is in the search's notes already.
        with suppress(SeptetError):
            if (found := answer.session.inspect(entry_id)) is not None:
                inspected[answer.place] = found
    return one, candidates, alike, inspected


def _rank_of(one: Ranked, everyone: Sequence[Placed], inspected: Mapping[int, Inspected]) -> int | None:
    """Return the place of the entry among all candidates, from 0."""
    wanted = {(tier, found.candidate.row) for tier, found in inspected.items()}
    for rank, placed in enumerate(everyone):
        row = placed[2] if placed[0] >= 0 else one.memories[-placed[0] - 1][1].row
        if (one.tier(placed), row) in wanted:
            return rank
    return None


def _returned(one: Ranked, everyone: Sequence[Placed], left: Budgeted | None) -> Sequence[int]:
    """Return the ranks of what comes back, from 0."""
    best = one.best if left is None else [one.best[place] for place in left.places]
    kept = {placed[0] for placed in best}
    return [rank for rank, placed in enumerate(everyone) if placed[0] in kept]


def _reason(
    entry_id: str, one: Ranked, everyone: Sequence[Placed], rank: int | None, left: Budgeted | None, own: Inspected
) -> str:
    if rank is None:
        return f"{entry_id} did not come back: {_why_no_candidate(one.plan, own)}."
    score, plan = everyone[rank][3], one.plan
    where = f"{entry_id} ranks {rank + 1} of {len(everyone)} candidates with {score:.4f}"
    returned = _returned(one, everyone, left)
    if rank in returned:
        breakdown, _ = parts(one, everyone[rank])
        top = sorted(breakdown.items(), key=lambda kv: -kv[1])[:2]
        return f"{where}; most of it from {' and '.join(f'{n} ({v:.3f})' for n, v in top if v > 0) or 'nothing'}."
    if plan.min_score is not None and score < plan.min_score:
        return f"{where}, under min_score {plan.min_score:g}."
    if plan.min_confidence is not None and everyone[rank][6] < plan.min_confidence:
        return f"{where} and confidence {everyone[rank][6]:.4f}, under min_confidence {plan.min_confidence:g}."
    place = next((at for at, placed in enumerate(one.best) if placed[0] == everyone[rank][0]), None)
    if one.keys is not None:
        if place is not None:
            return f"{where}, but there is no room for it in max_tokens {plan.max_tokens}."
        return f"{where}, in a group after the {len(set(one.keys))} that were returned."
    if one.plan.depth is not None and place is None and rank < one.plan.most_hits:
        return f"{where}, but {' and '.join(_rearrangers(one.plan))} put others before it."
    if left is None or place is None:
        after = not returned or rank > returned[-1]
        return f"{where}, {'after' if after else 'on a page before'} the {len(returned)} that were returned."
    if place in left.left_out:
        spent = sum(left.costs[at] for at in left.places if at < place)
        return (
            f"{where}, but it takes {left.costs[place]} of max_tokens {plan.max_tokens}, and those before it {spent}."
        )
    return f"{where}, after the {len(returned)} that are enough when the best is as good as this (confident_score)."


def _rearrangers(plan: Plan) -> list[str]:
    named = ["the reranker"] if plan.reranking is not None else []
    return [*named, "diversity"] if plan.diversity else named


def _why_no_candidate(plan: Plan, own: Inspected) -> str:
    if own.candidate.parent == own.candidate.id:
        return "it was split, and its parts are searched instead"
    failed = [name for name, ok in own.filters.items() if not ok]
    if failed:
        hint = (
            " (memories come with include_memories=True)" if own.candidate.kind == MEMORY and "kind" in failed else ""
        )
        return f"it does not pass the filter {' nor '.join(failed)}{hint}"
    return "; ".join(_leg_reason(plan, leg) for leg in own.legs)


def _leg_reason(plan: Plan, leg: LegReport) -> str:
    if leg.rank is None:
        return f"{leg.leg} leg: {leg.detail}"
    if leg.rank > leg.taken:
        cuts = plan.profile.cuts
        most = "" if cuts.maximum is None else f", at most {cuts.maximum}"
        rule = f" ({cuts.factor} x limit, at least {cuts.minimum}{most})" if cuts.factor else ""
        taken = f"only the first {leg.taken} become candidates{rule}"
        return f"{leg.leg} leg: rank {leg.rank} of {leg.of}, and {taken}"
    return f"{leg.leg} leg: rank {leg.rank} of {leg.of}"
