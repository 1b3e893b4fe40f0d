"""Several vaults as one: who wins, who may fail, what is said about it."""

import time

import pytest

from septet import Closed, EntryNotFound, Federation, StoreError, TierError, Vault, VectorError
from septet.profiles import BUILTIN
from septet.sqlite.tier.tier import LocalSession

NOW = 1_700_000_000.0


@pytest.fixture
def vaults(tmp_path):
    made = {name: Vault(tmp_path / f"{name}.db", clock=lambda: NOW) for name in ("agent", "project", "team")}
    yield made
    for vault in made.values():
        vault.close()


@pytest.fixture
def mind(vaults):
    with Federation(vaults, clock=lambda: NOW) as made:
        yield made


def test_tiers_have_the_documented_priorities(mind):
    assert mind.tiers() == {"agent": 1.0, "project": 0.8, "team": 0.6}
    assert list(mind.tiers()) == ["agent", "project", "team"]


def test_the_higher_tier_wins_before_anything_is_cut(vaults, mind):
    for i in range(40):
        for name in ("agent", "team"):
            vaults[name].add(id=f"e{i}", title=f"alpha {name}", severity="critical" if name == "team" else "suggestion")
    vaults["project"].add(id="own", title="alpha project")
    results = mind.search("alpha", limit=50)
    assert len(results) == len(set(results.ids)) == 41
    assert {h.tier for h in results} == {"agent", "project"}
    assert [t.candidates for t in results.tiers] == [40, 1, 40]


def test_equal_scores_are_ordered_by_priority(vaults, mind):
    for name in ("team", "project", "agent"):
        vaults[name].add(id=name, title="alpha")
    assert mind.search("alpha").ids == ["agent", "project", "team"]


def test_entries_are_loaded_from_the_highest_tier_that_has_them(vaults, mind):
    vaults["agent"].add(id="x", title="from agent")
    vaults["team"].add_many([{"id": "x", "title": "from team"}, {"id": "y", "title": "only team"}])
    assert [e.title for e in mind.load(["y", "missing", "x"])] == ["only team", "from agent"]
    assert mind.get("x").title == "from agent" and mind.get("missing") is None
    assert mind.explain("team", "y").tier == "team"
    with pytest.raises(EntryNotFound, match="agent, project, team"):
        mind.explain("team", "missing")


def test_a_failed_tier_is_a_note_and_the_others_answer(vaults, mind):
    vaults["agent"].add(id="a", title="alpha")
    vaults["team"].close()
    results = mind.search("alpha")
    assert (results.ids, results.degraded) == (["a"], True)
    (note,) = results.notes
    assert (note.code, note.tier) == ("tier_failed", "team") and "was closed" in note.cause
    assert [bool(t.error) for t in results.tiers] == [False, False, True]


def test_of_a_tier_that_could_not_be_opened_nothing_is_reported_but_why(vaults, mind):
    vaults["agent"].add(id="a", title="alpha")
    vaults["team"].close()
    agent, _, team = mind.search("alpha").tiers
    assert (agent.candidates, agent.generation, agent.error) == (1, 1, "")
    assert (team.candidates, team.generation, team.took_ms) == (0, 0, 0.0)


@pytest.mark.parametrize("name", ["agent", "project", "team"])
def test_a_tier_that_fails_while_it_searches_is_a_note_wherever_it_stands(vaults, mind, name, monkeypatch):
    for tier, vault in vaults.items():
        vault.add(id=tier, title="alpha")
    candidates = LocalSession.candidates

    def failing(session):
        if session.tier.name == name:
            raise StoreError("the cable was pulled")
        return candidates(session)

    monkeypatch.setattr(LocalSession, "candidates", failing)
    results = mind.search("alpha")
    assert set(results.ids) == vaults.keys() - {name}
    assert [(n.code, n.tier, n.cause) for n in results.notes] == [("tier_failed", name, "the cable was pulled")]
    assert [t.error for t in results.tiers] == ["the cable was pulled" if t.name == name else "" for t in results.tiers]


def test_a_search_says_how_long_it_took_and_each_of_its_tiers(vaults, mind, monkeypatch):
    vaults["agent"].add(id="a", title="alpha")
    candidates = LocalSession.candidates
    monkeypatch.setattr(LocalSession, "candidates", lambda session: time.sleep(0.02) or candidates(session))
    started = time.perf_counter()
    results = mind.search("alpha")
    passed_ms = (time.perf_counter() - started) * 1e3
    assert 20 <= results.took_ms <= passed_ms
    assert all(20 <= tier.took_ms <= results.took_ms for tier in results.tiers)


def test_feedback_of_all_tiers_moves_the_weights_of_a_search(vaults, mind):
    for name in ("agent", "team"):
        vaults[name].add(id=name, title="alpha")
        for _ in range(20):
            vaults[name].feedback("alpha", name, "accepted")
    ask = {"query": "alpha", "profile": "seven-signals"}
    alone, together = vaults["agent"].search(**ask).weights, mind.search(**ask).weights
    assert alone == BUILTIN["seven-signals"].weights["text"]
    assert together["semantic"] > alone["semantic"]
    assert together == pytest.approx(mind.weights(profile="seven-signals", vectors=False).values)


def test_each_memory_comes_from_its_own_tier(vaults, mind):
    for name, vault in vaults.items():
        vault.remember("alpha in general", id=f"memory of {name}")
    hits = mind.search("alpha", include_memories=True)
    assert {hit.id: hit.tier for hit in hits} == {f"memory of {name}": name for name in vaults}


