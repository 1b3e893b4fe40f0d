"""Judges the replies of a wave; `Round` is a wave with its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from septet.retrieval.ordering import HYBRID, VECTOR, Ordered
from septet.retrieval.planning.evidence import Evidence, calibrated_evidence, evidence_of
from septet.retrieval.planning.planner import looks_like_code

if TYPE_CHECKING:
    from septet.retrieval.corpus import Answered, Asked, RankedList
    from septet.retrieval.planning.policy import Policy
    from septet.retrieval.waves import Reply, Wave

#: The reason of a wave.
Reason: TypeAlias = Literal["query", "verification", "corrective", "follow_up"]
#: Corpora by precedence: the documented quality uses the best score of the first one with hits.
FIRST = ("memory", "document_chunks", "repo_inventory", "remote", "docs_mirror", "web_research")


class Judgement(NamedTuple):
    """The judgement of a wave.

    Attributes:
        evidence: the numbers that the profile acts on.
        corpora: number of corpora searched.
        confidence: probability that the hits contain an answer, 0 to 1; None if no corpus reports one.
    """

    evidence: Evidence
    corpora: int
    confidence: float | None


class Round(NamedTuple):
    """One wave and its outcome.

    Attributes:
        reason: kind of the wave.
        query: the query; other phrasings are in the wave.
        why: documented reason of a further wave, such as ``weak_evidence_quality``.
        wave: the replies.
        ordered: the order of the replies; for corrections and follow-ups, with the replies of earlier waves.
        judgement: the evidence and the confidence.
        used: True if the hits come from it.
        request: the request with the original phrasing.
    """

    reason: Reason
    query: str
    why: str
    wave: Wave
    ordered: Ordered
    judgement: Judgement
    used: bool
    request: Asked


def judgement_of(query: str, answers: Sequence[Reply], policy: Policy, *, linked: int = 0) -> Judgement:
    """Return the judgement of the replies to all phrasings of a query.

    Args:
        query: the original phrasing.
        policy: selects the kind of evidence.
        linked: number of hits that contradict another by a link, in addition to those that corpora report.
    """
    answered_corpora = [(reply.corpus, reply.answered) for reply in answers if reply.answered is not None]
    keys: dict[str, dict[str, float]] = {reply.corpus: {} for reply in answers}
    confidences: dict[str, float | None] = {}
    for name, answered in answered_corpora:
        for ranked in answered.lists:
            for item in ranked.items:
                keys[name][item.key] = max(item.hit.score, keys[name].get(item.key, item.hit.score))
        known = [value for value in (confidences.get(name), answered.confidence) if value is not None]
        confidences[name] = max(known, default=None)
    counts = {name: len(scores) for name, scores in keys.items()}
    best = next((name for name in (*FIRST, *counts) if counts.get(name)), None)
    top = None if best is None else max(keys[best].values())
    contradictions = linked + sum(answered.contradictions for _, answered in answered_corpora)
    fallback = any(answered.fallback for _, answered in answered_corpora)
    code_like = looks_like_code(query, policy)
    if policy.evidence == "calibrated":
        evidence = calibrated_evidence(
            {name: confidences.get(name) for name, count in counts.items() if count},
            counts,
            top_score=top,
            contradictions=contradictions,
            code_like=code_like,
            fallback=fallback,
            policy=policy,
        )
    else:
        evidence = evidence_of(
            counts, top, contradictions=contradictions, code_like=code_like, fallback=fallback, policy=policy
        )
    confidence = max((value for value in confidences.values() if value is not None), default=None)
    return Judgement(evidence, len(counts), confidence)


def used_backends(answer: Answered) -> tuple[str, ...]:
    """Return the backends that produced hits: none by words if vectors alone did, and the reverse."""
    lists = [ranked for ranked in answer.lists if ranked.items]
    by_vector = any(ranked.name == VECTOR or _has(ranked, "cosine") for ranked in lists)
    by_words = any(ranked.name not in (VECTOR, HYBRID) or _has(ranked, "bm25") for ranked in lists)
    names = [name for name in answer.backends if (by_vector if name.endswith("_vector") else by_words)]
    return tuple(names) if lists else ()


def _has(ranked: RankedList, leg: str) -> bool:
    if ranked.name != HYBRID:
        return False
    # BM25 is 0 for an entry that only the vector leg matched; a cosine of 0 is a value.
    known = [value for item in ranked.items if (value := item.hit.raw.get(leg)) is not None]
    return any(known) if leg == "bm25" else bool(known)
