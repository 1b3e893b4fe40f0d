"""Links: the recorded walks, and what proximity makes of them."""

from __future__ import annotations

import pytest

from golden.differences import differs
from golden.loader import agent_vault, recording
from link_distances import distances
from septet import Vault
from septet.errors import EntryNotFound

WALKS = recording("graph")["traverse"]
every_walk = pytest.mark.parametrize("walk", WALKS, ids=lambda w: f"{w['id']}-{w['depth']}")


@every_walk
def test_a_walk_reaches_the_recorded_entries(walk, agent):
    with agent(True, False)._store.reading() as read:
        found = distances(read, [walk["id"]], walk["depth"])
        nearest = distances(read, [walk["id"]], 1)
    assert set(found) == {step["id"] for step in walk["result"]}
    assert all(found[id] == (1 if id in nearest else 2) for id in found)
    # The recording lists the nearer entries first.
    order = [found[step["id"]] for step in walk["result"]]
    assert order == sorted(order)


@every_walk
def test_the_first_step_of_a_walk_is_a_stored_link_with_its_type_and_direction(walk, agent):
    vault = agent(True, False)
    stored = {(link.source, link.target): link.type for link in vault.links(walk["id"])}
    with vault._store.reading() as read:
        near = distances(read, [walk["id"]], min(walk["depth"], 1))
    assert set(near) == {end for pair in stored for end in pair} - {walk["id"]} or walk["depth"] == 0
    for step in walk["result"]:
        if step["id"] in near:
            outgoing = step["direction"] == "outgoing"
            pair = (walk["id"], step["id"]) if outgoing else (step["id"], walk["id"])
            assert stored[pair] == step["linkType"]


def test_walks_were_recorded_with_and_without_neighbours():
    assert any(len(walk["result"]) >= 5 for walk in WALKS)
    assert any(not walk["result"] and walk["depth"] for walk in WALKS)


@pytest.mark.parametrize("walk", [w for w in WALKS if w["depth"] == 2], ids=lambda w: w["id"])
def test_a_search_that_anchors_on_one_entry_gives_its_neighbours_the_documented_proximity(walk):
    with agent_vault(links=True) as vault:
        anchor = walk["id"]
        if anchor not in vault:
            vault.add(id=anchor, title="No links")
        vault.update(anchor, title="Kumquat")
        found = vault.search("kumquat", include_expired=True)
        with vault._store.reading() as read:
            steps = distances(read, [anchor], 2)
        reached = {hit.id: hit.signals["graph_proximity"] for hit in found}
    assert reached.pop(anchor) == 0
    assert reached == pytest.approx({id: {1: 1 / 2, 2: 1 / 3}[step] for id, step in steps.items()})


def test_an_anchor_is_near_only_as_the_neighbour_of_another_anchor():
    with Vault(":memory:", profile="seven-signals") as vault:
        for name in ("a", "b", "c"):
            vault.add(id=name, title=f"Kumquat {name}")
        vault.link("a", "b", "supports")
        near = {hit.id: hit.signals["graph_proximity"] for hit in vault.search("kumquat")}
    assert near == {"a": 0.5, "b": 0.5, "c": 0.0}


@differs("missing-entries-are-errors")
def test_a_link_to_an_entry_that_does_not_exist_is_refused():
    with agent_vault() as vault:
        with pytest.raises(EntryNotFound, match="missing-id"):
            vault.link("auth-jwt-001", "missing-id", "supports")
        assert vault.links("auth-jwt-001") == []
        assert vault.links("missing-id") == []


def test_deleting_an_entry_removes_its_links():
    with agent_vault(links=True) as vault:
        before = vault.stats().links
        own = len(vault.links("auth-jwt-001"))
        assert own >= 3
        vault.delete("auth-jwt-001")
        assert vault.stats().links == before - own
