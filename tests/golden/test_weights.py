"""Adaptive weights."""

from __future__ import annotations

from typing import Any

import pytest

from golden.differences import differs
from golden.loader import SIGNALS, recording
from septet import Vault
from septet.profiles.builtin import SEVEN_SIGNALS
from septet.ranking.score import weights_of

CASES = recording("weights")["cases"]
ACTIONS = ("accepted", "modified", "dismissed", "failed")
RECORDED_NAMES = ("semantic", "vector", "severity", "temporalDecay", "tagOverlap", "domainMatch", "graphProximity")


def documented(case: dict[str, Any], *, both_ways: bool) -> dict[str, float]:
    """Return the weights by the documented rule, or with the recorded clamp of the semantic weight."""
    hybrid = case["embeddingProvider"]
    base = dict(zip(SIGNALS, (0.2, 0.15, 0.1, 0.1, 0.1, 0.1, 0.15) if hybrid else (0.35, 0, 0.1, 0.1, 0.1, 0.1, 0.15)))
    counted = case["accepted"] + case["modified"] + case["dismissed"]
    if counted < 30:
        return base
    moved = ((case["accepted"] + 0.5 * case["modified"]) / counted - 0.5) * 0.3
    semantic = base["semantic"] + moved
    if hybrid and not both_ways:
        semantic = min(max(0.35 + moved - 0.15, 0.2), 0.5)
    others = {name: w for name, w in base.items() if name not in ("semantic", "vector")}
    share = (1 - semantic - base["vector"]) / sum(others.values())
    return {**base, "semantic": semantic, **{name: w * share for name, w in others.items()}}


every_case = pytest.mark.parametrize(
    "case", CASES, ids=lambda c: f"{'hybrid' if c['embeddingProvider'] else 'text'}-{[c[a] for a in ACTIONS]}"
)


@every_case
@differs("adaptive-both-ways")
def test_feedback_moves_the_weights_as_recorded_but_both_ways_with_vectors(case):
    recorded = {ours: case["weights"][theirs] for ours, theirs in zip(SIGNALS, RECORDED_NAMES)}
    assert documented(case, both_ways=False) == pytest.approx(recorded, abs=1e-12)
    row = "hybrid" if case["embeddingProvider"] else "text"
    found = weights_of(SEVEN_SIGNALS, row, {action: case[action] for action in ACTIONS})
    assert dict(found.values) == pytest.approx(documented(case, both_ways=True), abs=1e-12)
    counted = case["accepted"] + case["modified"] + case["dismissed"]
    lowered = case["accepted"] + 0.5 * case["modified"] < 0.5 * counted
    differs_here = case["embeddingProvider"] and counted >= 30 and lowered
    assert (dict(found.values) == pytest.approx(recorded, abs=1e-12)) == (not differs_here)
    assert sum(found.values.values()) == pytest.approx(case["sum"], abs=1e-12)


def test_the_recorded_clamp_is_met():
    lowered = [c for c in CASES if documented(c, both_ways=False) != pytest.approx(documented(c, both_ways=True))]
    assert 2 <= len(lowered) < len(CASES)


@every_case
@differs("acceptance-as-weighted")
def test_a_vault_reports_the_weights_and_the_rate_that_moved_them(case):
    with Vault(":memory:", profile="seven-signals") as vault:
        vault.add(id="x", title="kumquat", vector=[1.0, 0.0])
        for action in ACTIONS:
            for _ in range(case[action]):
                vault.feedback("kumquat", "x", action)
        found = vault.weights(vectors=case["embeddingProvider"])
        hits = vault.search("kumquat", query_vector=[1.0, 0.0] if case["embeddingProvider"] else None)
        assert dict(hits.weights) == pytest.approx(dict(found.values), abs=1e-12)
        assert dict(found.values) == pytest.approx(documented(case, both_ways=True), abs=1e-12)
        counted = case["accepted"] + case["modified"] + case["dismissed"]
        assert found.counted == counted
        if counted:
            assert found.accept_rate == pytest.approx((case["accepted"] + 0.5 * case["modified"]) / counted)
            alike = case["modified"] == case["failed"] == 0
            assert not alike or found.accept_rate == pytest.approx(case["reportedAcceptanceRate"])
        vault.purge(feedback=True)
        assert vault.weights(vectors=case["embeddingProvider"]).counted == 0
