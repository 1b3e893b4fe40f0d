"""Many queries in one call are answered as each of them is by itself."""

import random

import numpy as np
import pytest

from septet import Federation, QueryError, Vault, VectorError
from septet.search.threads import LEAST_AT_ONCE, MOST_AT_ONCE, parts_of

NOW = 1_760_000_000.0
WORDS = "alpha beta gamma delta kiwi plum quince retry policy token cache index".split()
QUERIES = [
    "alpha",
    "retry policy for the token cache",
    "",
    "?!",
    "plum-jam",
    "state-of-the-art 1.2.3",
    "kiwi kiwi",
    "zzz",
]


def filled(path=":memory:", entries=60, *, seed=1, vectors=True):
    rng = random.Random(seed)
    vault = Vault(path, clock=lambda: NOW)
    vault.add_many(
        {
            "id": f"e{i}",
            "title": " ".join(rng.choices(WORDS, k=3)),
            "description": " ".join(rng.choices(WORDS, k=12)),
            "domain": rng.choice("ab"),
            "severity": rng.choice(["critical", "warning", "suggestion"]),
            "tags": rng.sample(WORDS, 2),
            "valid_until": NOW + 5 if i % 7 == 0 else None,
            "created_at": NOW - rng.randrange(10**7),
            **({"vector": [rng.gauss(0, 1) for _ in range(8)]} if vectors and i % 3 else {}),
        }
        for i in range(entries)
    )
    return vault


def vectors_of(queries, seed=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((len(queries), 8)).astype(np.float32)


def seen(results):
    """Everything that a search says but for the time it took."""
    told = results.to_dict()
    told.pop("took_ms")
    for tier in told["tiers"]:
        tier.pop("took_ms")
    return told


@pytest.mark.parametrize("threads", [1, 2, 5, None])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"limit": 3},
        {"domain": "a", "limit": 50},
        {"where": {"tags": {"$in": ["kiwi"]}}, "include_expired": True},
        {"boost_tags": ["kiwi", "plum"], "min_score": 0.2},
        {"max_tokens": 60, "mode": "scan"},
        {"profile": "seven-signals"},
        {"legs": "text"},
    ],
    ids=repr,
)
def test_many_queries_are_answered_as_each_by_itself(options, threads):
    with filled() as vault:
        vault.optimize()
        vectors = vectors_of(QUERIES)
        alone = [vault.search(q, query_vector=v, **options) for q, v in zip(QUERIES, vectors)]
        found = vault.search_many(QUERIES, query_vectors=vectors, threads=threads, **options)
        assert [seen(r) for r in found] == [seen(r) for r in alone]
        assert any(len(r) for r in found)


def test_a_query_may_come_without_a_vector_beside_others_that_have_one():
    with filled() as vault:
        vectors = [None if i % 2 else v for i, v in enumerate(vectors_of(QUERIES))]
        alone = [vault.search(q, query_vector=v) for q, v in zip(QUERIES, vectors)]
        assert [seen(r) for r in vault.search_many(QUERIES, query_vectors=vectors)] == [seen(r) for r in alone]


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_vectors_of_several_dimensions_and_models_find_their_own_spaces(threads):
    with Vault(":memory:", clock=lambda: NOW) as one, Vault(":memory:", clock=lambda: NOW) as other:
        one.add(id="a", title="alpha", vector=[1, 0, 0], model="m")
        one.add(id="b", title="beta", vector=[1, 0], model="k")
        one.add(id="c", title="gamma", vector=[0, 1], model="l")
        other.add(id="d", title="delta", vector=[1, 0], model="k")
        queries, vectors = ["alpha", "beta", "gamma", "delta"], [[1, 0, 0], [1, 0], None, [0, 1]]
        with Federation({"agent": one, "team": other}) as federation:
            for searched in (one, federation):
                alone = [searched.search(q, query_vector=v) for q, v in zip(queries, vectors)]
                found = searched.search_many(queries, query_vectors=vectors, threads=threads)
                assert [seen(r) for r in found] == [seen(r) for r in alone]
        with pytest.raises(VectorError):
            other.search_many(["delta", "delta"], query_vectors=[[1, 0], [1, 0, 0]], threads=threads)


