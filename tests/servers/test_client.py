"""A client of a server does what the vault behind it does."""

import asyncio
from datetime import datetime, timezone

import numpy as np
import pytest

pytest.importorskip("uvicorn")

from remote import OPTIONS, QUERIES, VECTOR, filled, told
from septet import (
    AsyncClient,
    BatchError,
    Client,
    Entry,
    EntryError,
    EntryNotFound,
    ProfileError,
    QueryError,
    ReadOnly,
    Vault,
    VectorError,
)
from septet.client.routes import ROUTES
from septet.federation import Member
from septet.service.operations import OPERATIONS
from septet.service.tier_calls import TIER
from septet.types import Suggestion
from serving import serving

TOKEN = "a-token-of-the-test"
ODD_IDS = ["a/b", "..", ".", "ü ?#%", "%2F", "/", "日本", "x" * 256]


@pytest.fixture(scope="module")
def filled_vault(tmp_path_factory):
    with Vault(tmp_path_factory.mktemp("client") / "v.db", clock=lambda: 2e9) as vault:
        yield filled(vault)


@pytest.fixture(scope="module")
def url(filled_vault):
    with serving(filled_vault) as url:
        yield url


@pytest.fixture(scope="module")
def client(url):
    with Client(url) as client:
        yield client


@pytest.fixture(params=["vault", "client"])
def memory(request, tmp_path):
    """A vault, and a client of one: what follows holds for both."""
    with Vault(tmp_path / "v.db", clock=lambda: 1e9) as vault:
        if request.param == "vault":
            yield vault
        else:
            with serving(vault) as url, Client(url) as client:
                yield client


# -- the same behaviour ------------------------------------------------------------------------------------------------


def test_entries_are_stored_read_changed_and_deleted(memory):
    day = datetime(2026, 1, 2, tzinfo=timezone.utc)
    one = memory.add(
        title="Rotate cookies",
        tags=("web",),
        created_at=day,
        attrs={"n": {"a": 1}},
        span={"path": "a", "first_line": 2, "last_line": 3},
    )
    assert memory.get(one).created_at == day.timestamp()
    assert memory.get(one).citation == "a#L2-L3"
    assert memory.add(Entry(id="whole", title="Whole", attrs={"x": [1, None]})) == "whole"
    assert memory.update("whole", context="more", merge_attrs={"y": 2}).attrs == {"x": [1, None], "y": 2}
    assert [entry.id for entry in memory.load(["none", "whole", one])] == ["whole", one]
    assert ("whole" in memory, "none" in memory, None in memory) == (True, False, False)
    assert (len(memory), bool(memory)) == (2, True)
    assert (memory._ids_beginning("wh"), memory._ids_beginning("zz", limit=1)) == (["whole"], [])
    assert [version.call for version in memory.history("whole")] == ["update"]
    assert memory.history("whole")[0].entry.attrs == {"x": [1, None]}
    assert {entry.id for entry in memory} == {one, "whole"}
    assert memory.update_many({"id": "whole"}, domain="web", dry_run=True) == 1
    assert memory.update_many({"id": "whole"}, domain="web") == 1
    assert memory.delete("whole", ["none"], dry_run=True) == 1
    assert memory.delete(where={"domain": "web"}) == 1
    assert memory.get("whole") is None


@pytest.mark.parametrize("id", ODD_IDS)
def test_any_id_names_an_entry(memory, id):
    assert memory.add(id=id, title="Odd") == id
    assert memory.update(id, title="Changed").title == memory.get(id).title == "Changed"
    assert id in memory
    assert memory.delete(id) == 1


def test_memories_are_remembered_recalled_and_forgotten(memory):
    one = memory.remember("Bob owns billing", "since spring", ["team"], valid_until=2e9)
    assert memory.remember("Ann knows Rust") != one
    assert memory.recall("billing").ids == [one]
    assert memory.search("billing").ids == []
    assert memory.forget(where={"tags": "team"}) == 1
    assert memory.forget("none") == 0


def test_a_client_asks_whether_a_fact_has_changed_and_lets_it_supersede(memory):
    old = memory.remember("The API listens on port 8080")
    suggestion = memory.remember("The API now listens on port 9090", on_similar="suggest")
    assert isinstance(suggestion, Suggestion)
    assert (suggestion.verdict, suggestion.other, suggestion.reason) == ("changes", old, "8080 → 9090")
    assert memory.add(title="Ducks swim", on_similar="suggest").other is None
    assert memory.recall("API").ids == [old]
    assert memory.remember("The API now listens on port 9090", on_similar="supersede") == suggestion.id
    assert memory.recall("API").ids == [suggestion.id]


