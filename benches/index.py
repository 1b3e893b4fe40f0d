"""`VectorIndex` with ids by inner product and by distance, side by side with faiss.

Rows lie around 300 centres and have lengths of many sizes; a tenth of them was removed. Answers are compared before
anything counts: faiss computes in float32, so its scores may differ in the last digits. One thread on one core.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from race import Competitor, Run, cores, medians, race
from septet import VectorIndex
from septet.index import Metric
from table import Row, faster

TITLE = "Index"
ABOUT = "The best 10 of vectors of all lengths, with ids as texts, a tenth of them removed; one thread, 384 dimensions."
D, K, CALLS, ROUNDS = 384, 10, 32, 15
METRICS: tuple[Metric, ...] = ("ip", "l2")


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(100_000)
    rng = np.random.default_rng(5)
    made = rng.standard_normal((n, D), dtype=np.float32) * np.float32(0.5)
    made += rng.standard_normal((300, D), dtype=np.float32)[rng.integers(0, 300, n)]
    made *= rng.lognormal(sigma=0.3, size=(n, 1)).astype(np.float32)
    left = np.arange(n) % 10 != 3
    asked = made[rng.integers(0, n, CALLS * 64)] + rng.standard_normal((CALLS * 64, D), dtype=np.float32) / 40
    with cores(1):
        for metric in METRICS:
            for q in (1, 64):
                yield compare(metric, made, left, asked.astype(np.float32).reshape(-1, q, D), run.rounds(ROUNDS))


def compare(metric: Metric, made: np.ndarray, left: np.ndarray, asked: np.ndarray, rounds: int) -> Row:
    lib: Any = importlib.import_module("faiss")
    lib.omp_set_num_threads(1)
    flat = (lib.IndexFlatIP if metric == "ip" else lib.IndexFlatL2)(D)
    flat.add(made[left])
    ids = np.array([f"v{i}" for i in range(len(made))], dtype=object)
    index = VectorIndex(D, metric=metric)
    index.add(made, ids)
    index.remove(ids[~left])
    found: dict[str, np.ndarray] = {}

    def check(_: int, name: str, answer: tuple[np.ndarray, np.ndarray]) -> None:
        found[name] = answer[1]
        if len(found) == 2:
            np.testing.assert_allclose(found["septet"], found["faiss"], rtol=1e-4, atol=1e-2)
            found.clear()

    one = asked.shape[1] == 1
    who = [
        Competitor("septet", lambda i: index.search(asked[i][0] if one else asked[i], K, threads=1)),
        Competitor("faiss", lambda i: tuple(part[0] if one else part for part in flat.search(asked[i], K)[::-1])),
    ]
    middle = medians(race(who, range(CALLS if one else 4), rounds if one else 3, warm=1, check=check))
    what = f"{len(made):,} x {D}, {metric}{'' if one else ', batch of 64'}"
    return faster(what, middle["septet"], middle["faiss"], f"faiss {type(flat).__name__}", 2.0)


if __name__ == "__main__":
    from run import main

    main(["--only", "index"])
