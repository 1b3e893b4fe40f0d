"""The adapter for LangGraph, beside the store that comes with the package, and in a graph."""

import asyncio
from datetime import datetime, timezone
from typing import TypedDict

import pytest

pytest.importorskip("langgraph")

from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from septet import EntryError, Federation, QueryError, Vault
from septet.adapters.langgraph import SeptetStore, id_of, kind_of, namespace_of

ITEMS = {
    (("users", "ada"), "tea"): {"text": "Ada likes green tea", "n": 1, "deep": {"a": 1}, "tags": ["drink"]},
    (("users", "ada"), "dog"): {"text": "Her dog is called Rex", "n": 2},
    (("users", "bob"), "tea"): {"text": "Bob hates tea", "n": 3.5},
    (("users", "bob", "job"), "ü ?#%/.."): {"text": "Bob builds bridges", "n": None},
    (("docs",), "a/b"): {"text": "How to brew green tea", "n": "4"},
}


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


def axes(texts):
    return [[text.count("tea") + 0.1, text.count("dog") + 0.1, text.count("bridge") + 0.1] for text in texts]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def vault(clock):
    with Vault(":memory:", clock=clock) as vault:
        yield vault


@pytest.fixture
def store(vault, clock):
    store = SeptetStore(vault, clock=clock)
    for (namespace, key), value in ITEMS.items():
        store.put(namespace, key, value)
    return store


@pytest.fixture
def peer():
    peer = InMemoryStore()
    for (namespace, key), value in ITEMS.items():
        peer.put(namespace, key, value)
    return peer


def found(items):
    return {(item.namespace, item.key) for item in items}


def test_items_come_back_as_they_were_put(store, vault, clock):
    for (namespace, key), value in ITEMS.items():
        item = store.get(namespace, key)
        assert (item.namespace, item.key, item.value) == (namespace, key, value)
        assert item.created_at == item.updated_at == datetime.fromtimestamp(clock.now, timezone.utc)
    clock.now += 60
    store.put(("users", "ada"), "tea", {"text": "Ada likes coffee"})
    item = store.get(("users", "ada"), "tea")
    assert item.value == {"text": "Ada likes coffee"}
    assert (item.updated_at - item.created_at).total_seconds() == 60
    assert store.get(("users",), "tea") is None
    store.delete(("users", "ada"), "tea")
    store.delete(("users", "ada"), "tea")
    assert store.get(("users", "ada"), "tea") is None
    assert vault.get("item/users/bob/job/ü ?#%25%2F..").kind == "item/users/bob/job"


FILTERS = [
    None, {"n": 1}, {"n": {"$gt": 1}}, {"n": {"$gte": 1, "$lt": 3}}, {"n": {"$ne": 2}}, {"deep": {"a": 1}},
    {"text": "Bob hates tea"}, {"n": {"$eq": 3.5}}, {"none": 1}, {"n": 1, "text": "other"},
    {"deep": {"a": {"$lte": 1}}},
]  # fmt: skip


@pytest.mark.parametrize("filter", FILTERS, ids=str)
@pytest.mark.parametrize("prefix", [("users",), ("users", "ada"), ("users", "bob"), ("use",), ("users", "ada", "x")])
def test_filters_choose_what_the_packages_own_store_chooses(store, peer, prefix, filter):
    peer.delete(("users", "bob", "job"), "ü ?#%/..")  # which cannot compare None with a number
    store.delete(("users", "bob", "job"), "ü ?#%/..")
    assert found(store.search(prefix, filter=filter)) == found(peer.search(prefix, filter=filter))


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"prefix": ("users",)},
        {"prefix": ("*", "bob")},
        {"suffix": ("ada",)},
        {"suffix": ("bob", "*")},
        {"prefix": ("users",), "suffix": ("job",)},
        {"max_depth": 1},
        {"max_depth": 2, "prefix": ("users",)},
        {"limit": 2},
        {"limit": 2, "offset": 1},
    ],
    ids=str,
)
def test_namespaces_are_listed_as_the_packages_own_store_lists_them(store, peer, asked):
    assert store.list_namespaces(**asked) == peer.list_namespaces(**asked)


