"""Evidence, follow-up queries, routes, budgets of characters and answers, as recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet.evaluation.measures import groundedness, term_recall
from septet.retrieval.account.envelope import retrieval_tier
from septet.retrieval.planning.evidence import BUCKETS, evidence_of, wants_verification
from septet.retrieval.planning.policy import Policy
from septet.retrieval.planning.queries import Clue, _names, follow_up_queries, found_in, rewritten_query, route
from septet.retrieval.recall.presenting import Passage, selected_passages

RECORDED = Policy(words="substring")
#: The corpus of each recorded place; two corpora rank the same paths.
CORPUS_OF = {place: name for name, place in BUCKETS.items() if name != "semantic_files"}
LISTS = (*RECORDED.route_web_words, *RECORDED.route_context_phrases)


def cases(name: str) -> Any:
    return other_recording(f"vox-{name}")["cases"]


@pytest.mark.parametrize("case", cases("evidence-quality"))
def test_the_numbers_and_the_verification_are_the_recorded_ones(case: Mapping[str, Any]) -> None:
    evidence = evidence_of(
        {CORPUS_OF[place]: count for place, count in case["hits"].items()},
        case["top_score"],
        contradictions=case["contradictions"],
        code_like=case["looks_like_code"],
        fallback=case["lexical_fallback"],
        policy=RECORDED,
    )
    assert evidence.source_diversity == case["source_diversity"]
    assert evidence.citation_coverage == pytest.approx(case["citation_coverage"], abs=1e-12)
    assert evidence.evidence_quality == pytest.approx(case["evidence_quality"], abs=1e-12)
    assert evidence.recommended_next_action == case["recommended_next_action"]
    reason = wants_verification(evidence, allowed=case["trigger"] != "verification", policy=RECORDED)
    assert reason == case["verification_reason"]
    assert (reason is not None) == case["verification_wanted"]


@pytest.mark.parametrize("case", cases("query-tokens"), ids=lambda case: case["query"])
@differs("letters-make-tokens")
def test_the_rewritten_query_is_the_recorded_one(case: Mapping[str, Any]) -> None:
    assert rewritten_query(case["query"], RECORDED) == case["verification_query"]
    if case["query"].isascii():
        assert rewritten_query(case["query"]) == case["verification_query"]


@pytest.mark.parametrize("case", cases("query-tokens"), ids=lambda case: case["query"])
@differs("letters-in-another-case-are-no-other-query")
def test_nothing_is_asked_again_for_the_case_of_its_letters(case: Mapping[str, Any]) -> None:
    query, rewritten = " ".join(case["query"].split()), case["verification_query"]
    asked = wants_verification(evidence_of({}, None), query=query, rewritten=rewritten, policy=RECORDED) is not None
    recorded = rewritten is not None and rewritten != query
    assert asked == (recorded and rewritten.casefold() != query.casefold())


@pytest.mark.parametrize("case", cases("crag-expand"), ids=lambda case: case["query"])
@differs("names-are-whole-words")
def test_the_follow_up_queries_are_the_recorded_ones(case: Mapping[str, Any]) -> None:
    clues = [Clue(hit["score"], hit["snippet"], hit["contradiction"]) for hit in case["hits"]]
    assert list(follow_up_queries(case["query"], clues, RECORDED)) == case["follow_ups"]
    ours, recorded = ([list(_names(clue.snippet, policy)) for clue in clues] for policy in (Policy(), RECORDED))
    if ours == recorded:
        assert list(follow_up_queries(case["query"], clues)) == case["follow_ups"]


@pytest.mark.parametrize("case", cases("route"), ids=lambda case: case["query"])
@differs("whole-words-of-lists")
def test_the_route_is_the_recorded_one(case: Mapping[str, Any]) -> None:
    assert route(case["query"], RECORDED) == case["route"]
    if found_in(case["query"], LISTS) == found_in(case["query"], LISTS, recorded=True):
        assert route(case["query"]) == case["route"]


@pytest.mark.parametrize("case", cases("retrieval-tier"))
@differs("vectors-are-a-tier")
def test_the_tier_is_the_recorded_one_but_for_vectors_alone(case: Mapping[str, Any]) -> None:
    given = {name: case[name] for name in ("used_vector", "used_bm25", "lexical_fallback")}
    alone = given == {"used_vector": True, "used_bm25": False, "lexical_fallback": False}
    assert retrieval_tier(**given) == ("vector" if alone else case["tier"])


@pytest.mark.parametrize("case", cases("context-budget"), ids=lambda case: f"{case['max_chunks']}-{case['max_chars']}")
def test_the_passages_that_fit_are_the_recorded_ones(case: Mapping[str, Any]) -> None:
    passages = [Passage(one["id"], one["text"], one["score"]) for one in case["chunks"]]
    found = selected_passages(passages, max_chunks=case["max_chunks"], max_chars=case["max_chars"])
    assert [one._asdict() for one in found] == case["selected"]


@pytest.mark.parametrize("case", cases("eval"), ids=lambda case: case["answer"][:20])
def test_answers_are_measured_as_recorded(case: Mapping[str, Any]) -> None:
    assert term_recall(case["answer"], case["reference"]) == pytest.approx(case["term_recall"], abs=1e-12)
    assert groundedness(case["answer"], case["reference"]) == pytest.approx(case["groundedness"], abs=1e-12)
