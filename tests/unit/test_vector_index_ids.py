"""An index with ids of one's own: changed, read back, restricted, kept in files, copied."""

import copy
import json
import pickle
import threading

import numpy as np
import pytest

from septet import EntryNotFound, QueryError, StoreError, VectorError, VectorIndex
from septet.index import files

LETTERS = ["a", "b", "c", "d", "e"]


def some(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)


@pytest.fixture
def lettered():
    index = VectorIndex(5, metric="ip")
    assert index.add(np.eye(5), LETTERS) == LETTERS
    return index


def test_vectors_are_found_by_ids_of_ones_own(lettered):
    ids, scores = lettered.search([0, 3, 2, 1, 0], 3)
    assert (ids.tolist(), ids.dtype, scores.tolist()) == (["b", "c", "d"], object, [3, 2, 1])
    assert list(lettered) == lettered.ids.tolist() == LETTERS
    assert "c" in lettered and "z" not in lettered and 2 not in lettered and None not in lettered
    numbered = VectorIndex(5)
    assert numbered.add(np.eye(5), np.array([7, -3, 2**63 - 1, 0, 5])) == [7, -3, 2**63 - 1, 0, 5]
    ids, _ = numbered.search(np.eye(5), 1)
    assert (ids[:, 0].tolist(), ids.dtype) == ([7, -3, 2**63 - 1, 0, 5], np.int64)
    assert -3 in numbered and np.int64(7) in numbered and True not in numbered and "7" not in numbered


def test_automatic_numbers_go_on_behind_the_largest():
    index = VectorIndex(2)
    assert index.add(np.ones((2, 2))) == range(2)
    assert index.add([1, 2], 40) == [40]
    assert index.add(np.ones((2, 2))) == range(41, 43)
    assert index.remove(42) == 1
    # A number that was given is not given again.
    assert index.add([1, 2]) == range(43, 44)
    assert list(index) == [0, 1, 40, 41, 43]
    index.add([1, 1], 2**63 - 1)
    with pytest.raises(VectorError, match="pass ids"):
        index.add([1, 1])


def test_vectors_are_read_back_as_they_are_kept():
    rows = some(6, 3) * 5
    for metric in ("ip", "l2"):
        index = VectorIndex(3, metric=metric)
        index.add(rows, list("uvwxyz"))
        np.testing.assert_array_equal(index.get(["z", "u", "z"]), rows[[5, 0, 5]])
        np.testing.assert_array_equal(index["w"], rows[2])
    cosine = VectorIndex(3)
    cosine.add(rows)
    np.testing.assert_allclose(cosine[4], rows[4] / np.linalg.norm(rows[4]), rtol=1e-6)
    assert cosine.get([]).shape == (0, 3)
    cosine.get([0])[:] = 9
    assert cosine[0].max() <= 1


def test_what_is_not_there_is_an_error_that_names_it(lettered):
    for call in (lambda: lettered["z"], lambda: lettered.get(["a", "z"]), lambda: lettered.remove("z", strict=True)):
        with pytest.raises(EntryNotFound, match="'z'"):
            call()
    with pytest.raises(KeyError):
        lettered[7]
    with pytest.raises(EntryNotFound, match="and others"):
        lettered.get(list("stuvw"))
    with pytest.raises(EntryNotFound):
        lettered.remove(["a", "z"], strict=True)
    assert len(lettered) == 5 and lettered.remove(["a", "z", "a"]) == 1 and len(lettered) == 4


def test_replaced_vectors_are_the_latest(lettered):
    assert lettered.upsert([[9, 0, 0, 0, 0], [0, 0, 0, 0, 9]], ["b", "new"]) == 1
    assert list(lettered) == ["a", "c", "d", "e", "b", "new"]
    assert lettered["b"].tolist() == [9, 0, 0, 0, 0]
    ids, scores = lettered.search([1, 0, 0, 0, 0], 3)
    assert (ids.tolist(), scores.tolist()) == (["b", "a", "c"], [9, 1, 0])


def test_equal_scores_are_in_the_order_in_which_vectors_came():
    index = VectorIndex(2, metric="l2")
    index.add(np.ones((5, 2)), [5, 3, 4, 1, 2])
    index.upsert([1, 1], 3)
    ids, scores = index.search([1, 1], 9)
    assert (ids.tolist(), scores.tolist()) == ([5, 4, 1, 2, 3], [0] * 5)


