"""Vectors in SQLite and in PostgreSQL: the same functions give the same answers, and counts stay exact."""

import numpy as np
import pytest

from doubles import Letters, letters
from septet._core import text_hash
from septet.errors import VectorError
from septet.sqlite.store.store import SqliteStore
from vector_world import World, postgres_world


@pytest.fixture(params=["sqlite", "postgres"])
def world(request, tmp_path):
    """A vault in each kind of store; what the tests did to it must leave its counts exact."""
    if request.param == "sqlite":
        made = World(SqliteStore(str(tmp_path / "v.db")))
    else:
        made = postgres_world(request.getfixturevalue("dsn"), request.getfixturevalue("vault_name"), buckets=7)
    yield made
    made.check()
    made.store.close()


@pytest.fixture
def remote(dsn, vault_name):
    made = postgres_world(dsn, vault_name, buckets=7)
    yield made
    made.check()
    made.store.close()


def spaces(world):
    with world.store.reading() as read:
        return [(s.model, s.dimensions, s.keyed_by, s.entries) for s in read.tables.vectors.spaces(read)]


def test_vectors_given_come_back_to_the_last_bit(world):
    rng = np.random.default_rng(1)
    rows = {f"e{i}": (rng.standard_normal(17) * 10.0 ** rng.integers(-30, 30)).astype(np.float32) for i in range(50)}
    world.add(*({"id": one, "title": one, "vector": row} for one, row in rows.items()))
    found = world.of(rows, "given", 17)
    assert found.keys() == rows.keys()
    assert all(found[one].tobytes() == rows[one].tobytes() for one in rows)
    with world.store.reading() as read:
        given = {(one, model): blob for one, model, blob in read.tables.vectors.given(read)}
        assert given == {(one, "given"): row.tobytes() for one, row in rows.items()}
        (space,) = read.tables.vectors.all_spaces(read)
        at = read.tables.entries.rows_of(read, ["e3", "e4"])
        assert [one.vector for one in read.tables.vectors.of_rows(read, space, [10**9, *at])] == [
            rows["e3"].tobytes(),
            rows["e4"].tobytes(),
        ]
    assert spaces(world) == [("given", 17, "entry", 50)]


def test_a_new_text_loses_its_given_vector_and_the_same_text_keeps_it(world):
    world.add(*({"id": f"e{i}", "title": f"title {i}", "vector": [1.0, i]} for i in range(10)))
    world.add({"id": "e1", "title": "another"}, {"id": "e2", "title": "title 2", "domain": "moved"})
    assert world.of(["e1", "e2"], "given", 2).keys() == {"e2"}
    world.add(
        {"id": "e1", "title": "another", "vector": [3.0, 4.0]}, {"id": "e2", "title": "title 2", "vector": [5, 6]}
    )
    assert {one: row.tolist() for one, row in world.of(["e1", "e2"], "given", 2).items()} == {
        "e1": [3.0, 4.0],
        "e2": [5.0, 6.0],
    }
    assert spaces(world) == [("given", 2, "entry", 10)]


def test_an_entry_has_a_vector_of_each_model_or_only_the_last_one(world):
    world.add({"id": "a", "title": "a", "vector": {"one": [1.0, 0.0], "two": [1.0, 2.0, 3.0]}})
    world.add({"id": "a", "title": "a", "vector": [0.0, 1.0], "model": "one"})
    assert spaces(world) == [("one", 2, "entry", 1), ("two", 3, "entry", 1)]
    world.add(
        {"id": "a", "title": "a", "vector": [1.0, 1.0], "model": "one"},
        {"id": "a", "title": "a", "vector": [2.0, 1.0, 0.0], "model": "two"},
        one_per_entry=True,
    )
    assert spaces(world) == [("two", 3, "entry", 1)]


