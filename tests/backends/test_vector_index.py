"""Indexes over vectors: made and removed while the vault is in use, measured, and told of by searches."""

import numpy as np
import pytest
from psycopg import ClientCursor

from both_stores import searched, server_tier
from septet.errors import ReadOnly, StoreBusy, StoreError, VectorError
from septet.postgres.store.pipeline import together
from septet.postgres.store.store import PostgresStore
from septet.postgres.store.transactions import lock_key
from septet.postgres.store.vector_index import Recall, index_vectors, indexed_spaces, measure
from septet.postgres.tables import nearest
from septet.store.rows import Condition
from vector_world import World, postgres_world

ROWS, D = 3_000, 16


def rows_of(seed, n=ROWS, d=D):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


@pytest.fixture(params=["vector", "halfvec"])
def world(request, dsn, vault_name):
    made = postgres_world(dsn, vault_name, vectors=request.param)
    made.add(
        *(
            {"id": f"e{i}", "title": f"title {i}", "domain": "rare" if i % 100 == 0 else "x", "vector": row}
            for i, row in enumerate(rows_of(1))
        )
    )
    yield made
    made.check()
    made.store.close()


def plan_of(world, space, query):
    with world.store.reading() as read:
        asked = nearest.nearest(read.vault, space, query, 10, Condition("e.live", ()), indexed=True, narrowed=False)
        together(read, nearest.settings(read.vault, 10))
        if read.vault.distributed:
            # The few vectors of a shard are sorted sooner than an index is followed.
            read.sql.execute("SET LOCAL enable_sort TO off")
        # Citus asks its workers for no plan with parameters.
        sql = ClientCursor(read.sql).mogrify(f"EXPLAIN {asked.sql}", asked.parameters)
        return "\n".join(row[0] for row in read.sql.execute(sql))


def indexes(world):
    with world.store.reading() as read:
        sql = "SELECT indexname FROM pg_indexes WHERE schemaname = 'septet' AND indexname LIKE 'vectors\\_%%\\_hnsw'"
        sql += " AND indexdef LIKE %s"
        return [name for (name,) in read.sql.execute(sql, (f"%vault = {read.vault.number})%",))]


def test_an_index_answers_searches_and_they_say_so_until_it_is_removed(world):
    query = rows_of(2, 1)[0]
    asked = {"query_vector": query, "legs": "vector", "limit": 10}
    exact = searched([server_tier(world.store)], "", 2_000.0, **asked)
    assert "approximate" not in [note.code for note in exact.notes]
    (space,) = index_vectors(world.store, "hnsw", m=16, ef_construction=100)
    assert (space.model, space.entries) == ("given", ROWS) and len(indexes(world)) == 1
    assert indexes(world)[0] in plan_of(world, space, query)
    found = searched([server_tier(world.store)], "", 2_000.0, **asked)
    (note,) = [note for note in found.notes if note.code == "approximate"]
    assert note.cause == "an index chose among the vectors of given" and not found.degraded
    assert len(set(found.ids) & set(exact.ids)) >= 9
    # What both found scores the same.
    scores = {hit.id: hit.score for hit in exact.hits}
    assert all(abs(scores[hit.id] - hit.score) < 1e-9 for hit in found.hits if hit.id in scores)
    (recall,) = measure(world.store, queries=60, k=10)
    assert isinstance(recall, Recall) and recall[:2] == ("given", D) and recall[3:] == (10, 60)
    assert 0.9 < recall.found <= 1.0
    found = searched([server_tier(world.store)], "", 2_000.0, **asked)
    (note,) = [note for note in found.notes if note.code == "approximate"]
    assert f"it found, of the true 10 nearest vectors, {recall.found:.1%} in a test with 60 of them" in note.cause
    index_vectors(world.store, "none")
    again = searched([server_tier(world.store)], "", 2_000.0, **asked)
    assert again.ids == exact.ids and "approximate" not in [note.code for note in again.notes]
    assert indexes(world) == [] and measure(world.store) == []


def test_a_filter_that_few_pass_does_not_starve_an_index(world):
    index_vectors(world.store, "hnsw")
    asked = {"query_vector": rows_of(3, 1)[0], "legs": "vector", "domain": "rare", "limit": 30}
    found = searched([server_tier(world.store)], "", 2_000.0, **asked)
    assert len(found) == 30 and {hit.domain for hit in found.hits} == {"rare"}


def test_what_is_written_later_is_in_the_index(world):
    (space,) = index_vectors(world.store, "hnsw")
    query = np.ones(D, dtype=np.float32)
    world.add({"id": "late", "title": "late", "vector": query})
    assert indexes(world)[0] in plan_of(world, space, query)
    assert searched([server_tier(world.store)], "", 2_000.0, query_vector=query, limit=1).ids == ["late"]
    index_vectors(world.store, "hnsw", model="given")
    with world.store.reading() as read:
        assert indexed_spaces(read) == {space.space}


def test_what_cannot_be_indexed_says_why(dsn, vault_name):
    world = postgres_world(dsn, vault_name)
    with pytest.raises(StoreError, match=r"has no vectors$"):
        index_vectors(world.store, "hnsw")
    world.add({"id": "a", "title": "a", "vector": np.ones(2_001)})
    with pytest.raises(VectorError, match=r"2,001 dimensions: an index takes 2,000 at most; .*halfvec"):
        index_vectors(world.store, "hnsw")
    with pytest.raises(StoreError, match="no vectors of 'other'"):
        index_vectors(world.store, "hnsw", model="other")
    for how, options, said in [
        ("ivf", {}, "'hnsw' or 'none', not 'ivf'"),
        ("hnsw", {"m": 1}, "m"),
        ("hnsw", {"m": 40, "ef_construction": 64}, "at least twice m, 80"),
    ]:
        with pytest.raises(StoreError, match=said):
            index_vectors(world.store, how, **options)
    index_vectors(world.store, "none")
    with pytest.raises(ReadOnly):
        index_vectors(PostgresStore(dsn, vault_name, read_only=True), "none")
    world.store.close()


def test_two_do_not_make_one_index_at_once(world):
    with world.store.reading() as read:
        (space,) = read.tables.vectors.all_spaces(read)
    with world.store.maintaining() as sql:
        key = (lock_key(world.store.vault.number, "index", space.space),)
        sql.execute("SELECT pg_advisory_lock(%s::bigint)", key)
        with pytest.raises(StoreBusy, match="another process is making or removing"):
            index_vectors(world.store, "hnsw")
        sql.execute("SELECT pg_advisory_unlock(%s::bigint)", key)
    assert indexes(world) == []


def test_an_index_that_cannot_be_made_leaves_nothing_behind(dsn, vault_name):
    world = World(PostgresStore(dsn, vault_name))
    world.add(*({"id": f"e{i}", "title": f"t{i}", "vector": row} for i, row in enumerate(rows_of(4, 500, 8))))
    with world.store.writing() as write:
        # As no write does: another length under the same space.
        write.sql.execute(
            "UPDATE septet.vectors SET vector = '[1,2]'::vector WHERE vault = %s AND key LIKE '%%:e7'",
            (write.vault.number,),
        )
    with pytest.raises((VectorError, StoreError), match="dimensions"):
        index_vectors(world.store, "hnsw")
    assert indexes(world) == []
    with world.store.reading() as read:
        assert indexed_spaces(read) == set()
    world.store.close()
