"""A search with ``timeout_s`` answers with what it has by then, says what is missing, and leaves nothing behind."""

import threading
import time

import pytest

from doubles import Letters
from septet import Federation, QueryError, StoreBusy, StoreError, Vault
from septet.sqlite.tier.tier import LocalSession, LocalTier

LONG_S = 60.0


class Slow:
    """Holds back a step of tiers by name until it is released, and counts the sessions that are open."""

    def __init__(self, patch, step):
        self.names, self.gate, self.began = set(), threading.Event(), threading.Event()
        self.open = 0
        own = getattr(LocalTier if step == "open" else LocalSession, step)

        def held_back(this, *arguments):
            name = this.name if step == "open" else this.tier.name
            if name in self.names:
                self.began.set()
                assert self.gate.wait(LONG_S)
            return own(this, *arguments)

        patch.setattr(LocalTier if step == "open" else LocalSession, step, held_back)


@pytest.fixture(params=["open", "candidates"])
def slow(request, monkeypatch):
    made = Slow(monkeypatch, request.param)
    yield made
    made.gate.set()


@pytest.fixture
def vaults(tmp_path):
    clock = {"clock": lambda: 1_000.0}
    with Vault(tmp_path / "agent.db", **clock) as agent, Vault(tmp_path / "team.db", **clock) as team:
        agent.add(id="own", title="ducks swim")
        agent.add(id="both", title="ducks of the agent")
        team.add(id="theirs", title="ducks fly")
        team.add(id="both", title="ducks of the team")
        yield agent, team


@pytest.fixture
def federation(vaults):
    with Federation({"agent": vaults[0], "team": vaults[1]}) as made:
        yield made


def deadlines(results):
    return [note.tier for note in results.notes if note.code == "deadline"]


def plain(results):
    return [(h.id, h.tier, h.score, dict(h.signals)) for h in results]


def readers_out(vault):
    return vault._store._readers.out


def until(condition):
    end = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_search_in_time_is_a_search(federation, vaults):
    for options in ({}, {"limit": 1}, {"group_by": "parent"}, {"where": {"id": "both"}}):
        assert plain(federation.search("ducks", timeout_s=LONG_S, **options)) == plain(
            federation.search("ducks", **options)
        )
        assert plain(vaults[0].search("ducks", timeout_s=LONG_S, **options)) == plain(
            vaults[0].search("ducks", **options)
        )
    many = federation.search_many(["ducks", "swim"], timeout_s=LONG_S)
    assert [plain(r) for r in many] == [plain(federation.search(q)) for q in ("ducks", "swim")]
    assert federation.explain("ducks", "own", timeout_s=LONG_S).rank == federation.explain("ducks", "own").rank
    assert federation.recall("ducks", timeout_s=LONG_S).ids == []


@pytest.mark.parametrize("late", ["agent", "team"])
def test_a_tier_that_is_late_is_left_out_and_said(federation, vaults, slow, late):
    slow.names.add(late)
    results = federation.search("ducks", timeout_s=0.3)
    assert deadlines(results) == [late]
    assert results.degraded
    assert {h.tier for h in results} == {"agent", "team"} - {late}
    report = next(t for t in results.tiers if t.name == late)
    assert "no answer within 0.3 s" in report.error
    slow.gate.set()
    until(lambda: all(readers_out(vault) == 0 for vault in vaults))
    assert len(federation.search("ducks", timeout_s=LONG_S)) == 3


def test_no_tier_in_time_is_an_empty_result(federation, vaults, slow):
    slow.names |= {"agent", "team"}
    results = federation.search("ducks", timeout_s=0.1)
    assert results.ids == []
    assert results.degraded
    assert deadlines(results) == ["agent", "team"]
    assert {note.cause for note in results.notes} == {"the tier did not answer within 0.1 s"}
    with pytest.raises(StoreBusy, match="timeout_s"):
        federation.explain("ducks", "own", timeout_s=0.1)
    assert [r.ids for r in federation.search_many(["ducks", "fly"], timeout_s=0.1)] == [[], []]
    slow.gate.set()
    until(lambda: all(readers_out(vault) == 0 for vault in vaults))


