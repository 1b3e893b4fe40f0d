"""Evidence: documented numbers and calibrated ones, what to do about them, and when to ask again."""

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import QueryError
from septet.retrieval.planning.evidence import (
    BUCKETS,
    calibrated_evidence,
    citation_coverage,
    evidence_of,
    evidence_quality,
    is_better,
    linked_contradictions,
    source_diversity,
    wants_verification,
)
from septet.retrieval.planning.policy import Policy

COUNTS = st.dictionaries(st.sampled_from([*BUCKETS, "tickets", "wiki", "mail"]), st.integers(0, 5))
SCORES = st.none() | st.floats(-1e9, 1e9)
SHARES = st.none() | st.floats(0, 1)
REASONS = {"contradictions_detected", "lexical_fallback_only", "single_corpus_evidence", "weak_evidence_quality"}
ACTIONS = {None, "ask_user", "broaden_scope", "focus_repo", "focus_codex", "retry_hybrid"}


def calibrated(hits, confidences, **rest):
    return calibrated_evidence(confidences, hits, **rest)


@given(COUNTS, SCORES, st.integers(0, 3), st.booleans(), st.booleans(), st.floats(0, 1), st.floats(0, 1))
def test_documented_numbers_stay_in_their_range_and_are_nothing_without_hits(
    hits, top, contradictions, code_like, fallback, top_weight, coverage_weight
):
    policy = Policy(evidence_quality_top_weight=top_weight, evidence_quality_coverage_weight=coverage_weight)
    found = evidence_of(hits, top, contradictions=contradictions, code_like=code_like, fallback=fallback, policy=policy)
    assert 0 <= found.evidence_quality <= 1
    assert 0 <= found.citation_coverage <= 1
    assert found.source_diversity <= sum(count > 0 for count in hits.values())
    assert found.recommended_next_action in ACTIONS
    if not any(hits.values()):
        assert (found.evidence_quality, found.citation_coverage, found.top_score) == (0, 0, None)
        assert found.recommended_next_action == ("ask_user" if contradictions else "broaden_scope")
    assert wants_verification(found, policy=policy) in {None, *REASONS}
    json.dumps(found.to_dict(), allow_nan=False)


@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(0, 1))
def test_a_better_score_or_more_places_never_lower_the_quality(one, other, coverage):
    low, high = sorted((one, other))
    assert evidence_quality(low, coverage) <= evidence_quality(high, coverage)
    assert evidence_quality(one, coverage) <= evidence_quality(one, min(coverage + 0.125, 1.0))


def test_corpora_that_rank_the_same_are_one_place_and_those_of_the_caller_are_their_own():
    assert source_diversity({"repo_inventory": 1, "semantic_files": 1}) == 1
    assert source_diversity({"tickets": 1, "wiki": 2, "mail": 0}) == 2
    assert citation_coverage(source_diversity({str(n): 1 for n in range(20)})) == 1.0
    assert len(set(BUCKETS.values())) == 8


@given(COUNTS, st.dictionaries(st.sampled_from([*BUCKETS, "tickets"]), SHARES), st.booleans(), st.booleans())
def test_calibrated_quality_is_the_best_confidence_and_unknown_is_not_zero(hits, confidences, code_like, fallback):
    found = calibrated(hits, confidences, code_like=code_like, fallback=fallback)
    known = [value for value in confidences.values() if value is not None]
    if not any(hits.values()):
        assert found.evidence_quality == 0.0
    else:
        assert found.evidence_quality == (max(known) if known else None)
    assert found.recommended_next_action in ACTIONS
    reason = wants_verification(found, searched=len(confidences))
    assert reason in {None, *REASONS}
    if found.evidence_quality is not None and found.evidence_quality >= 0.55:
        assert reason is None
        assert found.recommended_next_action is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_one_corpus_that_is_sure_is_enough_where_confidence_is_known():
    sure, alone = {"memory": 0.9}, {"memory": 3}
    assert wants_verification(evidence_of(alone, 0.9)) == "single_corpus_evidence"
    assert wants_verification(calibrated(alone, sure)) is None
    assert calibrated(alone, sure).recommended_next_action is None
    assert wants_verification(calibrated(alone, {"memory": 0.1})) == "weak_evidence_quality"
    assert wants_verification(calibrated(alone, {"memory": 0.1}), searched=3) == "single_corpus_evidence"
    assert wants_verification(calibrated(alone, {"memory": None}), searched=3) == "single_corpus_evidence"
    assert wants_verification(calibrated(alone, {"memory": None}), searched=1) is None


