"""A newer text goes before the older one whose value it changes, where a question asks for that value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet.query.newest import MOST_TEXTS, asked_kinds, newest_first

OLD = "I spent $575 this year, so I am close to my annual sneaker budget of $600."
NEW = "With my increased sneaker budget of $650, should I buy them?"
QUERY = "What is my annual budget for sneakers?"


def ordered(query, *texts, times=None):
    return newest_first(query, asked_kinds(query) or frozenset(), texts, times or range(len(texts)))


def test_a_newer_value_goes_before_the_older_one():
    assert ordered(QUERY, OLD, NEW) == [1, 0]
    assert ordered(QUERY, NEW, OLD, times=[1, 0]) == [0, 1]
    assert ordered(QUERY, OLD, NEW, times=[1, 0]) == [0, 1], "it is older"
    assert ordered(QUERY, OLD, OLD) == [0, 1]


def test_of_several_changes_the_newest_is_first():
    newest = "My sneaker budget went up again, the budget is now $700."
    assert ordered(QUERY, OLD, NEW, newest) == [2, 1, 0]
    assert ordered(QUERY, OLD, newest, NEW, times=[0, 2, 1]) == [1, 2, 0]


@pytest.mark.parametrize(
    "text",
    [
        "My sneaker budget of $650 is fine.",
        "I raised my sneaker budget by 8 hours.",
        "I raised my holiday budget to $650.",
        "I raised my sneaker budget.",
        "```\nnow the sneaker budget is $650\n```",
        "",
    ],
)
def test_without_a_word_of_change_the_same_subject_and_a_value_of_the_kind_the_order_stays(text):
    assert ordered(QUERY, OLD, text) == [0, 1]


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("What time should I join the call?", "time"),
        ("When is the webinar?", "date"),
        ("How many sources are in my library?", "number"),
        ("How long does the probate take?", "duration"),
        ("What accuracy rate does the tool achieve?", "share"),
        ("Have I met Kelly?", None),
        ("How many days passed between the two meetings?", None),
        ("What was my original budget?", None),
        ("When did I meet Kelly?", None),
        ("Could you help me with my budget?", None),
        ("", None),
    ],
)
def test_questions_for_a_value_that_holds_now_are_known(query, kind):
    kinds = asked_kinds(query)
    assert kinds is None if kind is None else kind in kinds


@heavy()
@given(
    st.lists(st.one_of(st.text(max_size=60), st.sampled_from([OLD, NEW, NEW.replace("650", "700")])), max_size=14),
    st.lists(st.floats(0, 9), min_size=14, max_size=14),
)
def test_each_text_has_one_place_and_those_after_the_tenth_keep_theirs(texts, times):
    order = ordered(QUERY, *texts, times=times[: len(texts)])
    assert sorted(order) == list(range(len(texts)))
    assert order[MOST_TEXTS:] == list(range(len(texts)))[MOST_TEXTS:]
