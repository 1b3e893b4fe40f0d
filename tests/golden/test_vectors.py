"""Dense vectors given by the caller: cosine search, storing again, deleting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from golden.differences import differs
from golden.loader import is_zero, recording
from golden.reference import dense_cosine
from septet import Vault
from septet.errors import VectorError

VECTORS = recording("vectors")
#: The rows that the recorded searches show: their similarities to [1,0,0], [1,1,0] and [0,0,1] leave nothing else.
STORED = {"a": [1.0, 0.0, 0.0], "b": [0.5, 0.5, 0.0], "c": [-1.0, 0.0, 0.0]}
OTHER_SIZES = {"short": [1.0, 0.0], "long": [1.0, 0.0, 0.0, 1.0]}


@pytest.fixture
def vault() -> Iterator[Vault]:
    with Vault(":memory:", profile="seven-signals") as made:
        for name, vector in STORED.items():
            made.add(id=name, title=f"Entry {name}", vector=vector)
        made.add(id="none", title="Entry without a vector")
        yield made


def nearest(vault: Vault, query: list[float], limit: int) -> list[tuple[str, float]]:
    """Return what the vector leg alone finds, with the cosines."""
    found = vault.search("", query_vector=query, legs="vector", limit=limit)
    return [(hit.id, hit.signals["vector"]) for hit in found]


@pytest.mark.parametrize("case", VECTORS["cosineSearch"], ids=lambda c: f"{c['query']}-{c.get('note', '')}")
@differs("zero-vectors-are-refused", "one-space-a-search")
def test_the_nearest_vectors_are_the_recorded_ones(case, vault):
    mixed = "note" in case
    if mixed:
        for name, vector in OTHER_SIZES.items():
            vault.add(id=name, title=f"Entry {name}", vector=vector, model=f"of {len(vector)}")
    if is_zero(case["query"]):
        with pytest.raises(VectorError, match="all zero"):
            nearest(vault, case["query"], case["topK"])
        assert case["result"] == []
        return
    found = nearest(vault, case["query"], case["topK"])
    recorded = {row["entryId"]: row["similarity"] for row in case["result"]}
    assert bool(recorded.keys() & OTHER_SIZES.keys()) == mixed
    kept = {id: value for id, value in recorded.items() if id not in OTHER_SIZES}
    assert dict(found) == pytest.approx(kept, abs=1e-12)
    assert dict(found) == pytest.approx({id: dense_cosine(case["query"], STORED[id]) for id in kept}, abs=1e-12)
    assert [score for _, score in found] == pytest.approx(sorted(kept.values(), reverse=True), abs=1e-12)


@differs("one-space-a-search")
def test_a_query_is_compared_with_vectors_of_its_own_dimension_only(vault):
    mixed = next(case for case in VECTORS["cosineSearch"] if "note" in case)
    assert "NaN" in [row["similarity"] for row in mixed["result"]]
    vault.add(id="short", title="Short", vector=[1.0, 0.0], model="of 2")
    assert [id for id, _ in nearest(vault, [1.0, 0.0], 10)] == ["short"]
    with pytest.raises(VectorError, match="5 dimensions"):
        nearest(vault, [1.0] * 5, 10)
    with pytest.raises(VectorError, match="dimensions"):
        vault.add(id="d", title="Entry d", vector=[1.0, 0.0])


@differs("zero-vectors-are-refused")
def test_a_vector_without_direction_is_refused_and_nothing_is_written(vault):
    with pytest.raises(VectorError, match="all zero"):
        vault.add(id="z", title="Entry z", vector=[0.0, 0.0, 0.0])
    assert "z" not in vault
    zero = [id for id, v in recording("corpus")["vectors"]["entryVectors"].items() if is_zero(v)]
    assert zero == ["i18n-cjk-auth", "i18n-uk-decay", "i18n-zh-search"]


def test_a_vector_is_stored_as_the_recorded_bytes():
    recorded = VECTORS["storedBlobHexFor_0_5_0_5_0"]
    with Vault(":memory:") as vault:
        vault.add(id="b", title="Entry b", vector=[0.5, 0.5, 0.0], model=recorded["model"])
        with vault._store.reading() as read:
            ((blob, model, dimensions),) = read.sql.execute(
                "SELECT v.vector, s.model, s.dimensions FROM vectors v JOIN spaces s USING (space)"
            ).fetchall()
    assert blob.hex().upper() == recorded["h"]
    assert (model, dimensions) == (recorded["model"], recorded["dimensions"])


def test_a_vector_of_another_model_replaces_the_entrys_one_vector(vault):
    vault.update("a", vector=[0.0, 1.0, 0.0], model="m1")
    vault.update("a", vector=[0.0, 0.0, 1.0], model=VECTORS["afterUpsert"]["model"])
    with vault._store.reading() as read:
        rows = read.sql.execute(
            "SELECT s.model FROM vectors v JOIN spaces s USING (space) JOIN entries e "
            "ON v.key = e.text_hash || ':' || e.id WHERE e.id = 'a'"
        ).fetchall()
    assert rows == [(VECTORS["afterUpsert"]["model"],)]
    assert len(rows) == VECTORS["afterUpsert"]["c"]


def test_a_deleted_entry_leaves_no_vector(vault):
    before = vault.stats().spaces[0].entries
    vault.delete("a")
    assert vault.stats().spaces[0].entries == before - 1
    assert "a" not in dict(nearest(vault, [1.0, 0.0, 0.0], 10))
    with vault._store.reading() as read:
        (left,) = read.sql.execute("SELECT count(*) FROM vectors WHERE key LIKE '%:a'").fetchone()
    assert left == VECTORS["rowsAfterEntryDeleted"]["c"] == 0


@differs("changed-text-drops-its-vector")
def test_an_entry_whose_text_changed_has_no_vector_until_it_is_given_one(vault):
    assert VECTORS["pipeline"]["afterTitleChange"]["embedded"] == 0
    vault.update("a", title="Something else")
    assert "a" not in dict(nearest(vault, [1.0, 0.0, 0.0], 10))
    vault.update("a", vector=[1.0, 0.0, 0.0])
    assert nearest(vault, [1.0, 0.0, 0.0], 1) == [("a", 1.0)]


def test_recorded_vectors_keep_their_cosines_to_the_last_digit(agent):
    entries = recording("corpus")["vectors"]["entryVectors"]
    queries = recording("queries")["queryVectors"]
    query = queries["JWT validation"]
    found = dict(nearest(agent(False, True), query, 100))
    usable = {id for id, vector in entries.items() if not is_zero(vector)}
    assert usable - found.keys() == {"ops-legacy-vpn", "ops-future-gateway"}
    exact = {id: dense_cosine(query, np.asarray(entries[id], dtype=np.float32).tolist()) for id in found}
    assert found == pytest.approx(exact, abs=1e-12)
