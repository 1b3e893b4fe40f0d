"""Several vaults as one: scores on one scale, one copy of each id, and a tier that fails in the middle."""

from __future__ import annotations

from itertools import pairwise

import pytest

from connections import until_end
from septet import Federation, StoreError, Vault
from septet.sqlite.tier.tier import LocalSession
from septet.tiers.protocol import TierFacts

NOW = 1_760_000_000.0


def vault_of(*entries: dict) -> Vault:
    vault = until_end(Vault(":memory:", clock=lambda: NOW))
    vault.add_many(entries)
    return vault


def test_an_exact_match_in_a_small_vault_holds_against_many_weak_ones_in_a_large_one():
    small = vault_of(
        {"id": "exact", "title": "JWT validation"},
        {"id": "keys", "title": "JWT keys"},
        {"id": "rules", "title": "validation rules"},
    )
    large = vault_of(
        *({"id": f"n{i}", "title": f"note {i} on {'validation' if i < 8 else 'gardening'}"} for i in range(300))
    )
    with Federation({"agent": small, "team": large}) as federation:
        assert federation.search("how does jwt validation work", limit=8).ids[0] == "exact"
    with Federation({"agent": large, "team": small}) as federation:
        assert federation.search("how does jwt validation work", limit=8).ids[0] == "exact"


def test_the_higher_copy_stands_in_when_only_the_lower_one_has_the_words():
    agent = vault_of({"id": "k", "title": "deploy", "description": "use blue green"})
    project = vault_of({"id": "k", "title": "deploy", "description": "use kubernetes rollout"})
    with Federation({"agent": agent, "project": project}) as federation:
        (hit,) = federation.search("kubernetes")
        assert (hit.tier, hit.entry.description) == ("agent", "use blue green")
        assert federation.load(["k"])[0].description == hit.entry.description


@pytest.mark.parametrize("lower", [[], [{"id": "other", "title": "kubernetes"}]], ids=["empty", "with a match"])
def test_the_highest_copy_stands_in_for_one_in_the_middle_of_three_tiers(lower):
    agent = vault_of({"id": "k", "title": "deploy", "description": "use blue green"})
    project = vault_of({"id": "k", "title": "deploy", "description": "use kubernetes rollout"})
    with Federation({"agent": agent, "project": project, "team": vault_of(*lower)}) as federation:
        found = {hit.id: hit.tier for hit in federation.search("kubernetes")}
        assert found == {"k": "agent", **{entry["id"]: "team" for entry in lower}}


def test_a_higher_copy_that_fails_the_filters_takes_the_lower_one_with_it():
    agent = vault_of({"id": "k", "title": "kubernetes", "domain": "cooking"})
    project = vault_of({"id": "k", "title": "kubernetes", "domain": "deployment"})
    with Federation({"agent": agent, "project": project}) as federation:
        assert federation.search("kubernetes", domain="deployment").ids == []


def test_a_higher_copy_outside_its_validity_does_not_count():
    agent = vault_of({"id": "k", "title": "kubernetes", "created_at": 1, "valid_until": NOW - 1})
    project = vault_of({"id": "k", "title": "kubernetes"})
    with Federation({"agent": agent, "project": project}) as federation:
        assert [h.tier for h in federation.search("kubernetes")] == ["project"]


def test_an_entry_and_a_memory_of_one_id_come_back_once():
    agent, project = vault_of({"id": "x", "title": "kubernetes"}), vault_of()
    project.remember("kubernetes memory", id="x")
    with Federation({"agent": agent, "project": project}) as federation:
        assert federation.search("kubernetes", include_memories=True).ids == ["x"]


def linked_vault(steps: int | None) -> Vault:
    """Return a vault in which a target is so many links away from the one entry with the word; None for no links."""
    vault = vault_of({"id": "anchor", "title": "kumquat"}, *({"id": i, "title": "other"} for i in ("x", "y", "far")))
    chain = {None: [], 1: ["anchor", "far"], 2: ["anchor", "x", "far"], 3: ["anchor", "x", "y", "far"]}[steps]
    vault.link_many(list(pairwise(chain)))
    return vault


@pytest.mark.parametrize(
    ("steps", "proximity"),
    [
        ([1, 2], 1 / 2),
        ([2, 1], 1 / 2),
        ([2, 2], 1 / 3),
        ([1, 1], 1 / 2),
        ([None, 1], 1 / 2),
        ([1, None], 1 / 2),
        ([None, 2], 1 / 3),
        ([2, None], 1 / 3),
        ([3, 2], 1 / 3),
        ([2, 3], 1 / 3),
        ([3, 1, 2], 1 / 2),
        ([2, 3, 1], 1 / 2),
        ([2, None, 3], 1 / 3),
    ],
    ids=str,
)
@pytest.mark.parametrize("word", ["in none", "in the target too"])
def test_the_nearer_of_the_tiers_link_distances_counts(steps, proximity, word):
    vaults = {f"tier{i}": linked_vault(n) for i, n in enumerate(steps)}
    if word == "in the target too":
        # Then it is a candidate without any link, and an anchor's neighbour still.
        for vault in vaults.values():
            vault.update("far", description="a kumquat")
    profile = {"extends": "seven-signals", "graph": {"anchors": 1}}
    with Federation(vaults, profile=profile) as federation:
        near = {hit.id: hit.signals["graph_proximity"] for hit in federation.search("kumquat", limit=9)}
    assert near["far"] == pytest.approx(proximity)
    assert near["anchor"] == 0