def test_a_fallback_is_asked_again_unless_confidence_is_high():
    hits = {"memory": 1, "document_chunks": 1}
    assert wants_verification(evidence_of(hits, 1.0, fallback=True)) == "lexical_fallback_only"
    assert wants_verification(calibrated(hits, {"memory": 0.9}, fallback=True)) is None
    assert wants_verification(calibrated(hits, {"memory": 0.2}, fallback=True)) == "lexical_fallback_only"


def test_hits_of_the_web_and_of_names_alone_are_asked_again_as_documented():
    assert wants_verification(evidence_of({"web_research": 3, "symbol_proximity": 3}, 1.0)) == "weak_evidence_quality"
    assert wants_verification(evidence_of({"web_research": 3, "docs_mirror": 3}, 1.0)) is None


def test_a_verification_needs_another_query_and_leave():
    weak = evidence_of({}, None)
    assert wants_verification(weak, query="Where is it", rewritten="it") == "single_corpus_evidence"
    assert wants_verification(weak, query="Billing Policy", rewritten="billing policy") is None
    assert wants_verification(weak, query="what is it", rewritten=None) is None
    assert wants_verification(weak, allowed=False) is None


def test_the_threshold_is_the_policys():
    evidence = evidence_of({"memory": 1, "repo_inventory": 1, "document_chunks": 1}, 0.62)
    for threshold in (0.0, 0.3, 0.54, 0.55, 1.0):
        policy = Policy(verification_weak_evidence_threshold=threshold)
        weak = evidence.evidence_quality < threshold
        assert (wants_verification(evidence, policy=policy) == "weak_evidence_quality") == weak


@given(COUNTS, SCORES, COUNTS, SCORES)
def test_the_better_wave_has_more_quality_or_more_places(hits, top, others, other_top):
    one, other = evidence_of(hits, top), evidence_of(others, other_top)
    assert not is_better(one, one)
    higher = other.evidence_quality > one.evidence_quality
    assert is_better(one, other) == (higher or other.source_diversity > one.source_diversity)


def test_an_unknown_quality_replaces_no_known_one():
    known, unknown = calibrated({"memory": 1}, {"memory": 0.4}), calibrated({"memory": 1}, {"memory": None})
    assert not is_better(known, unknown)
    assert is_better(unknown, known)


def test_hits_contradict_where_a_link_says_so():
    links = [("a", "b", "contradicts"), ("b", "c", "supports"), ("d", "z", "contradicts"), ("e", "e", "contradicts")]
    assert linked_contradictions(["a", "b", "c", "d", "e"], links) == 2
    assert linked_contradictions([], links) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"hits": None},
        {"hits": {"memory": -1}},
        {"hits": {"memory": 1.5}},
        {"hits": {1: 1}},
        {"top_score": math.nan},
        {"top_score": "1"},
        {"contradictions": -1},
    ],
)
def test_counts_and_scores_that_cannot_be_raise(wrong):
    with pytest.raises(QueryError):
        evidence_of(**{"hits": {"memory": 1}, "top_score": 1.0, **wrong})
    with pytest.raises(QueryError):
        calibrated_evidence({"memory": 1.5}, {"memory": 1})


def test_evidence_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        evidence_of({}, None).top_score = 1.0
