"""The one road from a query to results: recall, merge, signals, fusion, graph, cut."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from septet.query.plan import Plan
from septet.ranking.adaptive import Weights, weights_of
from septet.ranking.bm25_scale import factors
from septet.ranking.cuts import budgeted, guarded
from septet.ranking.pool import Candidate, Pool
from septet.ranking.profile import WeightSet
from septet.ranking.score import Scored, score
from septet.ranking.signals import fact_columns, graph_column
from septet.results import Hit, Note, Results, hit_of
from septet.search.federated import FederatedSearch, open_search, or_degrade, recall
from septet.tiers.protocol import Tier

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["Ranking", "rank", "run"]


class Ranking(NamedTuple):
    """Everything a search knows.

    Attributes:
        order: all candidates, best first: positions in the scored pool, and -1, -2, … for the memories.
        scores: in that order.
        memories: the memories with the place of their tier.
        shown: the candidates that the cuts let through (floor, guard, limit, budget), whole.
    """

    asked: FederatedSearch
    scored: Scored
    weights: Weights
    order: Sequence[int]
    scores: Sequence[float]
    memories: Sequence[tuple[int, Candidate]]
    shown: Sequence[Candidate]
    notes: Sequence[Note]

    @property
    def plan(self) -> Plan:
        """What was asked."""
        return self.asked.plan

    def tier(self, at: int) -> str:
        """Return the name of the tier of a candidate of the order."""
        tiers = self.asked.tiers
        return tiers[self.scored.pool.tiers[at] if at >= 0 else self.memories[-at - 1][0]].name

    def breakdowns(self, order: Sequence[int]) -> Iterator[tuple[dict[str, float], dict[str, float | None]]]:
        """Yield weight x signal and the raw signals of candidates of the order."""
        scored = [at for at in order if at >= 0]
        found = zip(self.scored.breakdowns(scored), self.scored.raw(scored))
        for at in order:
            if at >= 0:
                yield next(found)
            else:
                yield {"memory": self.plan.profile.memory_score}, dict.fromkeys(self.scored.names)


def run(tiers: Sequence[Tier], plan: Plan, pool: Executor | None = None) -> Results:
    """Search the tiers and return the results.

    Args:
        tiers: from the highest priority to the lowest.
        pool: asks the tiers in parallel; None asks one after the other.

    Raises:
        SeptetError: every tier failed; with at least one answer, failures become notes.
    """
    started = time.perf_counter()
    with open_search(tiers, plan) as asked:
        ranking = rank(asked, pool)
    return Results(
        hits=_hits(ranking),
        query=plan.query.text,
        profile=plan.profile.name,
        mode=plan.mode,
        weights=ranking.scored.named_weights(),
        notes=tuple(ranking.notes),
        tiers=asked.reports(),
        took_ms=(time.perf_counter() - started) * 1e3,
    )


def rank(asked: FederatedSearch, pool: Executor | None = None) -> Ranking:
    """Rank every candidate of the tiers and read those that are shown; see `run`."""
    plan = asked.plan
    recall(asked, pool)
    hybrid = any(r.with_vectors for _, _, r in asked.answers)
    _check_vectors(asked, hybrid)
    chosen: WeightSet = "hybrid" if hybrid else "text"
    weights = weights_of(plan.profile, chosen, _feedback(asked))
    found = _merged(asked, [r.pool for _, _, r in asked.answers])
    scored = score(_with_facts(found, plan), plan.profile, weights.values)
    if len(found) and "graph" in plan.profile.columns:
        scored = _with_graph(asked, scored, weights)
    memories = _memories(asked, scored.pool)
    order, scores = _ordered(scored, memories, plan.profile.memory_score)
    return Ranking(
        asked=asked,
        scored=scored,
        weights=weights,
        order=order,
        scores=scores,
        memories=memories,
        shown=_shown(asked, scored.pool, memories, order, scores),
        notes=[*_query_notes(plan), *asked.notes],
    )


def _feedback(asked: FederatedSearch) -> dict[str, int]:
    total: dict[str, int] = {}
    for place, session, _ in asked.answers:
        counts: Mapping[str, int] = or_degrade(asked, place, session.feedback, {})
        for action, count in counts.items():
            total[action] = total.get(action, 0) + count
    return total


def _check_vectors(asked: FederatedSearch, hybrid: bool) -> None:
    """A query vector that fits no tier is the caller's mistake; one that fits some is a note for the others."""
    for place, _, recalled in asked.answers:
        if recalled.mismatch is not None:
            if not hybrid:
                raise recalled.mismatch
            cure = "use one model for all tiers"
            asked.notes.append(Note("vector_mismatch", str(recalled.mismatch), cure, asked.tiers[place].name))


