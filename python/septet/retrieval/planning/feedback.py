"""Adapts a policy to feedback on retrievals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from septet.errors import QueryError
from septet.inputs.arguments import listed, real
from septet.retrieval.planning.policy import Policy, policy_of

#: The number of latest measurements that count, and the mean without any.
LATEST_ROWS, NO_ROWS = 24, 0.75
MOST_ROWS = 100_000


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
