"""The plan of a query, and its words, as recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet.retrieval.planning.plan import RetrievalPlan
from septet.retrieval.planning.planner import looks_like_code, plan
from septet.retrieval.planning.policy import Policy
from septet.retrieval.planning.queries import found_in, tokens_of

PLANS = other_recording("vox-planner")["cases"]
WORDS = other_recording("vox-query-tokens")["cases"]
#: The recorded system compares parts of words, and asks the web unasked.
RECORDED = Policy(words="substring", web_enabled=True)
LISTS = (*RECORDED.code_words, *RECORDED.code_marks, *RECORDED.structure_words)


def planned(case: Mapping[str, Any], policy: Policy) -> RetrievalPlan:
    return plan(case["query"], policy=policy, verification=case["verification_pass"], mode=case["mode_hint"])


def name_of(case: Mapping[str, Any]) -> str:
    return f"{case['query']}-{case['verification_pass']}-{case['mode_hint']}"


@pytest.mark.parametrize("case", PLANS, ids=name_of)
def test_the_plan_by_parts_of_words_is_the_recorded_one(case: Mapping[str, Any]) -> None:
    found = planned(case, RECORDED)
    assert found.normalized_query == case["normalized_query"]
    assert found.intent == case["intent"]
    assert found.mode == case["mode"]
    assert list(found.corpora) == case["corpora"]
    assert list(found.preferred_backends) == case["backends"]
    assert found.allow_verification_pass == case["allow_verification_pass"]


@pytest.mark.parametrize("case", PLANS, ids=name_of)
@differs("whole-words-of-lists")
def test_the_plan_by_whole_words_is_the_recorded_one_unless_a_list_is_met_inside_a_word(
    case: Mapping[str, Any],
) -> None:
    found = planned(case, Policy(web_enabled=True))
    if found_in(case["query"], LISTS) == found_in(case["query"], LISTS, recorded=True):
        assert (found.intent, found.mode, list(found.corpora)) == (case["intent"], case["mode"], case["corpora"])
    else:
        assert case["verification_pass"] or set(found_in(case["query"], LISTS)) < set(
            found_in(case["query"], LISTS, recorded=True)
        )
    assert found.normalized_query == case["normalized_query"]


@pytest.mark.parametrize("case", PLANS, ids=name_of)
@differs("the-web-is-off")
def test_the_web_is_left_out_until_the_policy_allows_it(case: Mapping[str, Any]) -> None:
    found = planned(case, Policy(words="substring"))
    assert list(found.corpora) == [name for name in case["corpora"] if name != "web_research"]
    assert "web" not in found.preferred_backends
    if "web_research" in case["corpora"]:
        assert "web_enabled" in found.why("web_research")


@pytest.mark.parametrize("case", PLANS, ids=name_of)
@differs("backends-follow-the-mode")
def test_the_backends_are_the_recorded_ones_that_the_mode_uses(case: Mapping[str, Any]) -> None:
    found = planned(case, Policy(web_enabled=True))
    if found.intent != case["intent"]:
        return
    if found.mode == "full_text":
        assert list(found.preferred_backends) == [name for name in case["backends"] if not name.endswith("_vector")]
    elif found.mode == "hybrid":
        # A verification compares the vectors of chunks too, which the recorded list forgets.
        assert set(found.preferred_backends) - set(case["backends"]) <= {"chunk_vector"}
        assert set(case["backends"]) <= set(found.preferred_backends)


@pytest.mark.parametrize("case", WORDS, ids=lambda case: case["query"])
def test_tokens_and_the_second_test_for_code_are_the_recorded_ones(case: Mapping[str, Any]) -> None:
    assert tokens_of(case["query"], recorded=True) == case["tokens"]
    assert looks_like_code(case["query"], RECORDED) == case["looks_like_code"]


@pytest.mark.parametrize("case", WORDS, ids=lambda case: case["query"])
@differs("letters-make-tokens")
def test_tokens_are_the_recorded_ones_where_all_letters_are_ascii(case: Mapping[str, Any]) -> None:
    if case["query"].isascii():
        assert tokens_of(case["query"]) == case["tokens"]
    else:
        assert all(token in case["query"].lower() for token in tokens_of(case["query"]))
        assert len(tokens_of(case["query"])) <= len(case["tokens"])
