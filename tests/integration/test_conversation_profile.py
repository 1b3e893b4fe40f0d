"""The profile `conversation`: roles, and standing instructions for requests."""

import json
from datetime import datetime

import pytest

from septet import Federation, Vault

MESSAGES = [
    ("user-1", "user", "The lease of the flat in Porto begins on 1 May."),
    ("answer-1", "assistant", "The lease of the flat in Porto begins on 1 May: sign the lease of the flat before."),
    ("rule", "user", "Always give dates as year, month and day."),
    ("filler", "assistant", "Dates are easy to mistake."),
]


def filled(vault, messages=MESSAGES):
    for at, (name, role, text) in enumerate(messages):
        attrs = {} if role is None else {"role": role}
        vault.add(id=name, title=text[:80], description=text, attrs=attrs, created_at=1.7e9 + at)
    return vault


@pytest.fixture
def vault():
    with Vault(":memory:", profile="conversation", clock=lambda: 1.7e9 + 60) as vault:
        yield filled(vault)


def test_what_a_user_said_comes_before_an_assistants_repetition(vault):
    assert vault.search("lease of the flat in Porto").ids[:2] == ["user-1", "answer-1"]
    hits = {hit.id: hit for hit in vault.search("lease of the flat in Porto")}
    assert hits["user-1"].breakdown["role"] == 0 and hits["answer-1"].breakdown["role"] < 0
    assert hits["answer-1"].signals["role"] == 0.4


def test_a_request_finds_the_standing_instruction(vault):
    requested = vault.search("could you give me the date of the lease")
    questioned = vault.search("when did I say the lease of the flat begins")
    assert requested[0].id == "rule" and requested[0].signals["instruction"] == 1
    assert {hit.signals["instruction"] for hit in questioned} == {None}
    assert questioned[0].id == "user-1"


def test_the_role_of_the_highest_value_gives_instructions(vault):
    profile = {"extends": "conversation", "facts": {"roles": {"user": 0.8, "assistant": 0.3}}}
    hits = {hit.id: hit for hit in vault.search("could you give me the date of the lease", profile=profile)}
    assert hits["rule"].signals["instruction"] == 1


def test_an_assistant_gives_no_instructions(vault):
    vault.add(
        id="advice", title="Dates", description="Always write the date of the lease.", attrs={"role": "assistant"}
    )
    hits = {hit.id: hit for hit in vault.search("could you give me the date of the lease")}
    assert hits["advice"].signals["instruction"] == 0 and hits["rule"].signals["instruction"] == 1


def test_a_summary_counts_all_roles_alike(vault):
    hits = vault.search("give me a summary of the lease of the flat in Porto")
    assert {hit.signals["role"] for hit in hits} == {None}
    assert {"user-1", "answer-1"} <= set(hits.ids)


def test_entries_without_a_role_keep_their_score():
    with Vault(":memory:", clock=lambda: 1.7e9 + 60) as vault:
        filled(vault, [(name, None, text) for name, _, text in MESSAGES])
        query = "lease of the flat in Porto"
        plain, conversation = (vault.search(query, profile=name) for name in ("septet", "conversation"))
        assert [(hit.id, hit.score) for hit in plain] == [(hit.id, hit.score) for hit in conversation]


@pytest.mark.parametrize("role", [None, 7, True, ["user"], {"is": "user"}, "narrator"])
def test_a_role_that_the_profile_does_not_name_is_unknown(vault, role):
    vault.add(id="odd", title="Porto lease", attrs={"role": role})
    [odd] = [hit for hit in vault.search("porto lease") if hit.id == "odd"]
    assert odd.signals["role"] is None
    assert odd.breakdown.get("role", 0) == 0


def test_roles_of_a_profile_are_the_callers(vault):
    reversed_roles = {"extends": "conversation", "facts": {"roles": {"user": 0.1, "assistant": 1.0}}}
    assert vault.search("lease of the flat in Porto", profile=reversed_roles).ids[0] == "answer-1"


def test_tiers_answer_together_and_explain_names_the_columns(tmp_path):
    halves = MESSAGES[:2], MESSAGES[2:]
    vaults = {name: filled(Vault(tmp_path / f"{name}.db"), half) for name, half in zip(("a", "b"), halves)}
    with Federation(vaults, clock=lambda: 1.7e9 + 60) as federation:
        hits = federation.search("could you give me the date of the lease", profile="conversation")
        assert {hit.id: hit.signals["instruction"] for hit in hits if hit.id in ("rule", "user-1")} == {
            "rule": 1.0,
            "user-1": 0.0,
        }
        text = json.dumps(federation.explain("lease of the flat", "answer-1", profile="conversation").to_dict())
        assert '"role"' in text
    for vault in vaults.values():
        vault.close()


