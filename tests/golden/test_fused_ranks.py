"""Fusion of lists by rank, and of two legs by score, as both recorded systems do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, get_args

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet.retrieval.fusion import (
    Evidence,
    Fused,
    bounded_k,
    convex,
    merged_evidence,
    rrf,
)
from twins.recorded import Provenance, key_of_line, merged_provenance

RANKS = other_recording("lore-rrf")["cases"]
LINES = other_recording("vox-rrf")["cases"]
KEYS = other_recording("vox-rrf-keys")["cases"]
LEGS = other_recording("vox-fuse-hybrid")
KINDS = other_recording("vox-evidence-merge")["cases"]
#: Recorded scores of two legs are of 32 bits.
SINGLE = 1e-6
#: A list that repeats what another one has too.
TWICE: Mapping[str, Any] = {"k": 60, "lists": [{"items": ["a", "b", "a"], "weight": 1}, {"items": ["a"], "weight": 1}]}


def fused(case: Mapping[str, Any]) -> list[Fused]:
    lists = case["lists"]
    return rrf([one["items"] for one in lists], [one.get("weight", 1) for one in lists], k=case.get("k", 60))


def repeated(case: Mapping[str, Any]) -> dict[str, float]:
    """Return what the repetitions of an item in one list add to its recorded score."""
    more: dict[str, float] = {}
    for one in case["lists"]:
        for at, item in enumerate(one["items"]):
            if item in one["items"][:at]:
                more[item] = more.get(item, 0.0) + one.get("weight", 1) / (case.get("k", 60) + at)
    return more


@pytest.mark.parametrize("case", RANKS)
@differs("once-in-a-list")
def test_ranks_are_fused_as_recorded(case: Mapping[str, Any]) -> None:
    recorded = {one["id"]: one["score"] for one in case["fused"]}
    found, more = fused(case), repeated(case)
    assert {one.key: one.score for one in found} == pytest.approx(
        {key: score - more.get(key, 0.0) for key, score in recorded.items()}, rel=1e-12
    )
    if not more:
        assert_same_order([one.key for one in found], [one["id"] for one in case["fused"]], recorded)


@differs("once-in-a-list")
def test_an_item_that_a_list_repeats_counts_at_its_best_rank() -> None:
    for case in [TWICE, *filter(repeated, RANKS)]:
        once = {**case, "lists": [{**one, "items": unrepeated(one["items"])} for one in case["lists"]]}
        scores = {one.key: one.score for one in fused(case)}
        assert scores.items() < {one.key: one.score for one in fused(once)}.items()


def unrepeated(items: Sequence[str]) -> list[str]:
    """Return a list whose repetitions are items that no other list has, so that all places stay."""
    return [item if item not in items[:at] else f"{item} {at}" for at, item in enumerate(items)]


def assert_same_order(ours: Sequence[str], theirs: Sequence[str], scores: Mapping[str, float]) -> None:
    """Two orders are alike but for items whose scores are so."""
    assert sorted(ours) == sorted(theirs)
    for one, other in zip(ours, theirs):
        assert scores[one] == pytest.approx(scores[other], rel=1e-12)


@pytest.mark.parametrize("case", LINES)
@differs("ties-have-an-order")
def test_lines_are_fused_by_their_tags_as_recorded(case: Mapping[str, Any]) -> None:
    texts: dict[str, str] = {}
    for line in (line for lines in case["lists"] for line in lines):
        texts.setdefault(key_of_line(line), line)
    keys = [[key_of_line(line) for line in lines] for lines in case["lists"]]
    found = rrf(keys, k=bounded_k(case["k"]), first_rank=1)
    ours = [texts[one.key] for one in found][: max(1, case["limit"])]
    scores = {texts[one.key]: one.score for one in found}
    assert len(ours) == len(case["fused"])
    assert [scores[line] for line in ours] == pytest.approx([scores[line] for line in case["fused"]], rel=1e-12)
    assert [texts[one.key] for one in rrf(keys, k=bounded_k(case["k"]), first_rank=1)][: len(ours)] == ours


@pytest.mark.parametrize("case", KEYS)
def test_a_line_is_known_by_its_recorded_tag(case: Mapping[str, Any]) -> None:
    found = key_of_line(case["line"])
    if case["key"].startswith("opaque:"):
        assert found.startswith("opaque:") and found == key_of_line(case["line"]) != key_of_line(case["line"] + ".")
    else:
        assert found == case["key"]


@pytest.mark.parametrize("case", KINDS)
def test_evidence_of_two_kinds_is_merged_as_recorded(case: Mapping[str, Any]) -> None:
    assert merged_evidence(case["a"], case["b"]) == case["merged"]
    assert merged_evidence(case["b"], case["a"]) == case["merged"]
    assert case["merged"] in get_args(Evidence)


def legs() -> tuple[dict[str, float], dict[str, float], dict[str, Provenance], dict[str, Provenance]]:
    """Return the scores of both recorded legs, and what is known of their hits.

    Some rows of the vectors are missing in the recording: what they scored follows from the answer of greatest weight.
    """
    columns = LEGS["inputs"]["columns"]
    scores: dict[str, dict[str, float]] = {}
    known: dict[str, dict[str, Provenance]] = {}
    for leg, evidence in (("vector", "vector"), ("text", "full_text")):
        rows = [dict(zip(columns, row)) for row in LEGS["inputs"][leg]]
        scores[leg] = {row["id"]: row["score"] for row in rows}
        known[leg] = {row["id"]: provenance(row, evidence) for row in rows}
    vector, text = scores["vector"], scores["text"]
    told = max(LEGS["cases"], key=lambda case: case["vector_weight"])
    weight = told["vector_weight"]
    for one in told["fused"]:
        if one["evidence"] == "hybrid" and one["id"] not in vector:
            rest = one["score"] - text[one["id"]] * (1 - weight)
            # Where vectors count nothing, any score of theirs gives the answer.
            vector[one["id"]] = rest / weight if weight else 0.0
    return vector, text, known["vector"], known["text"]


def provenance(row: Mapping[str, Any], evidence: str) -> Provenance:
    told = row["snippet"], row["retrieved_at_ms"], row["query_id"], tuple(row["claims"]), tuple(row["hints"])
    return Provenance(evidence, *told)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", LEGS["cases"], ids=lambda case: f"{case['vector_weight']}")
@differs("ties-have-an-order")
def test_two_legs_are_fused_as_recorded(case: Mapping[str, Any]) -> None:
    vector, text, of_vector, of_text = legs()
    found = convex(vector, text, case["vector_weight"])
    recorded = {one["id"]: one for one in case["fused"]}
    assert {one.key for one in found} == recorded.keys()
    assert all(a.score >= b.score for a, b in pairwise(found))
    for key, score, parts in found:
        assert score == pytest.approx(recorded[key]["score"], abs=SINGLE)
        assert [place for place, _, _ in parts] == [place for place, leg in enumerate((vector, text)) if key in leg]
    in_full = {key for key in recorded if (key in vector) == (key in of_vector)}
    assert in_full
    for key in in_full:
        sides = [side[key] for side in (of_vector, of_text) if key in side]
        merged = sides[0] if len(sides) == 1 else merged_provenance(*sides)
        one = recorded[key]
        assert merged.evidence == one["evidence"]
        assert (merged.snippet, merged.retrieved_at) == (one["snippet"], one["retrieved_at_ms"])
        assert merged.query_id == one["query_id"]
        assert (sorted(merged.claims), sorted(merged.hints)) == (sorted(one["claims"]), sorted(one["hints"]))
