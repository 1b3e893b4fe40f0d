"""A vault that a server holds is a tier like one of this machine: the same ids, scores, explanations and notes."""

import time
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

pytest.importorskip("uvicorn")

from remote import DIMENSIONS, OPTIONS, QUERIES, VECTOR, Faulty, answer, filled, told
from septet import (
    CallableEmbedder,
    Client,
    EntryNotFound,
    Federation,
    StoreBusy,
    StoreError,
    TierError,
    Unreachable,
    Vault,
)
from septet.service.tier_sessions import TierSessions
from septet.tiers.remote.tier import PROTOCOL
from serving import serving


@pytest.fixture(scope="module")
def vaults(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiers")
    with Vault(folder / "a.db", clock=lambda: 2e9) as agent, Vault(folder / "t.db", clock=lambda: 2e9) as team:
        # Some ids are in both.
        yield filled(agent, 80), filled(team, 160, 60, seed=2)


@pytest.fixture(scope="module")
def url(vaults):
    with serving(vaults[1]) as url:
        yield url


@pytest.fixture(scope="module")
def pair(vaults, url):
    """A federation of two vaults, and one of the same in which the lower one is asked over HTTP."""
    agent, team = vaults
    with Client(url) as client:
        yield (
            Federation({"agent": agent, "team": team}, clock=lambda: 2e9),
            Federation({"agent": agent, "team": client}, clock=lambda: 2e9),
        )


@contextmanager
def with_faults(vaults, url, fault, weights=None):
    """A federation whose remote tier's requests go through a function; see `Faulty`."""
    transport = Faulty(fault)
    with Client(url, transport=transport) as client:
        yield Federation({"agent": vaults[0], "team": client}, weights, clock=lambda: 2e9), transport


def codes(results):
    return [(note.code, note.tier) for note in results.notes]


# -- the same answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_search_is_the_same_as_with_a_vault_of_this_machine(pair, options):
    here, there = pair
    for query in QUERIES:
        assert told(here.search(query, **options)) == told(there.search(query, **options))


@pytest.mark.parametrize("options", [{}, {"query_vector": VECTOR}, {"profile": "recall"}], ids=str)
def test_a_remote_tier_may_be_the_highest_or_the_only_one(vaults, url, options):
    agent, team = vaults
    with Client(url) as client:
        for tiers, weights in (({"team": team, "agent": agent}, {"team": 2.0}), ({"team": team}, None)):
            here = Federation(tiers, weights, clock=lambda: 2e9)
            there = Federation({**tiers, "team": client}, weights, clock=lambda: 2e9)
            for query in QUERIES:
                assert told(here.search(query, **options)) == told(there.search(query, **options))


def test_explanations_likeness_and_batches_are_the_same(pair):
    here, there = pair
    for id in ("e1", "e62", "e70", "e150", "e66"):
        for options in ({}, {"query_vector": VECTOR}, {"profile": "markdown-memory", "limit": 2}):
            assert here.explain("vault search", id, **options) == there.explain("vault search", id, **options)
        assert told(here.similar(id)) == told(there.similar(id))
        assert here.links(id) == there.links(id)
    with pytest.raises(EntryNotFound):
        there.explain("vault", "none")
    assert told(here.similar(text="vault search", limit=5)) == told(there.similar(text="vault search", limit=5))
    assert list(map(told, here.search_many(QUERIES))) == list(map(told, there.search_many(QUERIES)))
    assert told(here.search("vault", rerank=by_length)) == told(there.search("vault", rerank=by_length))


def by_length(query, hits):
    return [len(hit.entry.description) for hit in hits]


def test_listings_and_counts_are_the_same(pair):
    here, there = pair
    after = None
    for _ in range(4):
        page = here.entries({"severity": "critical"}, order_by=("title", "desc"), limit=9, after=after)
        assert there.entries({"severity": "critical"}, order_by=("title", "desc"), limit=9, after=after) == page
        after = page.next
    assert (here.count(), here.count({"domain": "alpha"}), len(here)) == (
        there.count(),
        there.count({"domain": "alpha"}),
        len(there),
    )
    for field in ("domain", "tags", "attrs.n", "created_at"):
        assert here.facets(field, as_of=2e9).to_dict() == there.facets(field, as_of=2e9).to_dict()
    assert list(here) == list(there)
    assert here.stats().kinds == there.stats().kinds
    assert here.weights() == there.weights()
    assert here.load(["e1", "e70", "e190"]) == there.load(["e1", "e70", "e190"])
    ids = ["e62", "e190", "none"]
    assert np.array_equal(here.vectors(ids), there.vectors(ids), equal_nan=True)
    assert here.tier("team").get("e190") == there.tier("team").get("e190")
    assert ("e190" in there, "none" in there) == (True, False)


def test_a_remote_tier_is_written_by_its_name(tmp_path):
    with (
        Vault(tmp_path / "a.db") as agent,
        Vault(tmp_path / "t.db") as team,
        serving(team) as url,
        Client(url) as client,
    ):
        both = Federation({"agent": agent, "team": client})
        assert both.tier("team").add(title="Rule", id="r") == "r"
        assert both.tier("team").add_many([{"id": "s", "title": "Other"}, {"id": "t", "title": "Third"}]) == ["s", "t"]
        assert both.tier("team").remember("Bob owns billing", id="m") == "m"
        assert both.update("r", domain="web").domain == team.get("r").domain == "web"
        assert both.tier("team").update_many({"id": "s"}, domain="web") == 1
        both.link("r", "s")
        assert both.tier("team").link_many([("s", "t")]) == 2 - 1
        assert both.unlink("s", "t")
        both.feedback("rule", "r", "accepted")
        assert both.stats().feedback == {"accepted": 1}
        assert both.supersede("s", {"id": "s2", "title": "Newer"}) == "s2"
        assert both.reinstate("s")
        assert [one.call for one in both.history("r")] == ["update"]
        assert both.count() == 5
        assert (both.forget("m", "r"), both.delete("r", "t"), agent.count(), team.count()) == (1, 2, 0, 2)
        assert not any(hasattr(both.tier("team"), name) for name in ("purge", "sync", "rename", "import_"))
        with pytest.raises(TierError, match="is on a server of Septet"):
            Federation({"team": client}).import_([])


def test_a_server_embeds_the_query_for_its_own_tier(tmp_path):
    def embed(texts):
        return [[float(len(text) % 7 + 1), *(1.0 for _ in range(DIMENSIONS - 1))] for text in texts]

    with Vault(tmp_path / "t.db", embedder=CallableEmbedder(embed, model="own", dimensions=DIMENSIONS)) as team:
        filled(team, 40)
        team.embed()
        here = Federation({"team": team}, clock=lambda: 2e9)
        with serving(team) as url, Client(url) as client:
            there = Federation({"team": client}, clock=lambda: 2e9)
            for query in QUERIES[:3]:
                assert told(here.search(query)) == told(there.search(query))
            assert there.search("vault", legs="vector").hits[0].raw["cosine"] is not None
            assert here.weights() == there.weights()


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_a_tier_that_cannot_be_reached_is_noted_and_the_others_answer(vaults):
    alone = Federation({"agent": vaults[0]}, clock=lambda: 2e9)
    with Client("http://127.0.0.1:9") as client:
        both = Federation({"agent": vaults[0], "team": client}, clock=lambda: 2e9)
        found = both.search("vault search")
        assert ("tier_failed", "team") in codes(found)
        assert found.ids == alone.search("vault search").ids
        assert both.count() == alone.count()
        assert both.get("e1") == alone.get("e1")
        with pytest.raises(Unreachable):
            Federation({"team": client}).search("vault")


@pytest.mark.parametrize("method", ["open", "read"])
def test_a_token_that_a_server_refuses_is_noted_and_not_sent_again(vaults, url, method):
    asks = []

    def refuses(_, asked):
        return asks.append(asked["method"]) or (httpx.Response(401) if asks[-1] == method else None)

    with with_faults(vaults, url, refuses) as (both, _):
        found = both.search("vault search")
    assert "refuses the token" in next(note.cause for note in found.notes if note.code == "tier_failed")
    assert found.ids and asks.count(method) == 1


@pytest.mark.parametrize("method", ["open", "overrides", "read", "neighbours", "facets", "inspect"])
def test_a_server_that_stops_in_the_middle_of_a_search_is_noted(vaults, url, method):
    def fails(request, asked):
        if asked.get("method") == method:
            raise httpx.ConnectError("gone", request=request)

    # Only a higher tier is asked for copies of what lower ones found.
    with with_faults(vaults, url, fails, {"team": 2.0} if method == "overrides" else None) as (both, _):
        found = both.search("vault search", facets="domain")
        if method == "inspect":
            assert both.explain("vault search", "e1").notes[-1].code == "tier_failed"
        else:
            assert ("tier_failed", "team") in codes(found)
            assert found.ids == Federation({"agent": vaults[0]}, clock=lambda: 2e9).search("vault search").ids
            assert [tier.error for tier in found.tiers if tier.name == "team"] != [""]


def test_a_session_that_the_server_has_ended_begins_again(vaults, url, pair):
    ended = []

    def forgets(request, asked):
        if asked.get("method") == "read" and not ended:
            ended.append(asked["session"])
            return httpx.Response(200, json={"again": "the server has ended the session"})
        return None

    with with_faults(vaults, url, forgets) as (both, _):
        assert told(both.search("vault search")) == told(pair[0].search("vault search"))
    assert ended


def test_a_tier_that_hangs_is_left_out_at_the_deadline(vaults, url):
    from threading import Event

    let_go = Event()

    def hangs(request, asked):
        if asked.get("method") == "open":
            let_go.wait(20)
            raise httpx.ReadTimeout("too late", request=request)

    with with_faults(vaults, url, hangs) as (both, _):
        began = time.monotonic()
        found = both.search("vault search", timeout_s=0.3)
        assert time.monotonic() - began < 10
        let_go.set()
        assert ("deadline", "team") in codes(found)
        assert found.ids


def test_a_deadline_travels_to_the_server(vaults, url):
    with with_faults(vaults, url, lambda request, asked: None) as (both, transport):
        both.search("vault", timeout_s=5)
    opened = next(asked for _, asked in transport.seen if asked["method"] == "open")
    assert 0 < opened["plans"]["left_s"] <= 5
    assert opened["protocol"] == PROTOCOL


def test_a_search_ends_its_session(vaults, url, pair):
    with with_faults(vaults, url, lambda request, asked: None) as (both, transport):
        both.search("vault search")
    methods = [asked["method"] for _, asked in transport.seen]
    assert (methods[0], methods[-1], methods.count("open")) == ("open", "close", 1)


def test_an_answer_of_another_version_is_a_note(vaults, url):
    for wrong in (
        {},
        {"session": "x", "generation": 1},
        {"session": 1, "generation": "x", "standing": [], "recalled": 3},
    ):

        def other(request, asked, wrong=wrong):
            return httpx.Response(200, json=wrong)

        with with_faults(vaults, url, other) as (both, _):
            assert ("tier_failed", "team") in codes(both.search("vault"))


def test_a_client_of_another_version_is_told(vaults):
    sessions = TierSessions()
    with pytest.raises(TierError, match="same version"):
        sessions.open(vaults[1], {"protocol": PROTOCOL + 1})


def test_sessions_are_few_and_end_by_themselves(vaults, url):
    now = [0.0]
    sessions = TierSessions(idle_s=10, most=2, clock=lambda: now[0])
    opens = []

    def keep(request, asked):
        if asked.get("method") == "open":
            opens.append(asked)

    with with_faults(vaults, url, keep) as (both, _):
        both.search("vault")
    names = [sessions.open(vaults[1], opens[0])["session"] for _ in range(2)]
    with pytest.raises(StoreBusy):
        sessions.open(vaults[1], opens[0])
    now[0] = 5.0
    assert sessions.ask({"session": names[0], "method": "ids", "rows": ""}) == []
    now[0] = 12.0
    third = sessions.open(vaults[1], opens[0])["session"]
    assert len(sessions) == 2
    assert (sessions.end(names[1]), sessions.end(third), sessions.end(third)) == (False, True, False)
    sessions.close()
    assert len(sessions) == 0
    with pytest.raises(StoreBusy):
        sessions.open(vaults[1], opens[0])


BAD_CALLS = [
    {"method": "open"},
    {"method": "open", "protocol": PROTOCOL, "name": "a", "priority": 1, "place": 0, "plans": {}},
    {"method": "open", "protocol": PROTOCOL, "name": "a", "priority": 9, "place": 0, "plans": {}},
    {"method": "held"},
    {"method": "held", "ids": [1]},
    {"method": "part", "row": -1, "last": None},
    {"method": "listed", "asked": {"as_of": None, "filters": {"x": ["holds", "a OR b:c", []]}}, "state": None},
    {"method": "listed", "asked": {"as_of": None, "filters": {"x": ["holds", '"a\0"', []]}}, "state": None},
    {"method": "listed", "asked": {"as_of": None, "filters": {"x": ["holds", '"a"', ['b" OR "c']]}}, "state": None},
    {"method": "listed", "asked": {"as_of": None, "filters": {"x": ["holds", '"a"', ["b\0"]]}}, "state": None},
    {"method": "listed", "asked": {"as_of": None, "filters": {"x": ["compare", "row", "$eq", 1]}}, "state": None},
    {"method": "vectors_of", "ids": ["e1"], "model": "x", "dimensions": "y"},
]


@pytest.mark.parametrize("wrong", [5, {}, {"ids": [[]]}, {"ids": ["e1"]}, {"from": "x"}], ids=str)
def test_a_listing_that_is_none_is_left_out_and_not_kept(vaults, url, wrong):
    faults = [wrong]

    def fault(request, asked):
        if asked.get("method") != "mirror" or not faults:
            return None
        found = {"state": "1", "ids": [], "from": "", "until": ""}
        one = faults.pop()
        return answer({"answer": {**found, **one} if one else {}} if isinstance(one, dict) else {"answer": one})

    with with_faults(vaults, url, fault) as (there, _):
        assert there.count() == vaults[0].count() < there.count()


@pytest.mark.parametrize("call", BAD_CALLS, ids=str)
def test_a_call_that_no_tier_makes_is_a_mistake_and_no_failure(url, call):
    told = httpx.post(f"{url}v1/tier", json=call)
    assert (told.status_code, set(told.json())) == (422, {"error"})


def test_a_session_that_never_was_begins_again(url):
    assert "again" in httpx.post(f"{url}v1/tier", json={"method": "read", "session": "x"}).json()


def test_a_vault_in_memory_is_no_tier_of_others():
    with Vault(":memory:") as vault, serving(vault) as url, Client(url) as client:
        vault.add(title="x")
        assert client.search("x").ids
        with pytest.raises(TierError, match="in memory"):
            Federation({"team": client}).search("x")


def test_of_a_server_with_several_tiers_one_is_named(vaults):
    both = Federation({"agent": vaults[0], "team": vaults[1]}, clock=lambda: 2e9)
    with serving(both) as url:
        with Client(url, tier="team") as client:
            there = Federation({"agent": vaults[0], "team": client}, clock=lambda: 2e9)
            assert told(there.search("vault search")) == told(both.search("vault search"))
        with Client(url) as client:
            assert told(client.search("vault search")) == told(both.search("vault search"))
            with pytest.raises(TierError, match="several tiers"):
                Federation({"team": client}).search("vault")
        with Client(url, tier="none") as client, pytest.raises(TierError, match="no tier"):
            Federation({"team": client}).search("vault")


@pytest.mark.parametrize("wrong", [None, "http://127.0.0.1:1", 7, Vault, Client, object()])
def test_what_is_no_tier_is_refused(wrong):
    with pytest.raises(TierError, match="wanted an open Vault, or a Client"):
        Federation({"team": wrong})


def test_a_server_that_ended_is_noted_and_one_at_its_place_answers(tmp_path, vaults):
    with Vault(tmp_path / "t.db") as team:
        filled(team, 20, 500)
        with serving(team) as url:
            port = httpx.URL(url).port
            client = Client(url)
            both = Federation({"agent": vaults[0], "team": client}, clock=lambda: 2e9)
            wanted = told(both.search("vault"))
        assert ("tier_failed", "team") in codes(both.search("vault"))
        with pytest.raises(StoreError):
            client.count()
        with serving(team, port=port):
            assert told(both.search("vault")) == wanted
        client.close()
