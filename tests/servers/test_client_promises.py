"""What docs/client.md promises of a client, beside what the tests of clients and of remote tiers show already."""

import inspect
import time

import httpx
import pytest

pytest.importorskip("uvicorn")

from remote import DIMENSIONS, VECTOR, Faulty, filled, told
from septet import (
    AsyncClient,
    BatchError,
    CallableEmbedder,
    Client,
    EntryNotFound,
    Federation,
    QueryError,
    TierError,
    Unreachable,
    Vault,
)
from septet.client.blocking import TIMEOUT_S
from septet.client.transport import GRACE_S
from septet.service.tier_sessions import IDLE_S, TierSessions
from septet.tiers.protocol import SearchAgain
from serving import serving


@pytest.fixture(scope="module")
def filled_vault(tmp_path_factory):
    with Vault(tmp_path_factory.mktemp("promises") / "v.db", clock=lambda: 2e9) as vault:
        yield filled(vault)


@pytest.fixture(scope="module")
def url(filled_vault):
    with serving(filled_vault) as url:
        yield url


@pytest.fixture
def served_vault(tmp_path):
    """A vault that may be written, and where it is served."""
    with Vault(tmp_path / "w.db") as vault, serving(vault) as url:
        yield vault, url


def nothing(request, asked):
    return None