def test_pages_of_a_listing_fit_together_the_latest_first(vault, clock):
    store = SeptetStore(vault, clock=clock)
    for n in range(7):
        clock.now += 1
        store.put(("a",), str(n), {"n": n})
    pages = [[item.key for item in store.search(("a",), limit=3, offset=at)] for at in (0, 3, 6, 9)]
    assert pages == [["6", "5", "4"], ["3", "2", "1"], ["0"], []]
    assert store.search(("a",), limit=0) == []


def test_a_query_is_a_search_of_the_vault(store, vault):
    told = vault.search("green tea", where={"kind": {"$in": ["item/users/ada", "item/users/bob"]}})
    items = store.search(("users",), query="green tea")
    assert [(item.key, item.score) for item in items] == [(hit.entry.attrs["key"], hit.score) for hit in told]
    assert [item.key for item in store.search(("users",), query="green tea", limit=1, offset=1)] == ["tea"]
    assert found(store.search((), query="tea", filter={"n": {"$gt": 2}})) == {(("users", "bob"), "tea")}
    assert store.search(("users",), query="submarine") == []


def test_vectors_find_what_has_no_word_of_the_query(vault, clock):
    store = SeptetStore(vault, clock=clock, index={"dims": 3, "embed": axes, "fields": ["text"]}, model="axes")
    store.put(("a",), "1", {"text": "bridges", "more": "tea"})
    store.put(("a",), "2", {"text": "dogs"})
    best, *_ = store.search(("a",), query="a bridge too far")
    assert best.key == "1"
    assert [space.model for space in vault.embedding_status().spaces] == ["axes"]
    told = vault.search("dog", query_vector=axes(["dog"])[0], model="axes", kinds="item/a")
    assert [(item.key, item.score) for item in store.search(("a",), query="dog")] == [
        (hit.entry.attrs["key"], hit.score) for hit in told
    ]


def test_what_is_indexed_is_chosen_by_the_store_and_by_each_item(vault):
    store = SeptetStore(vault, index={"dims": 3, "embed": axes, "fields": ["text"]})
    value = {"text": "apple", "other": [{"name": "pear"}, {"name": "plum"}]}
    store.put(("a",), "usual", value)
    store.put(("a",), "chosen", value, index=["other[*].name", "none"])
    store.put(("a",), "hidden", value, index=False)
    assert vault.get("item/a/usual").description == "apple"
    assert vault.get("item/a/chosen").description == "pear\nplum"
    by_words = SeptetStore(vault)
    assert [item.key for item in by_words.search(("a",), query="apple")] == ["usual"]
    assert [item.key for item in by_words.search(("a",), query="plum")] == ["chosen"]
    assert by_words.search(("a",), query="hidden") == []
    assert found(by_words.search(("a",))) == {(("a",), key) for key in ("usual", "chosen", "hidden")}
    assert store.get(("a",), "hidden").value == value


def test_a_time_to_live_is_a_validity_that_reading_prolongs(vault, clock):
    store = SeptetStore(vault, clock=clock, ttl={"default_ttl": 10, "sweep_interval_minutes": 60})
    store.put(("a",), "short", {"text": "tea"}, ttl=1)
    store.put(("a",), "usual", {"text": "tea"})
    store.put(("a",), "ever", {"text": "tea"}, ttl=None)
    assert vault.get("item/a/short").valid_until == clock.now + 60
    clock.now += 50
    before = store.get(("a",), "short", refresh_ttl=False)
    assert vault.get("item/a/short").valid_until == clock.now + 10
    assert store.get(("a",), "short") == before
    assert vault.get("item/a/short").valid_until == clock.now + 60
    clock.now += 50
    assert found(store.search(("a",))) == {(("a",), key) for key in ("short", "usual", "ever")}
    clock.now += 59
    assert len(store.search(("a",), query="tea", refresh_ttl=False)) == 3
    clock.now += 1
    assert store.get(("a",), "short") is None
    for query in (None, "tea"):
        assert found(store.search(("a",), query=query, refresh_ttl=False)) == {(("a",), "usual"), (("a",), "ever")}
    assert vault.count() == 3
    assert store.sweep_ttl() == 1
    clock.now += 3_600
    store.put(("b",), "new", {})  # sweeps
    assert {entry.id for entry in vault} == {"item/a/ever", "item/b/new"}
    assert store.list_namespaces() == [("a",), ("b",)]


