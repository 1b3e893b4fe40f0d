"""Evidence: the quality of hits, by documented numbers or by confidences; and a policy adapted to feedback on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Literal, NamedTuple, TypeAlias

from septet.errors import QueryError
from septet.inputs.arguments import listed, real, shown, whole
from septet.model.codec import Plain
from septet.retrieval.planning.policy import Policy, policy_of

#: Next actions; the same five for documented and calibrated evidence.
NextAction: TypeAlias = Literal["ask_user", "broaden_scope", "focus_repo", "focus_codex", "retry_hybrid"]
VerificationReason: TypeAlias = Literal[
    "contradictions_detected", "lexical_fallback_only", "single_corpus_evidence", "weak_evidence_quality"
]

#: The eight documented places of evidence, by corpus. A custom corpus is its own place.
BUCKETS: Mapping[str, str] = {
    "memory": "memory",
    "knowledge_graph": "knowledge",
    "document_chunks": "chunk",
    "repo_inventory": "repo",
    "semantic_files": "repo",
    "docs_mirror": "tantivy",
    "remote": "qdrant",
    "web_research": "web",
    "symbol_proximity": "symbol",
}
#: Places whose hits are not local evidence: if only these have hits, the documented rule verifies.
_NOT_LOCAL = frozenset({"web", "symbol"})
MOST_BUCKETS = 8
#: The number of latest measurements that count, and the mean without any.
LATEST_ROWS, NO_ROWS = 24, 0.75
MOST_ROWS = 100_000
#: The link type of a contradiction.
CONTRADICTS = "contradicts"


@dataclass(frozen=True, kw_only=True)
class Evidence(Plain):
    """The quality of the hits of a wave.

    Attributes:
        kind: which numbers these are.
        top_score: the best score, as documented; None without hits.
        hit_counts: number of hits by corpus.
        source_diversity: number of the eight places with hits.
        citation_coverage: the same as a share of eight.
        evidence_quality: 0 to 1. ``documented``: the weighted sum of the best score and the coverage. ``calibrated``:
            the largest confidence, None if no corpus reports one.
        contradiction_count: number of hits that contradict others.
        used_lexical_fallback: True if some corpus has hits of a fallback only.
        recommended_next_action: the remedy for poor evidence; None for none.
    """

    kind: Literal["documented", "calibrated"]
    top_score: float | None
    hit_counts: Mapping[str, int]
    source_diversity: int
    citation_coverage: float
    evidence_quality: float | None
    contradiction_count: int
    used_lexical_fallback: bool
    recommended_next_action: NextAction | None


def source_diversity(hits: Mapping[str, int]) -> int:
    """Return the number of places with hits, from the number of hits by corpus."""
    return len({BUCKETS.get(name, name) for name, count in hits.items() if count > 0})


def citation_coverage(diversity: int) -> float:
    """Return the share of the eight documented places that have hits, at most 1."""
    return min(diversity / MOST_BUCKETS, 1.0)


def evidence_quality(
    top_score: float | None, coverage: float, *, top_weight: float = 0.7, coverage_weight: float = 0.3
) -> float:
    """Return the documented quality: the weighted sum of the best score, clamped to 0 to 1, and the coverage.

    It is 0 without hits. BM25 scores above 1 count as 1.
    """
    if coverage <= 0.0:
        return 0.0
    top = min(max(top_score or 0.0, 0.0), 1.0)
    return min(max(top * top_weight + coverage * coverage_weight, 0.0), 1.0)


def next_action(diversity: int, *, contradictions: int, code_like: bool, fallback: bool) -> NextAction | None:
    """Return the documented next action, by the first condition that holds.

    Contradictions: ``ask_user``. No hits: ``broaden_scope``. One place: ``focus_repo`` for a query about code,
    else ``focus_codex``. Hits of a fallback: ``retry_hybrid``.
    """
    if contradictions > 0:
        return "ask_user"
    if diversity <= 0:
        return "broaden_scope"
    if diversity == 1:
        return "focus_repo" if code_like else "focus_codex"
    return "retry_hybrid" if fallback else None


class WaveCounts(NamedTuple):
    """The hits of a wave in numbers; those of the same name are as of `Evidence`.

    Attributes:
        hits: number of hits by corpus.
        top_score: the best score.
        contradictions: number of hits that contradict others.
        code_like: True for a query about code.
        fallback: True if some corpus has hits of a fallback only.
    """

    hits: Mapping[str, int]
    top_score: float | None
    contradictions: int
    code_like: bool
    fallback: bool


def documented(counted: WaveCounts, policy: Policy) -> Evidence:
    """Return the documented numbers of checked counts; see `evidence_of`."""
    hits, top_score, contradictions, code_like, fallback = counted
    diversity = source_diversity(hits)
    coverage = citation_coverage(diversity)
    top = None if diversity == 0 else top_score
    weights = policy.evidence_quality_top_weight, policy.evidence_quality_coverage_weight
    return Evidence(
        kind="documented",
        top_score=top,
        hit_counts=hits,
        source_diversity=diversity,
        citation_coverage=coverage,
        evidence_quality=evidence_quality(top, coverage, top_weight=weights[0], coverage_weight=weights[1]),
        contradiction_count=contradictions,
        used_lexical_fallback=fallback,
        recommended_next_action=next_action(
            diversity, contradictions=contradictions, code_like=code_like, fallback=fallback
        ),
    )


def calibrated(counted: WaveCounts, confidences: Mapping[str, float | None], policy: Policy) -> Evidence:
    """Return the evidence from checked confidences by corpus; see `calibrated_evidence`."""
    hits, top_score, contradictions, code_like, fallback = counted
    diversity = source_diversity(hits)
    action = next_action(diversity, contradictions=contradictions, code_like=code_like, fallback=fallback)
    quality = None
    for value in confidences.values():
        if value is not None and (quality is None or value > quality):
            quality = value
    if diversity == 0:
        quality = 0.0
    weak = quality is None or quality < policy.verification_weak_evidence_threshold
    if action in ("focus_repo", "focus_codex", "retry_hybrid"):
        action = action if weak and (diversity > 1 or len(confidences) > 1) else None
    if action is None and quality is not None and weak:
        action = "broaden_scope"
    return Evidence(
        kind="calibrated",
        top_score=None if diversity == 0 else top_score,
        hit_counts=hits,
        source_diversity=diversity,
        citation_coverage=citation_coverage(diversity),
        evidence_quality=quality,
        contradiction_count=contradictions,
        used_lexical_fallback=fallback,
        recommended_next_action=action,
    )


def evidence_of(
    hits: Mapping[str, int],
    top_score: float | None,
    *,
    contradictions: int = 0,
    code_like: bool = False,
    fallback: bool = False,
    policy: Policy | None = None,
) -> Evidence:
    """Return the documented numbers; ``top_score`` is that of the memory, or else of the first corpus with hits.

    Raises:
        QueryError: a count is negative, or the score is not finite.
    """
    return documented(_counted(hits, top_score, contradictions, code_like, fallback), policy_of(policy))


def _counted(
    hits: Mapping[str, int], top_score: float | None, contradictions: int, code_like: bool, fallback: bool
) -> WaveCounts:
    """Return a caller's numbers, checked."""
    if not isinstance(hits, Mapping) or not all(isinstance(name, str) for name in hits):
        raise QueryError(f"hits is {shown(hits)}: wanted how many hits each corpus has, by its name")
    counts = {name: whole(count, f"the hits of {shown(name)}", QueryError, 0) for name, count in hits.items()}
    contradictions = whole(contradictions, "contradictions", QueryError, 0)
    has_score = top_score is not None and source_diversity(counts) > 0
    top = real(top_score, "top_score", QueryError) if has_score else None
    return WaveCounts(counts, top, contradictions, code_like, fallback)


