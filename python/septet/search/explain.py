"""Why an entry ranked where it did, or why it did not come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from septet.errors import EntryNotFound, SeptetError
from septet.explanation import Explanation, LegReport
from septet.query.plan import Plan
from septet.search.federated import open_search
from septet.search.run import Ranking, rank
from septet.tiers.protocol import Inspected, Tier

__all__ = ["explain"]


def explain(tiers: Sequence[Tier], plan: Plan, entry_id: str) -> Explanation:
    """Run a search and say what became of one entry in it.

    Raises:
        EntryNotFound: no tier holds the entry.
    """
    with open_search(tiers, plan) as asked:
        ranking = rank(asked)
        inspected: dict[int, Inspected] = {}
        for place, session, _ in asked.answers:
            # A tier that fails is in the ranking's notes already.
            with suppress(SeptetError):
                if (found := session.inspect(entry_id)) is not None:
                    inspected[place] = found
    if not inspected:
        raise EntryNotFound(
            f"no entry {entry_id!r} in {', '.join(t.name for t in tiers)}: check the id, or `add` it first"
        )
    rank_of = _rank_of(ranking, inspected)
    tier, own = next(iter(inspected.items()))
    name = tiers[tier].name
    parts: Mapping[str, float] = {}
    raw: Mapping[str, float | None] = {}
    if rank_of is not None:
        at = ranking.order[rank_of]
        name = ranking.tier(at)
        own = next((i for place, i in inspected.items() if tiers[place].name == name), own)
        ((parts, raw),) = ranking.breakdowns([at])
    return Explanation(
        id=entry_id,
        query=plan.query.text,
        found=rank_of is not None and rank_of < len(ranking.shown),
        rank=None if rank_of is None else rank_of + 1,
        limit=plan.wanted,
        score=None if rank_of is None else ranking.scores[rank_of],
        reason=_reason(entry_id, ranking, rank_of, own),
        tier=name,
        breakdown=parts,
        signals=raw,
        weights=ranking.scored.named_weights(),
        filters=own.filters,
        legs=tuple(own.legs),
        notes=tuple(ranking.notes),
    )


def _rank_of(ranking: Ranking, inspected: Mapping[int, Inspected]) -> int | None:
    """Return the place of the entry among all candidates, from 0."""
    wanted = {(tier, found.candidate.row) for tier, found in inspected.items()}
    pool, memories = ranking.scored.pool, ranking.memories
    for place, at in enumerate(ranking.order):
        tier, row = (pool.tiers[at], pool.rows[at]) if at >= 0 else (memories[-at - 1][0], memories[-at - 1][1].row)
        if (tier, row) in wanted:
            return place
    return None


def _reason(entry_id: str, ranking: Ranking, place: int | None, own: Inspected) -> str:
    if place is None:
        return f"{entry_id} did not come back: {_why_no_candidate(ranking.plan, own)}."
    score, shown = ranking.scores[place], len(ranking.shown)
    where = f"{entry_id} ranks {place + 1} of {len(ranking.order)} candidates with {score:.4f}"
    if place < shown:
        ((parts, _),) = ranking.breakdowns([ranking.order[place]])
        top = sorted(parts.items(), key=lambda kv: -kv[1])[:2]
        return f"{where}; most of it from {' and '.join(f'{n} ({v:.3f})' for n, v in top if v > 0) or 'nothing'}."
    plan = ranking.plan
    if plan.min_score is not None and score < plan.min_score:
        return f"{where}, under min_score {plan.min_score:g}."
    cuts = plan.profile.cuts
    if plan.max_tokens is not None and cuts.confident_score is not None and shown == cuts.confident_limit:
        return f"{where}, after the {shown} that are enough when the best is as good as this (confident_score)."
    if plan.max_tokens is not None and place < plan.wanted:
        return f"{where}, but the results before it used up max_tokens {plan.max_tokens}."
    return f"{where}, after the {shown} that were returned."


def _why_no_candidate(plan: Plan, own: Inspected) -> str:
    failed = [name for name, ok in own.filters.items() if not ok]
    if failed:
        return f"it does not pass the filter {' nor '.join(failed)}"
    return "; ".join(_leg_reason(leg) for leg in own.legs)


def _leg_reason(leg: LegReport) -> str:
    if leg.rank is None:
        return f"{leg.leg} leg: {leg.detail}"
    if leg.rank > leg.taken:
        return f"{leg.leg} leg: rank {leg.rank} of {leg.of}, and only the first {leg.taken} become candidates"
    return f"{leg.leg} leg: rank {leg.rank} of {leg.of}"
