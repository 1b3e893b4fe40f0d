"""When an agent is asked to write down what it knows, and what it is asked."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import QueryError
from septet.files import flush_limits, flush_prompt, should_flush

COUNTS = st.integers(0, 400_000)


@given(st.integers(0, 400_000), st.integers(0, 100_000), st.integers(0, 100_000))
def test_every_window_is_flushed_before_it_is_full_and_not_at_its_beginning(window, reserve, soft):
    found = flush_limits(window, reserve=reserve, soft=soft)
    assert found.reserve <= reserve and found.soft <= soft
    assert found.reserve <= window / 4 and found.soft <= (window - found.reserve) / 2
    assert found.threshold == max(1, window) - found.reserve - found.soft
    # Three quarters, halved.
    assert found.threshold >= 0.375 * window
    assert should_flush(max(1, found.threshold), window, reserve=reserve, soft=soft)
    assert not should_flush(found.threshold - 1, window, reserve=reserve, soft=soft)


@given(COUNTS, COUNTS, COUNTS, st.booleans())
def test_more_tokens_never_end_a_flush(tokens, more, window, capped):
    if should_flush(tokens, window, capped=capped):
        assert should_flush(tokens + more, window, capped=capped)


@given(st.integers(1, 400_000), st.integers(0, 400_000))
def test_tokens_that_are_coming_count_as_those_that_are_there(tokens, coming):
    assert should_flush(tokens, coming_tokens=coming) is should_flush(tokens + coming)


@pytest.mark.parametrize("unknown", [None, math.nan, 0, -5, -math.inf])
def test_an_unknown_count_flushes_nothing(unknown):
    assert not should_flush(unknown, coming_tokens=400_000)


def test_without_the_caps_a_small_window_is_never_flushed():
    assert [should_flush(24_000, 24_000, capped=capped) for capped in (True, False)] == [True, False]


def test_a_count_from_before_a_compaction_says_nothing():
    assert [should_flush(190_000, fresh=fresh) for fresh in (True, False)] == [True, False]


@pytest.mark.parametrize(("size", "expected"), [(None, False), (0, False), (2_097_151, False), (2_097_152, True)])
def test_a_long_transcript_is_flushed_whatever_the_tokens(size, expected):
    for tokens, fresh in ((None, True), (5, True), (190_000, False)):
        assert should_flush(tokens, fresh=fresh, transcript_bytes=size) is expected
        assert not should_flush(tokens, fresh=fresh, transcript_bytes=size, most_bytes=None)


def test_a_context_is_flushed_once_between_two_compactions():
    found = [[should_flush(190_000, compactions=n, flushed_at=at) for at in (None, 0, 1, 2)] for n in (0, 1, 2)]
    assert found == [[True, False, True, True], [True, True, False, True], [True, True, True, False]]
    assert not should_flush(5, transcript_bytes=2**30, compactions=1, flushed_at=1)


def test_after_three_failures_no_flush_is_tried():
    assert [should_flush(190_000, failures=n) for n in range(5)] == [True, True, True, False, False]
    assert should_flush(190_000, failures=99, most_failures=None)
    assert not should_flush(5, transcript_bytes=2**30, failures=3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"total_tokens": "many"}, "total_tokens is 'many': wanted a number of tokens"),
        ({"total_tokens": math.inf}, "total_tokens is inf"),
        ({"context_window": -1}, "context_window is -1: wanted a number from 0"),
        ({"reserve": math.nan}, "reserve is nan"),
        ({"soft": None}, "soft is None"),
        ({"coming_tokens": -1}, "coming_tokens is -1"),
        ({"transcript_bytes": 0.5}, "transcript_bytes is 0.5: wanted a whole number"),
        ({"most_failures": 0}, "most_failures is 0"),
        ({"fresh": 1}, "fresh is 1: wanted True or False"),
    ],
    ids=str,
)
def test_what_is_no_count_is_named(options, said):
    with pytest.raises(QueryError, match=said):
        should_flush(**{"total_tokens": 5, **options})


def test_the_prompt_names_the_file_and_the_answer():
    found = flush_prompt("memory/2026-11-23.md", nothing="SILENT")
    assert "memory/2026-11-23.md" in found and "SILENT" in found and "{" not in found
    with pytest.raises(QueryError, match="path is empty"):
        flush_prompt(" ")