def test_entries_are_linked_superseded_and_judged(memory):
    memory.add_many([{"id": name, "title": name} for name in "abcd"])
    memory.link("a", "b", "cites", note="why")
    assert memory.link_many([("b", "c"), ("c", "d", "next")]) == 2
    assert [tuple(link) for link in memory.links("b")] == [("a", "b", "cites", "why"), ("b", "c", "related", "")]
    assert (memory.unlink("b", "c"), memory.unlink("b", "c")) == (True, False)
    assert memory.supersede("a", {"title": "a again", "id": "a2"}, "newer") == "a2"
    assert (memory.reinstate("a"), memory.reinstate("a")) == (True, False)
    memory.feedback("query", "b", "accepted")
    assert memory.stats().feedback == {"accepted": 1}
    assert memory.weights().counted == 1
    with pytest.raises(EntryNotFound):
        memory.link_many([("a", "b"), ("a", "none")])
    with pytest.raises(EntryNotFound):
        memory.feedback("query", "none", "accepted")


def test_many_entries_are_stored_from_any_source_with_their_vectors(memory):
    seen = []
    items = ({"id": f"e{n}", "title": f"number {n}"} for n in range(1_500))
    ids = memory.add_many(items, progress=lambda stored, total: seen.append((stored, total)))
    assert (len(ids), ids[-1], memory.count(), seen[-1]) == (1_500, "e1499", 1_500, (1_500, None))
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    memory.add_many([{"id": name, "title": name} for name in "abc"], vectors=matrix, model="m")
    assert np.array_equal(
        memory.vectors(["c", "none", "a"]),
        np.array([matrix[2], [np.nan] * 4, matrix[0]], dtype=np.float32),
        equal_nan=True,
    )
    assert memory.add_many([]) == []
    with pytest.raises(VectorError):
        memory.add_many([{"title": "x"}], vectors=matrix)


def test_a_batch_that_stops_says_how_far_it_got(memory):
    def items():
        yield {"id": "a", "title": "a"}
        raise OSError("the disk is gone")

    with pytest.raises(BatchError, match="the disk is gone"):
        memory.add_many(items())
    with pytest.raises(BatchError) as stopped:
        memory.add_many([{"id": "b", "title": "b"}, {"id": "c"}])
    assert stopped.value.index == 1
    assert stopped.value.written == len(memory)


def test_entries_are_listed_counted_and_gathered(memory):
    filled(memory, 60)
    page = memory.entries({"kind": "entry"}, order_by=("id", "desc"), limit=7)
    more = memory.entries({"kind": "entry"}, order_by=("id", "desc"), limit=7, after=page.next)
    assert len(page) == len(more) == 7
    assert page.ids + more.ids == memory.entries({"kind": "entry"}, order_by=("id", "desc"), limit=None).ids[:14]
    assert memory.count({"created_at": {"$lte": datetime(2030, 1, 1, tzinfo=timezone.utc)}}) == 60
    assert memory.facets("severity")["critical"] == 20
    with pytest.raises(QueryError):
        memory.entries(after="nothing")


@pytest.mark.parametrize(
    ("error", "wrong"),
    [
        (EntryNotFound, lambda memory: memory.update("none", title="x")),
        (EntryNotFound, lambda memory: memory.explain("x", "none")),
        (EntryNotFound, lambda memory: memory.similar("none")),
        (EntryError, lambda memory: memory.add(title="x", severity="worst")),
        (EntryError, lambda memory: memory.add(title="x", attrs={"a": float("nan")})),
        (EntryError, lambda memory: memory.add("no entry")),
        (QueryError, lambda memory: memory.search("x", where={"nothing": 1})),
        (QueryError, lambda memory: memory.search("x", limit=0)),
        (QueryError, lambda memory: memory.search(7)),
        (QueryError, lambda memory: memory.search("x", as_of=datetime(2026, 1, 1))),
        (ProfileError, lambda memory: memory.search("x", profile="none")),
        (VectorError, lambda memory: memory.search("x", query_vector=[float("nan")])),
        (QueryError, lambda memory: memory.facets("nothing")),
        (TypeError, lambda memory: memory.search("x", limits=3)),
        (TypeError, lambda memory: memory.recall("x", kinds="memory")),
    ],
)
def test_mistakes_are_the_same_errors(memory, error, wrong):
    with pytest.raises(error):
        wrong(memory)


def test_a_vault_that_is_served_for_reading_refuses_to_be_changed(filled_vault):
    with serving(filled_vault, writable=False) as url, Client(url) as client:
        assert client.search("vault").ids
        for change in (
            lambda: client.add(title="x"),
            lambda: client.add_many([{"title": "x"}]),
            lambda: client.delete("e1"),
        ):
            with pytest.raises(ReadOnly):
                change()