def test_a_search_is_restricted_to_ids_and_by_a_mask(lettered):
    query = [5, 4, 3, 2, 1]
    assert lettered.search(query, 2, ids=["e", "c", "nobody", "c"])[0].tolist() == ["c", "e"]
    assert lettered.search(query, ids=[])[0].tolist() == []
    assert lettered.search(query, ids="d")[0].tolist() == ["d"]
    lettered.remove("a")
    # A mask has the order of the ids that are there.
    mask = lettered.ids != "c"
    assert mask.tolist() == [True, False, True, True]
    assert lettered.search(query, mask=mask)[0].tolist() == ["b", "d", "e"]
    assert lettered.search(query, mask=mask, ids=["a", "c", "e"])[0].tolist() == ["e"]
    ids, _ = lettered.search([query, query[::-1]], 2, ids=LETTERS)
    assert ids.tolist() == [["b", "c"], ["e", "d"]]
    with pytest.raises(QueryError):
        lettered.search(query, mask=[True] * 5)


def test_a_radius_takes_all_within_it():
    index = VectorIndex(1, metric="l2")
    index.add(np.arange(50).reshape(-1, 1), [f"at {i}" for i in range(50)])
    ids, scores = index.search([10.2], radius=4)
    assert ids.tolist() == ["at 10", "at 11", "at 9", "at 12"]
    np.testing.assert_allclose(scores, [0.04, 0.64, 1.44, 3.24], rtol=1e-5)
    # The boundary counts.
    assert index.search([10], radius=4)[0].tolist() == ["at 10", "at 9", "at 11", "at 8", "at 12"]
    assert index.search([10], 3, radius=4)[0].tolist() == ["at 10", "at 9", "at 11"]
    assert index.search([100], radius=4)[0].tolist() == []
    several = index.search([[0], [100], [49]], radius=1)
    assert [ids.tolist() for ids, _ in several] == [["at 0", "at 1"], [], ["at 49", "at 48"]]
    cosine = VectorIndex(2)
    cosine.add([[1, 0], [1, 1], [0, 1], [-1, 0]])
    assert cosine.search([1, 0], radius=0.5)[0].tolist() == [0, 1]
    assert cosine.search([1, 0], radius=-1)[0].tolist() == [0, 1, 2, 3]
    for radius in (float("nan"), float("inf"), "1"):
        with pytest.raises(QueryError):
            cosine.search([1, 0], radius=radius)


def test_vectors_of_half_and_double_precision_are_taken():
    rows = some(40, 8).astype(np.float16)
    for metric in ("cosine", "ip", "l2"):
        index, twin = VectorIndex(8, metric=metric), VectorIndex(8, metric=metric)
        index.add(rows)
        twin.add(rows.astype(np.float64))
        for found, wanted in zip(index.search(rows[3], 5), twin.search(rows[3].tolist(), 5), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_vectors_of_length_zero_are_refused_for_cosines_only():
    for metric in ("ip", "l2"):
        index = VectorIndex(3, metric=metric)
        index.add([[0, 0, 0], [1, 0, 0]], ["zero", "one"])
        assert index.search([0, 0, 0], 1)[0].tolist() == ["zero"]
        for bad in ([np.nan, 0, 0], [1e300, 0, 0], [np.inf, 0, 0]):
            for call in (index.add, index.search):
                with pytest.raises(VectorError):
                    call(bad)
    with pytest.raises(VectorError, match="length 0"):
        VectorIndex(3).add([0, 0, 0])


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "x"], "'a', in the index already: use upsert"),
        (["x"], "1 ids for 2 vectors"),
        (["x", "x"], "duplicate id 'x'"),
        ([1, 2], "are texts: got 1"),
        (["x", 1], "numbers and texts"),
        ([True, False], r"ids\[0\] is True"),
        ([1.5, 2], r"ids\[0\] is 1.5"),
        ([2**63, 1], "whole numbers of 64 bits"),
        (["x", "\ud800"], "UTF-8"),
        (np.eye(2), "one dimension"),
        (None, "pass ids"),
    ],
)
def test_ids_that_do_not_fit_are_refused_and_nothing_is_added(lettered, ids, message):
    with pytest.raises(VectorError, match=message):
        lettered.add(np.ones((2, 5)), ids)
    assert list(lettered) == LETTERS
    if ids is not None and message[:3] != "'a'":
        with pytest.raises(VectorError, match=message):
            lettered.upsert(np.ones((2, 5)), ids)
    assert lettered.search(np.ones(5), 9)[0].tolist() == LETTERS