def test_a_model_changes_its_dimension_only_when_it_has_no_vectors(world):
    world.add({"id": "a", "title": "a", "vector": [1.0, 2.0]})
    with pytest.raises(VectorError, match="3 dimensions, model 'given' has 2"):
        world.add({"id": "b", "title": "b", "vector": [1.0, 2.0, 3.0]})
    with pytest.raises(VectorError, match="3 dimensions, model 'new' has 2"):
        world.add(
            {"id": "b", "title": "b", "vector": [1.0, 2.0], "model": "new"},
            {"id": "c", "title": "c", "vector": [1.0, 2.0, 3.0], "model": "new"},
        )
    world.add({"id": "a", "title": "another"})
    world.add({"id": "a", "title": "another", "vector": [1.0, 2.0, 3.0]})
    assert spaces(world) == [("given", 3, "entry", 1)]
    with world.store.reading() as read:
        assert [s.dimensions for s in read.tables.vectors.all_spaces(read)] == [2, 3]


@pytest.mark.parametrize("share", [0, 1, 50, 100])
def test_what_is_missing_is_counted_whatever_share_is_embedded(world, share):
    world.fill(200)
    world.add(*({"id": f"m{i}", "title": f"said {i}", "kind": "memory"} for i in range(10)))
    hashes = [text_hash(f"title {i}", "", "") for i in range(2 * share)]
    with world.store.writing() as write:
        texts = write.tables.texts
        space = texts.make_space(write, "test/letters", 32, 1.0)
        rows = np.array([letters(f"title {i}", 32) for i in range(2 * share)], dtype=np.float32).reshape(-1, 32)
        assert texts.put(write, space, hashes, rows) == 2 * share
        assert texts.put(write, space, hashes, rows) == 0
    with world.store.reading() as read:
        texts = read.tables.texts
        assert texts.coverage(read, space) == (2 * share, 200 - 2 * share)
        assert texts.coverage(read, space, memories=True) == (2 * share, 210 - 2 * share)
        assert texts.count_missing(read, space) == 200 - 2 * share
        found, after = [], ""
        while page := texts.missing(read, space, memories=True, after=after, limit=33):
            found, after = found + page, page[-1][0]
        assert [key for key, _ in found] == sorted(key for key, _ in found)
        assert {text for _, text in found} == {
            *(f"title {i}" for i in range(2 * share, 200)),
            *(f"said {i}" for i in range(10)),
        }
        assert texts.lacking(read, space, [*hashes, "0" * 32]) == ["0" * 32]


def test_equal_texts_share_one_vector_wherever_their_entries_are(world):
    world.add(*({"id": f"same{i}", "title": "one text"} for i in range(40)))
    embedder = Letters()
    report = world.embed(embedder)
    assert (report.embedded, report.missing) == (1, 0) and embedder.sent() == ["one text"]
    assert len(world.of([f"same{i}" for i in range(40)])) == 40
    world.add(*({"id": f"late{i}", "title": "one text"} for i in range(40)))
    assert len(world.of([f"late{i}" for i in range(40)])) == 40
    assert world.embed(embedder).requests == 0


def test_memories_count_when_they_are_asked_for_and_an_entry_may_become_one(world):
    world.fill(5)
    world.fill(3, 5, kind="memory")
    world.embed()
    with world.store.reading() as read:
        (space,) = read.tables.vectors.all_spaces(read)
        assert read.tables.texts.coverage(read, space) == (5, 0)
    world.add({"id": "e0", "title": "title 0", "kind": "memory"}, {"id": "e6", "title": "title 6"})
    world.fill(2, 100)
    with world.store.reading() as read:
        assert read.tables.texts.coverage(read, space) == (5, 2)
        assert read.tables.texts.coverage(read, space, memories=True) == (8, 2)


def test_long_texts_are_found_in_the_order_of_their_hashes(world):
    world.add(*({"id": f"e{i}", "title": "é" * i, "description": "x" * i, "context": "y"} for i in range(1, 60)))
    world.embed()
    with world.store.reading() as read:
        (space,) = read.tables.vectors.all_spaces(read)
        found, after = [], ""
        while page := read.tables.texts.embedded(read, space, over_bytes=120, after=after, limit=4):
            found, after = found + page, page[-1][0]
    assert sorted(len(text.split("\n")[1]) for _, text in found) == [*range(40, 60)]
    with world.store.writing() as write:
        write.tables.texts.forget(write, space, [key for key, _ in found])
        write.tables.texts.set_pooling(write, space, "whole")
    with world.store.reading() as read:
        assert read.tables.texts.coverage(read, space) == (39, 20)
        assert read.tables.texts.pooling(read, space) == "whole"