def _with_facts(pool: Pool, plan: Plan) -> Pool:
    if not len(pool):
        return pool
    facts = fact_columns(pool, plan.profile.facts, now=plan.now, tags=plan.tags, domain=plan.domain)
    return pool.with_columns(facts)


def _merged(asked: FederatedSearch, pools: Sequence[Pool]) -> Pool:
    """Join the tiers' pools: scores on one scale, and of equal ids the copy of the highest tier that holds one.

    A higher tier's copy stands in for a lower one's also when no leg found it; if it does not pass the filters,
    neither comes back.
    """
    if len(pools) < 2:
        return Pool.united(pools)
    scales = _scales(asked)
    kept = [_scaled(scales, i, pool) for i, pool in enumerate(pools)]
    for i, (place, session, _) in enumerate(asked.answers[:-1]):
        own = set(kept[i].ids)
        lower = [c for pool in kept[i + 1 :] for c in pool.ids if c not in own]
        if not lower:
            continue
        held = or_degrade(asked, place, partial(session.overrides, lower), None)
        if held is not None:
            kept[i] = Pool.united([kept[i], _scaled(scales, i, held.pool)])
            kept[i + 1 :] = [p.at([n for n, c in enumerate(p.ids) if c not in held.ids]) for p in kept[i + 1 :]]
    return Pool.united(kept)


def _scales(asked: FederatedSearch) -> Sequence[float] | None:
    """Return what brings each answering tier's BM25 to the scale that all share; None when they have none."""
    counts = [r.counts for _, _, r in asked.answers]
    known = [c for c in counts if c is not None]
    return factors(known, asked.plan.query.terms) if len(known) == len(counts) else None


def _scaled(scales: Sequence[float] | None, tier: int, pool: Pool) -> Pool:
    if scales is None or "bm25" not in pool.columns:
        return pool
    return pool.with_columns({"bm25": pool.columns["bm25"] * scales[tier]})


def _with_graph(asked: FederatedSearch, first: Scored, weights: Weights) -> Scored:
    """Walk the links from the best of the first pass, add what they reach, and score again."""
    linked = any(or_degrade(asked, place, session.linked, False) for place, session, _ in asked.answers)
    at = _anchors(asked.plan, first) if linked else []
    if not at:
        return first
    known = _with_ids(asked, first.pool)
    anchors, ids = [known.ids[i] for i in at], frozenset(known.ids)
    distances: dict[str, int] = {}
    pulled: list[Pool] = []
    for place, session, recalled in asked.answers:
        near = or_degrade(asked, place, partial(session.neighbours, anchors, ids), None)
        pulled.append(recalled.pool.at([]) if near is None else near.pool)
        for entry_id, distance in ({} if near is None else near.distances).items():
            distances[entry_id] = min(distance, distances.get(entry_id, distance))
    plan = asked.plan
    pool = Pool.united([known, _merged(asked, pulled)])
    pool = _with_facts(pool, plan) if len(pool) > len(known) else pool
    pool = pool.with_columns({"graph": graph_column(pool, distances, plan.profile.graph.proximity)})
    # Equal scores keep the order of the first pass; what the links added comes last.
    order = np.concatenate([first.order, np.arange(len(known), len(pool), dtype=np.int64)])
    return score(pool.at(order), plan.profile, weights.values)


def _with_ids(asked: FederatedSearch, pool: Pool) -> Pool:
    """Return a pool of one tier with the ids of its candidates; a pool of several has them."""
    if "id" in pool.facts:
        return pool
    ((_, session, _),) = asked.answers
    return pool.with_facts({"id": session.ids(pool.rows)})


