"""The index that needs no vault."""

import errno
import threading

import numpy as np
import pytest

from septet import Vault, _core
from septet.errors import QueryError, StoreError, VectorError
from septet.index import VectorIndex, top_k
from small_files import no_larger_than


def some(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)


@pytest.fixture
def filled():
    index = VectorIndex(8)
    index.add(some(100, 8))
    return index


def test_a_search_finds_the_largest_cosines(filled):
    query = some(1, 8, 1)[0]
    rows = some(100, 8).astype(np.float64)
    cosines = rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query.astype(np.float64))
    ids, scores = filled.search(query, 5)
    assert ids.tolist() == np.argsort(-cosines)[:5].tolist()
    np.testing.assert_allclose(scores, np.sort(cosines)[::-1][:5], atol=1e-6)
    for found, wanted in zip(top_k(query, rows, 5), (ids, scores), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_many_questions_are_answered_as_one_by_one(filled):
    queries = some(70, 8, 2)
    mask = np.arange(100) % 3 == 0
    ids, scores = filled.search(queries, 4, mask=mask, threads=2)
    assert ids.shape == scores.shape == (70, 4)
    for query, own_ids, own_scores in zip(queries, ids, scores, strict=True):
        for found, wanted in zip(filled.search(query, 4, mask=mask.tolist()), (own_ids, own_scores), strict=True):
            np.testing.assert_array_equal(found, wanted)
    for found, wanted in zip(top_k(queries, some(100, 8), 4, mask=mask), (ids, scores), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_ids_count_on_and_a_single_vector_may_be_added(filled):
    assert filled.add(some(1, 8, 5)[0]) == range(100, 101)
    assert filled.add(some(2, 8, 6).tolist()) == range(101, 103)
    assert filled.add(np.empty((0, 8))) == range(103, 103)
    assert (len(filled), filled.dimensions) == (103, 8)
    assert filled.search(some(1, 8, 5)[0], 1)[0].tolist() == [100]
    assert "103 vectors, 8 dimensions" in repr(filled)


def test_length_does_not_matter_nor_does_the_dtype(filled):
    query = some(1, 8, 3)[0]
    wanted = filled.search(query, 3)[0].tolist()
    assert filled.search((query * 1e20).tolist(), 3)[0].tolist() == wanted
    assert filled.search(query.astype(np.float64) * 1e-20, 3)[0].tolist() == wanted
    assert VectorIndex(2).add([[1, 2], [3, 4]]) == range(2)


def test_an_empty_index_and_k_of_nothing(filled):
    ids, scores = VectorIndex(3).search([1, 0, 0])
    assert (ids.shape, scores.shape) == ((0,), (0,))
    assert filled.search(some(2, 8), 0)[0].shape == (2, 0)
    assert filled.search(np.empty((0, 8)), 3)[0].shape == (0, 0)
    assert filled.search(some(1, 8), 3, mask=np.zeros(100, bool))[0].shape == (1, 0)
    assert top_k(np.ones((2, 3)), np.empty((0, 3)), 3)[0].shape == (2, 0)


@pytest.mark.parametrize("mapped", [True, False])
def test_what_was_saved_is_there_again(filled, tmp_path, mapped):
    path = tmp_path / "vectors.npy"
    filled.save(path)
    filled.save(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["vectors.npy", "vectors.npy.codes"]
    again = VectorIndex.open(path, mapped=mapped)
    query = some(1, 8, 4)[0]
    for found, wanted in zip(again.search(query, 7), filled.search(query, 7), strict=True):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.load(path), _core.unit_rows(some(100, 8)))
    assert again.add(query) == range(100, 101)
    assert again.search(query, 1)[0].tolist() == [100]
    assert len(VectorIndex.open(path)) == 100


def test_an_empty_index_can_be_saved(tmp_path):
    VectorIndex(5).save(tmp_path / "none")
    again = VectorIndex.open(tmp_path / "none")
    assert (len(again), again.dimensions) == (0, 5)
    assert again.add(np.ones(5)) == range(1)


def test_a_replaced_file_does_not_disturb_who_has_it_open(filled, tmp_path):
    filled.save(tmp_path / "v")
    opened = VectorIndex.open(tmp_path / "v")
    other = VectorIndex(8)
    other.add(some(3, 8, 9))
    other.save(tmp_path / "v")
    assert opened.search(some(100, 8)[42], 1)[0].tolist() == [42]
    assert len(VectorIndex.open(tmp_path / "v")) == 3


def same_answers(index, other):
    for query in some(5, 8, 12):
        for found, wanted in zip(index.search(query, 7), other.search(query, 7), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_codes_are_used_where_they_lie(filled, tmp_path):
    filled.save(tmp_path / "v")
    mapped = VectorIndex.open(tmp_path / "v")
    assert mapped._state.codes.size_bytes == 0
    same_answers(mapped, filled)
    more = some(2_000, 8, 3)
    assert mapped.add(more) == filled.add(more)
    same_answers(mapped, filled)
    mapped.save(tmp_path / "v")
    assert VectorIndex.open(tmp_path / "v")._state.codes.size_bytes == 0
    same_answers(VectorIndex.open(tmp_path / "v"), filled)


def stale(rows, codes):
    """Leave codes that do not belong to the vectors any more, one way after the other."""
    whole = codes.read_bytes()
    yield codes.unlink()
    for content in (b"", whole[:100], whole[:-1], whole[:200] + b"\xff" + whole[201:], whole[::-1]):
        yield codes.write_bytes(content)
    codes.write_bytes(whole)
    content = rows.read_bytes()
    yield rows.write_bytes(content[:-32] + content[-64:-32])


def test_stale_and_damaged_codes_are_made_anew(filled, tmp_path):
    filled.save(tmp_path / "v")
    for _ in stale(tmp_path / "v", tmp_path / "v.codes"):
        opened = VectorIndex.open(tmp_path / "v")
        assert opened._state.codes.size_bytes > 0
        fresh = VectorIndex(8)
        fresh.add(np.load(tmp_path / "v"))
        same_answers(opened, fresh)


@pytest.mark.parametrize("column", ["residuals", "norms"])
@pytest.mark.parametrize("queries", [1, 5])
def test_codes_that_lose_rows_are_told_by_how_few_are_found(filled, tmp_path, column, queries):
    filled.save(tmp_path / "v")
    whole = _core.ArrayFile(tmp_path / "v.codes")
    (tmp_path / "v.codes").unlink()
    writer = _core.ArrayWriter(tmp_path / "v.codes", whole.stamp)
    for name in whole.names():
        content = whole.column(name).copy()
        if name == column:
            content.view(np.float32)[: len(filled) - 3] = -1
        writer.column(name, {"high": 64, "low": 64, "dimensions": 8, "segments": 8}.get(name, 4), [content])
    writer.finish()
    index = VectorIndex.open(tmp_path / "v")
    with pytest.raises(StoreError, match="not those of the rows: delete their file"):
        index.search(some(queries, 8, 12), 7)


def damage(path):
    whole = path.read_bytes()
    yield b""
    yield whole[:5]
    yield whole[:60]
    yield whole[:-1]
    yield whole + b"\0"
    yield b"SQLite format 3\0" + whole[16:]
    yield whole[:-4] + np.float32(np.nan).tobytes()
    yield whole[:-4] + np.float32(7).tobytes()
    yield whole.replace(b"'<f4'", b"'<f8'")
    yield whole.replace(b"False", b"True ")
    yield whole.replace(b"(100, 8)", b"(10, 80)", 1)


def test_wrong_and_cut_files_are_named(filled, tmp_path):
    path = tmp_path / "v.npy"
    filled.save(path)
    for content in list(damage(path)):
        path.write_bytes(content)
        for mapped in (True, False):
            with pytest.raises(StoreError, match=r"v\.npy"):
                VectorIndex.open(path, mapped=mapped)
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (".ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
    with pytest.raises(StoreError, match=r"VectorIndex[.]save wrote"):
        VectorIndex.open(path)
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(StoreError):
        VectorIndex.open(path)
    with pytest.raises(StoreError, match="missing"):
        VectorIndex.open(tmp_path / "missing")
    with pytest.raises(StoreError):
        VectorIndex.open(tmp_path)


@pytest.mark.parametrize(
    "bad", [np.zeros(8), np.ones(7), np.full(8, np.nan), np.full(8, 1e300), np.ones((1, 1, 8)), ["a"] * 8, 3.0]
)
def test_bad_vectors_are_refused(filled, bad):
    for call in (filled.add, filled.search, lambda v: top_k(v, some(3, 8), 1)):
        with pytest.raises(VectorError):
            call(bad)
    assert len(filled) == 100


def test_bad_arguments_are_refused(filled):
    query = np.ones(8)
    for k, more in ((-1, {}), (1, {"threads": 0}), (1, {"mask": [True]}), (1, {"mask": np.ones((100, 1))})):
        with pytest.raises(QueryError):
            filled.search(query, k, **more)
    with pytest.raises(QueryError):
        top_k(query, some(3, 8), -1)
    with pytest.raises(VectorError):
        top_k(query, some(3, 9), 1)
    for dimensions in (0, -1, 65_537):
        with pytest.raises(VectorError):
            VectorIndex(dimensions)


def test_searches_go_on_while_vectors_are_added():
    index = VectorIndex(16)
    rows = some(3000, 16)
    index.add(rows[:10])
    failures = []

    def search():
        while (n := len(index)) < 3000:
            ids, scores = index.search(rows[n - 1], 3, threads=2)
            if ids[0] != n - 1 or not scores[0] > 1 - 1e-6:
                failures.append((n, ids))

    readers = [threading.Thread(target=search) for _ in range(2)]
    for reader in readers:
        reader.start()
    for row in rows[10:]:
        index.add(row)
    for reader in readers:
        reader.join()
    assert not failures


def test_nothing_is_saved_over_a_vault_in_use_or_a_folder(filled, tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="kept", title="kept")
        (tmp_path / "v").symlink_to(tmp_path / "v.db")
        for name in ("v.db", "v.db-wal", "v"):
            with pytest.raises(StoreError, match=r"database in use|is the log of"):
                filled.save(tmp_path / name)
        assert [hit.id for hit in vault.search("kept")] == ["kept"] and vault.add(title="more")
    (tmp_path / "x.codes").mkdir()
    for name in ("", "x"):
        with pytest.raises(StoreError, match="is a folder"):
            filled.save(tmp_path / name)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("rows", [10, 700, 3_000])
def test_a_file_that_has_no_room_says_why_and_leaves_the_old_one(tmp_path, rows):
    index = VectorIndex(8)
    index.add(np.eye(8))
    index.save(tmp_path / "index.npy")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    index.add(np.random.default_rng(0).normal(size=(rows, 8)))
    with no_larger_than(300), pytest.raises(OSError) as raised:
        index.save(tmp_path / "index.npy")
    assert raised.value.errno == errno.EFBIG
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
