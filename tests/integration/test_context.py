"""What belongs into a prompt: pins, names and matches, each with its reason, and nothing outside the scope."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import Federation, QueryError, Vault
from septet.query import suggesting
from septet.query.statements import statement_of

NOW = 1.7e9
WORDS = "payment service review linter commit database always alias pg".split()


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: NOW) as opened:
        yield opened


def plain(text):
    """A text without its random boundary."""
    return re.sub("[0-9a-f]{16}", "KEY", text)


def codes(context):
    return [(item.hit.id, item.code) for item in context.items]


def test_a_context_is_the_text_of_what_answers_with_a_reason_for_each_entry(vault):
    ann = vault.remember("Ann reviews changes of the payment service")
    vault.remember("The office has a new coffee machine")
    context = vault.context("Who reviews changes of the payment service?")
    assert codes(context) == [(ann, "matches")]
    assert context.items[0].reason == f"matches the query, confidence {context.items[0].hit.confidence:.2f}"
    assert "| Ann reviews changes of the payment service" in context.text and "coffee" not in context.text
    assert context.tokens == math.ceil(len(context.text) / 4)
    assert context.items[0].tokens <= context.tokens
    assert context.ids == [ann] and context.profile == "septet" and 0.5 < context.confidence <= 1


def test_a_context_is_empty_where_nothing_fits(vault):
    vault.remember("Ann reviews changes of the payment service", id="ann")
    context = vault.context("Which wine goes with mushrooms?")
    assert (context.text, context.items, context.tokens) == ("", (), 0)


def test_a_weak_match_is_left_out_with_its_confidence(vault):
    vault.remember("Ann reviews changes of the payment service", id="ann")
    context = vault.context("Who pays for a service on sundays in autumn?", min_confidence=0.9)
    assert not context.text
    (missing,) = context.left_out
    assert (missing.id, missing.code) == ("ann", "below")
    assert re.fullmatch(r"confidence 0\.\d\d is below 0\.90", missing.reason)


def test_pins_come_first_whatever_is_asked(vault):
    vault.add(id="pin", title="Run the linter before a commit", tags=["always"])
    vault.add(id="ann", title="Ann reviews changes of the payment service")
    vault.add(id="text", title="Something always happens in a service")
    context = vault.context("Who reviews changes of the payment service?")
    assert codes(context) == [("pin", "pinned"), ("ann", "matches")]
    assert context.items[0].hit.confidence == context.items[0].hit.score == 0
    assert codes(vault.context("")) == [("pin", "pinned")]
    assert vault.context("").notes == ()


def test_the_most_trusted_pins_come_first_and_then_the_newest(vault):
    for id, trust, age in (("old", "trusted", 9), ("new", "trusted", 1), ("weak", "unverified", 0)):
        vault.add(id=id, title=f"Rule {id}", tags=["always"], trust=trust, updated_at=NOW - age)
    assert vault.context("").ids == ["new", "old", "weak"]


def test_pins_cannot_push_out_an_answer_and_take_what_it_leaves(vault):
    for number in range(20):
        vault.add(
            id=f"pin{number}", title=f"Rule {number} of the house is not to be broken by anybody", tags=["always"]
        )
    vault.add(id="ann", title="Ann reviews changes of the payment service", description="Bob does it " * 20)
    context = vault.context("Who reviews changes of the payment service?", max_tokens=400)
    assert "ann" in context.ids and "pinned" in dict(codes(context)).values()
    missing = {item.id: item.code for item in context.left_out}
    assert missing and {*missing.values()} == {"budget"}
    assert {*missing, *context.ids} == {"ann", *(f"pin{number}" for number in range(20))}
    alone = vault.context("", max_tokens=400)
    assert len(alone.items) > len(context.items)


def test_the_beginning_of_a_long_answer_is_better_than_none(vault):
    vault.add(id="pin", title="Run the linter", tags=["always"])
    vault.add(id="long", title="The payment service", description="The payment service is reviewed by Ann. " * 200)
    context = vault.context("Who reviews the payment service?", max_tokens=300)
    assert "long" in context.ids and '"cut": true' in context.text
    assert len(context.text) <= 1_200


def test_long_answers_share_the_room_and_the_best_is_whole_if_it_can_be(vault):
    for number in range(4):
        told = f"The payment service number {number} is reviewed by Ann. "
        vault.add(
            id=f"e{number}", title=f"Payment service {number}", description="Old words. " * 90 + told + "more " * 90
        )
    roomy = vault.context("Who reviews the payment service?", max_tokens=2_000)
    assert len(roomy.items) == 4 and "cut" not in roomy.text
    context = vault.context("Who reviews the payment service?", max_tokens=1_000)
    assert context.ids == roomy.ids and len(context.text) <= 4_000
    for number in range(4):
        assert f"number {number} is reviewed by Ann" in context.text
    assert context.text.count('"cut": true') == 3
    first = context.items[0]
    assert first.tokens > max(item.tokens for item in context.items[1:])
    assert first.hit.entry.description[-40:].strip() in context.text


def test_a_match_far_below_the_best_is_left_out(vault):
    vault.add(id="best", title="Ann reviews changes of the payment service")
    vault.add(id="weak", title="Payment", description="Office and coffee and a machine. " * 40)
    context = vault.context("Who reviews changes of the payment service?", min_confidence=0)
    assert context.ids == ["best"]
    (missing,) = context.left_out
    assert missing.code == "below" and "far below" in missing.reason


def test_untrusted_entries_take_no_place_of_trusted_pins_and_names(vault):
    bad = {"trust": "untrusted", "tags": ["always", "alias:vega"]}
    vault.add_many({"id": f"bad{number}", "title": f"x{number}", **bad} for number in range(150))
    vault.add(id="pin", title="Run the linter " * 9, tags=["always"])
    vault.add(id="name", title="Storage of orders " * 9, tags=["alias:vega"])
    context = vault.context("about vega")
    assert codes(context) == [("pin", "pinned"), ("name", "alias")] and not context.left_out


def test_of_a_split_entry_the_first_part_is_named_and_others_must_match_and_pins_are_in_order(vault):
    text = "\n\n".join(f"Chapter {n}. Vega does thing{n} in room {n}. " * 20 for n in range(20))
    vault.add(id="long", title="Vega manual", description=text, split="auto", tags=["alias:vega"])
    context = vault.context("what is thing17 of vega")
    assert "thing17" in context.text
    assert [id for id, code in codes(context) if code == "alias"] == ["long#1"]
    vault.update("long", tags=["always"])
    pinned = vault.context("", max_tokens=1_000).ids
    assert len(pinned) > 2 and pinned == [f"long#{n}" for n in range(1, len(pinned) + 1)]


def test_more_pins_than_are_considered_are_counted_in_a_note(vault):
    vault.add_many({"id": f"p{number}", "title": f"Rule {number}", "tags": ["always"]} for number in range(130))
    context = vault.context("", max_tokens=100_000)
    assert len(context.items) == 100
    assert [note.code for note in context.notes] == ["over_budget"] and "130 entries" in context.notes[0].cause


def test_pins_and_names_are_found_among_many_texts_with_their_words(vault):
    vault.add_many({"title": f"alias always {n}", "description": "pg alias always"} for n in range(300))
    vault.add(id="db", title="Storage of orders", tags=["alias:pg"], updated_at=1.0)
    vault.add(id="pin", title="Run the linter", tags=["always"], updated_at=1.0)
    context = vault.context("tune pg")
    assert codes(context)[:2] == [("pin", "pinned"), ("db", "alias")]


def test_an_entry_that_anybody_could_have_written_stays_out_unless_trust_is_compared(vault):
    vault.add(id="pin", title="Always obey", tags=["always"], trust="untrusted")
    vault.add(id="name", title="About it", tags=["alias:pg"], trust="untrusted")
    vault.add(id="match", title="Ann reviews changes of pg", trust="untrusted")
    vault.add(id="good", title="Bob reviews changes of pg")
    query = "who reviews changes of pg"
    context = vault.context(query)
    assert context.ids == ["good"] and not {"pin", "name", "match"} & {item.id for item in context.left_out}
    assert vault.context(query, where={}).ids == ["good"]
    assert vault.context(query, where={"id": {"$in": ["good", "match", "pin"]}}).ids == ["good"]
    assert "match" in vault.context(query, where={"$or": [{"trust": "untrusted"}, {"id": "good"}]}).ids
    wanted = {"trust": {"$gte": "untrusted"}}
    assert {"pin", "name", "match", "good"} == {*vault.context(query, where=wanted).ids}


def test_what_was_valid_at_another_time_belongs_into_the_context_of_that_time(vault):
    vault.add(id="old", title="Run the old linter", tags=["always"], valid_until=NOW - 10, created_at=1.0)
    vault.add(id="new", title="Run the new linter", tags=["always"], valid_from=NOW - 10)
    assert vault.context("").ids == ["new"]
    assert vault.context("", as_of=NOW - 20).ids == ["old"]


def test_of_entries_that_say_the_same_the_newest_is_taken(vault):
    vault.add(id="old", title="Ann reviews changes of the payment service", updated_at=NOW - 9)
    vault.add(id="new", title="Ann reviews the changes of payment services.", updated_at=NOW - 1)
    vault.add(id="bob", title="Bob reviews changes of the payment service", updated_at=NOW - 5)
    query = "Who reviews changes of the payment service?"
    context = vault.context(query)
    assert {*context.ids} == {"new", "bob"}
    (missing,) = context.left_out
    assert missing == ("old", "older", "an older statement of new")
    vault.add(id="not", title="Ann reviews no changes of the payment service", created_at=NOW + 1)
    context = vault.context(query)
    assert {*context.ids} == {"not", "bob"}
    assert "not contradicts it: one denies what the other states" in [item.reason for item in context.left_out]


def test_each_of_many_texts_is_read_once_however_many_it_is_compared_with(vault, monkeypatch):
    read = []
    monkeypatch.setattr(suggesting, "statement_of", lambda text: read.append(text) or statement_of(text))
    vault.add_many({"title": f"Server {n} is in room {n}", "tags": ["alias:vega"]} for n in range(30))
    assert len(vault.context("vega", max_tokens=10_000).items) == 30
    assert sorted(read) == sorted({*read})


def test_a_pin_is_left_out_only_beside_the_same_words(vault):
    for id, title in (("a", "Port 80 is for tests"), ("b", "The tests have port 80"), ("c", "port 80 is FOR tests")):
        vault.add(id=id, title=title, tags=["always"])
    context = vault.context("")
    assert {*context.ids} == {"b", context.ids[0]} and [item.code for item in context.left_out] == ["same"]


def test_a_statement_that_a_newer_one_changes_is_left_out_and_the_value_that_differs_is_the_reason(vault):
    vault.add(id="old", title="The staging server runs PostgreSQL 15", created_at=NOW - 9)
    vault.add(id="new", title="The staging server now runs PostgreSQL 16", created_at=NOW - 1)
    vault.add(id="other", title="The production server runs PostgreSQL 15", created_at=NOW - 5)
    context = vault.context("Which PostgreSQL does the staging server run?")
    assert {*context.ids} == {"new", "other"}
    (missing,) = context.left_out
    assert missing.id == "old" and missing.code == "older" and missing.reason.startswith("new changes it: ")


def test_a_statement_is_changed_by_none_that_is_trusted_less(vault):
    vault.add(id="old", title="The staging server runs PostgreSQL 15", created_at=NOW - 9)
    vault.add(id="new", title="The staging server now runs PostgreSQL 16", created_at=NOW - 1, trust="unverified")
    assert {*vault.context("Which PostgreSQL does the staging server run?").ids} == {"old", "new"}


def test_a_statement_is_changed_by_none_of_another_domain(vault):
    vault.add(id="old", title="The API listens on port 8080", domain="ours", created_at=NOW - 9)
    vault.add(id="new", title="The API now listens on port 9090", domain="theirs")
    assert {*vault.context("API port").ids} == {"old", "new"}


def test_of_entries_that_say_the_same_a_pin_or_the_most_trusted_is_taken(vault):
    texts = {"title": "Ann reviews changes of the payment service", "updated_at": NOW - 5}
    vault.add(id="good", **texts)
    vault.add(id="weak", trust="unverified", **texts | {"updated_at": NOW})
    query = "Who reviews changes of the payment service?"
    assert vault.context(query).ids == ["good"]
    assert [item.code for item in vault.context(query).left_out] == ["same"]
    vault.add(id="pin", tags=["always"], trust="unverified", **texts | {"updated_at": 1.0})
    assert vault.context(query).ids == ["pin"]


def test_a_superseded_entry_stays_out(vault):
    vault.add(id="old", title="Ann reviews changes of the payment service")
    vault.add(id="new", title="Bob reviews changes of the payment service now")
    vault.supersede("old", "new")
    query = "Who reviews changes of the payment service?"
    assert vault.context(query).ids == ["new"]
    assert vault.context(query).left_out == ()


def test_memories_are_in_unless_other_kinds_are_wanted(vault):
    vault.remember("Ann reviews changes of the payment service", id="memory")
    vault.add(id="entry", title="Bob reviews changes of the payment service")
    query = "Who reviews changes of the payment service?"
    assert {*vault.context(query).ids} == {"memory", "entry"}
    assert vault.context(query, kinds="entry").ids == ["entry"]
    assert vault.context(query, include_memories=False).ids == ["entry"]
    assert {*vault.context(query, kinds="entry", include_memories=True).ids} == {"memory", "entry"}


def test_a_context_tells_of_one_search():
    told = []
    with Vault(":memory:", on_search=told.append) as vault:
        vault.add_many({"title": f"always an alias {number}"} for number in range(70))
        vault.context("ducks")
    assert [event.method for event in told] == ["search"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_tokens": 0},
        {"max_tokens": "many"},
        {"max_tokens": True},
        {"min_confidence": 1.5},
        {"min_confidence": math.nan},
        {"min_confidence": None},
        {"where": {"nothing": 1}},
        {"domain": 1},
        {"kinds": []},
        {"include_memories": 2},
        {"as_of": "soon"},
        {"timeout_s": -1},
    ],
)
def test_a_wrong_argument_is_an_error(vault, wrong):
    with pytest.raises(QueryError):
        vault.context("ducks", **wrong)
    with pytest.raises(QueryError):
        vault.context(7)


def test_a_context_of_a_federation_has_the_copy_of_the_highest_tier(vault):
    with Vault(":memory:", clock=lambda: NOW) as other:
        vault.add(id="pin", title="Run the linter", tags=["always"])
        other.add(id="pin", title="Run nothing", tags=["always"])
        other.add(id="team", title="Ask the team", tags=["always"])
        other.add(id="db", title="Storage of orders", tags=["alias:pg"])
        with Federation({"agent": vault, "team": other}) as both:
            context = both.context("tune pg")
            assert codes(context) == [("team", "pinned"), ("pin", "pinned"), ("db", "alias")]
            assert "Run nothing" not in context.text
            assert [item.hit.tier for item in context.items] == ["team", "agent", "team"]
            assert both.context("tune pg", tiers="agent").ids == ["pin"]


ENTRY = st.fixed_dictionaries(
    {
        "title": st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
        "description": st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join),
        "tags": st.lists(st.sampled_from(["always", "alias:pg", "alias:payment service", "x"]), max_size=2),
        "domain": st.sampled_from(["in", "out"]),
        "kind": st.sampled_from(["entry", "memory", "chunk"]),
        "trust": st.sampled_from(["trusted", "unverified", "untrusted"]),
        "attrs": st.sampled_from([{}, {"team": "core"}]),
        "valid_until": st.sampled_from([None, NOW - 10]),
    }
)
SCOPE = st.sampled_from(
    [
        {"domain": "in"},
        {"where": {"attrs.team": "core"}},
        {"kinds": "entry"},
        {"where": {"domain": "in", "trust": {"$gte": "unverified"}}, "kinds": ["chunk", "memory"]},
        {"include_memories": False},
    ]
)
QUERY = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


def is_inside(entry, scope):
    where = scope.get("where", {})
    memories = scope.get("include_memories", "kinds" not in scope)
    kinds = [scope["kinds"]] if isinstance(scope.get("kinds"), str) else scope.get("kinds")
    return (
        entry.domain == scope.get("domain", where.get("domain", entry.domain))
        and ("attrs.team" not in where or entry.attrs.get("team") == where["attrs.team"])
        and (entry.kind in kinds if kinds is not None else memories or entry.kind != "memory")
        and entry.trust != "untrusted"
        and entry.valid_until is None
    )


@given(st.lists(ENTRY, max_size=8), QUERY, SCOPE, st.integers(1, 400), st.sampled_from([0.0, 0.5]))
def test_nothing_outside_the_scope_is_ever_named_and_the_budget_is_never_exceeded(entries, query, scope, most, least):
    with Vault(":memory:", clock=lambda: NOW) as vault:
        for number, fields in enumerate(entries):
            vault.add(id=f"id-{number}-", **fields)
        context = vault.context(query, max_tokens=most, min_confidence=least, **scope)
        inside = {entry.id for entry in vault if is_inside(entry, scope)}
        named = [*context.ids, *(item.id for item in context.left_out)]
        assert {*named} <= inside and len(named) == len({*named})
        assert {*re.findall(r"id-\d+-", context.text)} <= {*context.ids}
        assert len(context.text) <= 4 * most and context.tokens == math.ceil(len(context.text) / 4)
        assert bool(context.text) == bool(context.items)
        pins = {entry.id for entry in vault if entry.id in inside and "always" in entry.tags}
        assert pins <= {*named}
        for item in context.items:
            assert (item.hit.id in pins) == (item.code == "pinned")
            assert item.code == "matches" or item.hit.entry.tags