def calibrated_evidence(
    confidences: Mapping[str, float | None],
    hits: Mapping[str, int],
    *,
    top_score: float | None = None,
    contradictions: int = 0,
    code_like: bool = False,
    fallback: bool = False,
    policy: Policy | None = None,
) -> Evidence:
    """Return the evidence from confidences by corpus; ``top_score`` is only reported.

    The quality is the largest confidence (`Results.confidence`: 0.5 is as likely as not). They are not summed: corpora
    that got the same query are no independent witnesses. Corpora without a confidence are ignored; if none has one, the
    quality is unknown, or 0 without hits. Evidence of sufficient quality needs no second place.

    Raises:
        QueryError: a count is negative, or a confidence is outside 0 to 1.
    """
    counted, policy = _counted(hits, top_score, contradictions, code_like, fallback), policy_of(policy)
    if not isinstance(confidences, Mapping):
        raise QueryError(f"confidences is {shown(confidences)}: wanted a number or None for each corpus, by its name")
    known = {
        name: None
        if value is None or (isinstance(value, float) and isnan(value))
        else real(value, f"the confidence of {shown(name)}", QueryError, 0.0, 1.0)
        for name, value in confidences.items()
    }
    return calibrated(counted, known, policy)


def wants_verification(
    evidence: Evidence,
    *,
    allowed: bool = True,
    query: str = "",
    rewritten: str | None = "",
    searched: int | None = None,
    policy: Policy | None = None,
) -> VerificationReason | None:
    """Return the reason for a second wave, or None.

    As documented: contradictions, a fallback, hits in one place or none, or a quality below the threshold. Calibrated
    evidence from one place is verified only if its quality is weak, or unknown after several corpora were searched.

    There is none if the plan does not allow it, or if ``rewritten``, the query of the second wave, is None (no words
    are left) or differs only in case, which no corpus distinguishes. ``searched`` is the number of corpora, by default
    as many as `evidence` counts.
    """
    if not allowed or rewritten is None or (query and is_same_query(rewritten, query)):
        return None
    quality = evidence.evidence_quality
    weak = quality is not None and quality < policy_of(policy).verification_weak_evidence_threshold
    if evidence.contradiction_count > 0:
        return "contradictions_detected"
    if evidence.kind == "calibrated":
        alone = (len(evidence.hit_counts) if searched is None else searched) <= 1
        narrow = evidence.source_diversity <= 1 and not alone and (weak or quality is None)
        fallback = evidence.used_lexical_fallback and (weak or quality is None)
    else:
        narrow, fallback = evidence.source_diversity <= 1, evidence.used_lexical_fallback
        counts = evidence.hit_counts.items()
        weak = weak or not any(count > 0 and BUCKETS.get(name, name) not in _NOT_LOCAL for name, count in counts)
    if fallback:
        return "lexical_fallback_only"
    if narrow:
        return "single_corpus_evidence"
    return "weak_evidence_quality" if weak else None


