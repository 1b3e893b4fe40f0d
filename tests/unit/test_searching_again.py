"""What a search does when it must be made again, or goes on without a tier."""

from types import SimpleNamespace

import pytest

from septet import StoreError
from septet.profiles import BUILTIN
from septet.query.parse import parse, with_words
from septet.search.federated import MOST_ATTEMPTS, FederatedSearch, next_attempt
from septet.tiers.protocol import SearchAgain, TierLost


def test_a_search_is_made_again_so_often_and_no_more():
    fault = SearchAgain("somebody writes")
    assert next_attempt(1, fault) == 2
    assert next_attempt(MOST_ATTEMPTS - 1, fault) == MOST_ATTEMPTS
    with pytest.raises(StoreError, match="somebody writes, each time anew"):
        next_attempt(MOST_ATTEMPTS, fault)


@pytest.mark.parametrize("others", [0, 1])
def test_a_search_goes_on_without_a_tier_as_long_as_another_is_left(others):
    search = FederatedSearch.__new__(FederatedSearch)
    search.tiers = [SimpleNamespace(name="first"), SimpleNamespace(name="second")]
    search.answers = [SimpleNamespace(place=place) for place in range(1 + others)]
    search._failures, search._errors, search._events = [], {}, []
    lost = TierLost(0, StoreError("gone"))
    if not others:
        with pytest.raises(StoreError, match="gone"):
            search.without(lost)
    else:
        assert [answer.place for answer in search.without(lost).answers] == [1]


def test_words_beside_a_query_that_is_too_long_are_counted_among_those_left_out():
    rules = BUILTIN["recall"].text
    words = " ".join("x" * n for n in range(2, rules.max_terms + 1))
    asked = SimpleNamespace(text="kiwi lemon peach", begun=(), cut=False)
    found = with_words(parse(words, rules), asked, rules)
    assert (len(found.terms), found.cut) == (rules.max_terms, 2)
    found = with_words(parse(words, BUILTIN["septet"].text), asked, BUILTIN["septet"].text)
    assert (len(found.terms), found.cut) == (BUILTIN["septet"].text.max_terms, 2)
