"""Building what a retrieval returns: the hits, and the account of how they were found."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from septet.retrieval.account.accounts import AskedCorpus, AskedWave, Spoken
from septet.retrieval.account.envelope import envelope_of
from septet.retrieval.account.retrieval import Retrieval
from septet.retrieval.judging import used_backends
from septet.retrieval.ordering import hits_of
from septet.retrieval.planning.plan import RetrievalPlan
from septet.retrieval.recall.settings import PresentSettings
from septet.retrieval.rounds import Round
from septet.retrieval.rules import Rules
from septet.retrieval.waves import Answer

__all__ = ["attributes_of", "retrieval_of"]


def retrieval_of(
    query: str,
    plan: RetrievalPlan,
    rounds: Sequence[Round],
    rules: Rules,
    most: int,
    profile: str,
    started: float,
    sqlite: Mapping[str, Any],
    shown: PresentSettings,
) -> Retrieval:
    """Return the retrieval that the rounds make.

    Args:
        query: as it was given.
        plan: that was followed.
        rounds: all waves.
        rules: of the profile.
        most: at most so many hits.
        profile: its name.
        started: when the call began, by `time.perf_counter`.
        sqlite: how SQLite works on the vault, as fields of the envelope.
        shown: how its hits become text for a prompt.
    """
    kept = next(one for one in rounds if one.kept)
    found = kept.ordered.found[: min(most, rules.kept(kept.ordered))]
    hits = hits_of(kept.ordered, found)
    notes = tuple(dict.fromkeys(note for one in rounds for note in one.wave.notes))
    first = rounds[0]
    verified = next((one for one in rounds if one.reason == "verification"), None)
    took_ms = (time.perf_counter() - started) * 1e3
    envelope = envelope_of(
        query=query,
        profile=profile,
        plan=plan,
        evidence=kept.judged.evidence,
        waves=[_wave(one) for one in rounds],
        initial=first.judged.evidence,
        verified=None if verified is None else verified.judged.evidence,
        notes=notes,
        fused=len(kept.ordered.found),
        returned=len(hits),
        confidence=kept.judged.confidence,
        expansion=Spoken(first.wave.variants, first.wave.phrased_ms) if first.wave.phrased_ms is not None else None,
        took_ms=took_ms,
        **sqlite,
    )
    lists = tuple(kept.ordered.lists)
    confidence = kept.judged.confidence
    return Retrieval(
        hits, query, profile, plan, envelope, lists, notes, confidence, took_ms, kept.ordered, tuple(rounds), shown
    )


def attributes_of(found: Retrieval) -> dict[str, Any]:
    """Return what a span tells of a retrieval: no text of a query or an entry."""
    said = found.envelope
    told: dict[str, Any] = {
        "db.response.returned_rows": len(found),
        "septet.profile": found.profile,
        "septet.corpora": list(found.plan.corpora),
        "septet.intent": said.search_intent,
        "septet.waves": len(said.waves),
        "septet.tier": said.retrieval_tier,
        "septet.source_diversity": said.source_diversity,
        "septet.notes": [note.code for note in found.notes],
    }
    if said.evidence_quality is not None:
        told["septet.evidence_quality"] = said.evidence_quality
    return told


def _wave(one: Round) -> AskedWave:
    asked = tuple(_asked(answer) for answer in one.wave.answers)
    return AskedWave(one.reason, one.query, one.why, one.kept, one.wave.took_ms, asked)


def _asked(answer: Answer) -> AskedCorpus:
    found = answer.found
    if found is None:
        return AskedCorpus(answer.corpus, answer.variant, answer.state, answer.took_ms)
    return AskedCorpus(
        answer.corpus,
        answer.variant,
        answer.state,
        answer.took_ms,
        len({item.key for ranked in found.lists for item in ranked.items}),
        {ranked.name: len(ranked.items) for ranked in found.lists},
        used_backends(found),
        found.step,
        found.contradictions,
        found.confidence,
    )
