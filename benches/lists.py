"""Vectors in lists, side by side with approximate indexes that others build.

Rows are real embeddings enlarged (each new row lies between a document and its neighbours, with a part of the
difference of two of them), or drawn from clusters of clusters whose components fall off. Questions are real ones or
drawn alike.
Everyone is set to find .99 of the ten best rows of half of the questions, and measured on the other half, one thread.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from race import Competitor, Run, cores, medians, race, timed
from septet import VectorIndex, _core
from table import Row, at_least, at_most, faster, plain
from vectors import embeddings

TITLE = "Lists"
ABOUT = (
    "`VectorIndex.optimize()` and searches with `recall=0.99`, the ten best of 384 components by cosine, one thread.\n"
    "Others are set to the first of their steps that finds .99 of the best rows of other questions; the part\n"
    "that they found of these stands behind the name."
)
K, D, RECALL = 10, 384, 0.99
ROUNDS = 100
NEIGHBOURS = 16
#: Lists that faiss reads, and places that graphs visit, in steps.
PROBES = (4, 8, 16, 32, 64, 128, 256, 512)
VISITS = (16, 32, 64, 128, 256, 512, 1_024)

Answer = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Peer:
    """An index with a knob: ``answer(step)`` returns a search with that setting."""

    name: str
    steps: Sequence[int]
    answer: Callable[[int], Answer]


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(1_000_000 if run.large else 300_000)
    for name, make in (("real, enlarged", enlarged), ("clusters of clusters", drawn)):
        if run.only in name and (data := make(n)) is not None:
            yield from compare(f"{n:,} x {D}, {name}", *data, rounds=run.rounds(ROUNDS))


def compare(what: str, vectors: np.ndarray, questions: np.ndarray, rounds: int) -> Iterator[Row]:
    index = VectorIndex(D)
    index.add(vectors)
    before = index._state.codes.size_bytes
    yield plain(f"{what}: lists built in, two threads", timed(index.optimize)[0] / 1e3, "s")
    yield at_most(f"{what}: memory of the lists, by the codes", index._state.codes.size_bytes / before, 1.15, "x")
    with cores(1):
        least = index.search(questions, K, threads=1)[1][:, -1]
        tune, report = questions[::2], questions[1::2]
        exact = Competitor("exact", lambda at: index.search(report[at], K, threads=1)[0])
        ours = Competitor("lists", lambda at: recalled(index)(report[at]))
        others, recalls = [], {"exact": 1.0, "lists": recall(vectors, report, least[1::2], recalled(index))}
        for peer in peers(vectors):
            enough = (step for step in peer.steps if recall(vectors, tune, least[::2], peer.answer(step)) >= RECALL)
            answer = peer.answer(next(enough, peer.steps[-1]))
            recalls[peer.name] = recall(vectors, report, least[1::2], answer)
            others.append(Competitor(peer.name, lambda at, answer=answer: answer(report[at])))
        times = race([ours, exact, *others], range(len(report)), rounds)
    middle = medians(times)
    mine = middle.pop("lists")
    yield at_least(f"{what}: recall@10", recalls["lists"], RECALL, "", bar=1.0)
    certain = float(np.mean([index.search(question, K, recall=RECALL).certain for question in report]))
    yield plain(f"{what}: answers that are certain", 100 * certain, "%")
    yield at_most(f"{what}: p50", mine, 1.2)
    for name, theirs in middle.items():
        yield faster(what, mine, theirs, f"{name} ({recalls[name]:.3f} found)" if name != "exact" else name)
    yield from through_changes(what, index, vectors, report)


def through_changes(what: str, index: VectorIndex, vectors: np.ndarray, questions: np.ndarray) -> Iterator[Row]:
    """Remove 30 % of the rows, then add as many rows as there were, and measure recall again."""
    rng = np.random.default_rng(8)
    index.remove(np.flatnonzero(rng.random(len(vectors)) < 0.3))
    yield at_least(f"{what}: recall@10 after 30 % removed", recall_of(index, questions), 0.985, "", bar=1.0)
    noise = np.float32(0.01) * rng.standard_normal(vectors.shape, dtype=np.float32)
    new = _core.unit_rows(vectors[rng.permutation(len(vectors))] + noise)
    took, _ = timed(lambda: [index.add(new[at : at + 5_000]) for at in range(0, len(new), 5_000)])
    yield plain(f"{what}: 100 % added, a row", 1e3 * took / len(new), "us")
    yield at_least(f"{what}: recall@10 after 100 % added", recall_of(index, questions), 0.985, "", bar=1.0)
    for allowed in (0.001, 0.01, 0.1):
        mask = rng.random(len(index)) < allowed
        full = [len(index.search(question, K, recall=RECALL, mask=mask).ids) == K for question in questions]
        yield at_least(f"{what}: answers of ten, {100 * allowed:g} % allowed", 100 * float(np.mean(full)), 100, "%")


def recall_of(index: VectorIndex, questions: np.ndarray) -> float:
    least = index.search(questions, K)[1][:, -1:]
    return float(np.mean(index.search(questions, K, recall=RECALL).scores >= least))


def recalled(index: VectorIndex) -> Answer:
    return lambda question: index.search(question, K, recall=RECALL).ids


def recall(vectors: np.ndarray, questions: np.ndarray, least: np.ndarray, answer: Answer) -> float:
    """Return the part of the answered ids whose scores are among the best; what float32 cannot tell apart counts."""
    ids = np.stack([answer(question) for question in questions])
    scores = np.einsum("qkd,qd->qk", vectors[ids.astype(np.int64)], questions)
    return float(np.mean(scores >= least[:, None] - 1e-6))


# -- rows ------------------------------------------------------------------------------------------------------------


def enlarged(n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return rows made of real documents, and real questions; None without the collection."""
    both = embeddings()
    if both is None:
        return None
    documents, questions = map(_core.unit_rows, both)
    rng = np.random.default_rng(5)
    near = np.argpartition(-(documents @ documents.T), NEIGHBOURS + 1, axis=1)[:, : NEIGHBOURS + 1]
    rows = np.empty((n, documents.shape[1]), np.float32)
    for start in range(0, n, 50_000):
        count = min(50_000, n - start)
        of = rng.integers(0, len(documents), count)
        towards, minuend, subtrahend = (documents[near[of, rng.integers(0, NEIGHBOURS + 1, count)]] for _ in range(3))
        weight, step = rng.random((count, 1), dtype=np.float32), rng.standard_normal((count, 1), dtype=np.float32)
        base = documents[of]
        rows[start : start + count] = base + weight / 2 * (towards - base) + step / 2 * (minuend - subtrahend)
    return _core.unit_rows(rows), questions


