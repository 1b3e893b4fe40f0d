"""A vector index in lists: exact searches stay exact, searches with a recall say what is certain."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from septet import VectorIndex
from septet.errors import QueryError
from septet.index import state
from septet.index.checks import Metric

METRICS: tuple[Metric, ...] = ("cosine", "ip", "l2")


def clustered(n: int, seed: int = 1, d: int = 24) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((40, d))
    return (centres[rng.integers(0, 40, n)] + 0.4 * rng.standard_normal((n, d))).astype(np.float32)


def same(index: VectorIndex, plain: VectorIndex, queries: np.ndarray) -> None:
    for query in queries:
        for one, other in zip(index.search(query, 7), plain.search(query, 7), strict=True):
            assert one.tolist() == other.tolist()
        ids, scores, certain = index.search(query, 7, recall=0.9)
        assert len(ids) == 7 and len(set(ids.tolist())) == 7
        if certain:
            assert scores.tolist() == plain.search(query, 7)[1].tolist()


@pytest.mark.parametrize("metric", METRICS)
def test_exact_searches_stay_exact_through_lists_additions_and_removals(
    metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "LEAST_UNLISTED", 100)
    plain, index = VectorIndex(24, metric=metric), VectorIndex(24, metric=metric)
    queries = clustered(5, seed=9)
    for turn in range(4):
        for each in (plain, index):
            each.add(clustered(700, seed=turn))
            each.remove(list(range(turn * 350, turn * 350 + 200)))
        if turn == 0:
            assert index.optimize() > 3
        assert index._state.codes.unlisted == 0, "lists absorb additions"
        same(index, plain, queries)


def test_a_recall_is_reached_on_average() -> None:
    index = VectorIndex(24)
    index.add(clustered(12_000))
    index.optimize()
    queries = clustered(60, seed=5)
    best, _ = index.search(queries, 10)
    ids, scores, certain = index.search(queries, 10, recall=0.95)
    assert ids.shape == scores.shape == (60, 10) and certain.shape == (60,) and certain.dtype == bool
    hits = [len(set(one) & set(other)) for one, other in zip(ids.tolist(), best.tolist(), strict=True)]
    assert sum(hits) >= 0.93 * 600
    for query in np.flatnonzero(certain):
        assert ids[query].tolist() == best[query].tolist()


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1])
def test_filters_give_k_vectors_whatever_their_share(share: float) -> None:
    index = VectorIndex(24)
    index.add(clustered(12_000))
    index.optimize()
    mask = np.random.default_rng(3).random(12_000) < share
    for query in clustered(10, seed=6):
        ids, scores, _ = index.search(query, 10, recall=0.9, mask=mask)
        assert len(ids) == 10 and mask[ids].all()
        assert scores[0] <= index.search(query, 1, mask=mask)[1][0]


def test_lists_are_saved_and_opened(tmp_path: Path) -> None:
    plain, index = VectorIndex(24), VectorIndex(24)
    for each in (plain, index):
        each.add(clustered(2_000))
    index.optimize()
    queries = clustered(5, seed=9)
    for removed in ([], list(range(50))):
        for each in (plain, index):
            each.remove(removed)
        index.save(tmp_path / "index.npy")
        for mapped in (True, False):
            opened = VectorIndex.open(tmp_path / "index.npy", mapped=mapped)
            assert opened._state.codes.lists > 3
            same(opened, plain, queries)


def test_a_damaged_file_of_codes_means_an_exact_search(tmp_path: Path) -> None:
    index = VectorIndex(24)
    index.add(clustered(2_000))
    index.optimize()
    index.save(tmp_path / "index.npy")
    codes = tmp_path / "index.npy.codes"
    content = bytearray(codes.read_bytes())
    content[len(content) // 2] ^= 1
    codes.write_bytes(content)
    opened = VectorIndex.open(tmp_path / "index.npy")
    assert opened._state.codes.lists == 0
    assert opened.search(clustered(1)[0], 5, recall=0.9).certain


def test_an_index_without_lists_searches_exactly_with_any_recall() -> None:
    index = VectorIndex(24)
    index.add(clustered(500))
    query = clustered(1, seed=4)[0]
    ids, scores, certain = index.search(query, 5, recall=0.5)
    assert certain and ids.tolist() == index.search(query, 5)[0].tolist() and len(scores) == 5
    again = pickle.loads(pickle.dumps(index))
    assert again.search(query, 5, recall=0.5).ids.tolist() == ids.tolist()


def test_no_query_has_no_result() -> None:
    index = VectorIndex(24)
    index.add(clustered(500))
    nothing = index.search(np.empty((0, 24)), 5, recall=0.9)
    assert nothing.ids.shape == nothing.scores.shape == index.search(np.empty((0, 24)), 5)[0].shape
    assert nothing.certain.shape == (0,)


def test_an_empty_index_and_equal_vectors_have_lists_too() -> None:
    index = VectorIndex(3)
    assert index.optimize() == 0
    assert index.search([1.0, 0.0, 0.0], 5, recall=0.9).ids.tolist() == []
    index.add(np.ones((1_000, 3)))
    index.optimize()
    assert index.search([1.0, 1.0, 1.0], 3)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("recall", [0, -1, 1.5, float("nan"), "much"])
def test_a_recall_outside_its_range_is_refused(recall: object) -> None:
    index = VectorIndex(3)
    with pytest.raises(QueryError, match="recall"):
        index.search([1.0, 0.0, 0.0], recall=recall)  # type: ignore[call-overload]
    with pytest.raises(QueryError, match="radius"):
        index.search([1.0, 0.0, 0.0], radius=0.5, recall=0.9)  # type: ignore[call-overload]
