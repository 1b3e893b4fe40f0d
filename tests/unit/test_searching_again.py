"""What a search does when it must be made again, or goes on without a tier."""

from collections import namedtuple
from types import SimpleNamespace

import pytest

from septet import StoreError
from septet.profiles import BUILTIN
from septet.query.parse import parse, with_words
from septet.search import run
from septet.search.federated import MOST_ATTEMPTS, FederatedSearch, next_attempt
from septet.tiers.protocol import SearchAgain, TierLost


def test_a_search_is_made_again_so_often_and_no_more():
    fault = SearchAgain("somebody writes")
    assert next_attempt(1, fault) == 2
    assert next_attempt(MOST_ATTEMPTS - 1, fault) == MOST_ATTEMPTS
    with pytest.raises(StoreError, match="somebody writes, in each of 5 attempts"):
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


def test_groups_are_looked_for_among_more_and_more_candidates(monkeypatch):
    """Each time among four times as many, until there are enough or no more would be asked."""
    asked = []

    class Search:
        started = 1.0

        def __init__(self, tiers, plans):
            asked.append(plans[0].candidates)

        def find_candidates(self, threads):
            return self

        def with_remaining(self, ranked):
            return SimpleNamespace(enough=len(asked) == enough)

        def close(self):
            pass

    monkeypatch.setattr(run, "FederatedSearch", Search)
    monkeypatch.setattr(run, "_late", lambda plan: False)
    plan = namedtuple("Plan", "candidates")(200)
    for enough, wanted in ((1, [200]), (3, [200, 800, 3_200]), (None, [200, 800, 3_200, 12_800, 51_200])):
        asked.clear()
        found = run.search_groups([], plan)
        assert asked[: len(wanted)] == wanted and found.started == 1.0
        assert len(asked) == (enough or len(asked)) and max(asked) <= run.MOST
    assert asked[-1] == run.MOST


def test_words_beside_a_query_that_is_too_long_are_counted_among_those_left_out():
    rules = BUILTIN["recall"].text
    words = " ".join("x" * n for n in range(2, rules.max_terms + 1))
    asked = SimpleNamespace(text="kiwi lemon peach", begun=(), cut=False)
    found = with_words(parse(words, rules), asked, rules)
    assert (len(found.terms), found.cut) == (rules.max_terms, 2)
    found = with_words(parse(words, BUILTIN["septet"].text), asked, BUILTIN["septet"].text)
    assert (len(found.terms), found.cut) == (BUILTIN["septet"].text.max_terms, 2)
