"""Sources of a recall: kinds of a vault asked by words and by vectors, under the filters and the scope of each."""

import pytest

from septet import Federation, Vault
from septet.errors import QueryError, TierError
from septet.query.refine import deadline_of
from septet.retrieval.corpus import CorpusRequest
from septet.retrieval.recall.settings import settings_of
from septet.retrieval.recall.sources import VaultCorpus, corpora_of

ASKED = CorpusRequest("token", 10)


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        near, far = [1.0, 0.0], [0.6, 0.8]
        made.add(id="k1", title="Token refresh", vector=near)
        made.add(id="k2", title="Token of project B", attrs={"project": "B"}, vector=near)
        made.add(id="k3", title="Shared token", attrs={"project": "B", "cross_project": 1}, vector=far)
        made.add(id="k4", title="Doubtful token", attrs={"confidence": 0.2}, vector=near)
        made.add(id="k5", title="Likely token", attrs={"confidence": 0.21, "project": "A"}, vector=far)
        made.add(id="m1", kind="message", title="refresh a token", attrs={"session": "s1", "project": "A"}, vector=near)
        made.add(id="m2", kind="message", title="refresh a token", attrs={"session": "s2", "project": "A"}, vector=far)
        yield made


def ids(answered):
    return {one.name: sorted(item.hit.id for item in one.items) for one in answered.lists}


def of(vault, **more):
    return corpora_of(settings_of(more), vault)


def test_each_source_has_its_kinds_and_a_list_of_each_leg(vault):
    knowledge, distillations, messages = of(vault)
    asked = ASKED._replace(vector=[1.0, 0.0])
    assert ids(knowledge.search(asked)) == {name: ["k1", "k2", "k3", "k5"] for name in ("text", "vector")}
    assert ids(messages.search(asked)) == {"text": ["m1", "m2"], "vector": ["m1", "m2"]}
    assert ids(distillations.search(asked)) == {"text": [], "vector": []}
    found = knowledge.search(asked)
    assert list(found.backends) == ["knowledge_bm25", "knowledge_vector"]
    assert {one.hit.tier for ranked in found.lists for one in ranked.items} == {"knowledge"}
    assert knowledge.get("k1").title == "Token refresh" and knowledge.get("none") is None


def test_the_mode_and_the_phrasing_decide_which_lists_there_are(vault):
    knowledge = of(vault)[0]
    asked = ASKED._replace(vector=[1.0, 0.0])
    assert set(ids(knowledge.search(asked._replace(mode="full_text")))) == {"text"}
    assert set(ids(knowledge.search(asked._replace(mode="vector")))) == {"vector"}
    assert set(ids(knowledge.search(ASKED._replace(variant=1)))) == {"text"}
    without = knowledge.search(ASKED)
    assert set(ids(without)) == {"text"}


def test_an_entry_found_by_both_legs_has_one_key(vault):
    found = of(vault)[0].search(ASKED._replace(vector=[1.0, 0.0]))
    text, vector = found.lists
    assert {one.key for one in text.items} == {one.key for one in vector.items}


def test_who_may_see_an_entry_holds_for_every_leg(vault):
    knowledge, _, messages = of(vault)
    asked = ASKED._replace(vector=[1.0, 0.0])
    for project, seen in (("A", ["k1", "k3", "k5"]), ("B", ["k1", "k2", "k3"]), ("C", ["k1", "k3"])):
        found = ids(knowledge.search(asked._replace(scope={"project": project})))
        assert found == {"text": seen, "vector": seen}
    assert ids(messages.search(asked._replace(scope={"project": "B"}))) == {"text": [], "vector": []}


def test_a_scope_leaves_sources_out(vault):
    team = {"name": "team", "role": "other"}
    default = settings_of({}).model_dump(by_alias=True)["sources"]
    corpora = of(vault, sources=[*default, team])

    def asked(**scope):
        return {one.name for one in corpora if one.search(ASKED._replace(scope=scope)).lists}

    assert asked() == asked(within="all") == {"knowledge", "distillations", "messages", "team"}
    assert asked(within="project") == {"knowledge", "distillations", "messages"}
    assert asked(within="knowledge") == {"knowledge"}
    assert asked(within="session", session="s1") == {"distillations", "messages"}


def test_within_a_session_its_own_messages_are_found_by_their_words(vault):
    messages = of(vault)[2]
    scope = {"within": "session", "session": "s1"}
    asked = ASKED._replace(vector=[1.0, 0.0], scope=scope)
    assert ids(messages.search(asked)) == {"text": ["m1"]}
    assert ids(messages.search(asked._replace(scope={"session": "s1"})))["text"] == ["m1", "m2"]