def test_an_unknown_metric_is_refused():
    for metric in ("dot", None, 3):
        with pytest.raises(VectorError, match="metric is"):
            VectorIndex(3, metric=metric)


@pytest.mark.parametrize("kept", [0, 1, 900, 1999])
@pytest.mark.parametrize("own", [False, True])
def test_memory_is_given_back_when_more_than_half_is_gone(kept, own):
    rows = some(2_500, 6)
    index = VectorIndex(6, metric="ip")
    index.add(rows, [f"v{i}" for i in range(2_500)] if own else None)
    ids = list(index)
    assert index.remove(ids[kept:2_400]) == 2_400 - kept
    left = ids[:kept] + ids[2_400:]
    assert list(index) == left and len(index) == len(left)
    assert (index._state.n == len(left)) == (kept < 1_000)
    twin = VectorIndex(6, metric="ip")
    twin.add(np.concatenate([rows[:kept], rows[2_400:]]), left)
    for found, wanted in zip(index.search(rows[:3], 20), twin.search(rows[:3], 20), strict=True):
        np.testing.assert_array_equal(found, wanted)
    if not own:
        assert index.add(rows[0]) == range(2_500, 2_501)


def test_an_index_can_be_emptied_and_filled_again(lettered):
    assert lettered.remove(lettered.ids) == 5
    assert (len(lettered), list(lettered), lettered.search(np.ones(5))[0].tolist()) == (0, [], [])
    lettered.add(np.eye(5)[:2], ["b", "q"])
    assert lettered.search([1, 2, 0, 0, 0])[0].tolist() == ["q", "b"]


def changed(metric, own):
    """An index that was added to, replaced in and removed from."""
    index = VectorIndex(4, metric=metric)
    rows = some(300, 4)
    index.add(rows, [f"é{i}" for i in range(300)] if own else None)
    ids = list(index)
    index.remove(ids[10:60])
    if own:
        index.upsert(rows[:7] * 2, ids[:7])
    return index


def same(index, other):
    assert (list(index), index.metric) == (list(other), other.metric)
    np.testing.assert_array_equal(index.get(index.ids), other.get(other.ids))
    for query in some(4, 4, 9):
        for found, wanted in zip(index.search(query, 12), other.search(query, 12), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
@pytest.mark.parametrize("mapped", [True, False])
def test_ids_and_metric_are_kept_in_the_file(tmp_path, metric, own, mapped):
    index = changed(metric, own)
    index.save(tmp_path / "v.npy")
    again = VectorIndex.open(tmp_path / "v.npy", mapped=mapped)
    assert again._state.codes.size_bytes == 0
    same(again, index)
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), index.get(index.ids))
    for one in (index, again):
        gone = list(one)[::2]
        assert one.remove(gone) == len(gone)
        one.add(np.ones((2, 4)), ["new", "newer"] if own else None)
    same(again, index)
    again.save(tmp_path / "v.npy")
    (tmp_path / "v.npy.codes").unlink()
    same(VectorIndex.open(tmp_path / "v.npy", mapped=mapped), index)


def test_a_mapped_index_of_which_most_is_removed_goes_on_in_memory(tmp_path):
    rows = some(3_000, 4)
    index = VectorIndex(4, metric="l2")
    index.add(rows)
    index.save(tmp_path / "v")
    mapped = VectorIndex.open(tmp_path / "v")
    for one in (index, mapped):
        one.remove(range(100, 2_000))
    assert mapped._state.base is None
    same(mapped, index)


def test_a_plain_index_is_a_plain_file_as_before(tmp_path):
    index = VectorIndex(4)
    index.add(some(10, 4))
    index.save(tmp_path / "v.npy")
    assert (tmp_path / "v.npy").stat().st_size == 128 + 10 * 4 * 4


