"""Top-k from 8-bit codes against the float64 scan, at every SIMD level of the machine."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from septet import _core

levels = pytest.mark.parametrize("level", _core.kernels())
fronts = (None, True, False)

components = st.one_of(
    st.integers(-2, 2).map(float),
    st.floats(-1, 1, width=32),
    st.integers(0, 3).map(lambda i: 1 + i * 2.0**-23),
    st.sampled_from([3e38, -3e38, 1e20, -1e20, 1e-26, 1e-38, 1e-45]).map(lambda x: float(np.float32(x))),
)


def matrices(n, d):
    return hnp.arrays(np.float32, (n, d), elements=components, fill=st.nothing())


def slow_dots(query, rows):
    """Sum exact products in eight lanes, component i in lane i mod 8: the documented order."""
    n, d = rows.shape
    products = np.zeros((n, -(-d // 8) * 8))
    products[:, :d] = rows.astype(np.float64) * query.astype(np.float64)
    lanes = np.zeros((n, 8))
    for block in range(0, products.shape[1], 8):
        lanes += products[:, block : block + 8]
    even = (lanes[:, 0] + lanes[:, 4]) + (lanes[:, 2] + lanes[:, 6])
    odd = (lanes[:, 1] + lanes[:, 5]) + (lanes[:, 3] + lanes[:, 7])
    return even + odd


def slow_top_k(query, rows, k, mask=None):
    scores = slow_dots(query, rows)
    best = np.argsort(-scores, kind="stable")
    if mask is not None:
        best = best[mask[best]]
    return best[:k], scores[best[:k]]


def same(found, wanted):
    assert (found[0].dtype, found[1].dtype) == (np.int64, np.float64)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])


def coded(rows):
    codes = _core.Codes(rows.shape[1])
    assert codes.append(rows) == 0
    assert len(codes) == len(rows)
    return codes


@levels
@given(st.data())
def test_any_numbers(level, data):
    n, d = data.draw(st.integers(0, 40)), data.draw(st.integers(0, 20))
    rows, query = data.draw(matrices(n, d)), data.draw(matrices(1, d))[0]
    mask = data.draw(st.one_of(st.none(), hnp.arrays(np.bool_, n)))
    k = data.draw(st.integers(0, 50))
    threads = data.draw(st.sampled_from([None, 1, 3]))
    front = data.draw(st.sampled_from(fronts))
    found = coded(rows).top_k(query, rows, k, mask, kernel=level, threads=threads, front=front)
    same(found, slow_top_k(query, rows, k, mask))


def shaped(rng, shape, n, d):
    """A corpus that some bound would find hard."""
    rows = rng.standard_normal((n, d), dtype=np.float32)
    if shape == "clusters":
        rows = rows[rng.integers(0, 5, n)] + 0.05 * rows
    elif shape == "duplicates":
        rows = rows[rng.integers(0, 1 + n // 3, n)]
    elif shape == "equal":
        rows[:] = rows[0]
    elif shape == "one-hot":
        rows = np.zeros((n, d), np.float32)
        rows[np.arange(n), rng.integers(0, d, n)] = rng.choice([-1, 1, 0.5], n)
    elif shape == "grid":
        rows = rng.integers(-2, 3, (n, d)).astype(np.float32)
    elif shape == "lengths":
        rows *= np.float32(10) ** rng.integers(-45, 38, (n, 1)).astype(np.float32)
        rows[rng.random(n) < 0.2] = 0
    elif shape == "last bits":
        rows = np.tile(rows[:1], (n, 1))
        rows[np.arange(n), rng.integers(0, d, n)] *= np.float32(1 + 2.0**-23)
    elif shape == "one large":
        rows[:, 0] = 1e4
    elif shape == "offset":
        rows = rng.standard_normal(d, dtype=np.float32) * 3 + 0.1 * rows
    elif shape == "denormals":
        rows *= np.float32(10) ** rng.integers(-45, -36, (n, d)).astype(np.float32)
    return np.nan_to_num(rows, nan=0, posinf=3e38, neginf=-3e38)


SHAPES = ["gaussian", "clusters", "duplicates", "equal", "one-hot", "grid", "lengths", "last bits", "one large"]
SHAPES += ["offset", "denormals"]


@levels
@pytest.mark.parametrize("shape", SHAPES)
def test_corpora_of_every_shape(level, shape):
    rng = np.random.default_rng(SHAPES.index(shape))
    with np.errstate(over="ignore"):
        for case in range(75):
            n, d = int(rng.integers(1, 400)), int(rng.choice([1, 2, 7, 31, 63, 64, 65, 100, 128, 200]))
            rows = shaped(rng, shape, n, d)
            query = rows[rng.integers(n)] if case % 3 else rng.standard_normal(d, dtype=np.float32)
            query = (query * np.float32(10.0 ** int(rng.integers(-20, 3)))).astype(np.float32)
            query = np.nan_to_num(query, posinf=3e38, neginf=-3e38)
            mask = None if case % 2 else rng.random(n) < rng.choice([0, 0.01, 0.1, 0.5, 0.9, 0.99, 1])
            k = int(rng.choice([1, 2, 10, 50, n, n + 5]))
            codes = coded(rows)
            wanted = slow_top_k(query, rows, k, mask)
            for front in fronts:
                same(codes.top_k(query, rows, k, mask, kernel=level, threads=1 + case % 3, front=front), wanted)
            same(_core.top_k(query, rows, k, mask, kernel=level), wanted)


@levels
@pytest.mark.parametrize("d", [*range(1, 20), 48, 63, 64, 65, 127, 129, 384, 1000, 1536, 2047, 2048])
def test_every_width(level, d):
    rng = np.random.default_rng(d)
    rows = _core.unit_rows(rng.standard_normal((700, d), dtype=np.float32))
    rows[1::5] = rows[0]
    codes = coded(rows)
    assert codes.size_bytes >= 700 * d
    for query in rows[:2]:
        for front in fronts:
            same(codes.top_k(query, rows, 12, kernel=level, front=front), slow_top_k(query, rows, 12))


@levels
@pytest.mark.parametrize("front", fronts)
def test_masks_that_are_dense_here_and_thin_there(level, front):
    rng = np.random.default_rng(3)
    for case in range(20):
        n, k = int(rng.integers(1, 2_000)), int(rng.integers(1, 40))
        rows = _core.unit_rows(shaped(rng, SHAPES[case % 3], n, 40))
        # The share of allowed rows changes at places that fit no block.
        share = np.repeat(rng.choice([0, 0.02, 0.4, 0.7, 0.98, 1], n // 50 + 1), 50 + case)[:n]
        mask, queries = rng.random(n) < share, rows[rng.integers(0, n, 6)]
        codes = _core.Codes(40)
        # Segments, whose rows begin anywhere in a word of the mask.
        for part in np.array_split(rows, 3):
            codes.append(part)
        for threads in (1, 2):
            batch = codes.top_k_batch(queries, rows, k, mask, kernel=level, threads=threads, front=front)
            for query, *found in zip(queries, *batch):
                wanted = slow_top_k(query, rows, k, mask)
                same(found, wanted)
                same(codes.top_k(query, rows, k, mask, kernel=level, threads=threads, front=front), wanted)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_over_more_equal_rows_than_can_be_held_finds_the_first_of_them(threads):
    rng = np.random.default_rng(8)
    rows = np.repeat(rng.standard_normal((1, 6), dtype=np.float32), 20_000, axis=0)
    rows[[50, 19_000]] *= 2
    queries = rng.standard_normal((300, 6), dtype=np.float32)
    ids, scores = coded(rows).top_k_batch(queries, rows, 5, threads=threads)
    assert len(ids) == len(scores) == 300
    for query, *found in zip(queries[::4], ids[::4], scores[::4], strict=True):
        same(found, slow_top_k(query, rows, 5))


def test_many_rows_on_any_number_of_threads():
    rng = np.random.default_rng(3)
    rows = _core.unit_rows(rng.standard_normal((60_000, 64), dtype=np.float32))
    rows[rng.integers(0, 60_000, 9_000)] = rows[7]
    codes = coded(rows)
    for query in rows[5:9]:
        for mask in (None, rng.random(60_000) < 0.01, rng.random(60_000) < 0.5):
            for k in (1, 100, 20_000):
                wanted = _core.top_k(query, rows, k, mask)
                for threads, front in ((1, None), (2, None), (8, None), (2, True), (2, False)):
                    same(codes.top_k(query, rows, k, mask, threads=threads, front=front), wanted)


def test_rows_added_in_pieces_around_a_moving_centre():
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((9_000, 40), dtype=np.float32) * np.float32(0.3)
    rows += np.cumsum(rng.standard_normal((9_000, 40)) * 0.05, axis=0).astype(np.float32)
    codes, first = _core.Codes(40), 0
    while first < len(rows):
        last = first + int(rng.choice([1, 2, 90, 300, 1_500]))
        assert codes.append(rows[first:last]) == first
        first = min(last, len(rows))
    for query in rng.standard_normal((20, 40), dtype=np.float32):
        for front in fronts:
            same(codes.top_k(query, rows, 10, front=front), _core.top_k(query, rows, 10))


@levels
def test_codes_in_a_file(level, tmp_path):
    rng = np.random.default_rng(7)
    rows = shaped(rng, "clusters", 3_000, 90)
    codes, half = coded(rows[:2_000]), rows[:1_700]
    codes.save(tmp_path / "codes", 1_700, b"of rows")
    opened = _core.Codes.open(tmp_path / "codes", b"of rows")
    assert (len(opened), opened.dimensions, opened.size_bytes) == (1_700, 90, 0)
    for query in rows[:3]:
        for front in fronts:
            same(opened.top_k(query, half, 20, kernel=level, front=front), slow_top_k(query, half, 20))
    assert opened.append(rows[1_700:]) == 1_700
    for query, *found in zip(rows[:9], *opened.top_k_batch(rows[:9], rows, 20, kernel=level), strict=True):
        same(found, slow_top_k(query, rows, 20))


def test_files_that_hold_no_codes(tmp_path):
    path = tmp_path / "codes"
    coded(np.eye(5, dtype=np.float32)).save(path, 5, b"1")
    with pytest.raises(FileExistsError):
        coded(np.eye(5, dtype=np.float32)).save(path, 5, b"1")
    with pytest.raises(FileNotFoundError):
        _core.Codes.open(tmp_path / "none", b"1")
    with pytest.raises(ValueError, match="stamp"):
        _core.Codes.open(path, b"2")
    with pytest.raises(ValueError, match="rows"):
        coded(np.eye(5, dtype=np.float32)).save(tmp_path / "more", 6, b"1")
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at])
        with pytest.raises(ValueError, match="damaged"):
            _core.Codes.open(path, b"1")
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :])
        try:
            _core.Codes.open(path, b"1").top_k(np.ones(5, np.float32), np.eye(5, dtype=np.float32), 3)
        except ValueError as error:
            assert "damaged" in str(error) or "another format" in str(error)


def test_searches_while_rows_are_appended():
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((6_000, 24), dtype=np.float32)
    codes = coded(rows[:50])
    wrong = []

    def search():
        while (n := len(codes)) < len(rows):
            query = rows[n // 2]
            found, wanted = codes.top_k(query, rows[:n], 9, threads=2), _core.top_k(query, rows[:n], 9)
            if not all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True)):
                wrong.append(n)

    readers = [threading.Thread(target=search) for _ in range(3)]
    for reader in readers:
        reader.start()
    first = 50
    while first < len(rows):
        last = first + int(rng.integers(1, 40))
        assert codes.append(rows[first:last]) == first
        first = min(last, len(rows))
    for reader in readers:
        reader.join()
    assert not wrong
    assert len(codes) == len(rows)


def test_arguments_that_do_not_fit():
    codes = _core.Codes(2)
    two = np.ones((3, 2), np.float32)
    with pytest.raises(ValueError, match="row 1 is NaN"):
        codes.append(np.array([[1, 1], [1, np.inf]], np.float32))
    assert (len(codes), codes.dimensions) == (0, 2)
    codes.append(two)
    for bad in (
        lambda: codes.append(np.ones((1, 3), np.float32)),
        lambda: _core.Codes(-1),
        lambda: _core.Codes(65_537),
    ):
        with pytest.raises(ValueError, match="expected"):
            bad()
    query = two[0]
    calls = [
        ((query, np.ones((4, 2), np.float32), 1), {}),
        ((query, np.ones((3, 1), np.float32), 1), {}),
        ((query[:1], two, 1), {}),
        ((query * np.nan, two, 1), {}),
        ((query, two, -1), {}),
        ((query, two, 1, np.ones(2, bool)), {}),
        ((query, two, 1), {"threads": 0}),
        ((query, two, 1), {"kernel": "mmx"}),
    ]
    for arguments, more in calls:
        with pytest.raises(ValueError):
            codes.top_k(*arguments, **more)
        if arguments[0].shape == (2,):
            with pytest.raises(ValueError):
                codes.top_k_batch(arguments[0][None], *arguments[1:], **more)
    with pytest.raises(TypeError):
        codes.top_k(query.astype(float), two, 1)