def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and questions of clusters of clusters, with components that fall off as those of real ones do."""
    rng = np.random.default_rng(6)
    fall = (1 / np.sqrt(1 + np.arange(D))).astype(np.float32)
    outer = rng.standard_normal((200, D), dtype=np.float32) * fall
    inner = rng.standard_normal((5_000, D), dtype=np.float32) * np.float32(0.8) * fall
    inner += outer[rng.integers(0, 200, 5_000)]

    def draw(count: int) -> np.ndarray:
        rows = rng.standard_normal((count, D), dtype=np.float32) * fall
        rows *= np.float32(0.9)
        rows += inner[rng.integers(0, 5_000, count)]
        return _core.unit_rows(rows)

    return draw(n), draw(400)


# -- peers -----------------------------------------------------------------------------------------------------------


def peers(vectors: np.ndarray) -> Iterator[Peer]:
    for make in (faiss_lists, faiss_graph, usearch_graph, turbovec):
        try:
            yield make(vectors)
        except ImportError as missing:
            print(f"not measured: {missing.name}", file=sys.stderr)


def faiss_lists(vectors: np.ndarray) -> Peer:
    lib: Any = importlib.import_module("faiss")
    count = int(4 * np.sqrt(len(vectors)))
    index = lib.index_factory(D, f"IVF{count},Flat", lib.METRIC_INNER_PRODUCT)
    index.train(vectors[:: max(1, len(vectors) // (40 * count))])
    index.add(vectors)
    return Peer("faiss IVF", PROBES, lambda step: in_faiss(index, lib.SearchParametersIVF(nprobe=step)))


def faiss_graph(vectors: np.ndarray) -> Peer:
    lib: Any = importlib.import_module("faiss")
    index = lib.IndexHNSWFlat(D, 32, lib.METRIC_INNER_PRODUCT)
    index.add(vectors)
    return Peer("faiss HNSW", VISITS, lambda step: in_faiss(index, lib.SearchParametersHNSW(efSearch=step)))


def in_faiss(index: Any, parameters: Any) -> Answer:
    return lambda question: index.search(question[None], K, params=parameters)[1][0]


def usearch_graph(vectors: np.ndarray) -> Peer:
    lib: Any = importlib.import_module("usearch.index")
    index = lib.Index(ndim=D, metric="ip", dtype="f32")
    index.add(np.arange(len(vectors)), vectors)

    def answer(step: int) -> Answer:
        def ask(question: np.ndarray) -> np.ndarray:
            index.expansion_search = step
            return index.search(question, K, threads=1).keys

        return ask

    return Peer("usearch HNSW", VISITS, answer)


def turbovec(vectors: np.ndarray) -> Peer:
    lib: Any = importlib.import_module("turbovec")
    index = lib.TurboQuantIndex(dim=D, bit_width=4)
    index.calibrate(np.ascontiguousarray(vectors[:: max(1, len(vectors) // 4_096)]))
    index.add(vectors)
    return Peer("turbovec", (4,), lambda _: lambda question: index.search(question[None], K)[1][0])
