"""Sizes are checked before anything is made: a collection that says how long it is is not read first."""

import time
import tracemalloc

import numpy as np
import pytest

import septet
from septet import (
    EntryError,
    QueryError,
    Redactor,
    SeptetError,
    StoreError,
    TfidfVectorizer,
    Vault,
    VectorError,
    VectorIndex,
)


@pytest.fixture
def index():
    index = VectorIndex(2)
    index.add(np.eye(2, dtype=np.float32))
    return index


def refused_at_once(error, call):
    """Check that a call is refused before it takes time or memory."""
    tracemalloc.start()
    try:
        begun = time.process_time()
        with pytest.raises(error) as raised:
            call()
        took, (_, most) = time.process_time() - begun, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert took < 0.2 and most < 5_000_000, (took, most)
    return str(raised.value)


def test_an_id_that_comes_many_times_is_not_copied_for_each(index):
    refused_at_once(SeptetError, lambda: index.get(["x" * 1_000_000] * 100))


@pytest.mark.parametrize("many", [range(10**9), range(10**30), np.broadcast_to(np.int64(1), (10**9,))], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda index, ids: index.get(ids),
        lambda index, ids: index.remove(ids),
        lambda index, ids: index.add(np.eye(2, dtype=np.float32), ids=ids),
        lambda index, ids: index.search([1.0, 0.0], 1, ids=ids),
    ],
    ids=["get", "remove", "add", "search"],
)
def test_ids_of_an_index_that_are_too_many_are_refused_at_once(index, call, many):
    assert "more than 100,000,000" in refused_at_once(SeptetError, lambda: call(index, many))
    assert len(index) == 2


@pytest.mark.parametrize("rows", [200_000_000, 10**12])
def test_rows_that_are_too_many_are_refused_at_once(index, rows):
    many = np.broadcast_to(np.float32(1), (rows, 2))
    for call in (index.add, index.search, lambda rows: septet.top_k([1.0, 0.0], rows, 1)):
        assert "split them" in refused_at_once(VectorError, lambda call=call: call(many))


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (EntryError, lambda vault, many: vault.load(many)),
        (EntryError, lambda vault, many: vault.delete(many)),
        (QueryError, lambda vault, many: vault.search_many(many)),
        (QueryError, lambda vault, many: vault.search("x", words={"must": many})),
        (QueryError, lambda vault, many: vault.search("x", where={"id": {"$in": many}})),
        (EntryError, lambda vault, many: vault.link_many(many)),
        (EntryError, lambda vault, many: vault.add(title="x", tags=many)),
        (EntryError, lambda vault, many: Redactor().redact_all(many)),
        (QueryError, lambda vault, many: TfidfVectorizer(stop_words=many).fit(["a"])),
        (QueryError, lambda vault, many: TfidfVectorizer().fit(many)),
    ],
)
def test_collections_that_are_too_long_are_refused_at_once(error, call):
    with Vault(":memory:") as vault:
        assert "values" in refused_at_once(error, lambda: call(vault, range(10**12)))


def test_a_collection_whose_length_cannot_be_had_is_read(index):
    class Odd:
        def __len__(self):
            raise ValueError

        def __iter__(self):
            return iter([0, 1])

    assert index.get(Odd()).tolist() == [[1, 0], [0, 1]]


def test_terms_of_more_than_a_hundred_tokens_are_refused_before_they_are_counted():
    for most in (101, 10**6, 10**30):
        message = refused_at_once(QueryError, lambda most=most: TfidfVectorizer(ngram_range=(1, most)).fit(["a b"]))
        assert "ngram_range" in message and "100" in message


@pytest.mark.parametrize("place", ["no/x", "file/x"])
def test_an_index_that_cannot_be_saved_raises_an_error_of_the_tree(tmp_path, index, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="does not exist"):
        index.save(tmp_path / place)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file"]


def test_an_index_is_not_saved_where_the_system_takes_no_files(index):
    with pytest.raises(StoreError, match="cannot be written") as raised:
        index.save("/proc/x")
    assert isinstance(raised.value, OSError) and raised.value.errno and raised.value.code == "store_error"
