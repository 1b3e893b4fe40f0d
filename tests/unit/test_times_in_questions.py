"""Times in questions about a conversation: spans, the first and the latest."""

from datetime import datetime

import pytest

from septet.query.conversation import MOST_QUERY_CHARS
from septet.query.times import asked_order, asked_spans, without_spans

#: A Wednesday, in the zone of the process, whose days are meant.
NOW = datetime(2026, 7, 15, 10).timestamp()


def days(query, now=NOW):
    """Return the first day and the day after the last of each span."""
    spans = asked_spans(query, now)
    return [tuple(f"{datetime.fromtimestamp(at):%Y-%m-%d}" for at in span[:2]) for span in spans]


@pytest.mark.parametrize(
    ("phrase", "first", "after"),
    [
        ("today", "2026-07-15", "2026-07-16"),
        ("yesterday", "2026-07-14", "2026-07-15"),
        ("last night", "2026-07-14", "2026-07-15"),
        ("the day before yesterday", "2026-07-13", "2026-07-14"),
        ("this afternoon", "2026-07-15", "2026-07-16"),
        ("this evening", "2026-07-15", "2026-07-16"),
        ("last weekend", "2026-07-11", "2026-07-13"),
        ("this week", "2026-07-13", "2026-07-20"),
        ("last week", "2026-07-06", "2026-07-13"),
        ("this month", "2026-07-01", "2026-08-01"),
        ("last month", "2026-06-01", "2026-07-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("three days ago", "2026-07-12", "2026-07-13"),
        ("two weeks ago", "2026-06-28", "2026-07-05"),
        ("a couple of weeks ago", "2026-06-28", "2026-07-05"),
        ("a month ago", "2026-05-31", "2026-06-30"),
        ("8 months ago", "2025-10-30", "2025-11-29"),
        ("a year ago", "2025-01-14", "2026-01-14"),
        ("3 weeks ago today", "2026-06-21", "2026-06-28"),
        ("this time last year", "2025-01-01", "2026-01-01"),
        ("on Friday last week", "2026-07-10", "2026-07-11"),
        ("on Monday of last week", "2026-07-06", "2026-07-13"),
        ("on the last Friday in March", "2026-03-01", "2026-04-01"),
        ("this Friday", "2026-07-17", "2026-07-18"),
        ("this Monday", "2026-07-13", "2026-07-14"),
        ("in 2023", "2023-01-01", "2024-01-01"),
        ("since 2020", "2020-01-01", "2026-07-15"),
        ("between Monday and Wednesday", "2026-07-13", "2026-07-16"),
        ("between Friday and Tuesday", "2026-07-10", "2026-07-15"),
        ("from July 3 to July 8", "2026-07-03", "2026-07-09"),
        ("between 3 and 8 July", "2026-07-03", "2026-07-09"),
        ("between July 3 and 8, 2025", "2025-07-03", "2025-07-09"),
        ("July 3-8", "2026-07-03", "2026-07-09"),
        ("between December and February", "2025-12-01", "2026-03-01"),
        ("from 2026-07-03 until 2026-07-08", "2026-07-03", "2026-07-09"),
        ("in the last 3 days", "2026-07-12", "2026-07-16"),
        ("over the past week", "2026-07-08", "2026-07-16"),
        ("on Friday", "2026-07-10", "2026-07-11"),
        ("last wednesday", "2026-07-08", "2026-07-09"),
        ("since Monday", "2026-07-13", "2026-07-15"),
        ("since June", "2026-06-01", "2026-07-15"),
        ("since last week", "2026-07-06", "2026-07-15"),
        ("on July 8", "2026-07-08", "2026-07-09"),
        ("on the 8th of July", "2026-07-08", "2026-07-09"),
        ("on July 20", "2025-07-20", "2025-07-21"),
        ("on July 20, 2026", "2026-07-20", "2026-07-21"),
        ("on 3 Dec 2024", "2024-12-03", "2024-12-04"),
        ("after July 8", "2026-07-09", "2026-07-15"),
        ("in March", "2026-03-01", "2026-04-01"),
        ("in May", "2026-05-01", "2026-06-01"),
        ("in August", "2025-08-01", "2025-09-01"),
        ("in December 2024", "2024-12-01", "2025-01-01"),
        ("on 2026-07-08", "2026-07-08", "2026-07-09"),
    ],
)
def test_a_phrase_names_a_span(phrase, first, after):
    assert days(f"what did I say {phrase}?") == [(first, after)]
    assert days(f"What did I say {phrase.upper()} about the flat") == [(first, after)]


@pytest.mark.parametrize(
    "query",
    [
        "what did I say before July 8",
        "what was due by March 3",
        "which meetings did I have every Monday",
        "what was planned for next Friday",
        "what did I say on February 30",
        "what did I say on 2026-13-45",
        "what was it 9999 years ago",
        "what was it 999 centuries ago",
        "may I march",
        "did the decorator march to the market",
        "Can you help me plan my writing this week?",
        "who joined for the last three days",
        "when was the last day of school",
        "what did I do in the last week of the project",
        "who came to her last week",
        "what did I do in the last two weeks of June",
        "which song did I like, Yesterday by the Beatles",
        "did we watch Last Night in Soho",
        "who wrote 'yesterday'",
        "which article was in USA Today",
        "what did I say up to yesterday",
        "what did I say as of July 8",
        "what did I say in the week of July 6",
        "what did I do half a year ago",
        "was it more than a week ago",
        "was it 1.5 years ago",
        "did I say so 1,200 days ago",
        "did I do it two weeks and three days ago",
        "did I call April 3 times",
        "what is due on Friday",
        "who is coming on Saturday",
        "when does the camp in August begin",
        "when will the trip on July 20 start",
        "what's planned between Monday and Wednesday",
        "did it rise from 3 to 8 percent",
        "",
        "x" * 100_000,
    ],
)
def test_other_questions_name_none(query):
    assert days(query) == []


def test_a_time_that_dates_cannot_express_is_none():
    assert days("what was it 999 years ago", now=-5e10) == []
    assert days("what was it yesterday", now=-62_135_596_800) == []
    assert days("what was it yesterday", now=1e18) == days("what was it today", now=-1e18) == []


@pytest.mark.parametrize(
    "query",
    ["Do you remember our talk in March?", "What is the place that we visited in March", "what's it she ate in March"],
)
def test_a_question_in_the_present_for_what_was_is_about_the_past(query):
    assert days(query) == [("2026-03-01", "2026-04-01")]


def test_a_weekday_that_is_today_is_the_last_one_too():
    assert days("what did I say on Wednesday") == [("2026-07-08", "2026-07-09"), ("2026-07-15", "2026-07-16")]


def test_two_dates_are_two_spans():
    assert len(days("what changed on July 3 and on July 8, 2026")) == 2


def test_a_day_of_a_month_counts_in_a_text_too():
    [span] = asked_spans("what was said in the July 8 workshop", NOW)
    for text in ("on July 8 Sana", "JUL 8th", "the 8th of July", "2026-07-08: cases", "08 July", "Jul. 8"):
        assert span.names.search(text), text
    for text in ("July 18", "July 80", "18 July", "Julia 8", "8 Julys"):
        assert not span.names.search(text), text


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("How far did I run at first?", "oldest"),
        ("What did the fitter originally offer?", "oldest"),
        ("Which flat did we view first?", "oldest"),
        ("What did we first rehearse?", "oldest"),
        ("What did the offer originally cost?", "oldest"),
        ("Which flat did we view last, on Monday?", "newest"),
        ("When did I go there for the first time, was it the first time", "oldest"),
        ("Which flat did we view most recently?", "newest"),
        ("What is the latest problem?", "newest"),
        ("When did I last call the bank", "newest"),
        ("What did she say the last time?", "newest"),
    ],
)
def test_an_order_is_asked_for(query, order):
    assert asked_order(query) == order


