"""Loading many entries: what a transaction holds, and what it leaves behind."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from septet import Vault


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as made:
        yield made


def test_a_transaction_of_many_entries_leaves_full_text_one_segment(tmp_path):
    rng = np.random.default_rng(7)
    with Vault(tmp_path / "v.db") as vault:
        # More words than FTS5's own buffers hold.
        vault.add_many({"title": f"word {i}", "description": " ".join(map(str, rng.bytes(60)))} for i in range(4_000))
        assert vault.search("word 3999", limit=1).ids
    with closing(sqlite3.connect(tmp_path / "v.db")) as sql:
        assert sql.execute("SELECT count(DISTINCT segid) FROM entries_fts_idx").fetchone() == (1,)
        sql.execute("INSERT INTO entries_fts (entries_fts, rank) VALUES ('integrity-check', 0)")


def test_a_transaction_ends_when_its_vectors_are_large(vault):
    told = []
    row = np.ones(1 << 16, dtype=np.float32)
    vault.add_many(
        ({"title": f"word {i}", "vector": row} for i in range(140)), progress=lambda done, _: told.append(done)
    )
    assert told == [128, 140]


def test_the_last_model_of_a_batch_is_the_one_an_entry_keeps(vault):
    given = [("x", "a", [1, 0]), ("y", "a", [0, 1]), ("x", "b", [1, 0, 0]), ("x", "b", [0, 1, 0])]
    vault.add_many({"id": i, "title": i, "vector": v, "model": m} for i, m, v in given)
    assert {s.model: s.entries for s in vault.stats().spaces} == {"a": 1, "b": 1}
    assert vault.search("", query_vector=[0, 1, 0], limit=1).hits[0].signals["vector"] > 0.99