def test_one_vault_is_waited_for_no_longer_either(vaults, slow):
    slow.names.add("vault")
    agent = vaults[0]
    results = agent.search("ducks", timeout_s=0.1, include_memories=True, max_tokens=100, group_by="parent")
    assert (results.ids, deadlines(results)) == ([], ["vault"])
    slow.names.clear()
    agent.add(id="new", title="ducks run")
    assert len(agent.search("ducks")) == 3
    slow.gate.set()
    until(lambda: readers_out(agent) == 0)


def test_a_late_tier_that_fails_later_harms_nobody(federation, vaults, slow):
    slow.names.add("team")
    assert deadlines(federation.search("ducks", timeout_s=0.1)) == ["team"]
    slow.names.clear()
    threading.Timer(0.1, slow.gate.set).start()
    vaults[1].close()
    results = federation.search("ducks", timeout_s=LONG_S)
    assert [note.code for note in results.notes if note.tier == "team"] == ["tier_failed"]
    vaults[0].close()
    with pytest.raises(StoreError):
        federation.search("ducks", timeout_s=LONG_S)


def test_vaults_in_memory_are_searched_where_the_caller_is():
    with Vault(":memory:") as one, Vault(":memory:") as two:
        one.add(id="a", title="ducks")
        two.add(id="b", title="ducks")
        with Federation({"agent": one, "team": two}) as federation:
            assert sorted(federation.search("ducks", timeout_s=LONG_S).ids) == ["a", "b"]
            one.add(id="c", title="ducks")
            assert len(federation.search_many(["ducks"] * 5, timeout_s=LONG_S)[4]) == 3


def test_the_embedding_of_the_query_is_waited_for_half_of_the_time(tmp_path):
    gate, embedder = threading.Event(), Letters()
    with Vault(tmp_path / "v.db", embedder=embedder) as vault:
        vault.add(id="a", title="ducks swim")
        vault.embed()
        embedder.script.append(lambda texts: gate.wait(LONG_S) and None)
        results = vault.search("ducks", timeout_s=0.3)
        assert results.ids == ["a"]
        assert [note.code for note in results.notes] == ["deadline"]
        assert results.hits[0].raw["cosine"] is None
        assert vault.embedding_status().asking, "that was no failure of the embedder's"
        gate.set()
        until(lambda: vault.search("ducks", timeout_s=LONG_S)[0].raw["cosine"] is not None)


def test_many_queries_share_the_half_and_one_of_them_is_asked_for(tmp_path):
    gate, embedder = threading.Event(), Letters()
    with Vault(tmp_path / "v.db", embedder=embedder) as vault:
        vault.add(id="a", title="ducks swim")
        vault.embed()
        embedder.script += [lambda texts: gate.wait(LONG_S) and None] * 50
        found = vault.search_many([f"ducks {n}" for n in range(50)], timeout_s=1.0, threads=1)
        gate.set()
        assert [results.ids for results in found] == [["a"]] * 50
        assert {note.code for results in found for note in results.notes} == {"deadline"}
        assert [kind for kind, _ in embedder.calls].count("query") == 1


def test_links_are_not_followed_when_the_time_is_over(tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many([{"id": "a", "title": "ducks"}, {"id": "b", "title": "ponds"}])
        vault.link("a", "b")
        assert vault.search("ducks").ids == ["a", "b"]
        monkeypatch.setattr("septet.search.run._late", lambda plan: plan.deadline is not None)
        results = vault.search("ducks", timeout_s=LONG_S)
        assert results.ids == ["a"]
        assert "links were not followed" in results.notes[0].cause


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "1", True, 86_401])
def test_a_time_that_is_none_is_refused(vaults, value):
    with pytest.raises(QueryError, match="timeout_s"):
        vaults[0].search("ducks", timeout_s=value)