@pytest.mark.parametrize(
    "query",
    [
        "When does my first sprint end?",
        "When did the first tomatoes open?",
        "What is Ina's first name, did I say?",
        "What did I do last week?",
        "What did I say last Monday",
        "How long did the meeting last?",
        "When was it due at the latest?",
        "What did I say last Christmas?",
        "Where did we go last summer",
        "What was the plan last weekend",
        "What did we decide last 2 weeks",
        "Did the milk last until Sunday",
        "How many hours did the battery last?",
        "Did I fly first class",
        "Where was I taught first aid",
        "What did I do first thing in the morning?",
        "Where was she originally from?",
        "How many days were between the run I did first and the latest?",
        "Give me a summary of what we did first",
        "Could you help me with the latest version",
        "did I run first or last",
        "first",
        "",
        "did " * 1_000_000 + "first",
    ],
)
def test_no_order_is_asked_for(query):
    assert asked_order(query) is None


def test_times_that_count_from_now_are_no_words():
    assert without_spans("what did I do with the flat last week?").split() == "what did I do with the flat ?".split()
    assert without_spans("what did I do on July 8") == "what did I do on July 8"
    assert without_spans("yesterday?") == "yesterday?"
    assert without_spans("when was the last day of school") == "when was the last day of school"
    assert without_spans("did we watch Last Night in Soho") == "did we watch Last Night in Soho"
    assert without_spans("did I eat the day before yesterday").split() == ["did", "I", "eat"]
    assert without_spans("week " * MOST_QUERY_CHARS) == "week " * MOST_QUERY_CHARS