@pytest.mark.parametrize("steps", [[None, None], [3, 3], [None, 3]], ids=str)
def test_what_no_tier_reaches_in_two_steps_is_not_pulled_in(steps):
    with Federation({f"tier{i}": linked_vault(n) for i, n in enumerate(steps)}) as federation:
        assert "far" not in federation.search("kumquat", limit=9).ids


def test_links_that_cannot_be_read_are_a_note(monkeypatch):
    agent, team = vault_of({"id": "a", "title": "alpha"}), vault_of({"id": "b", "title": "alpha"})
    read = LocalSession.standing

    def broken(self: LocalSession) -> TierFacts:
        if self.tier.name == "team":
            raise StoreError("the disk is gone")
        return read(self)

    monkeypatch.setattr(LocalSession, "standing", broken)
    with Federation({"agent": agent, "team": team}) as federation:
        results = federation.search("alpha")
        assert sorted(results.ids) == ["a", "b"]
        assert [(n.code, n.tier) for n in results.notes] == [("tier_failed", "team")]


def test_a_federation_takes_the_clock_of_its_highest_vault():
    old = until_end(Vault(":memory:", clock=lambda: 1000.0))
    old.add(id="x", title="alpha", created_at=1, valid_until=2000)
    with Federation({"agent": old}) as federation:
        assert federation.search("alpha").ids == ["x"]


@pytest.mark.parametrize("options", [{"legs": "vector"}, {}])
def test_the_best_possible_vector_match_has_the_whole_weight_of_vectors(options):
    vault = vault_of(
        {"id": "x", "title": "alpha", "severity": "critical", "vector": [0, 1]},
        {"id": "y", "title": "b", "vector": [1, 0]},
    )
    (found, *_) = vault.search("", query_vector=[0, 1], **options)
    assert found.signals["vector"] == 1
    assert found.score == pytest.approx(sum(found.breakdown.values()))
    assert found.breakdown["vector"] == max(found.breakdown.values()) > 0.5
    vault.link("x", "y")
    hits = vault.search("", query_vector=[0, 1], **options)
    assert [h.id for h in hits] == ["x", "y"]
    assert hits[0].signals["graph_proximity"] == pytest.approx(0.5)


def test_a_model_that_had_to_be_guessed_is_a_note():
    vault = until_end(Vault(":memory:", profile="six-signals"))
    for i in range(3):
        vault.add(id=f"e{i}", title="alpha", vector={"m1": [1, i]} | ({"m2": [0, 1]} if i else {}))
    late = ["vectors_incomplete"]
    assert [n.code for n in vault.search("alpha", query_vector=[0, 1]).notes] == ["model_assumed"]
    assert [n.code for n in vault.search("alpha", query_vector=[0, 1], model="m2").notes] == late


def test_a_memory_is_explained_as_what_it_is():
    vault = vault_of({"id": "e", "title": "something else"})
    vault.remember("kubernetes lesson", id="m")
    why = vault.explain("kubernetes", "m", include_memories=True, profile="seven-signals")
    assert why.found
    assert [(leg.leg, leg.rank) for leg in why.legs] == [("memories", 1)]
    assert "fixed score = 0.5000" in str(why)


def test_an_entry_that_is_filtered_out_has_no_rank():
    vault = vault_of({"id": "a", "title": "alpha", "domain": "x"})
    why = vault.explain("alpha", "a", domain="y")
    assert not why.found
    assert not why.filters["domain"]
    assert [(leg.rank, leg.of, leg.matched) for leg in why.legs] == [(None, 0, True)]


def test_an_export_onto_the_vault_itself_is_refused_and_a_failed_one_leaves_the_old_file(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(title="alpha")
        with pytest.raises(StoreError, match="itself"):
            vault.export(tmp_path / "v.db")
        (tmp_path / "out.jsonl").write_text("kept")
        vault.close()
        with pytest.raises(StoreError):
            vault.export(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == "kept"
    with Vault(tmp_path / "v.db") as vault:
        assert len(vault) == 1


def test_importing_feedback_twice_counts_it_once(tmp_path):
    with Vault(tmp_path / "v.db", clock=lambda: NOW) as vault:
        vault.add(id="x", title="alpha")
        vault.feedback("alpha", "x", "accepted")
        vault.export(tmp_path / "out.jsonl")
        vault.import_(tmp_path / "out.jsonl")
        assert dict(vault.stats().feedback) == {"accepted": 1}
