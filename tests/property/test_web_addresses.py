"""Addresses of the web: whatever a search service sends, their keys hold still and nothing is raised."""

from __future__ import annotations

import itertools
import math
from threading import Barrier, Thread

from hypothesis import given
from hypothesis import strategies as st

from septet.retrieval.corpora.web.backends import CreditBudget, _results, _topics
from septet.retrieval.corpora.web.results import (
    WebResult,
    authority,
    canonical_key,
    entry_of,
    host_of,
    ranked,
    searxng_engines,
    searxng_language,
)
from twins.recorded import web_quality

PIECES = (
    "http://",
    "HTTPS://",
    "https:",
    "//",
    "/",
    "?",
    "#",
    "@",
    ":",
    "[",
    "]",
    " ",
    "\n",
    "a.gov",
    "github.com",
    "x",
)
TEXTS = st.text(st.characters(), max_size=30) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
SCORES = st.none() | st.floats()
RESULTS = st.lists(st.builds(WebResult, url=TEXTS, score=SCORES), max_size=12)


@given(TEXTS)
def test_a_key_is_its_own_key(url: str) -> None:
    key = canonical_key(url)
    assert canonical_key(key) == key
    assert not key.startswith(("http://", "https://")) and not key.endswith("/")
    assert "?" not in key and "#" not in key


@given(st.from_regex(r"[a-z0-9.-]{1,12}(/[A-Za-z0-9._~-]{1,6}){0,3}", fullmatch=True), st.data())
def test_what_does_not_tell_pages_apart_is_not_in_a_key(place: str, data: st.DataObject) -> None:
    def any_of(*choices: str) -> str:
        return data.draw(st.sampled_from(choices))

    tail = any_of("", "/", "?a=b", "#part", "/?a=https://c/d#e")
    assert canonical_key(any_of("", "http://", "https://", "HTTPS://") + place + tail) == canonical_key(place)


@given(TEXTS)
def test_every_address_has_an_authority_and_perhaps_a_host(url: str) -> None:
    assert authority(url) in (1.0, 1.15, 1.25)
    assert not set("/?#@") & set(host_of(url))


@given(RESULTS)
def test_each_page_is_ranked_once_with_its_first_result(results: list[WebResult]) -> None:
    found = ranked(results)
    keys = [canonical_key(result.url) for result in found]
    assert len(set(keys)) == len(keys)
    assert set(keys) == {canonical_key(result.url) for result in results}
    for result, key in zip(found, keys):
        assert result is next(one for one in results if canonical_key(one.url) == key)


@given(RESULTS)
def test_results_stand_by_score_and_authority_and_equals_as_they_came(results: list[WebResult]) -> None:
    def weight(result: WebResult) -> float:
        known = result.score is not None and math.isfinite(result.score)
        return (result.score if known and result.score is not None else 0.5) * authority(result.url)

    found = ranked(results)
    places = {id(result): place for place, result in enumerate(results)}
    for one, next_one in itertools.pairwise(found):
        assert weight(one) >= weight(next_one)
        if weight(one) == weight(next_one):
            assert places[id(one)] < places[id(next_one)]


@given(st.floats(), st.integers(-10, 100))
def test_quality_is_a_share(top: float, sources: int) -> None:
    assert 0.0 <= web_quality(top, sources) <= 1.0


@given(TEXTS | st.text("abc,_-. ", max_size=300))
def test_what_searxng_is_asked_can_be_put_into_an_address(text: str) -> None:
    engines, language = searxng_engines(text), searxng_language(text)
    assert engines is None or (engines == text.strip() and engines.isascii() and len(engines) <= 256)
    # What may name a language may name an engine, too.
    assert language is None or language == engines


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("url", "title", "score", "content", "Topics", "Text", "FirstURL", "x")), inner
        )
        | st.fixed_dictionaries({"url": TEXTS.map("https://a.example/".__add__)}, optional={"content": inner})
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=6), st.dictionaries(st.sampled_from(("Results", "RelatedTopics", "AbstractURL")), JSON))
def test_whatever_a_service_sends_becomes_results_or_nothing(listed: list[object], answer: dict[str, object]) -> None:
    sent = {**answer, "AbstractText": listed}
    for result in [*_results(listed, "searxng"), *_results(_topics(sent), "duckduckgo")]:
        assert result.url.lower().startswith(("http://", "https://")) and result.title
        assert result.score is None or math.isfinite(result.score)
        entry = entry_of(result, None, backend="searxng", now=1e9, keep_days=1, redactor=None)
        assert entry is None or (entry.source or "").lower().startswith("http")


@given(st.integers(0, 12), st.lists(st.integers(1, 3), min_size=1, max_size=20))
def test_no_order_of_threads_overdraws_a_budget(credits: int, prices: list[int]) -> None:
    budget, begin = CreditBudget(credits), Barrier(4)
    spent: list[int] = []
    refused: list[int] = []

    def spend(share: list[int]) -> None:
        begin.wait()
        for price in share:
            (refused if budget.spend(price) is None else spent).append(price)

    threads = [Thread(target=spend, args=(prices[number::4],)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(spent) + budget.left == credits
    # A refusal is for want of credits, of which there never were fewer than at the end.
    assert all(price > budget.left for price in refused)
