"""Words of titles and queries where they are few, and the spread of ages at its ends."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet.retrieval.recall.recalling import exact_matches, kept_words
from twins.recorded import age_spread, title_overlap, top_terms

ages = st.lists(st.floats(0, 1e9), min_size=2, max_size=20)


@given(ages, st.floats(1e-3, 1e3))
def test_a_spread_lies_between_even_and_one(given_ages, times):
    now = 2e9
    found = age_spread([now - age for age in given_ages], now)
    assert 0 <= found <= 1
    scaled = age_spread([times * (now - age) for age in given_ages], times * now)
    assert scaled == pytest.approx(found, abs=1e-4)
    assert age_spread([now - 5.0] * len(given_ages), now) == pytest.approx(0, abs=1e-12)
    assert age_spread([now] * (len(given_ages) - 1) + [0.0], now) == pytest.approx(1)


@pytest.mark.parametrize("stamps", [[], [5.0], [9.0, 9.0], [math.inf, 1.0], [20.0, 30.0]])
def test_what_has_no_ages_has_no_spread(stamps):
    assert age_spread(stamps, 9.0) in (0.0, 1.0)
    assert age_spread(stamps[:1], 9.0) == 0.0


def test_titles_without_words_are_not_alike():
    assert title_overlap("", "") == title_overlap("the a I", "of x") == (0.0, 0)
    assert not title_overlap("one two", "one two").is_duplicate
    assert title_overlap("one two three four", "four three two one zero").is_duplicate


def test_a_word_that_is_repeated_counts_again():
    assert exact_matches(["token", "token", "Auth"], "AUTHTOKEN") == 3
    assert exact_matches([], "token") == 0
    assert kept_words("token, token; a") == ["token", "token"]
    assert top_terms("b2 a1 b2", 1) == ["b2"] and top_terms("b2 a1", 0) == []