def with_tail(path, content, description):
    whole = path.read_bytes()
    ids, described, _, _ = files.END.unpack(whole[-files.END.size :])
    rows = whole[: -files.END.size - ids - described]
    checksum = files.zlib.crc32(description, files.zlib.crc32(content))
    end = files.END.pack(len(content), len(description), checksum, files.MARK)
    return rows + content + description + end


def test_a_damaged_tail_is_named(tmp_path):
    index = VectorIndex(4, metric="ip")
    index.add(some(3, 4), ["a", "b", "c"])
    path = tmp_path / "v.npy"
    index.save(path)
    whole = path.read_bytes()
    good = {"format": 1, "metric": "ip", "ids": "texts", "fresh": 0}
    contents = [whole[:-1], whole[:-30] + b"x" + whole[-29:], whole[: 128 + 48] + b"x" + whole[128 + 49 :]]
    for content, change in [
        (b'["a", "b"]', {}),
        (b'["a", "b", "a"]', {}),
        (b'["a", "b", 3]', {}),
        (b"[", {}),
        (b'["a", "b", "c"]', {"metric": "l3"}),
        (b'["a", "b", "c"]', {"ids": "numbers"}),
        (b'["a", "b", "c"]', {"fresh": -1}),
        (b'["a", "b", "c"]', {"fresh": "0"}),
        (b'["a", "b", "c"]', {"format": 2}),
    ]:
        contents.append(with_tail(path, content, json.dumps(good | change).encode()))
    contents.append(with_tail(path, b"", b"[]"))
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"v\.npy"):
            VectorIndex.open(path)
    path.write_bytes(with_tail(path, b'["a", "b", "z"]', json.dumps(good).encode()))
    assert list(VectorIndex.open(path)) == ["a", "b", "z"]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
def test_copies_are_the_same_and_independent(tmp_path, metric, own):
    index = changed(metric, own)
    index.save(tmp_path / "v")
    copies = [copy.copy(index), copy.deepcopy(index), pickle.loads(pickle.dumps(index))]
    copies.append(pickle.loads(pickle.dumps(VectorIndex.open(tmp_path / "v"))))
    before = list(index)
    for one in copies:
        same(one, index)
        one.remove(before[0])
        one.add(np.ones(4), ["more"] if own else None)
        assert list(one)[-1] == ("more" if own else 300)
    assert list(index) == before
    empty = copy.copy(VectorIndex(3, metric=metric))
    assert (len(empty), empty.dimensions, empty.metric) == (0, 3, metric)


def test_threads_search_while_another_one_adds_and_removes():
    rows = some(1_500, 8)
    index = VectorIndex(8, metric="ip")
    index.add(rows[:1], ["v0"])
    failures, done = [], threading.Event()

    def search():
        while not done.is_set():
            ids = index.search(rows[5], 20)[0].tolist()
            if len(set(ids)) != len(ids):
                failures.append(ids)
            asked = [f"v{i}" for i in range(0, 1_500, 7)]
            ids, scores = index.search(rows[5], 20, ids=asked)
            for one, score in zip(ids.tolist(), scores, strict=True):
                row = int(one[1:])
                if row % 7 or abs(score - rows[row].astype(float) @ rows[5].astype(float)) > 1e-9:
                    failures.append((one, score))
            if "v0" not in index or index["v0"].tolist() != rows[0].tolist():
                failures.append("v0")

    readers = [threading.Thread(target=search) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(1, 1_500, 3):
        index.add(rows[i : i + 3], [f"v{j}" for j in range(i, min(i + 3, 1_500))])
        index.upsert(rows[i // 2], f"v{i // 2}")
        index.upsert(rows[0], "v0")
        index.remove(f"v{i}")
    done.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert len(index) == 1 + 1_499 - 500 + len([i for i in range(1, 1_500, 3) if i // 2 and (i // 2) % 3 == 1])


@pytest.mark.parametrize("call", ["get", "remove", "search"])
def test_more_ids_than_fit_into_memory_are_refused(lettered, call):
    # Takes no memory itself: it is one number, again and again.
    ids = np.broadcast_to(np.int64(1), 2**40)
    with pytest.raises((VectorError, QueryError), match="more than 100,000,000"):
        lettered.search(np.ones(5), ids=ids) if call == "search" else getattr(lettered, call)(ids)