def test_a_space_is_emptied_in_small_steps(world):
    world.fill(50)
    world.embed()
    with world.store.reading() as read:
        (space,) = read.tables.vectors.all_spaces(read)
    removed = []
    while not removed or removed[-1]:
        with world.store.writing() as write:
            removed.append(write.tables.texts.empty(write, space, 20))
        world.check()
    assert removed == [20, 20, 10, 0]
    assert spaces(world) == []


def test_a_space_is_chosen_by_model_and_dimension(world):
    with world.store.reading() as read:
        assert read.tables.vectors.choose(read, None, 2) is None
    world.add({"id": "a", "title": "a", "vector": {"one": [1, 0], "two": [0, 1], "long": [1, 2, 3]}})
    world.add({"id": "b", "title": "b", "vector": [1, 0], "model": "two"})
    with world.store.reading() as read:
        choose = read.tables.vectors.choose
        assert choose(read, None, 2).model == "two"
        assert choose(read, "one", 2).model == "one"
        assert choose(read, None, 3).model == "long"
        with pytest.raises(VectorError, match="model 'one' and 3 dimensions"):
            choose(read, "one", 3)
        with pytest.raises(VectorError, match="4 dimensions, the vault holds vectors of: "):
            choose(read, None, 4)


def test_a_vector_is_stored_in_the_bucket_of_every_entry_and_of_a_text_that_none_has(remote):
    remote.add(*({"id": f"e{i}", "title": "one text"} for i in range(20)))
    with remote.store.writing() as write:
        space = write.tables.texts.make_space(write, "test/letters", 32, 1.0)
        rows = Letters().embed(["one text", "no text"])
        assert write.tables.texts.put(write, space, [text_hash("one text", "", ""), "f" * 32], rows) == 2
    with remote.store.reading() as read:
        stored = dict(
            read.sql.execute(
                "SELECT key, count(*) FROM septet.vectors WHERE vault = %s GROUP BY key", (read.vault.number,)
            ).fetchall()
        )
        buckets = {read.vault.bucket_of(f"e{i}") for i in range(20)}
    assert stored == {text_hash("one text", "", ""): len(buckets), "f" * 32: 1} and len(buckets) > 4
    remote.add({"id": "late", "title": "no text", "context": ""})
    with remote.store.writing() as write:
        assert write.tables.texts.drop_orphans(write) == 1
    assert len(remote.of([f"e{i}" for i in range(20)])) == 20


def test_more_dimensions_than_the_server_stores_are_refused(remote):
    with pytest.raises(VectorError, match="16,001 dimensions: PostgreSQL's extension `vector` holds 16,000 at most"):
        remote.add({"id": "a", "title": "a", "vector": np.ones(16_001)})
    remote.add({"id": "a", "title": "a", "vector": np.ones(16_000)})
    assert remote.of(["a"], "given", 16_000)["a"].tolist() == [1.0] * 16_000


def test_halves_keep_the_direction_of_any_vector(dsn, vault_name):
    world = postgres_world(dsn, vault_name, vectors="halfvec")
    rng = np.random.default_rng(3)
    rows = {f"e{i}": (rng.standard_normal(96) * 10.0 ** rng.integers(-35, 35)).astype(np.float32) for i in range(200)}
    world.add(*({"id": one, "title": one, "vector": row} for one, row in rows.items()))
    found, query = world.of(rows, "given", 96), rng.standard_normal(96)
    assert found.keys() == rows.keys()
    for one, row in rows.items():
        exact, stored = row.astype(np.float64), found[one].astype(np.float64)
        exact, stored = exact / np.linalg.norm(exact), stored / np.linalg.norm(stored)
        # The bound that packing.py states; what is usual is far less.
        assert abs((exact - stored) @ query / np.linalg.norm(query)) < 1e-3
    world.check()
    world.store.close()
