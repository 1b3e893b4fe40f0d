"""Hooks are told of every search and every write, whatever they do themselves."""

import asyncio
import json
import logging

import pytest

from septet import AsyncVault, Federation, Vault
from septet.errors import BatchError, Closed, EntryNotFound, QueryError, StoreError, TierError, VectorError
from septet.watch import SearchEvent, WriteEvent
from septet.watch.watched import SEARCHES, WRITES

STAGES = ["plan", "open", "recall", "rank", "read", "hits"]


@pytest.fixture
def told():
    return []


@pytest.fixture
def vault(told):
    with Vault(":memory:", on_search=told.append, on_write=told.append) as made:
        made.add(id="a", title="ducks swim", vector=[1.0, 0.0])
        made.add(id="b", title="geese fly", vector=[0.0, 1.0])
        made.remember("ducks like bread", id="m")
        told.clear()
        yield made


def test_a_search_tells_what_it_did(vault, told):
    found = vault.search("ducks", query_vector=[1.0, 0.0])
    (event,) = told
    assert isinstance(event, SearchEvent)
    assert (event.method, event.query, event.query_chars, event.queries) == ("search", "ducks", 5, 1)
    assert list(event.stages) == STAGES
    assert all(ms >= 0 for ms in event.stages.values())
    assert sum(event.stages.values()) <= event.took_ms
    assert (event.hits, event.candidates) == (len(found), found.tiers[0].candidates)
    assert (event.generation, event.profile, event.notes) == (3, "septet", found.notes)
    assert event.error is None


def test_the_query_is_shown_only_where_it_is_asked_for(vault, told):
    vault.search("ducks of the secret pond")
    (event,) = told
    assert "secret" not in repr(event) + json.dumps(event.to_dict())
    assert event.to_dict().keys() == {name for name in SearchEvent.__dataclass_fields__ if name != "query"}
    assert event.to_dict()["query_chars"] == 24


@pytest.mark.parametrize(
    ("method", "call", "hits"),
    [
        ("recall", lambda v: v.recall("ducks"), 1),
        ("search_many", lambda v: v.search_many(["ducks", "geese", "ducks"], limit=1), 3),
        ("search_many", lambda v: v.search_many([]), 0),
        ("similar", lambda v: v.similar("a", limit=1, min_similarity=0), 0),
        ("explain", lambda v: v.explain("ducks", "a"), 0),
    ],
)
def test_every_method_that_searches_tells_once(vault, told, method, call, hits):
    call(vault)
    (event,) = told
    assert (event.method, event.hits) == (method, hits)
    assert event.queries == (1 if method != "search_many" else hits)
    assert set(event.stages) <= {*STAGES, "embed"}


def test_the_stages_of_links_tiers_and_embedded_queries_are_told(tmp_path, told):
    from septet import CallableEmbedder

    embedder = CallableEmbedder(lambda texts: [[len(text), 1.0] for text in texts], model="lengths", dimensions=2)
    with Vault(":memory:", embedder=embedder) as agent, Vault(":memory:") as team:
        agent.add(id="a", title="ducks swim")
        agent.add(id="b", title="geese fly")
        agent.link("a", "b")
        agent.embed()
        team.add(id="t", title="ducks of the team")
        with Federation({"agent": agent, "team": team}, on_search=told.append) as both:
            found = both.search("ducks")
            (event,) = told
            assert list(event.stages) == ["plan", "embed", "open", "recall", "merge", "rank", "graph", "read", "hits"]
            assert event.candidates == sum(tier.candidates for tier in found.tiers) == 3
            assert event.generation == found.tiers[0].generation


def test_with_a_deadline_opening_is_part_of_recall(vault, told):
    vault.search("ducks", timeout_s=20)
    vault.search_many(["ducks", "geese"], timeout_s=20)
    assert list(told[0].stages) == [stage for stage in STAGES if stage != "open"]
    assert [event.hits for event in told] == [1, 2]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda v: v.search(5), QueryError),
        (lambda v: v.search("ducks", limit=-1), QueryError),
        (lambda v: v.search("ducks", query_vector=[1.0]), VectorError),
        (lambda v: v.explain("ducks", "nobody"), EntryNotFound),
        (lambda v: v.search("ducks", limt=3), TypeError),
        (lambda v: (v.close(), v.search("ducks")), Closed),
        (lambda v: v.update("nobody", title="x"), EntryNotFound),
        (lambda v: v.add_many([{"title": "swans"}, {"title": 3}]), BatchError),
    ],
)
def test_an_error_is_told_and_raised(vault, told, call, error):
    with pytest.raises(error) as caught:
        call(vault)
    (event,) = told
    assert event.error is caught.value
    assert event.to_dict()["error"] == error.__name__
    assert (event.hits if isinstance(event, SearchEvent) else event.count) == 0