def test_an_item_that_is_put_for_ever_while_it_is_read_stays_for_ever(vault, clock):
    store = SeptetStore(vault, clock=clock)
    store.put(("a",), "k", {"text": "tea"}, ttl=1)
    [read] = vault.entries({"attrs.key": "k"})
    clock.now += 1
    store.put(("a",), "k", {"text": "tea"}, ttl=None)
    # The refresh of a read that had begun before.
    store._refresh([read])
    assert vault.get(read.id).valid_until is None


def test_a_vault_for_reading_is_read_and_not_refreshed(tmp_path, clock):
    first = SeptetStore(tmp_path / "v.db")
    first.put(("a",), "k", {"text": "tea"}, ttl=10)
    first.close()
    with Vault(tmp_path / "v.db", read_only=True) as vault:
        store = SeptetStore(vault)
        assert store.get(("a",), "k").value == {"text": "tea"}
        assert len(store.search(("a",), query="tea")) == 1


def test_a_federation_is_swept_but_for_tiers_that_are_for_reading(tmp_path, clock):
    for name in ("own", "team"):
        first = SeptetStore(tmp_path / name, clock=clock)
        first.put((name,), "k", {}, ttl=0)
        first.close()
    with (
        Vault(tmp_path / "own") as own,
        Vault(tmp_path / "team", read_only=True) as team,
        Federation({"own": own, "team": team}) as both,
    ):
        assert SeptetStore(both).sweep_ttl() == 1
        assert (len(own), len(team)) == (0, 1)


def test_a_batch_reads_before_it_writes_and_of_two_writes_the_last_counts(store):
    ops = [
        PutOp(("users", "ada"), "tea", {"text": "one"}),
        GetOp(("users", "ada"), "tea"),
        SearchOp(("docs",), query="brew"),
        PutOp(("users", "ada"), "tea", {"text": "two"}),
        PutOp(("docs",), "a/b", None),
        ListNamespacesOp(),
    ]
    results = store.batch(ops)
    assert results[1].value["text"] == "Ada likes green tea"
    assert [item.key for item in results[2]] == ["a/b"]
    assert ("docs",) in results[5]
    assert store.get(("users", "ada"), "tea").value == {"text": "two"}
    assert store.list_namespaces(prefix=("docs",)) == []


def test_awaited_methods_do_the_same_and_await_what_embeds(vault):
    async def embed(texts):
        await asyncio.sleep(0)
        return axes(texts)

    names = [*["Her dog"] * 6, "A bridge"]

    async def all_of_them():
        store = SeptetStore(vault, index={"dims": 3, "embed": embed}, model="axes")
        await asyncio.gather(*(store.aput(("a",), str(n), {"text": names[n % 7]}) for n in range(20)))
        assert (await store.aget(("a",), "6")).value == {"text": "A bridge"}
        best, *_ = await store.asearch(("a",), query="bridges")
        assert best.value == {"text": "A bridge"}
        await store.adelete(("a",), "7")
        assert await store.aget(("a",), "7") is None
        assert await store.alist_namespaces() == [("a",)]

    asyncio.run(all_of_them())


def test_what_is_wrong_is_said(store):
    for namespace in ((), ("a.b",), ("",), ("langgraph",)):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {})
    with pytest.raises(InvalidNamespaceError):
        store.batch([GetOp(("a.b",), "k")])
    with pytest.raises(EntryError, match="256"):
        store.put(("x" * 300,), "k", {})
    with pytest.raises(EntryError, match="attrs"):
        store.put(("a",), "k", {"when": object()})
    with pytest.raises(QueryError, match="compared with a list"):
        store.search(("users",), filter={"tags": ["drink"]})
    with pytest.raises(QueryError, match=r"unknown operator '\$near'"):
        store.search(("users",), filter={"n": {"$near": 1}})
    with pytest.raises(QueryError, match="unsupported operation"):
        store.batch(["get"])