def test_when_every_tier_fails_the_search_raises_what_the_highest_said(vaults, mind):
    for vault in vaults.values():
        vault.close()
    with pytest.raises(Closed, match=r"agent\.db"):
        mind.search("alpha")


@pytest.mark.parametrize("ask", ["explain", "get", "feedback"])
def test_a_failed_tier_hides_nothing_that_another_one_holds(vaults, mind, ask):
    vaults["project"].add(id="a", title="alpha")
    vaults["team" if ask == "explain" else "agent"].close()
    asked = {
        "explain": lambda: mind.explain("alpha", "a").found,
        "get": lambda: mind.get("a"),
        "feedback": lambda: mind.feedback("alpha", "a", "accepted") is None,
    }
    assert asked[ask]()


def test_tiers_come_and_go(vaults, mind, tmp_path):
    with Vault(tmp_path / "extra.db") as extra:
        extra.add(id="x", title="alpha")
        mind.connect("extra", extra)
        assert mind.tiers()["extra"] == 0.5 and mind.search("alpha").ids == ["x"]
        assert (mind.disconnect("extra"), mind.disconnect("extra")) == (True, False)
        assert mind.search("alpha").ids == []
        assert extra.get("x") is not None
        mind.connect("extra", extra, priority=2)
        assert next(iter(mind.tiers())) == "extra"


def test_a_federation_without_tiers_says_so():
    with Federation({}) as empty, pytest.raises(TierError, match="no tier"):
        empty.search("alpha")


@pytest.mark.parametrize("priority", [-0.1, 2.1, float("nan"), True, "high", None])
def test_a_priority_out_of_range_is_refused(vaults, mind, priority):
    with pytest.raises(TierError, match="priority of 'extra'"):
        mind.connect("extra", vaults["agent"], priority=priority)
    assert "extra" not in mind.tiers()


def test_names_that_are_taken_empty_or_unknown_are_refused(vaults, mind):
    with pytest.raises(TierError, match="'agent' exists already"):
        mind.connect("agent", vaults["agent"])
    with pytest.raises(TierError, match="non-empty name"):
        mind.connect(" ", vaults["agent"])
    with pytest.raises(TierError, match="unknown tier 'nobody'"):
        Federation(vaults, weights={"nobody": 1})


def test_something_that_is_no_vault_is_refused_when_it_is_connected(mind):
    with pytest.raises((TierError, TypeError), match="extra"):
        mind.connect("extra", "extra.db")
    mind.search("alpha")


def test_given_weights_decide_who_wins(vaults):
    for name in ("agent", "team"):
        vaults[name].add(id="x", title=f"alpha {name}")
    with Federation(vaults, weights={"team": 1.5}) as mind:
        assert mind.search("alpha")[0].tier == "team"


def test_one_vault_may_be_two_tiers(vaults):
    vaults["agent"].add(id="x", title="alpha")
    with Federation({"agent": vaults["agent"], "again": vaults["agent"]}) as mind:
        assert [(h.id, h.tier) for h in mind.search("alpha")] == [("x", "agent")]


def test_a_query_vector_that_fits_one_tier_is_a_note_for_the_other(vaults, mind):
    vaults["agent"].add(id="a", title="alpha", vector=[1, 0])
    vaults["team"].add(id="t", title="alpha", vector=[1, 0, 0])
    results = mind.search("alpha", query_vector=[1, 0])
    assert sorted(results.ids) == ["a", "t"]
    assert {(n.code, n.tier) for n in results.notes} == {("vector_mismatch", "team"), ("no_vectors", "project")}
    with pytest.raises(VectorError, match="4 dimensions"):
        mind.search("alpha", query_vector=[1, 0, 0, 0])


def test_filters_and_expiry_hold_in_every_tier(vaults, mind):
    for vault in vaults.values():
        vault.add(id=f"in-{vault.path}", title="alpha", domain="security")
        vault.add(id=f"out-{vault.path}", title="alpha", domain="other")
        vault.add(id=f"old-{vault.path}", title="alpha", domain="security", valid_until=NOW - 1)
    found = mind.search("alpha", domain="security", limit=99)
    assert len(found) == 3 and all(h.id.startswith("in-") for h in found)


def test_memories_and_links_are_found_across_tiers(vaults, mind):
    vaults["agent"].remember("alpha memory", id="m")
    vaults["team"].add_many([{"id": "t", "title": "alpha"}, {"id": "far", "title": "omega"}])
    vaults["team"].link("t", "far")
    results = mind.search("alpha", include_memories=True)
    assert sorted(results.ids) == ["far", "m", "t"]
    assert {h.id: h.tier for h in results} == {"far": "team", "m": "agent", "t": "team"}


def test_feedback_goes_to_the_highest_tier_that_has_the_entry_and_counts_for_all(vaults, mind):
    vaults["project"].add(id="x", title="alpha")
    vaults["team"].add(id="x", title="alpha")
    for _ in range(30):
        mind.feedback("alpha", "x", "accepted")
    assert vaults["project"].stats().feedback == {"accepted": 30} and vaults["team"].stats().feedback == {}
    assert mind.weights().accept_rate == 1.0
    with pytest.raises(EntryNotFound):
        mind.feedback("alpha", "missing", "accepted")


def test_vaults_stay_open_when_the_federation_closes(vaults):
    with Federation(vaults) as mind:
        mind.search("alpha")
    assert mind.search("alpha").ids == []
    mind.close()
    assert vaults["agent"].add(title="alpha")