@pytest.mark.parametrize("vectors", [[None, [1.0] * 8], [[1.0] * 8, None]])
def test_vectors_alone_need_a_vector_for_every_query(vectors):
    with filled() as vault, pytest.raises(QueryError, match="legs is 'vector'"):
        vault.search_many(["alpha", "beta"], query_vectors=vectors, legs="vector")


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_one_part_is_raised_and_the_vault_goes_on(threads):
    with filled() as vault:
        vectors = [*vectors_of(QUERIES), [1.0, 2.0]]
        with pytest.raises(VectorError):
            vault.search_many([*QUERIES, "alpha"], query_vectors=vectors, threads=threads)
        assert len(vault.search("alpha")) > 0


def test_before_full_text_is_in_memory_fts5_answers_each_query(tmp_path, monkeypatch):
    monkeypatch.setattr("septet.sqlite.snapshot.manager.BUILT_AT_ONCE", 0)
    with filled(tmp_path / "v.db") as vault:
        found = vault.search_many(QUERIES, threads=1, profile="seven-signals")
        assert vault._tier.manager.current.postings is None
        vault.optimize()
        assert [[(h.id, h.score) for h in r] for r in vault.search_many(QUERIES, profile="seven-signals")] == [
            [(h.id, h.score) for h in r] for r in found
        ]


def test_memories_links_and_tiers_take_part(tmp_path):
    low, high = filled(tmp_path / "low.db", seed=3), filled(tmp_path / "high.db", 20, seed=4)
    high.remember("alpha is the first letter")
    for i in range(1, 20):
        low.link("e0", f"e{i}")
    with low, high, Federation({"agent": high, "team": low}) as federation:
        for searched in (low, high, federation):
            alone = [searched.search(q, include_memories=True) for q in QUERIES]
            found = searched.search_many(QUERIES, include_memories=True, threads=3)
            assert [seen(r) for r in found] == [seen(r) for r in alone]


def test_more_queries_than_one_native_call_takes_come_back_in_order():
    queries = [f"{word} {i}" for i in range(30) for word in WORDS]
    with filled() as vault:
        assert [r.query for r in vault.search_many(queries, threads=2)] == queries


def test_no_queries_give_no_results():
    with filled(entries=1) as vault:
        assert vault.search_many([]) == []


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"queries": "alpha"}, QueryError, "sequence of queries"),
        ({"queries": ["alpha", 5]}, QueryError, "a query is int"),
        ({"queries": ["alpha"], "query_vectors": [[1.0] * 8] * 2}, QueryError, "2 query_vectors for 1 queries"),
        ({"queries": ["alpha"], "query_vector": [1.0] * 8}, QueryError, "query_vectors="),
        ({"queries": ["alpha"], "threads": 0}, QueryError, "threads"),
        ({"queries": ["alpha"], "threads": True}, QueryError, "threads"),
        ({"queries": ["alpha"], "limt": 3}, TypeError, r"search_many\(\) got .*Did you mean 'limit'"),
        ({"queries": ["alpha", "beta"], "query_vectors": [[1.0] * 8, [0.0] * 8]}, VectorError, "no direction"),
        ({"queries": ["alpha", "beta"], "query_vectors": [[1.0] * 8, [1.0] * 9]}, VectorError, "9"),
    ],
    ids=repr,
)
def test_arguments_that_cannot_be_understood_are_refused(arguments, error, says):
    with filled() as vault, pytest.raises(error, match=says):
        vault.search_many(**arguments)


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [1, 7, 64, 65, 200, 1_000])
def test_queries_are_cut_into_parts_of_at_most_64_that_get_smaller_and_keep_every_thread_busy(count, workers):
    workers = min(workers, count)
    with Vault(":memory:") as vault:
        plans = [vault._plan(QUERIES[0], {})] * count
    cut = parts_of(plans, workers)
    assert [i for part in cut for i in part] == list(range(count))
    sizes = [len(part) for part in cut]
    assert max(sizes) <= MOST_AT_ONCE
    assert len(sizes) >= workers
    # With one thread nothing waits for another, and few large parts cost least.
    assert sizes == sorted(sizes, reverse=True)
    assert workers > 1 or len(sizes) == -(-count // MOST_AT_ONCE)
    assert workers == 1 or sizes[-1] <= LEAST_AT_ONCE


def test_queries_with_vectors_of_different_dimensions_are_in_different_parts():
    vectors = [[1.0] * 8, None, [1.0] * 4, [1.0] * 8, None]
    with filled() as vault:
        plans = [vault._plan("alpha", {"query_vector": vector}) for vector in vectors]
    assert parts_of(plans, 1) == [[0, 3], [1, 4], [2]]