# -- the same results --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_search_returns_what_the_vault_returns(filled_vault, client, options):
    for query in QUERIES:
        here, there = filled_vault.search(query, **options), client.search(query, **options)
        assert told(here) == told(there)
        if not any(note.code == "did_you_mean" for note in here.notes) and options.get("mode") != "scan":
            assert [hit.matches for hit in here] == [hit.matches for hit in there]
            assert [hit.snippet for hit in here] == [hit.snippet for hit in there]
            assert [hit.excerpt(40) for hit in here] == [hit.excerpt(40) for hit in there]
        assert [hit.citation for hit in here] == [hit.citation for hit in there]
        assert there.to_prompt(boundary="x" * 16) == here.to_prompt(boundary="x" * 16)


def test_many_queries_are_answered_as_each(filled_vault, client):
    here = filled_vault.search_many(QUERIES, limit=4)
    assert list(map(told, client.search_many(QUERIES, limit=4))) == list(map(told, here))
    vectors = [VECTOR, None]
    found = client.search_many(QUERIES[:2], query_vectors=vectors)
    assert list(map(told, found)) == list(map(told, filled_vault.search_many(QUERIES[:2], query_vectors=vectors)))
    assert client.search_many([]) == []


def test_the_rest_returns_what_the_vault_returns(filled_vault, client):
    for id in ("e1", "e7", "e110"):
        assert client.explain("vault search", id, limit=3) == filled_vault.explain("vault search", id, limit=3)
        assert told(client.similar(id)) == told(filled_vault.similar(id))
        assert client.links(id) == filled_vault.links(id)
        assert client.get(id) == filled_vault.get(id)
    assert client.weights(vectors=True) == filled_vault.weights(vectors=True)
    assert client.facets("domain").to_dict() == filled_vault.facets("domain").to_dict()
    assert client.entries(limit=None).to_dict() == filled_vault.entries(limit=None).to_dict()
    assert list(client) == list(filled_vault)
    here, there = filled_vault.stats().to_dict(), client.stats().to_dict()
    assert {**here, "path": there["path"]} == there
    assert client.status()["entries"] == len(filled_vault)
    assert client.retrieve("vault search")["query"] == "vault search"
    assert client.retrieve("vault search", profile="recall", scope={"session": "s1"})["profile"] == "recall"


def test_a_reranker_cannot_travel(client):
    with pytest.raises(QueryError, match="cannot be sent"):
        client.search("vault", rerank=lambda query, hits: [0.0] * len(hits))


def test_the_routes_of_clients_are_those_of_the_table():
    for name, route in ROUTES.items():
        if name == "bulk":
            continue
        operation = TIER if name == "tier" else OPERATIONS[name]
        assert (operation.route, operation.effect) == ((route.verb, route.path), route.effect)


# -- asyncio -----------------------------------------------------------------------------------------------------------


def test_a_client_for_asyncio_returns_the_same(filled_vault, url):
    async def ask():
        async with AsyncClient(url) as memory:
            found = await asyncio.gather(*(memory.search(query, limit=5) for query in QUERIES * 8))
            listed = [entry.id async for entry in memory]
            return found, listed, await memory.get("e7"), await memory.count(), await memory.explain("alpha", "e7")

    found, listed, entry, count, explained = asyncio.run(ask())
    assert list(map(told, found)) == [told(filled_vault.search(query, limit=5)) for query in QUERIES * 8]
    assert (listed, entry, count) == ([one.id for one in filled_vault], filled_vault.get("e7"), len(filled_vault))
    assert explained == filled_vault.explain("alpha", "e7")


def test_a_call_that_is_cancelled_leaves_the_client_as_it_was(tmp_path):
    async def items():
        for n in range(10):
            yield {"id": f"a{n}", "title": "x"}

    async def ask(url):
        async with AsyncClient(url) as memory:
            task = asyncio.ensure_future(memory.search("alpha"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(await memory.add_many(items())) == 10
            assert await memory.update("a1", title="y") == await memory.get("a1")
            return await memory.count()

    with Vault(tmp_path / "v.db") as vault, serving(vault) as url:
        assert asyncio.run(ask(url)) == 10


def test_a_client_has_what_a_federation_asks_of_a_tier():
    with Client("http://127.0.0.1:9") as client:
        assert isinstance(client, Member)
    asynchronous = {name for name in dir(AsyncClient) if not name.startswith("_")}
    assert {name for name in dir(Client) if not name.startswith("_")} - asynchronous == {"vectors"}
