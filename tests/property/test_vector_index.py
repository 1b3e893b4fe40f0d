"""An index against a list of rows: any changes, any search, the three metrics, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from examples import heavy
from septet import VectorIndex, _core, top_k

D = 5

components = st.one_of(
    st.integers(-2, 2).map(float),
    st.floats(-1, 1, width=32),
    st.sampled_from([3e38, -3e38, 1e20, 2e19, -1e18, 1e-20, 1e-38, 1e-45]).map(lambda x: float(np.float32(x))),
)


def vectors(n):
    return hnp.arrays(np.float32, (n, D), elements=components, fill=st.nothing())


def in_lanes(values):
    """Sum eight lanes, component i in lane i mod 8: the documented order."""
    lanes = np.zeros((len(values), 8))
    lanes[:, : values.shape[1]] = values
    even = (lanes[:, 0] + lanes[:, 4]) + (lanes[:, 2] + lanes[:, 6])
    return even + ((lanes[:, 1] + lanes[:, 5]) + (lanes[:, 3] + lanes[:, 7]))


class Twin:
    """Ids and rows in the order in which they came, searched by sorting all of them."""

    def __init__(self, metric):
        self.metric, self.rows = metric, {}

    def put(self, ids, rows):
        for one, row in zip(ids, rows, strict=True):
            self.rows.pop(one, None)
            self.rows[one] = row

    def search(self, query, k, allowed, radius=None):
        ids = [one for one in self.rows if one in allowed]
        rows = np.array([self.rows[one] for one in ids], np.float64).reshape(-1, D)
        query = query.astype(np.float64)
        scores = in_lanes((rows - query) ** 2 if self.metric == "l2" else rows * query)
        order = np.argsort(scores if self.metric == "l2" else -scores, kind="stable")
        if radius is not None:
            order = [i for i in order if (scores[i] <= radius if self.metric == "l2" else scores[i] >= radius)]
        return [ids[i] for i in order[:k]], [float(scores[i]) for i in order[:k]]


def kept(rows, metric):
    return _core.unit_rows(rows) if metric == "cosine" else rows


def plain(found):
    return found[0].tolist(), found[1].tolist()


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
@pytest.mark.parametrize("own", [False, True])
@heavy()
@given(data=st.data())
def test_whatever_is_done_the_answer_is_that_of_a_list(metric, own, data):
    index, twin, known = VectorIndex(D, metric=metric), Twin(metric), []

    def draw_rows(n):
        rows = data.draw(vectors(n))
        if metric == "cosine":
            rows[~rows.any(axis=1)] = 1
        return rows

    for step in range(data.draw(st.integers(1, 5))):
        act = data.draw(st.sampled_from(["add", "add", "remove", "upsert"]))
        if act == "add":
            rows = draw_rows(data.draw(st.integers(0, 12)))
            new = [f"{step}.{i}" for i in range(len(rows))] if own else None
            ids = list(index.add(rows, new))
            twin.put(ids, kept(rows, metric))
            known += ids
        elif act == "remove":
            gone = data.draw(st.lists(st.sampled_from(known), max_size=8) if known else st.just([]))
            assert index.remove(gone) == len({one for one in gone if twin.rows.pop(one, None) is not None})
        elif known:
            ids = data.draw(st.lists(st.sampled_from(known), unique=True, max_size=6))
            rows = draw_rows(len(ids))
            assert index.upsert(rows, ids) == sum(one in twin.rows for one in ids)
            twin.put(ids, kept(rows, metric))
    there = list(twin.rows)
    assert list(index) == there and len(index) == len(there)
    assert [one in index for one in known] == [one in twin.rows for one in known]
    np.testing.assert_array_equal(index.get(there), np.array([twin.rows[one] for one in there]).reshape(-1, D))
    queries = draw_rows(2)
    mask = data.draw(st.one_of(st.none(), hnp.arrays(np.bool_, len(there))))
    ids = data.draw(st.one_of(st.none(), st.lists(st.sampled_from(known), max_size=9) if known else st.just([])))
    allowed = {one for i, one in enumerate(there) if (mask is None or mask[i]) and (ids is None or one in ids)}
    k = data.draw(st.integers(0, len(there) + 3))
    asked = kept(queries, metric)
    wanted = [twin.search(query, k, allowed) for query in asked]
    assert [plain(index.search(query, k, ids=ids, mask=mask)) for query in queries] == wanted
    found = index.search(queries, k, ids=ids, mask=mask)
    assert [plain(pair) for pair in zip(*found, strict=True)] == wanted
    every = [score for _, scores in wanted for score in scores]
    radius = data.draw(st.one_of(st.floats(-3, 3), st.sampled_from(every) if every else st.just(0.5)))
    within = [twin.search(query, len(there), allowed, radius) for query in asked]
    assert [plain(pair) for pair in index.search(queries, ids=ids, mask=mask, radius=radius)] == within
    assert plain(index.search(queries[0], k, ids=ids, mask=mask, radius=radius)) == twin.search(
        asked[0], k, allowed, radius
    )


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
@given(data=st.data())
def test_the_rows_of_a_matrix_are_found_alike(metric, data):
    rows, queries = data.draw(vectors(data.draw(st.integers(0, 30)))), data.draw(vectors(2))
    if metric == "cosine":
        rows[~rows.any(axis=1)] = 1
        queries[~queries.any(axis=1)] = 1
    mask = data.draw(st.one_of(st.none(), hnp.arrays(np.bool_, len(rows))))
    k = data.draw(st.integers(0, 33))
    twin = Twin(metric)
    twin.put(range(len(rows)), kept(rows, metric))
    allowed = {i for i in range(len(rows)) if mask is None or mask[i]}
    wanted = [twin.search(query, k, allowed) for query in kept(queries, metric)]
    assert [plain(top_k(query, rows, k, metric=metric, mask=mask)) for query in queries] == wanted
    found = top_k(queries, rows, k, metric=metric, mask=mask)
    assert [plain(pair) for pair in zip(*found, strict=True)] == wanted
