"""The lists of a recall: which there are, what they weigh, and what a scope leaves of them."""

import pytest

from retrieved import hit
from septet.errors import QueryError
from septet.retrieval.corpus import Item, RankedList
from septet.retrieval.recall.recalling import recall_lists
from septet.retrieval.recall.settings import RecallSettings, settings_of

NOW = 100 * 86_400.0
PLAIN = settings_of({"lists": {"recent": 0, "session": 0, "quality": 0, "exact": 0}})


def ranked(corpus, *hits, name="text", variant=0, weight=1.0):
    items = [Item(one.id, one) for one in hits]
    return RankedList(name, corpus, items, weight, variant)


def known(key, **fields):
    return hit(key, tier="knowledge", **fields)


def message(key, day=1.0, session="s1", **fields):
    return hit(key, tier="messages", created_at=day * 86_400, attrs={"session": session}, **fields)


def summary(key, day=1.0, session="s1", **attrs):
    return hit(key, tier="distillations", created_at=day * 86_400, attrs={"session": session, **attrs})


def named(lists):
    return {(one.corpus, one.name, one.variant): [item.key for item in one.items] for one in lists}


def weights(lists):
    return {(one.corpus, one.name, one.variant): one.weight for one in lists}


def made(lists, settings=None, query="token refresh", **more):
    return recall_lists(lists, settings or RecallSettings(), query=query, now=NOW, **more)


def test_words_come_before_vectors_and_lists_over_everything_last():
    text = [ranked("knowledge", known("k1")), ranked("messages", message("m1"), message("m2", 2))]
    found = made([*text, ranked("knowledge", known("k2", description="refresh"), name="vector")])
    assert [(one.corpus, one.name) for one in found] == [
        ("knowledge", "text"),
        ("messages", "text"),
        ("messages", "recent"),
        ("knowledge", "vector"),
        ("recall", "exact"),
    ]
    assert named(found)["messages", "recent", 0] == ["m2", "m1"]
    assert named(found)["recall", "exact", 0] == ["k2"]


def test_knowledge_counts_less_beside_what_sessions_hold():
    k, m, v = ranked("knowledge", known("k1")), ranked("messages", message("m1")), ranked("knowledge", known("k2"))
    alone = weights(made([k, v._replace(name="vector")], PLAIN, "token"))
    assert alone == {("knowledge", "text", 0): 1.0, ("knowledge", "vector", 0): 1.0}
    beside = weights(made([k, m, v._replace(name="vector")], PLAIN, "token"))
    assert beside["knowledge", "text", 0] == beside["knowledge", "vector", 0] == 0.6
    assert beside["messages", "text", 0] == 1.0
    project = weights(made([k, m], PLAIN, "token", scope={"within": "project"}))
    assert project["knowledge", "text", 0] == 1.0


@pytest.mark.parametrize(("query", "weight"), [("token", 1.0), ("the token of it", 1.0), ("token refresh", 1.5)])
def test_vectors_count_more_for_queries_of_several_words(query, weight):
    found = made([ranked("knowledge", known("k1"), name="vector", weight=2.0)], PLAIN, query)
    assert weights(found) == {("knowledge", "vector", 0): 2.0 * weight}


def test_each_kind_of_list_can_be_weighed_or_left_out():
    lists = [
        ranked("messages", message("m1", title="Token"), message("m2", 2)),
        ranked("messages", message("m3"), name="vector"),
    ]
    scope = {"session": "s1"}
    full = weights(made(lists, scope=scope))
    assert {name for _, name, _ in full} == {"text", "recent", "session", "vector", "exact"}
    for name in ("text", "recent", "session", "vector", "exact"):
        without = settings_of({"lists": {name: 0}})
        assert {one for _, one, _ in weights(made(lists, without, scope=scope))} == {one for _, one, _ in full} - {name}
        twice = weights(made(lists, settings_of({"lists": {name: 2}}), scope=scope))
        assert twice == {key: weight * (2 if key[1] == name else 1) for key, weight in full.items()}


def test_the_hits_of_the_session_that_asks_count_again():
    lists = [ranked("messages", message("m1", session="s2"), message("m2"), message("m3"))]
    found = named(made(lists, scope={"session": "s1"}))
    assert found["messages", "session", 0] == ["m2", "m3"]
    assert ("messages", "session", 0) not in named(made(lists))
    assert ("messages", "session", 0) not in named(made(lists, scope={"session": "s1", "within": "project"}))


def test_summaries_of_even_ages_come_first_if_there_are_two():
    lists = [
        ranked(
            "distillations", summary("d1", c_norm=0.9), summary("d2", 90), summary("d3", 10), summary("d4", c_norm=0.2)
        )
    ]
    assert named(made(lists))["recall", "quality", 0] == ["d2", "d3", "d4", "d1"]
    assert ("recall", "quality", 0) not in named(made([ranked("distillations", summary("d1"))]))


def test_exact_words_are_counted_over_everything_found_once():
    one = known("k1", title="Token", description="refresh the TOKEN")
    lists = [
        ranked("knowledge", one),
        ranked("knowledge", one, known("k2", title="Refreshing"), known("k3"), name="vector"),
    ]
    assert named(made(lists))["recall", "exact", 0] == ["k1", "k2"]


def test_lists_of_other_phrasings_are_cut_first():
    lists = [ranked("knowledge", known(f"k{v}"), variant=v) for v in range(4)]
    lists += [ranked("messages", message(f"m{v}"), variant=v) for v in range(4)]
    lists.append(ranked("knowledge", known("k9"), name="vector"))
    settings = {"lists": {"recent": 0, "exact": 0}}
    for most in range(1, 12):
        found = made(lists, settings_of({**settings, "mostLists": most}))
        assert len(found) == min(most, 9)
        variants = [one.variant for one in found]
        assert variants.count(0) == min(most, 3)
        everything = made(lists, settings_of(settings))
        assert [one for one in everything if one in found] == found


def test_no_vectors_count_within_a_session():
    lists = [ranked("messages", message("m1")), ranked("messages", message("m2"), name="vector")]
    found = made(lists, PLAIN, scope={"within": "session", "session": "s1"})
    assert list(named(found)) == [("messages", "text", 0)]


def test_nothing_found_is_no_list():
    assert made([]) == made([ranked("knowledge"), ranked("messages", name="vector")]) == []


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        ({"within": "galaxy"}, "scope is within 'galaxy'"),
        ({"within": 3}, "within 3"),
        ({"within": "session"}, "has no session name"),
    ],
)
def test_an_unknown_scope_is_an_error(scope, said):
    with pytest.raises(QueryError, match=said):
        made([], scope=scope)
