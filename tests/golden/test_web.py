"""The web: which addresses are the same page, which result comes first, what Tavily may cost, what SearXNG is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet.retrieval.corpora.web.backends import CreditBudget, credits_of, tavily_outcome
from septet.retrieval.corpora.web.results import (
    WebResult,
    authority,
    canonical_key,
    ranked,
    searxng_engines,
    searxng_language,
)
from twins.recorded import web_quality


def cases(name: str) -> Any:
    found = other_recording(f"vox-{name}")["cases"]
    assert found
    return pytest.mark.parametrize("case", found, ids=[str(number) for number in range(len(found))])


@cases("web-url")
def test_addresses_have_the_recorded_keys_and_authority(case: Mapping[str, Any]) -> None:
    assert canonical_key(case["url"]) == case["key"]
    assert authority(case["url"]) == case["authority"]


@cases("web-rank")
def test_results_stand_in_the_recorded_order(case: Mapping[str, Any]) -> None:
    results = [WebResult(given["url"], score=given.get("score")) for given in case["input"]]
    found = ranked(results)
    assert [result.url for result in found] == case["order"]
    # The order counts authority, the results keep the score that they came with.
    assert set(found) <= set(results)


@cases("web-quality")
def test_results_have_the_recorded_quality(case: Mapping[str, Any]) -> None:
    assert web_quality(case["top_score"], case["unique_sources"]) == pytest.approx(case["quality"], abs=1e-12)


@cases("searxng-params")
def test_what_searxng_is_asked_is_let_through_as_recorded(case: Mapping[str, Any]) -> None:
    assert searxng_engines(case["raw"]) == case["engines"]
    assert searxng_language(case["raw"]) == case["language"]


@cases("tavily")
def test_tavily_is_asked_when_it_was_recorded_to_be(case: Mapping[str, Any]) -> None:
    given = {name: value for name, value in case.items() if name != "outcome"}
    assert tavily_outcome(**given) == case["outcome"]


@differs("authority-by-host")
def test_a_name_inside_an_address_is_no_authority() -> None:
    for url in ("https://notgithub.com/x", "https://a.example/github.com/x", "https://a.example/?u=https://x.gov/"):
        assert authority(url) == 1.0
    assert authority("https://gist.github.com/x") == authority("https://doi.org/10.1/x") == 1.15


@differs("credits-as-the-provider-counts")
def test_a_deep_search_costs_two_credits() -> None:
    assert (credits_of("basic"), credits_of("advanced")) == (1, 2)
    budget = CreditBudget(3)
    assert budget.spend(2) == 1
    assert budget.spend(2) is None
    assert budget.left == 1