def methods(kind):
    return {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_method_of_a_client_takes_the_arguments_of_that_of_a_vault(kind):
    both = methods(kind) & methods(Vault) - {"after_fork"}
    assert len(both) >= 28
    for name in both:
        here, there = (inspect.signature(getattr(one, name)).parameters for one in (Vault, kind))
        assert [(one.name, one.kind, one.default) for one in here.values()] == [
            (one.name, one.kind, one.default) for one in there.values()
        ], name


def test_an_entry_comes_as_it_is_stored_with_the_token_among_its_words_too(tmp_path):
    token = "a-token-of-the-test"
    with Vault(tmp_path / "v.db") as vault, serving(vault, token=token) as url, Client(url, token=token) as client:
        vault.add(id="a", title="Session cookies", description=f"The server takes {token}.")
        assert client.get("a") == client.search("cookies").hits[0].entry == vault.get("a")


def test_embedding_files_and_copies_are_no_methods_of_a_client():
    servers = {"embed", "sync", "backup", "copy", "export", "import_", "restore", "optimize", "redact", "watch"}
    here = servers & methods(Vault)
    assert len(here) > 6 and not here & methods(Client)


# -- as a tier ---------------------------------------------------------------------------------------------------------


def asked_by(url, vault, weights, **options):
    """The methods of the calls that one search makes of a remote tier."""
    transport = Faulty(nothing)
    with Client(url, transport=transport) as client:
        assert Federation({"agent": vault, "team": client}, weights, clock=lambda: 2e9).search("vault", **options).ids
    return [asked["method"] for _, asked in transport.seen]


def test_a_search_takes_three_or_four_calls_of_a_tier(tmp_path, url):
    with Vault(tmp_path / "a.db", clock=lambda: 2e9) as agent:
        filled(agent, 30, 100, seed=2)
        plain = {"profile": "six-signals"}
        assert asked_by(url, agent, None, **plain) == ["open", "read", "close"]
        assert asked_by(url, agent, {"team": 2.0}, **plain) == ["open", "overrides", "read", "close"]
        assert sorted(asked_by(url, agent, None, **plain, facets="domain")) == ["close", "facets", "open", "read"]
        # The default profile walks links.
        assert sorted(asked_by(url, agent, None)) == ["close", "neighbours", "open", "read"]


def test_a_search_of_a_tier_is_of_one_state(served_vault):
    vault, url = served_vault
    vault.add(id="a", title="Session cookies", description="before")
    written = []

    def writes(request, asked):
        if asked.get("method") == "read":
            written.append(vault.update("a", description="after"))

    with Client(url, transport=Faulty(writes)) as client:
        team = Federation({"team": client})
        assert team.search("cookies").hits[0].entry.description == "before"
        assert written and team.get("a").description == "after"


def test_a_session_that_is_silent_is_ended_by_itself(filled_vault, url):
    transport = Faulty(nothing)
    with Client(url, transport=transport) as client:
        Federation({"team": client}).search("vault")
    opened = next(asked for _, asked in transport.seen if asked["method"] == "open")
    assert IDLE_S == 30
    sessions = TierSessions(idle_s=0.2)
    named = sessions.open(filled_vault, opened)["session"]
    assert sessions.ask({"session": named, "method": "ids", "rows": ""}) == []
    # It is looked for in between: after one and a half times as long at the latest.
    ends_at = time.monotonic() + 5
    while len(sessions) and time.monotonic() < ends_at:
        time.sleep(0.02)
    with pytest.raises(SearchAgain, match="ended"):
        sessions.ask({"session": named, "method": "ids", "rows": ""})
    sessions.close()


def test_a_text_that_entries_are_to_be_like_is_compared_by_its_words(tmp_path):
    embedder = CallableEmbedder(lambda texts: [VECTOR for _ in texts], model="own", dimensions=DIMENSIONS)
    with Vault(tmp_path / "t.db", embedder=embedder) as team:
        team.add(id="words", title="Session cookies")
        team.add(id="others", title="Signing keys")
        team.embed()
        assert set(team.similar(text="session cookies").ids) == {"words", "others"}
        with serving(team) as url, Client(url) as client:
            assert Federation({"team": client}).similar(text="session cookies").ids == ["words"]


@pytest.mark.parametrize(
    "call",
    [
        lambda both, folder: both.sync(folder),
        lambda both, folder: both.sync_status(),
        lambda both, folder: both.import_([]),
    ],
)
def test_what_is_done_where_the_file_is_is_an_error_of_a_remote_tier(tmp_path, url, call):
    with Client(url) as client, pytest.raises(TierError, match="is on a server of Septet"):
        call(Federation({"team": client}), tmp_path)


# -- what differs ------------------------------------------------------------------------------------------------------


def test_a_search_returns_a_thousand_results_at_most_and_pages_are_turned(filled_vault, url):
    with Client(url) as client:
        with pytest.raises(QueryError, match="at most 1,000 results; use offset= for more"):
            client.search("vault", limit=1_001)
        assert client.search("vault", limit=1_000).ids == filled_vault.search("vault", limit=1_000).ids
        pages = client.search("vault", limit=5).ids + client.search("vault", limit=5, offset=5).ids
        assert pages == filled_vault.search("vault", limit=10).ids


def test_many_entries_are_stored_by_calls_of_a_thousand_or_of_four_megabytes(served_vault):
    _, url = served_vault
    with Client(url, transport=(transport := Faulty(nothing))) as client:
        client.add_many({"id": f"e{n}", "title": "x"} for n in range(2_001))
        client.add_many([{"id": f"l{n}", "title": "x", "context": "word " * 150_000} for n in range(12)])
        sent = [request.content for request, _ in transport.seen]
    assert [content.count(b"\n") for content in sent] == [1_000, 1_000, 1, 5, 5, 2]
    assert max(map(len, sent)) <= 4_000_000


def test_what_stands_behind_a_wrong_entry_in_its_call_is_stored_and_the_next_calls_are_not_made(served_vault):
    vault, url = served_vault
    items = [{"id": f"e{n}", "title": "x" if n != 3 else ""} for n in range(1_500)]
    with Client(url) as client, pytest.raises(BatchError) as stopped:
        client.add_many(items)
    assert (stopped.value.index, stopped.value.written, vault.count()) == (3, 999, 999)
    assert "e999" in vault and "e3" not in vault and "e1000" not in vault


def test_ids_and_links_go_a_thousand_a_call_each_a_transaction_of_its_own(served_vault):
    vault, url = served_vault
    vault.add_many({"id": f"e{n}", "title": "x"} for n in range(1_201))
    vault.add_many({"id": f"m{n}", "title": "x", "kind": "memory"} for n in range(1_200))
    links = [("e0", f"e{n}") for n in range(1, 1_200)]
    with Client(url, transport=(transport := Faulty(nothing))) as client:
        with pytest.raises(EntryNotFound, match="none"):
            client.link_many([*links, ("e0", "none")])
        assert len(vault.links("e0")) == 1_000
        client.delete([f"e{n}" for n in range(1_200)])
        client.forget([f"m{n}" for n in range(1_200)])
        sizes = [len(asked.get("links") or asked.get("ids")) for _, asked in transport.seen]
        assert sizes == [1_000, 200] * 3
    assert vault.count() == 1


def test_all_entries_are_several_calls(served_vault):
    vault, url = served_vault
    vault.add_many({"id": f"e{n}", "title": "x"} for n in range(1_100))
    with Client(url, transport=(transport := Faulty(nothing))) as client:
        assert len(client.entries(limit=None)) == 1_100
    assert len(transport.seen) == 3


def test_light_hits_have_no_parts_of_their_score_and_an_excerpt_of_their_snippet(url):
    with Client(url) as client:
        hit = client.search("vault", mode="scan").hits[0]
    assert (dict(hit.breakdown), dict(hit.signals), dict(hit.raw)) == ({}, {}, {})
    assert hit.snippet and hit.excerpt(20).rstrip("….") in hit.snippet


def test_no_matches_are_told_where_a_guess_was_searched_for(served_vault):
    vault, url = served_vault
    vault.add(id="a", title="Session cookies")
    with Client(url) as client:
        found = client.search("cookeis")
    assert found.ids == ["a"] and [note.code for note in found.notes] == ["did_you_mean"]
    assert list(found.hits[0].matches) == []


# -- connections -------------------------------------------------------------------------------------------------------


def test_a_call_takes_30_seconds_at_most_and_a_search_its_own_time(url):
    with Client(url, transport=(transport := Faulty(nothing))) as client:
        client.count()
        client.search("vault", timeout_s=5)
        client.search("vault", timeout_s=90)
    given = [request.extensions["timeout"]["read"] for request, _ in transport.seen]
    assert TIMEOUT_S == 30
    for told_s, most in zip(given, (30, 5 + GRACE_S, 90 + GRACE_S)):
        assert most - 1 < told_s <= most


def test_a_write_whose_answer_is_lost_is_sent_once_and_may_be_stored_again(served_vault):
    vault, url = served_vault
    losing = [True]

    class Losing(httpx.HTTPTransport):
        def handle_request(self, request):
            answered = super().handle_request(request)
            if losing:
                answered.read()
                losing.pop()
                raise httpx.ReadError("broken", request=request)
            return answered

    with Client(url, transport=Losing()) as client:
        with pytest.raises(Unreachable):
            client.add(id="a", title="x")
        assert "a" in vault
        assert client.add(id="a", title="x") == "a"
    assert vault.count() == 1


def test_no_proxy_of_the_environment_is_asked(monkeypatch, filled_vault, url):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Client(url) as client:
        assert told(client.search("vault")) == told(filled_vault.search("vault"))
