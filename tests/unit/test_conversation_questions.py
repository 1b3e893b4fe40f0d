"""Questions about a conversation: topics, requests, standing instructions."""

import pytest

from septet.query.conversation import MOST_CHARS, MOST_QUERY_CHARS, is_instruction, is_request, is_summary, topic_of
from septet.query.parse import parse
from septet.ranking.profile import TextRules


@pytest.mark.parametrize(
    ("query", "topic"),
    [
        ("Can you list the order in which I brought up aspects of my garden?", "my garden"),
        ("Walk me through our sessions in chronological order: which plants came first", "plants came first"),
        ("Give me a short summary of my training plan", "my training plan"),
        ("Please summarise the talks with the bank over time", "the talks with the bank"),
        ("recap of the release", "release"),
    ],
)
def test_phrases_that_ask_for_a_list_are_no_topic(query, topic):
    left = topic_of(query).replace(",", " ").replace("?", " ").replace(":", " ").split()
    assert set(topic.split()) <= set(left)
    assert not {"summary", "summarise", "order", "recap"} & set(left)


@pytest.mark.parametrize(
    "query",
    [
        "which order did I place on Monday",
        "what do I need in order to fly",
        "how do I list files",
        "over time the disk fills up",
        "",
        "?!",
        "a" * 100_000,
    ],
)
def test_other_queries_are_their_own_topic(query):
    assert topic_of(query) == query


@pytest.mark.parametrize("query", ["summary", "give me an overview", "in which order?"])
def test_a_query_of_such_phrases_alone_stays(query):
    assert topic_of(query) == query


@pytest.mark.parametrize(
    "query",
    [
        "Could you show me how to add a login?",
        "I'm planning a trip to the coast. What would you suggest?",
        "how should i store passwords",
        "Fix the failing test of the parser",
        "please write a changelog",
        "I want to learn the cello",
        "Should I sign the cookie?",
        "What are good ways to dry herbs?",
    ],
)
def test_a_request_asks_for_help(query):
    assert is_request(query)


@pytest.mark.parametrize(
    "query",
    [
        "When did I sign the lease?",
        "How many tests were added last week?",
        "What did you suggest for the cookie?",
        "Can you summarize what we decided?",
        "cookie signing key",
        "can you list the order in which I want to see them",
        "What is my budget?",
        "",
    ],
)
def test_a_question_about_the_past_or_a_few_words_are_no_request(query):
    assert not is_request(query)


@pytest.mark.parametrize(
    "text",
    [
        "Always answer in metric units.",
        "User: Never write comments in French.",
        "Thanks. Never push to main without asking!",
        "Please always add types.",
        "I prefer tabs, by the way",
        "we'd strongly prefer a library without dependencies",
        "User prefers dark mode",
        "From now on, call me Sam.",
        "As for my preferences: window seats.",
        "It is always cold there, and always was. Always pack a coat.",
    ],
)
def test_an_instruction_holds_until_it_is_withdrawn(text):
    assert is_instruction(text)


@pytest.mark.parametrize(
    "text",
    [
        "The cache is always cold on Mondays",
        "It never rained",
        "Which one is preferred?",
        "",
        "x" * MOST_CHARS + "\nAlways",
    ],
)
def test_a_statement_is_no_instruction(text):
    assert not is_instruction(text)


def test_only_profiles_of_conversations_read_a_query_so():
    query = "give me a summary of my training plan"
    assert "summary" in parse(query, TextRules()).terms
    conversational = parse(query, TextRules(conversation=True, stop_words="drop"))
    assert set(conversational.terms) >= {"training", "plan"} and "summary" not in conversational.terms
    assert conversational.text == query


def test_the_beginning_of_a_long_query_decides():
    assert is_request("could you help me with this: " + "x " * MOST_QUERY_CHARS)
    assert not is_request("x " * MOST_QUERY_CHARS + "could you help me")


@pytest.mark.parametrize(
    "query", ["Summarise the talks", "a quick summary of my plan", "an overview of what we did", "recap"]
)
def test_a_summary_is_asked_for_by_name(query):
    assert is_summary(query) and not is_request(f"could you give me {query}")


def test_a_word_that_begins_alike_asks_for_no_summary():
    assert not is_summary("the summit of the mountain")
