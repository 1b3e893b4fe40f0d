"""Why an entry ranked where it did, or why it did not come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from septet.errors import EntryNotFound, SeptetError
from septet.profiles.plan import Plan
from septet.results import Explanation, LegReport
from septet.search import Ranking, breakdown, rank
from septet.tiers.tier import Inspected, Tier

__all__ = ["explain"]


def explain(tiers: Sequence[Tier], plan: Plan, feedback: Mapping[str, int], entry_id: str) -> Explanation:
    """Run a search and say what became of one entry in it.

    Raises:
        EntryNotFound: no tier holds the entry.
    """
    ranking = rank(tiers, plan, feedback)
    inspected = []
    for tier in tiers:
        # A tier that fails is in the ranking's notes already.
        with suppress(SeptetError):
            if (found := tier.inspect(plan, entry_id)) is not None:
                inspected.append((tier.name, found))
    if not inspected:
        raise EntryNotFound(
            f"no entry {entry_id!r} in {', '.join(t.name for t in tiers)}: check the id, or `add` it first"
        )
    place = next((i for i, r in enumerate(ranking.ordered) if r.candidate.id == entry_id), None)
    name, own = inspected[0]
    parts: Mapping[str, float] = {}
    raw: Mapping[str, float | None] = {}
    score = None
    if place is not None:
        ranked = ranking.ordered[place]
        name, score = ranked.tier, ranked.score
        own = next((i for other, i in inspected if other == name), own)
        parts, raw = breakdown(ranked, ranking)
    return Explanation(
        id=entry_id,
        query=plan.query.text,
        found=place is not None and place < ranking.shown,
        rank=None if place is None else place + 1,
        limit=plan.wanted,
        score=score,
        reason=_reason(entry_id, ranking, place, own),
        tier=name,
        breakdown=parts,
        signals=raw,
        weights=ranking.scored.named_weights(),
        filters=own.filters,
        legs=tuple(own.legs),
        notes=tuple(ranking.notes),
    )


def _reason(entry_id: str, ranking: Ranking, place: int | None, own: Inspected) -> str:
    if place is None:
        return f"{entry_id} did not come back: {_why_no_candidate(ranking.plan, own)}."
    ranked = ranking.ordered[place]
    where = f"{entry_id} ranks {place + 1} of {len(ranking.ordered)} candidates with {ranked.score:.4f}"
    if place < ranking.shown:
        parts, _ = breakdown(ranked, ranking)
        top = sorted(parts.items(), key=lambda kv: -kv[1])[:2]
        return f"{where}; most of it from {' and '.join(f'{n} ({v:.3f})' for n, v in top if v > 0) or 'nothing'}."
    plan = ranking.plan
    if plan.min_score is not None and ranked.score < plan.min_score:
        return f"{where}, under min_score {plan.min_score:g}."
    cuts = plan.profile.cuts
    if plan.max_tokens is not None and cuts.confident_score is not None and ranking.shown == cuts.confident_limit:
        return f"{where}, after the {ranking.shown} that are enough when the best is as good as this (confident_score)."
    if plan.max_tokens is not None and place < plan.wanted:
        return f"{where}, but the results before it used up max_tokens {plan.max_tokens}."
    return f"{where}, after the {ranking.shown} that were returned."


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