def _anchors(plan: Plan, first: Scored) -> list[int]:
    """Return the positions of the best candidates whose words match; without any words, of the best."""
    best = [int(i) for i in first.order[: plan.profile.graph.anchors]]
    if plan.asks_text and "semantic" in first.names:
        semantic = first.signals[first.names.index("semantic")]
        best = [i for i in best if semantic[i] > 0]
    return best


def _memories(asked: FederatedSearch, pool: Pool) -> list[tuple[int, Candidate]]:
    """Return the tiers' memories, of equal ids the highest tier's."""
    seen = set(pool.facts.get("id", ()))
    found = []
    for place, _, recalled in asked.answers:
        for memory in recalled.memories:
            if memory.id not in seen:
                seen.add(memory.id)
                found.append((place, memory))
    return found


def _ordered(
    scored: Scored, memories: Sequence[tuple[int, Candidate]], memory_score: float
) -> tuple[list[int], list[float]]:
    order: list[int] = scored.order.tolist()
    scores: list[float] = scored.scores[scored.order].tolist()
    if memories:
        pairs = [*zip(scores, order), *((memory_score, -i - 1) for i in range(len(memories)))]
        pairs.sort(key=lambda pair: -pair[0])
        scores, order = [p[0] for p in pairs], [p[1] for p in pairs]
    return order, scores


def _shown(
    asked: FederatedSearch,
    pool: Pool,
    memories: Sequence[tuple[int, Candidate]],
    order: Sequence[int],
    scores: Sequence[float],
) -> list[Candidate]:
    """Cut by score, guard and limit, read what is left, and cut by the token budget."""
    plan, cuts = asked.plan, asked.plan.profile.cuts
    shown = len(order)
    if plan.min_score is not None:
        shown = sum(1 for s in scores if s >= plan.min_score)
    if not guarded(cuts, limit=plan.limit, matches=sum(r.matches for _, _, r in asked.answers)):
        shown = min(shown, plan.wanted)
    whole = _read(asked, pool, memories, order[:shown])
    if plan.max_tokens is not None and whole:
        whole = whole[: budgeted(cuts, whole, scores[0], plan.max_tokens)]
    return whole


def _read(
    asked: FederatedSearch, pool: Pool, memories: Sequence[tuple[int, Candidate]], order: Sequence[int]
) -> list[Candidate]:
    """Return whole candidates, each from its tier."""
    found: dict[int, Candidate] = {-i - 1: m for i, (_, m) in enumerate(memories)}
    for place, session, _ in asked.answers:
        own = [at for at in order if at >= 0 and pool.tiers[at] == place]
        if own:
            found.update(zip(own, session.read([pool.rows[at] for at in own])))
    return [found[at] for at in order]


def _query_notes(plan: Plan) -> list[Note]:
    notes = list(plan.notes)
    if not plan.query.terms and "text" in plan.legs:
        cause = "no letter or digit is left of the query" if plan.query.text.strip() else "the query is empty"
        notes.append(Note("no_terms", cause, "ask with at least one word"))
    if plan.query.cut:
        cause = f"the query is too long: its last {plan.query.cut} terms were left out"
        notes.append(Note("query_cut", cause, "ask with fewer words, or raise the profile's text.max_terms"))
    return notes


def _hits(ranking: Ranking) -> tuple[Hit, ...]:
    full, order = ranking.plan.mode == "full", ranking.order[: len(ranking.shown)]
    return tuple(
        _hit(candidate, score, ranking.tier(at), parts, raw, full)
        for at, score, candidate, (parts, raw) in zip(order, ranking.scores, ranking.shown, ranking.breakdowns(order))
    )


def _hit(
    candidate: Candidate,
    score: float,
    tier: str,
    parts: dict[str, float],
    raw: dict[str, float | None],
    full: bool,
) -> Hit:
    entry = candidate.to_entry()
    return hit_of(
        entry.id,
        entry.title,
        score,
        entry.type,
        entry.domain,
        entry.severity,
        entry.tags,
        entry.kind,
        entry.snippet,
        entry.token_estimate,
        tier,
        parts,
        raw,
        entry if full else None,
    )