def test_a_newer_message_goes_before_the_one_whose_fact_it_changes():
    messages = [
        ("old", "user", "The rent of the flat in Porto is 900 euros, and the rent of the flat includes heating."),
        ("answer", "assistant", "The rent of the flat in Porto was raised to 990 euros."),
        ("new", "user", "By the way, they raised the rent of the flat to 950 euros."),
        ("other", "user", "The flat in Porto has a new kitchen."),
    ]
    query = "what is the rent of the flat in Porto"
    with Vault(":memory:", profile="conversation", clock=lambda: 1.7e9 + 60) as vault:
        filled(vault, messages)
        results = vault.search(query)
        assert results.ids[:2] == ["new", "old"]
        assert results[0].score < results[1].score, "scores are those of the formula"
        assert vault.search("what was the rent of the flat in Porto").ids[0] == "old"
        assert vault.search(query, as_of=1.7e9 + 60).ids == results.ids
        assert vault.search(query, profile="septet").ids[0] == "old"
        assert vault.search_many([query, "kitchen"])[0].ids == results.ids
        assert set(vault.search(query, limit=2).ids) <= set(results.ids)
        assert vault.explain(query, "new").found
        with Federation({"a": vault}, profile="conversation") as memory:
            assert memory.search(query).ids == results.ids


def test_a_summary_finds_an_answer_by_the_message_that_it_answers(vault):
    vault.add(id="late", title="Two months of rent.", attrs={"role": "assistant"}, created_at=1.7e9 - 7_200)
    answer = "Two months of rent, the lease says."
    vault.add(
        id="asked", title="What is the deposit of the flat in Porto?", attrs={"role": "user"}, created_at=1.7e9 + 8
    )
    vault.add(id="answer", title=answer, description=answer, attrs={"role": "assistant"}, created_at=1.7e9 + 20)
    query = "give me a summary of the deposit of the flat in Porto and its lease"
    hits = {hit.id: hit for hit in vault.search(query)}
    assert hits["answer"].signals["answered"] > 1 and hits["asked"].signals["answered"] == 0.5
    plain = {"extends": "conversation", "factors": {"answered": {"const": 1}}}
    alone = {hit.id: hit.score for hit in vault.search(query, profile=plain)}
    assert hits["answer"].score == pytest.approx((alone["answer"] + alone["asked"]) / 2)
    assert hits["asked"].score == pytest.approx(alone["asked"] / 2)
    assert {hit.signals["answered"] for hit in vault.search("deposit of the flat in Porto")} == {None}
    vault.delete("asked")
    assert {hit.signals["answered"] for hit in vault.search("a summary of the deposit")} <= {None, 0.5}


TALK = [
    ("hello", "Ana", "Hi Ben, good to see you again."),
    ("asked", "Ben", "Which lake did you swim in last summer?"),
    ("answer", "Ana", "Oh, that was a lake near Bled."),
    ("other", "Ben", "We drove along a lake, and to a summer fair."),
    ("end", "Ana", "Nice, see you."),
]


def test_a_message_of_a_person_counts_with_its_neighbours():
    query = "which lake did Ana swim in"
    with Vault(":memory:", profile="conversation", clock=lambda: 1.7e9 + 60) as vault:
        hits = {hit.id: hit for hit in filled(vault, TALK).search(query)}
        assert hits["answer"].score > hits["other"].score
        assert hits["answer"].signals["beside"] > 1
        plain = {"extends": "conversation", "factors": {"beside": {"const": 1}}}
        alone = {hit.id: hit.score for hit in vault.search(query, profile=plain)}
        assert hits["answer"].score == pytest.approx((2 * alone["answer"] + alone["asked"]) / 3)
        last = min(alone.values())
        assert hits["asked"].score == pytest.approx(
            (2 * alone["asked"] + max(alone.get("hello", last), alone["answer"])) / 3
        )


def test_neighbours_are_stored_one_after_the_other_within_an_hour_by_people():
    query = "which lake did Ana swim in"
    for gap, role in ((7_200, "Ana"), (1, "user")):
        with Vault(":memory:", profile="conversation", clock=lambda: 1.7e9 + 60_000) as vault:
            for at, (name, _, text) in enumerate(TALK):
                attrs = {"role": role}
                vault.add(id=name, title=text[:80], description=text, attrs=attrs, created_at=1.7e9 + gap * at)
            plain = {"extends": "conversation", "factors": {"beside": {"const": 1}}}
            assert vault.search(query).ids == vault.search(query, profile=plain).ids


@pytest.mark.parametrize("field", ["domain", "source"])
def test_messages_of_two_conversations_are_no_neighbours(field):
    query = "which lake did Ana swim in"
    with Vault(":memory:", profile="conversation", clock=lambda: 1.7e9 + 60) as vault:
        for at, (name, role, text) in enumerate(TALK):
            fields = {"id": name, "title": text[:80], "description": text, field: "with Ben"}
            vault.add(**fields, attrs={"role": role}, created_at=1.7e9 + 2 * at)
            other = {"id": f"{name}-other", "title": "Bread.", "description": f"Lake {at}?", field: "with Cem"}
            vault.add(**other, attrs={"role": "Cem"}, created_at=1.7e9 + 2 * at + 1)
        # A message without a neighbour counts with the last candidate, whose score is not above its own.
        assert max(hit.signals["beside"] for hit in vault.search(query)) == 1


