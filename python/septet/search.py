"""The one road from a query to results: recall, merge, signals, fusion, graph, cut."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

import numpy as np

from septet.errors import SeptetError
from septet.profiles.model import Row
from septet.profiles.plan import Plan
from septet.ranking.adaptive import Weights, weights_of
from septet.ranking.cuts import budgeted, guarded
from septet.ranking.pool import Candidate, Pool
from septet.ranking.reach import factors
from septet.ranking.score import Scored, score
from septet.ranking.signals import fact_columns, graph_column
from septet.results import Hit, Note, Results, TierReport
from septet.tiers.tier import Neighbours, Recalled, Tier

__all__ = ["Ranked", "Ranking", "breakdown", "rank", "run"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One candidate in its final place; ``position`` is its place in the scored pool, -1 for a memory."""

    candidate: Candidate
    tier: str
    score: float
    position: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """Everything a search knows.

    Attributes:
        ordered: all candidates, best first, memories merged in.
        shown: how many of them the cuts let through (floor, guard, limit, budget).
    """

    plan: Plan
    scored: Scored
    weights: Weights
    ordered: Sequence[Ranked]
    shown: int
    notes: Sequence[Note]
    reports: Sequence[TierReport]


@dataclass(slots=True)
class _Answers:
    """What the tiers answered: by tier in order of priority, and what to tell the caller."""

    recalled: list[tuple[Tier, Recalled]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    reports: list[TierReport] = field(default_factory=list)


def run(tiers: Sequence[Tier], plan: Plan, feedback: Mapping[str, int], pool: Executor | None = None) -> Results:
    """Search the tiers and return the results.

    Args:
        tiers: from the highest priority to the lowest.
        feedback: rows per action, for the adaptive weights.
        pool: asks the tiers in parallel; None asks one after the other.

    Raises:
        SeptetError: every tier failed; with at least one answer, failures become notes.
    """
    started = time.perf_counter()
    ranking = rank(tiers, plan, feedback, pool)
    return Results(
        hits=tuple(_hit(r, ranking) for r in ranking.ordered[: ranking.shown]),
        query=plan.query.text,
        profile=plan.profile.name,
        mode=plan.mode,
        weights=ranking.scored.named_weights(),
        notes=tuple(ranking.notes),
        tiers=tuple(ranking.reports),
        took_ms=(time.perf_counter() - started) * 1e3,
    )


def rank(tiers: Sequence[Tier], plan: Plan, feedback: Mapping[str, int], pool: Executor | None = None) -> Ranking:
    """Rank every candidate of the tiers; see `run`."""
    plan = replace(plan, comparable=len(tiers) > 1 and plan.asks_text and "bm25" in plan.fill)
    answers = _ask(tiers, plan, pool)
    hybrid = any(r.with_vectors for _, r in answers.recalled)
    _check_vectors(answers, hybrid)
    row: Row = "hybrid" if hybrid else "text"
    weights = weights_of(plan.profile, row, feedback)
    found = _merged(answers, plan, [r.pool for _, r in answers.recalled])
    scored = score(_with_facts(found, plan), plan.profile, weights.values)
    if len(found) and "graph" in plan.profile.columns:
        scored = _with_graph(answers, plan, scored, weights)
    ordered = _ordered(answers, plan, scored)
    return Ranking(
        plan=plan,
        scored=scored,
        weights=weights,
        ordered=ordered,
        shown=_shown(plan, ordered, matches=sum(r.matches for _, r in answers.recalled)),
        notes=[*_query_notes(plan), *answers.notes],
        reports=answers.reports,
    )


def breakdown(ranked: Ranked, ranking: Ranking) -> tuple[dict[str, float], dict[str, float | None]]:
    """Return weight x signal and the raw signals of a ranked candidate."""
    if ranked.position < 0:
        return {"memory": ranked.score}, dict.fromkeys(ranking.scored.names)
    return ranking.scored.breakdown(ranked.position), ranking.scored.raw(ranked.position)


def _ask(tiers: Sequence[Tier], plan: Plan, pool: Executor | None) -> _Answers:
    def timed(tier: Tier) -> tuple[Recalled | SeptetError, float]:
        started = time.perf_counter()
        try:
            answer: Recalled | SeptetError = tier.recall(plan)
        except SeptetError as fault:
            answer = fault
        return answer, (time.perf_counter() - started) * 1e3

    timings = map(timed, tiers) if pool is None or len(tiers) == 1 else pool.map(timed, tiers)
    answers = _Answers()
    failures: list[SeptetError] = []
    for tier, (answer, took_ms) in zip(tiers, timings):
        if isinstance(answer, SeptetError):
            failures.append(answer)
            answers.notes.append(Note("tier_failed", str(answer), "the other tiers answered", tier.name))
            answers.reports.append(TierReport(tier.name, tier.priority, 0, 0, took_ms, str(answer)))
        else:
            answers.recalled.append((tier, answer))
            answers.notes += answer.notes
            report = TierReport(tier.name, tier.priority, len(answer.pool), answer.generation, took_ms)
            answers.reports.append(report)
    if failures and not answers.recalled:
        raise failures[0]
    return answers


def _check_vectors(answers: _Answers, hybrid: bool) -> None:
    """A query vector that fits no tier is the caller's mistake; one that fits some is a note for the others."""
    for tier, recalled in answers.recalled:
        if recalled.mismatch is not None:
            if not hybrid:
                raise recalled.mismatch
            cure = "use one model for all tiers"
            answers.notes.append(Note("vector_mismatch", str(recalled.mismatch), cure, tier.name))


def _with_facts(pool: Pool, plan: Plan) -> Pool:
    facts = fact_columns(pool, plan.profile.facts, now=plan.now, tags=plan.tags, domain=plan.domain)
    return pool.with_columns(facts)


def _merged(answers: _Answers, plan: Plan, pools: Sequence[Pool]) -> Pool:
    """Join the tiers' pools: scores on one scale, and of equal ids the copy of the highest tier that holds one.

    A higher tier's copy stands in for a lower one's also when no leg found it; if it does not pass the filters,
    neither comes back.
    """
    if len(pools) < 2:
        return Pool.united(pools)
    kept = [_scaled(answers, plan, i, pool) for i, pool in enumerate(pools)]
    for i, (tier, _) in enumerate(answers.recalled[:-1]):
        own = set(kept[i].ids)
        lower = [c for pool in kept[i + 1 :] for c in pool.ids if c not in own]
        if not lower:
            continue
        try:
            held = tier.hold(plan, lower)
        except SeptetError as fault:
            answers.notes.append(Note("tier_failed", str(fault), "the other tiers answered", tier.name))
            continue
        kept[i] = Pool.united([kept[i], _scaled(answers, plan, i, held.pool)])
        kept[i + 1 :] = [p.at([n for n, c in enumerate(p.ids) if c not in held.ids]) for p in kept[i + 1 :]]
    return Pool.united(kept)


def _scaled(answers: _Answers, plan: Plan, tier: int, pool: Pool) -> Pool:
    """Bring a tier's BM25 to the scale that all tiers share."""
    counts = [r.counts for _, r in answers.recalled]
    known = [c for c in counts if c is not None]
    if "bm25" not in pool.columns or len(known) < len(counts):
        return pool
    factor = factors(known, plan.query.terms)[tier]
    return pool.with_columns({"bm25": pool.columns["bm25"] * factor})


def _with_graph(answers: _Answers, plan: Plan, first: Scored, weights: Weights) -> Scored:
    """Walk the links from the best of the first pass, add what they reach, and score again."""
    anchors = _anchors(plan, first)
    if not anchors:
        return first
    known = frozenset(first.pool.ids)
    linked = False
    distances: dict[str, int] = {}
    pulled: list[Pool] = []
    for tier, _ in answers.recalled:
        try:
            near = tier.neighbours(plan, anchors, known)
        except SeptetError as fault:
            answers.notes.append(Note("tier_failed", f"its links: {fault}", "the other tiers answered", tier.name))
            near = Neighbours(False, {}, Pool([], [], {}))
        linked = linked or near.linked
        pulled.append(near.pool)
        for entry_id, distance in near.distances.items():
            distances[entry_id] = min(distance, distances.get(entry_id, distance))
    if not linked:
        return first
    pool = Pool.united([first.pool, _merged(answers, plan, pulled)])
    pool = _with_facts(pool, plan) if len(pool) > len(first.pool) else pool
    pool = pool.with_columns({"graph": graph_column(pool, distances, plan.profile.graph.proximity)})
    # Equal scores keep the order of the first pass; what the links added comes last.
    order = np.concatenate([first.order, np.arange(len(first.pool), len(pool), dtype=np.int64)])
    return score(pool.at(order), plan.profile, weights.values)


def _anchors(plan: Plan, first: Scored) -> list[str]:
    """Return the ids of the best candidates whose words match; without any words, of the best."""
    best = [int(i) for i in first.order[: plan.profile.graph.anchors]]
    if plan.asks_text and "semantic" in first.names:
        semantic = first.signals[first.names.index("semantic")]
        best = [i for i in best if semantic[i] > 0]
    return [first.pool.candidates[i].id for i in best]


def _ordered(answers: _Answers, plan: Plan, scored: Scored) -> list[Ranked]:
    candidates, tiers = scored.pool.candidates, scored.pool.tiers
    scores = scored.scores.tolist()
    ordered = [Ranked(candidates[i], tiers[i], scores[i], i) for i in scored.order.tolist()]
    known = set(scored.pool.ids)
    memories: list[Ranked] = []
    for tier, recalled in answers.recalled:
        for memory in recalled.memories:
            if memory.id not in known:
                known.add(memory.id)
                memories.append(Ranked(memory, tier.name, plan.profile.memory_score, -1))
    return sorted([*ordered, *memories], key=lambda r: -r.score) if memories else ordered


def _shown(plan: Plan, ordered: Sequence[Ranked], matches: int) -> int:
    cuts = plan.profile.cuts
    shown = len(ordered)
    if plan.min_score is not None:
        shown = sum(1 for r in ordered if r.score >= plan.min_score)
    if not guarded(cuts, limit=plan.limit, matches=matches):
        shown = min(shown, plan.wanted)
    if plan.max_tokens is not None and shown:
        shown = budgeted(cuts, [r.candidate for r in ordered[:shown]], ordered[0].score, plan.max_tokens)
    return shown


def _query_notes(plan: Plan) -> list[Note]:
    notes = list(plan.notes)
    if not plan.query.terms and "text" in plan.legs:
        cause = "no letter or digit is left of the query" if plan.query.text.strip() else "the query is empty"
        notes.append(Note("no_terms", cause, "ask with at least one word"))
    if plan.query.cut:
        cause = f"the query is too long: its last {plan.query.cut} terms were left out"
        notes.append(Note("query_cut", cause, "ask with fewer words, or raise the profile's text.max_terms"))
    return notes


def _hit(ranked: Ranked, ranking: Ranking) -> Hit:
    entry = ranked.candidate.to_entry()
    parts, raw = breakdown(ranked, ranking)
    return Hit(
        id=entry.id,
        title=entry.title,
        score=ranked.score,
        type=entry.type,
        domain=entry.domain,
        severity=entry.severity,
        tags=entry.tags,
        kind=entry.kind,
        snippet=entry.snippet,
        token_estimate=entry.token_estimate,
        tier=ranked.tier,
        breakdown=parts,
        signals=raw,
        entry=entry if ranking.plan.mode == "full" else None,
    )
