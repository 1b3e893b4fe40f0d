"""What is said of an entry in a vault on PostgreSQL is what is said in a file: where it ranks, and in which wave."""

import numpy as np
import pytest

from both_stores import alike
from septet import PostgresVault, Vault, VectorError

NOW = 1.7e9
#: Memories have a context, which full text does not know; the word of two parts is held whole, in parts, and half.
ITEMS = [
    {"id": "whole", "title": "word365 policy", "description": "retry"},
    {"id": "parts", "title": "word 365", "description": "retry हिन्दी"},
    {"id": "half", "title": "word of mouth", "context": "policy हिन्दी हिन्दी"},
    {"id": "long", "title": "Split", "description": "retry word365. " * 30, "split": 20},
    *(
        {
            "id": f"m{number}", "kind": "memory", "title": f"retry word{number}", "description": "policy " * number,
            "context": "word365 हिन्दी " * number,
        }
        for number in range(4)
    ),
    {"id": "m9", "kind": "memory", "title": "नमस्ते हिन्दी", "description": "getUserName"},
    *({"id": f"other{number}", "title": "nothing of the kind", "tags": ["हिन्दी"][: number % 2]} for number in range(9)),
]  # fmt: skip
QUERIES = ("word365", "retry policy", "हिन्दी retry", "user name policy", "नमस्ते हिन्दी retry")
OPTIONS = (
    {"profile": "septet", "include_memories": True},
    {"profile": "seven-signals", "include_memories": True},
    {"profile": "markdown-memory", "words": {"must": ["retry"]}, "include_memories": True},
    {"profile": {"extends": "markdown-memory", "text": {"k1": 0.5, "b": 0.3}}},
    {"profile": "planned-retrieval", "kinds": "memory"},
    {"profile": "recall", "include_memories": True},
    {"profile": {"extends": "recall", "text": {"min_terms": 1}}, "kinds": "memory", "domain": "z"},
)


@pytest.fixture(scope="module")
def both(postgres):
    server = PostgresVault(postgres.dsn(), "explained-alike", clock=lambda: NOW, timeout_s=60)
    with Vault(":memory:", clock=lambda: NOW) as local, server:
        for vault in (local, server):
            vault.add_many(ITEMS)
        yield local, server


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_an_entry_is_explained_alike(both, options):
    local, server = both
    for query in QUERIES:
        found = [vault.search(query, **options) for vault in both]
        assert [hit.id for hit in found[0]] == [hit.id for hit in found[1]], query
        assert [hit.raw.keys() for hit in found[0]] == [hit.raw.keys() for hit in found[1]]
        assert all(alike(one.confidence, other.confidence) for one, other in zip(*found)), query
        assert found[0].notes == found[1].notes and found[0].total == found[1].total
        for one in ("whole", "parts", "half", "long", "m1", "m9"):
            ours, theirs = local.explain(query, one, **options), server.explain(query, one, **options)
            assert (ours.found, ours.rank) == (theirs.found, theirs.rank), (query, one)
            for leg, other in zip(ours.legs, theirs.legs, strict=True):
                assert (leg.leg, leg.matched, leg.rank, leg.of, leg.taken) == (
                    other.leg, other.matched, other.rank, other.of, other.taken,
                ), (query, one)  # fmt: skip
                assert leg.detail == other.detail and alike(leg.value, other.value), (query, one)


def test_a_word_that_is_held_by_half_is_not_said_to_be_held(both):
    for vault in both:
        (leg,) = vault.explain("word365", "half", profile="markdown-memory").legs
        assert "relaxed wave" in leg.detail
        (leg,) = vault.explain("word365", "parts", profile="markdown-memory").legs
        assert "strict wave" in leg.detail


def test_the_models_that_there_are_are_named_in_one_order(dsn, vault_name):
    said = []
    with Vault(":memory:") as local, PostgresVault(dsn, vault_name) as server:
        for vault in (local, server):
            for model in ("two", "three", "one"):
                vault.add(title=model, vector=np.ones(3), model=model)
            with pytest.raises(VectorError) as caught:
                vault.search("two", query_vector=np.ones(4))
            said.append(str(caught.value))
    assert said[0] == said[1]
    assert said[0].endswith("one (3), three (3), two (3)")