@pytest.mark.parametrize("role", ["tool", "system", "Developer"])
def test_messages_of_programs_have_no_neighbours(role):
    with Vault(":memory:", profile="conversation", clock=lambda: 1.7e9 + 60) as vault:
        filled(vault, [(name, role, text) for name, _, text in TALK])
        assert {hit.signals["beside"] for hit in vault.search("which lake did Ana swim in")} == {None}


def test_roles_are_those_of_the_profile_in_any_case():
    with Vault(":memory:", profile="conversation") as vault:
        filled(vault, [("said", "User", TALK[3][2]), ("answered", "Assistant", TALK[3][2])])
        hits = vault.search("a lake and a summer fair")
        assert {hit.id: hit.signals["role"] for hit in hits} == {"said": 1.0, "answered": 0.4}


def test_an_order_of_what_was_brought_up_counts_answers_less(vault):
    hits = vault.search("list the order in which I brought up the lease of the flat in Porto")
    assert {hit.id: hit.signals["role"] for hit in hits if hit.id in ("user-1", "answer-1")} == {
        "user-1": 1,
        "answer-1": pytest.approx(0.16),
    }


DAY = 86_400
#: A Wednesday, in the zone of the process, whose days are meant.
ASKED = datetime(2026, 7, 15, 10).timestamp()
FLATS = [
    ("june", "user", "We viewed a flat in Elm Street with three rooms.", ASKED - 20 * DAY),
    ("friday", "user", "We viewed a flat in Harbour Road with three rooms.", ASKED - 5 * DAY),
    ("now", "user", "We viewed a flat in Mill Lane with three rooms.", ASKED - DAY),
    ("dated", "user", "The agent shows the flat with three rooms on June 25.", ASKED - 30 * DAY),
]


@pytest.fixture
def dated():
    with Vault(":memory:", profile="conversation", clock=lambda: ASKED) as vault:
        for name, role, text, at in FLATS:
            vault.add(id=name, title=text[:80], description=text, attrs={"role": role}, created_at=at)
        yield vault


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("which flat with three rooms did we view last week", "friday"),
        ("which flat with three rooms did we view yesterday", "now"),
        ("which flat with three rooms did we view in June", "june"),
        ("which flat with three rooms did we view since Monday", "now"),
        ("which flat with three rooms did we view on June 25", "dated"),
    ],
)
def test_what_was_said_at_the_time_of_the_question_comes_first(dated, query, best):
    results = dated.search(query)
    assert results[0].id == best and len(results) == len(FLATS), "a time prefers and drops nothing"
    assert {hit.id: hit.signals["span"] for hit in results}[best] == 1
    assert min(hit.breakdown["span"] for hit in results) < 0
    assert dated.explain(query, best).rank == 1


def test_a_time_of_which_nothing_is_known_changes_nothing(dated):
    plain = dated.search("which flat with three rooms did we view")
    timed = dated.search("which flat with three rooms did we view in December 2019")
    assert {hit.signals["span"] for hit in timed} == {None}
    assert timed.ids == plain.ids


def test_a_date_that_is_in_texts_alone_is_left_to_its_words(dated):
    dated.delete("june")
    hits = dated.search("which flat with three rooms did we view on June 25")
    assert hits[0].id == "dated" and {hit.signals["span"] for hit in hits} == {None}


def test_the_time_of_a_fact_is_when_it_began_to_hold(dated):
    text = "We viewed a flat in Castle Square with three rooms."
    dated.add(
        id="told-late", title=text, description=text, attrs={"role": "user"}, created_at=ASKED, valid_from=ASKED - DAY
    )
    hits = {hit.id: hit for hit in dated.search("which flat with three rooms did we view yesterday")}
    assert hits["told-late"].signals["span"] == 1


def test_times_count_from_as_of(dated):
    query = "which flat with three rooms did we view yesterday"
    assert dated.search(query, as_of=ASKED - 4 * DAY).ids[0] == "friday"


def test_the_first_and_the_latest_of_the_best_come_first(dated):
    dated.delete("dated")
    for query, best in (
        ("which flat with three rooms did we view first", "june"),
        ("which flat with three rooms did we view most recently", "now"),
    ):
        results = dated.search(query)
        assert results[0].id == best and len(results) == 3
        assert [hit.signals["order"] for hit in results] == [1, 0.6, 0.6]
        assert dated.search(query, limit=1).ids == [best] == dated.search(query, group_by="parent", limit=1).ids
        assert results.ids == [*dated.search(query, limit=2).ids, *dated.search(query, limit=2, offset=2).ids]
    assert {hit.signals["order"] for hit in dated.search("flat with three rooms")} == {None}


def test_times_of_other_profiles_are_words(dated):
    assert "span" not in dated.search("which flat did we view yesterday", profile="septet")[0].signals


def test_tiers_share_the_times_of_a_question(dated):
    with Vault(":memory:", clock=lambda: ASKED) as other:
        other.add(id="older", title="We viewed a flat in Oak Row with three rooms.", created_at=ASKED - 40 * DAY)
        with Federation({"a": dated, "b": other}, profile="conversation", clock=lambda: ASKED) as federation:
            assert federation.search("which flat with three rooms did we view first").ids[0] == "older"
            assert federation.search("which flat with three rooms did we view last week").ids[0] == "friday"
