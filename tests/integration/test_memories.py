"""Memories: remembered, recalled, forgotten; apart from entries until they are asked for."""

import pytest

from septet import Federation, QueryError, Vault

NOW = 1.7e9


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: NOW) as made:
        yield made


def test_what_is_remembered_is_recalled_and_forgotten(vault):
    kept = vault.remember("Bob owns the billing service", "Since May", ["billing"])
    vault.add(id="entry", title="The billing service")
    found = vault.recall("billing service")
    assert (found.ids, [hit.kind for hit in found]) == ([kept], ["memory"])
    entry = found[0].entry
    assert (entry.title, entry.description, entry.tags) == ("Bob owns the billing service", "Since May", ("billing",))
    assert vault.forget(kept, "nothing") == 1
    assert (vault.recall("billing service").ids, vault.get(kept)) == ([], None)


@pytest.mark.parametrize("count", [0, 1, 3, 20, 60])
@pytest.mark.parametrize("limit", [1, 3, 100])
def test_recall_returns_as_many_memories_as_it_is_asked_for(vault, count, limit):
    vault.add_many({"id": f"e{i}", "title": "alpha"} for i in range(40))
    for i in range(count):
        vault.remember(f"alpha {i}")
    found = vault.recall("alpha", limit)
    assert len(found) == min(count, limit)
    assert {hit.kind for hit in found} <= {"memory"}
    assert found.ids == vault.recall("alpha", limit=limit).ids == vault.search("alpha", kinds="memory", limit=limit).ids


def test_the_old_names_of_what_is_remembered_go_on(vault):
    new = vault.remember("A title", details="more", topics=["t"])
    for old in (
        vault.remember(context="A title", summary="more", topics=["t"]),
        vault.remember("A title", "more", ["t"]),
        vault.remember("A title", summary="more", topics=["t"]),
    ):
        assert old == new
    assert len(vault) == 1


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), (("a",), {"context": "b"}), (("a", "b"), {"summary": "c"}), ((), {"summary": "c"})],
)
def test_a_memory_has_one_text(vault, given, named):
    with pytest.raises(TypeError, match="takes text"):
        vault.remember(*given, **named)
    assert len(vault) == 0


def test_recall_takes_the_options_of_a_search(vault):
    vault.remember("alpha one", id="a", domain="x", attrs={"n": 1})
    vault.remember("alpha two", id="b", domain="y", valid_until=NOW - 1)
    vault.remember("alpha three", id="c", domain="y", severity="critical")
    assert sorted(vault.recall("alpha").ids) == ["a", "c"]
    assert vault.recall("alpha", domain="x").ids == ["a"]
    assert vault.recall("alpha", where={"attrs.n": 1}).ids == ["a"]
    assert sorted(vault.recall("alpha", include_expired=True, domain="y").ids) == ["b", "c"]
    assert {hit.entry for hit in vault.recall("alpha", mode="scan")} == {None}
    assert vault.recall("alpha", profile="seven-signals").profile == "seven-signals"
    with pytest.raises(QueryError):
        vault.recall("alpha", 0)


def test_a_federation_recalls_the_memories_of_every_tier(vault):
    with Vault(":memory:", clock=lambda: NOW) as team:
        own, other = vault.remember("alpha of the agent"), team.remember("alpha of the team")
        vault.remember("alpha agent", id="both")
        team.remember("alpha team", id="both")
        team.add(id="entry", title="alpha")
        with Federation({"agent": vault, "team": team}) as mind:
            found = mind.recall("alpha")
            assert {hit.id: hit.tier for hit in found} == {own: "agent", "both": "agent", other: "team"}
            assert len(mind.recall("alpha", 2)) == 2