def test_keys_may_be_long_or_blank(store):
    for key in ("k" * 1_000, " ", "\x00\n", "%2F", "/"):
        store.put(("odd",), key, {"is": key})
        assert store.get(("odd",), key).value == {"is": key}
    assert len(store.search(("odd",))) == 5


def test_entries_that_are_no_items_stay_out(store, vault):
    vault.add(id="x", title="Green tea", kind="item/users/ada")
    vault.add(id="y", title="Green tea")
    assert found(store.search(("users", "ada"), query="green tea")) == {(("users", "ada"), "tea")}
    assert len(store.search(("users", "ada"))) == 2
    vault.add(id=id_of(("users", "ada"), "mine"), title="Green tea", kind="item/users/ada")
    assert store.get(("users", "ada"), "mine") is None


def test_a_search_takes_a_star_for_a_label_and_not_for_all_of_them(store, peer):
    for one in (store, peer):
        one.put(("users", "*"), "own", {"text": "green tea"})
    for prefix in (("*",), ("users", "*")):
        assert found(store.search(prefix)) == found(peer.search(prefix)) == found(store.search(prefix, query="tea"))
    assert found(store.search(("users", "*"))) == {(("users", "*"), "own")}


labels = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=".\x00"), min_size=1, max_size=12)


@given(st.lists(labels, min_size=1, max_size=4).map(tuple), st.lists(labels, min_size=1, max_size=4).map(tuple), labels)
def test_namespaces_are_kinds_and_back_and_no_two_items_share_an_id(one, other, key):
    assert namespace_of(kind_of(one)) == one
    assert (kind_of(one) == kind_of(other)) == (one == other)
    assert (id_of(one, key) == id_of(other, key)) == (one == other)
    assert id_of(one, key) != id_of((*one, key), key)
    assert id_of((*one, other[0]), key) != id_of(one, f"{other[0]}/{key}")


def test_over_a_federation_the_first_label_names_the_tier():
    with (
        Vault(":memory:") as own,
        Vault(":memory:") as team,
        Federation({"own": own, "team": team}, {"own": 1.0}) as both,
    ):
        store = SeptetStore(both)
        store.put(("team", "rules"), "tea", {"text": "Tea at four"}, ttl=0)
        store.put(("team", "rules"), "keys", {"text": "Lock the door"})
        store.put(("ada",), "tea", {"text": "Green tea"})
        assert ({entry.kind for entry in own}, {entry.kind for entry in team}) == ({"item/ada"}, {"item/team/rules"})
        assert store.search((), query="tea")[0].key == "tea"
        assert store.list_namespaces() == [("ada",), ("team", "rules")]
        assert store.sweep_ttl() == 1
        assert (len(own), len(team)) == (1, 1)


class State(TypedDict):
    said: str
    known: list


def test_nodes_of_a_graph_remember_and_recall(tmp_path):
    def remember(state: State, *, store: BaseStore):
        store.put(("users", "ada"), str(len(state["said"])), {"text": state["said"]})
        return {}

    async def recall(state: State, *, store: BaseStore):
        items = await store.asearch(("users", "ada"), query=state["said"])
        return {"known": [item.value["text"] for item in items]}

    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_node("recall", recall)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", "recall")
    builder.add_edge("recall", END)
    store = SeptetStore(tmp_path / "memory.db")
    graph = builder.compile(store=store)
    asyncio.run(graph.ainvoke({"said": "I like green tea.", "known": []}))
    state = asyncio.run(graph.ainvoke({"said": "Which tea do I like?", "known": []}))
    assert set(state["known"]) == {"I like green tea.", "Which tea do I like?"}
    store.close()
    again = SeptetStore(tmp_path / "memory.db")
    assert {item.value["text"] for item in again.search(("users",))} == set(state["known"])
    again.close()
