"""The policy of planned retrieval: its bounds, and how feedback moves it, as recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from golden.loader import other_recording
from septet import ProfileError
from septet.retrieval.planning.evidence import tuned
from septet.retrieval.planning.policy import Policy

CLAMPS = other_recording("vox-policy-clamps")["cases"]
FEEDBACK = other_recording("vox-policy-feedback")["cases"]


def given(case: Mapping[str, Any]) -> dict[str, Any]:
    weight = case["vector_weight"]
    return {
        "memory_bm25_k1": case["k1"],
        "memory_bm25_b": case["b"],
        "rrf_k": case["rrf_k"],
        "memory_vector_fusion_weight": weight,
        "chunk_vector_fusion_weight": weight,
    }


@pytest.mark.parametrize("case", CLAMPS, ids=lambda case: f"k1={case['k1']}-k={case['rrf_k']}")
def test_a_lenient_policy_takes_the_nearest_number_as_recorded(case: Mapping[str, Any]) -> None:
    wanted = case["clamped"]
    policy = Policy.from_dict(given(case), strict=False)
    assert policy.memory_bm25_k1 == wanted["k1"]
    assert policy.memory_bm25_b == wanted["b"]
    assert policy.rrf_k == wanted["rrf_k"]
    assert policy.memory_vector_fusion_weight == wanted["memory_vector_weight"]
    assert policy.chunk_vector_fusion_weight == wanted["chunk_vector_weight"]


@pytest.mark.parametrize("case", CLAMPS, ids=lambda case: f"k1={case['k1']}-k={case['rrf_k']}")
def test_a_strict_policy_refuses_exactly_what_a_lenient_one_changes(case: Mapping[str, Any]) -> None:
    values = given(case)
    lenient = Policy.from_dict(values, strict=False)
    changed = [name for name, value in values.items() if getattr(lenient, name) != value]
    assert [problem.split()[0] for problem in lenient.problems] == changed
    if not changed:
        assert Policy(**values) == lenient
        return
    with pytest.raises(ProfileError) as raised:
        Policy(**values)
    assert all(name in str(raised.value) for name in changed)


@pytest.mark.parametrize("case", FEEDBACK, ids=lambda case: f"{case['citation_precision']}-{case['model_reliability']}")
def test_feedback_moves_the_policy_as_recorded(case: Mapping[str, Any]) -> None:
    names = ("citation_precision", "model_reliability", "source_hit_rate")
    policy = Policy()
    for wanted in case["after_applying_1_to_4_times"]:
        policy = tuned(policy, **{name: case[name] for name in names})
        assert policy.verification_weak_evidence_threshold == pytest.approx(wanted["threshold"], abs=1e-12)
        assert policy.web_search_max_hops == wanted["max_hops"]
        assert policy.evidence_quality_coverage_weight == pytest.approx(wanted["coverage_weight"], abs=1e-12)
        assert policy.evidence_quality_top_weight == pytest.approx(wanted["top_weight"], abs=1e-12)
