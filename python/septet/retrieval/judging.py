"""Judging: the facts about the answers of a wave, and the evidence that they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.retrieval.ordering import HYBRID, VECTOR
from septet.retrieval.planning.evidence import Evidence, calibrated_evidence, evidence_of
from septet.retrieval.planning.planner import looks_like_code

if TYPE_CHECKING:
    from septet.retrieval.corpus import Answered, RankedList
    from septet.retrieval.planning.policy import Policy
    from septet.retrieval.waves import Answer

__all__ = ["Judged", "judged", "used_backends"]

#: Of whose best score the documented quality is made: of the first of these that found something.
FIRST = ("memory", "document_chunks", "repo_inventory", "remote", "docs_mirror", "web_research")


class Judged(NamedTuple):
    """What is known of the answers of a wave.

    Attributes:
        evidence: the numbers that the profile acts on.
        asked: how many corpora were asked.
        confidence: how likely an answer is there, 0 to 1; None where no corpus can tell.
    """

    evidence: Evidence
    asked: int
    confidence: float | None


def judged(query: str, answers: Sequence[Answer], policy: Policy, *, linked: int = 0) -> Judged:
    """Return what is known of answers.

    Args:
        query: the original phrasing.
        answers: of all phrasings.
        policy: says which numbers the evidence has.
        linked: how many hits a link says to contradict another, beside those that corpora tell.
    """
    found = [(one.corpus, one.found) for one in answers if one.found is not None]
    keys: dict[str, dict[str, float]] = {one.corpus: {} for one in answers}
    confidences: dict[str, float | None] = {}
    for name, answered in found:
        for ranked in answered.lists:
            for item in ranked.items:
                keys[name][item.key] = max(item.hit.score, keys[name].get(item.key, item.hit.score))
        known = [one for one in (confidences.get(name), answered.confidence) if one is not None]
        confidences[name] = max(known, default=None)
    counts = {name: len(own) for name, own in keys.items()}
    best = next((name for name in (*FIRST, *counts) if counts.get(name)), None)
    top = None if best is None else max(keys[best].values())
    contradictions = linked + sum(answered.contradictions for _, answered in found)
    fallback = any(answered.fallback for _, answered in found)
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
    return Judged(evidence, len(counts), confidence)


def used_backends(found: Answered) -> tuple[str, ...]:
    """Return the backends that found something: of those by words none where vectors alone did, and the reverse."""
    lists = [ranked for ranked in found.lists if ranked.items]
    by_vector = any(ranked.name == VECTOR or _has(ranked, "cosine") for ranked in lists)
    by_words = any(ranked.name not in (VECTOR, HYBRID) or _has(ranked, "bm25") for ranked in lists)
    kept = [name for name in found.backends if (by_vector if name.endswith("_vector") else by_words)]
    return tuple(kept) if lists else ()


def _has(ranked: RankedList, leg: str) -> bool:
    if ranked.name != HYBRID:
        return False
    # BM25 is 0 where a search of both legs found an entry by its vector alone; a cosine of 0 is one.
    known = [value for item in ranked.items if (value := item.hit.raw.get(leg)) is not None]
    return any(known) if leg == "bm25" else bool(known)