@pytest.mark.parametrize(
    ("method", "call", "count"),
    [
        ("add", lambda v: v.add(title="swans"), 1),
        ("add_many", lambda v: v.add_many([{"title": f"swan {i}"} for i in range(7)]), 7),
        ("add_many", lambda v: v.add_many([]), 0),
        ("update", lambda v: v.update("a", title="ducks dive"), 1),
        ("remember", lambda v: v.remember("geese bite"), 1),
        ("forget", lambda v: v.forget("m", "nobody"), 1),
        ("delete", lambda v: v.delete("a", "b"), 2),
        ("delete", lambda v: v.delete("nobody"), 0),
        ("purge", lambda v: v.purge(), 0),
        ("link", lambda v: v.link("a", "b"), 1),
        ("link_many", lambda v: v.link_many([("a", "b"), ("b", "a")]), 2),
        ("unlink", lambda v: v.unlink("a", "b"), 0),
        ("feedback", lambda v: v.feedback("ducks", "a", "accepted"), 1),
        ("purge", lambda v: v.purge(feedback=True), 0),
        ("update_many", lambda v: v.update_many({"kind": "entry"}, domain="birds"), 2),
        ("rename", lambda v: v.rename("tags", {"bird": "birds"}), 0),
        ("rename", lambda v: v.rename("domain", {"pond": "lake"}), 0),
        ("supersede", lambda v: v.supersede("a", {"id": "c", "title": "ducks dive"}), 1),
        ("reinstate", lambda v: v.reinstate("a"), 0),
        ("delete", lambda v: v.delete(where={"kind": "entry"}), 2),
        ("delete", lambda v: v.delete(where={"kind": "entry"}, dry_run=True), 0),
        ("import_", lambda v: v.import_(['{"title": "loons"}', '{"title": "coots"}']), 2),
    ],
)
def test_every_method_that_writes_tells_once(vault, told, method, call, count):
    call(vault)
    (event,) = [one for one in told if isinstance(one, WriteEvent)]
    assert (event.method, event.count, event.error) == (method, count, None)
    assert event.generation == vault.stats().generation
    assert event.took_ms > 0
    json.dumps(event.to_dict())


#: What neither searches nor writes entries; a new method belongs here, or to those that tell. The search of a context
#: tells of itself.
SILENT = set(
    "get load history entries count facets vectors links stats weights path close optimize backup export embed "
    "embedding_status connect disconnect tier tiers search sync_status watch_files retriever context".split()
)


@pytest.mark.parametrize("kind", [Vault, Federation])
def test_of_every_method_it_is_known_whether_it_tells(kind):
    methods = {name for name in dir(kind) if not name.startswith("_")}
    unknown = methods - SILENT - SEARCHES - WRITES
    assert not unknown, f"say in septet/watch/watched.py whether they search or write: {sorted(unknown)}"


def test_a_hook_that_raises_harms_nothing_and_is_logged_once(caplog):
    def broken(event):
        raise RuntimeError("the secret of the hook")

    with caplog.at_level(logging.INFO, "septet"), Vault(":memory:", on_search=broken, on_write=broken) as vault:
        assert vault.add(id="a", title="ducks") == "a"
        for _ in range(3):
            assert vault.search("ducks").ids == ["a"]
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("septet.hooks", "ERROR")
    assert "broken raised RuntimeError" in record.getMessage()
    assert "secret" not in caplog.text


def test_what_a_hook_does_itself_is_not_told(tmp_path):
    seen = []

    def hook(event):
        vault.add(title=f"geese {len(seen)}")
        seen.append((event.method, len(vault.search("ducks")), len(vault.recall("ducks"))))

    with Vault(tmp_path / "vault.db", on_write=hook, on_search=hook) as vault:
        vault.add(id="a", title="ducks")
        vault.search("ducks")
        assert len(vault) == 3
    assert seen == [("add", 1, 0), ("search", 1, 0)]


@pytest.mark.parametrize("hook", ["on_search", "on_write"])
def test_hooks_are_checked(hook):
    async def later(event):
        pass

    for wrong in (5, "print", later):
        with pytest.raises(StoreError, match=hook):
            Vault(":memory:", **{hook: wrong})
        with pytest.raises(TierError, match=hook):
            Federation({}, **{hook: wrong})


def test_both_the_federation_and_its_tier_tell_of_a_write(told):
    own = []
    with Vault(":memory:", on_write=own.append, on_search=own.append) as agent:
        agent.add(id="a", title="ducks")
        own.clear()
        with Federation({"agent": agent}, on_search=told.append, on_write=told.append) as both:
            both.feedback("ducks", "a", "accepted")
            both.search("ducks")
    assert [(type(one), one.method) for one in told] == [(WriteEvent, "feedback"), (SearchEvent, "search")]
    assert [(type(one), one.method) for one in own] == [(WriteEvent, "feedback")]


def test_hooks_of_an_async_vault_are_called_on_its_threads(told):
    import threading

    def hook(event):
        told.append((event.method, threading.current_thread().name.split("_")[0]))

    async def ask():
        async with AsyncVault(":memory:", on_search=hook, on_write=hook) as vault:
            await vault.add(title="ducks")
            await asyncio.gather(vault.search("ducks"), vault.search("geese"))

    asyncio.run(ask())
    assert sorted(told) == [("add", "septet-async"), *[("search", "septet-async")] * 2]