def test_limits_are_those_of_the_source_and_of_who_asks(vault):
    for limit in (1, 2, 3, 10):
        corpus = VaultCorpus("all", vault, limit=3)
        found = corpus.search(ASKED._replace(limit=limit, vector=[1.0, 0.0]))
        assert [len(one.items) for one in found.lists] == [min(limit, 3)] * 2


def test_a_whole_vault_can_be_a_source(vault):
    with Vault(":memory:") as other:
        other.add(id="k1", title="Another token")
        sources = [{"name": "own"}, {"name": "team", "vault": "team", "weight": 0.5}, {"name": "off", "weight": 0}]
        corpora = corpora_of(settings_of({"sources": sources}), vault, {"team": other})
        assert [one.name for one in corpora] == ["own", "team"]
        lists = [one.search(ASKED).lists[0] for one in corpora]
        assert [one.weight for one in lists] == [1.0, 0.5]
        keys = [{item.key for item in one.items} for one in lists]
        assert not keys[0] & keys[1] and len(keys[1]) == 1
        with pytest.raises(TierError, match=r"unknown vault 'team' of source .*; available: none"):
            corpora_of(settings_of({"sources": sources}), vault)
        with Federation({"project": vault, "team": other}) as both:
            assert len(VaultCorpus("both", both).search(ASKED).lists[0].items) >= 5


def test_a_filter_of_the_source_holds_too(vault):
    corpus = VaultCorpus("b", vault, where={"attrs.project": "B"}, confidence_above=0.2)
    assert ids(corpus.search(ASKED)) == {"text": ["k2", "k3"]}


def test_a_late_question_is_answered_with_what_there_is(vault):
    found = of(vault)[0].search(ASKED._replace(deadline=deadline_of(30)))
    assert ids(found)["text"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"limit": 0}, "limit is 0"),
        ({"weight": -1}, "weight is -1"),
        ({"role": "boss"}, "role is 'boss'"),
        ({"role": None}, "role is None"),
        ({"scoped": 3}, "scoped is 3"),
        ({"scoped": {"session": 3}}, "scoped is int, not text"),
        ({"shared": 3}, "shared is int, not text"),
        ({"kinds": 3}, "kinds is 3"),
        ({"where": [1]}, r"where is \[1\]"),
        ({"confidence_above": "x"}, "confidence_above is 'x'"),
    ],
)
def test_a_source_that_cannot_be_is_an_error(vault, more, said):
    with pytest.raises(QueryError, match=said):
        VaultCorpus("a", vault, **more)
    with pytest.raises(QueryError, match="wanted a Vault or a Federation"):
        VaultCorpus("a", "a.db")


def test_vectors_that_fit_nothing_are_a_note(vault):
    found = of(vault)[0].search(ASKED._replace(vector=[1.0, 0.0, 0.0]))
    assert ids(found)["text"] and any(note.code == "vector_mismatch" for note in found.notes)


def test_it_is_told_which_words_the_entries_hold(vault):
    knowledge = of(vault)[0]
    steps = {"token": "all", "project token": "all", "token zebra": "any", "zebra": None}
    assert {query: knowledge.search(ASKED._replace(query=query)).step for query in steps} == steps


def test_a_query_without_words_that_tell_anything_compares_no_vectors(vault):
    found = of(vault)[0].search(ASKED._replace(query="what is this", vector=[1.0, 0.0]))
    assert ids(found) == {"text": []}
    assert [note.code for note in found.notes] == ["query_too_vague"]
    alone = of(vault)[0].search(ASKED._replace(query="what is this", vector=[1.0, 0.0], mode="vector"))
    assert len(alone.lists[0].items) == 4


@pytest.mark.parametrize("value", [{"$ne": "none"}, {"$exists": True}, ["A", "B"], float("nan")])
@pytest.mark.parametrize("scope", [{}, {"within": "session", "session": "s1"}])
def test_a_scope_takes_values_and_no_operators(vault, value, scope):
    knowledge, _, messages = of(vault)
    with pytest.raises(QueryError, match=r"attrs\.project"):
        (messages if scope else knowledge).search(ASKED._replace(scope={**scope, "project": value}))
    with pytest.raises(QueryError, match=r"attrs\.session"):
        messages.search(ASKED._replace(scope={"within": "session", "session": value}))


def test_memories_that_another_source_has_are_not_missed(vault):
    vault.add(id="memo", title="Token of old", kind="memory")
    for knowledge in (vault, Federation({"only": vault})):
        with knowledge.retriever("recall") as retriever:
            found = retriever.retrieve("token")
        assert "memo" in found.ids
        assert "memories_left_out" not in {note.code for note in found.notes}
