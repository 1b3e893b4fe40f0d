"""Turns of a conversation with the turns beside them as context: they tell a little of a turn, its own words more."""

from dataclasses import replace

import pytest

from septet import Vault
from septet.profiles import BUILTIN

SEPTET = BUILTIN["septet"]


def weighing(context):
    """The default profile, with a word of the context weighing so many of the turn's own."""
    weights = replace(SEPTET.text.weights, context=context)
    return replace(SEPTET, name="other", text=replace(SEPTET.text, weights=weights))


@pytest.fixture
def talk():
    """Two people talking; each turn has the turns beside it as context."""
    said = [
        "Which instrument did your sister take up last year?",
        "The cello, and she practises every single evening.",
        "Does she play the cello in an orchestra by now?",
        "They rehearse on Tuesdays in the town hall downstairs.",
        "My brother would rather walk his dog all day long.",
        "Dogs are fine company, if the weather is any good.",
        "The bus to the harbour leaves at half past nine.",
        "Then we have breakfast at the station before that.",
    ]
    with Vault(":memory:", clock=lambda: 1e9) as vault:
        for at, text in enumerate(said):
            beside = [*said[max(0, at - 1) : at], *said[at + 1 : at + 2]]
            vault.add(id=f"turn-{at}", title="Talk", description=text, context="\n".join(beside))
        yield vault


def test_a_turn_is_found_by_the_words_of_the_turns_beside_it(talk):
    assert "turn-3" in talk.search("which orchestra", limit=None).ids


def test_a_turn_that_says_a_word_comes_before_those_beside_it(talk):
    assert talk.search("rehearse").ids[0] == "turn-3"
    assert talk.search("harbour").ids[0] == "turn-6"
    assert set(talk.search("cello").ids[:2]) == {"turn-1", "turn-2"}


def test_words_of_both_a_turn_and_those_beside_it_count_together(talk):
    # One says sister and the other cello, each beside the other; the third speaks of the cello alone.
    assert set(talk.search("the sister's cello").ids[:2]) == {"turn-0", "turn-1"}


def test_what_is_said_around_a_turn_three_times_weighs_less_than_what_it_says_once():
    with Vault(":memory:", clock=lambda: 1e9) as vault:
        vault.add(id="says", title="Talk", description="The harbour opens at nine", context="Yes. No. Maybe.")
        vault.add(id="beside", title="Talk", description="We have breakfast here", context="harbour, harbour, harbour")
        for at in range(8):
            vault.add(id=f"other-{at}", title="Talk", description=f"Nothing of it in turn {at}", context="Good night.")
        assert vault.search("harbour").ids[:2] == ["says", "beside"]
        assert vault.search("harbour", profile=weighing(1.0)).ids[:2] == ["beside", "says"]


@pytest.mark.parametrize("query", ["which orchestra", "does she play the cello", "dogs in the town hall", "breakfast"])
def test_a_retriever_finds_the_turns_that_a_search_finds(talk, query):
    with talk.retriever() as retriever:
        assert retriever.retrieve(query, limit=5).ids == talk.search(query, limit=5).ids
