"""Builds the `Retrieval` from the waves: hits and envelope."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from septet.retrieval.account.accounts import AskedCorpus, AskedWave, Spoken
from septet.retrieval.account.envelope import envelope_of
from septet.retrieval.account.retrieval import Retrieval
from septet.retrieval.judging import Round, used_backends
from septet.retrieval.ordering import hits_of
from septet.retrieval.planning.plan import RetrievalPlan
from septet.retrieval.recall.settings import PresentSettings
from septet.retrieval.rules import Rules
from septet.retrieval.waves import Reply


def retrieval_of(
    query: str,
    plan: RetrievalPlan,
    rounds: Sequence[Round],
    rules: Rules,
    most: int,
    profile: str,
    started: float,
    sqlite: Mapping[str, Any],
    presentation: PresentSettings,
) -> Retrieval:
    """Return the retrieval of the waves; ``started`` is from `time.perf_counter`, ``sqlite`` has envelope fields."""
    best = next(candidate for candidate in rounds if candidate.used)
    items = best.ordered.items[: min(most, rules.kept(best.ordered))]
    hits = hits_of(best.ordered, items)
    notes = tuple(dict.fromkeys(note for entry in rounds for note in entry.wave.notes))
    first = rounds[0]
    verified = next((entry for entry in rounds if entry.reason == "verification"), None)
    took_ms = (time.perf_counter() - started) * 1e3
    envelope = envelope_of(
        query=query,
        profile=profile,
        plan=plan,
        evidence=best.judgement.evidence,
        waves=[_wave(entry) for entry in rounds],
        initial=first.judgement.evidence,
        verified=None if verified is None else verified.judgement.evidence,
        notes=notes,
        fused=len(best.ordered.items),
        returned=len(hits),
        confidence=best.judgement.confidence,
        expansion=Spoken(first.wave.variants, first.wave.phrased_ms) if first.wave.phrased_ms is not None else None,
        took_ms=took_ms,
        **sqlite,
    )
    lists = tuple(best.ordered.lists)
    confidence = best.judgement.confidence
    return Retrieval(
        hits,
        query,
        profile,
        plan,
        envelope,
        lists,
        notes,
        confidence,
        took_ms,
        best.ordered,
        tuple(rounds),
        presentation,
    )


def attributes_of(retrieval: Retrieval) -> dict[str, Any]:
    """Return the span attributes of a retrieval; they contain no text of the query or an entry."""
    envelope = retrieval.envelope
    attributes: dict[str, Any] = {
        "db.response.returned_rows": len(retrieval),
        "septet.profile": retrieval.profile,
        "septet.corpora": list(retrieval.plan.corpora),
        "septet.intent": envelope.search_intent,
        "septet.waves": len(envelope.waves),
        "septet.tier": envelope.retrieval_tier,
        "septet.source_diversity": envelope.source_diversity,
        "septet.notes": [note.code for note in retrieval.notes],
    }
    if envelope.evidence_quality is not None:
        attributes["septet.evidence_quality"] = envelope.evidence_quality
    return attributes


def _wave(entry: Round) -> AskedWave:
    corpora = tuple(_corpus(answer) for answer in entry.wave.answers)
    return AskedWave(entry.reason, entry.query, entry.why, entry.used, entry.wave.took_ms, corpora)


def _corpus(reply: Reply) -> AskedCorpus:
    answered = reply.answered
    if answered is None:
        return AskedCorpus(reply.corpus, reply.variant, reply.state, reply.took_ms)
    return AskedCorpus(
        reply.corpus,
        reply.variant,
        reply.state,
        reply.took_ms,
        len({item.key for ranked in answered.lists for item in ranked.items}),
        {ranked.name: len(ranked.items) for ranked in answered.lists},
        used_backends(answered),
        answered.step,
        answered.contradictions,
        answered.confidence,
    )