def is_same_query(query: str, other: str) -> bool:
    """Return True if two queries differ only in case, which no corpus distinguishes."""
    return query.casefold() == other.casefold()


def is_better(first: Evidence, second: Evidence) -> bool:
    """Return True if the second wave has a higher quality or diversity than the first.

    Unknown quality is not better than known quality.
    """
    before, after = first.evidence_quality, second.evidence_quality
    higher = after is not None and (before is None or after > before)
    return higher or second.source_diversity > first.source_diversity


def linked_contradictions(ids: Iterable[str], links: Iterable[tuple[str, str, str]]) -> int:
    """Return the number of hits with a link (source, target, type) ``contradicts`` from or to another hit."""
    among = frozenset(ids)
    flagged: set[str] = set()
    for source, target, type_ in links:
        if type_ == CONTRADICTS and source != target and source in among and target in among:
            flagged.update((source, target))
    return len(flagged)


def tuned(
    policy: Policy,
    *,
    citation_precision: float | None = None,
    model_reliability: float | None = None,
    source_hit_rate: float | None = None,
) -> Policy:
    """Return the policy adapted to feedback, as documented.

    Weak citations (precision under 0.65, or hit rate under 0.5) raise the threshold of weak evidence by 0.1, to at most
    0.85, and the hops by one, to at most 5. An unreliable model (under 0.6) moves 0.1 of the weight of the best score
    to coverage, to at most 0.6. Good citations (0.85 and 0.8) lower the threshold by 0.05, to at least 0.45. Values
    beyond these limits stay.

    Args:
        policy: the policy to adapt.
        citation_precision: the share of correct citations, clamped to 0 to 1; None is 0.75.
        model_reliability: the share of correct answers, likewise.
        source_hit_rate: the share of retrievals whose sources were used, likewise.

    Raises:
        QueryError: a value is not finite.
    """
    precision, reliability, hit_rate = (
        NO_ROWS if value is None else min(max(real(value, name, QueryError), 0.0), 1.0)
        for name, value in (
            ("citation_precision", citation_precision),
            ("model_reliability", model_reliability),
            ("source_hit_rate", source_hit_rate),
        )
    )
    policy = policy_of(policy)
    threshold, hops = policy.verification_weak_evidence_threshold, policy.web_search_max_hops
    coverage, top = policy.evidence_quality_coverage_weight, policy.evidence_quality_top_weight
    if precision < 0.65 or hit_rate < 0.5:
        threshold = max(threshold, min(threshold + 0.10, 0.85))
        hops = max(hops, min(hops + 1, 5))
    if reliability < 0.6 and coverage < 0.6:
        coverage = min(coverage + 0.10, 0.6)
        top = max(1.0 - coverage, 0.4)
    if precision >= 0.85 and hit_rate >= 0.8:
        threshold = min(threshold, max(threshold - 0.05, 0.45))
    return replace(
        policy,
        verification_weak_evidence_threshold=threshold,
        web_search_max_hops=hops,
        evidence_quality_coverage_weight=coverage,
        evidence_quality_top_weight=top,
    )


def recent_mean(values: Sequence[float]) -> float:
    """Return the mean of the last 24 measurements, for `tuned`; 0.75 if there is none.

    Raises:
        QueryError: a measurement is not finite.
    """
    rows = listed(values, "values", QueryError, "a list of measurements", MOST_ROWS)
    latest = [real(value, "a measurement", QueryError) for value in rows[-LATEST_ROWS:]]
    return sum(latest) / len(latest) if latest else NO_ROWS
