"""Exact top-k of vectors, side by side with what else does it. Prints a table.

python benches/vectors.py [--rounds 25] [--only 100k] [--large]

Every case is one corpus and one kind of question. In each round every competitor answers the same question, one after
the other, so that a busy machine slows them alike. Each is asked some questions before the one that is timed: the
caches hold what this competitor left there, not what another did. Figures are medians in milliseconds. Answers are
compared: a competitor whose rows differ from the float64 ones is marked with the part it found (by score, so ties do
not count). One thread on one core, unless the case says two. faiss-cpu, simsimd and usearch take part when they are
installed; "best" is the fastest of numpy, faiss and simsimd, "read" merely reads the float32 rows.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from septet import _core

K = 10
#: Questions asked before the one that is timed; after three, times did not fall any more.
WARM = 3
Answer = np.ndarray
Ask = Callable[[np.ndarray], Answer]


@dataclass(frozen=True)
class Case:
    """Rows, questions as ``(calls, q, d)``, who may answer how, and how many times faster than whom is wanted."""

    name: str
    rows: np.ndarray
    questions: np.ndarray
    mask: np.ndarray | None = None
    threads: int = 1
    bars: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One line of a table: milliseconds of ours and theirs, how many times faster ours is, and is wanted to be."""

    name: str
    ours: float
    theirs: float
    ratio: float
    bar: float | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--large", action="store_true", help="a million rows too: 6 GB of memory")
    options = parser.parse_args()
    print(f"kernel {_core.kernel()}, {os.cpu_count()} cores, k = {K}; milliseconds, medians")
    for row in run(options.rounds, options.only, large=options.large):
        mark = "" if row.bar is None else f"  wanted {row.bar:.2f} {'' if row.ratio >= row.bar else 'MISSED'}"
        print(f"{row.name:52} {row.ours:9.3f} {row.theirs:9.3f} {row.ratio:7.2f}x{mark}", flush=True)


def run(rounds: int = 25, only: str = "", *, large: bool = False) -> Iterator[Row]:
    """Measure the cases whose name holds a word, pinned to one core or, where a case has more threads, to none."""
    cores = sorted(os.sched_getaffinity(0))
    for name, make in {**CASES, **(LARGE if large else {})}.items():
        if only in name and (case := make(name)) is not None:
            os.sched_setaffinity(0, cores if case.threads > 1 else cores[:1])
            yield from compare(case, rounds)
            os.sched_setaffinity(0, cores)


def compare(case: Case, rounds: int) -> list[Row]:
    """Return a line for each competitor, and for every bar."""
    times, found = measure(case, rounds)
    medians = {name: median(values) for name, values in times.items()}
    peers = [medians[name] for name in ("numpy", "faiss", "simsimd") if name in medians]
    if peers:
        medians["best"] = min(peers)
    ours = medians.pop("codes")
    rows = []
    for name, theirs in medians.items():
        mark = f" ({found[name]:.0%} found)" if found.get(name, 1) < 1 else ""
        rows.append(Row(f"{case.name}: {name}{mark}", ours, theirs, theirs / ours, case.bars.get(name)))
    if case.threads > 1:
        tail = float(np.percentile(times["codes"], 95))
        rows.append(Row(f"{case.name}: 2 x p50 against p95", tail, 2 * ours, 2 * ours / tail, 1.0))
    return rows


def measure(case: Case, rounds: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Return the times of every competitor, and the part of the best rows that it found."""
    q = case.questions.shape[1]
    rounds, warm = max(5, rounds // max(1, q // 16)), WARM if q == 1 else 1
    who = competitors(case)
    times: dict[str, list[float]] = {name: [] for name in who}
    found = dict.fromkeys(who, 1.0)
    for turn in range(-1, rounds):
        question = case.questions[turn % len(case.questions)]
        best = exact(case, question) if turn < 2 else None
        for name, ask in who.items():
            for other in range(warm):
                ask(case.questions[(turn + 1 + other) % len(case.questions)])
            start = time.perf_counter()
            ids = ask(question)
            took = 1e3 * (time.perf_counter() - start)
            if turn >= 0:
                times[name].append(took)
            if best is not None and name != "read":
                found[name] = min(found[name], recall(case, question, ids, best))
    return times, found


def exact(case: Case, questions: np.ndarray) -> np.ndarray:
    """Return the k-th best float64 score of each question: what every row of an answer must reach."""
    found = [_core.top_k(question, case.rows, K, case.mask)[1][-1] for question in questions]
    return np.array(found)


def recall(case: Case, questions: np.ndarray, ids: np.ndarray, least: np.ndarray) -> float:
    ids = np.asarray(ids).reshape(len(questions), -1)
    scores = np.einsum("qkd,qd->qk", case.rows[ids].astype(np.float64), questions.astype(np.float64))
    allowed = True if case.mask is None else case.mask[ids]
    # What float32 cannot tell apart is not held against anyone.
    return float(np.mean((scores >= least[:, None] - 1e-6) & allowed))


def competitors(case: Case) -> dict[str, Ask]:
    rows, mask = case.rows, case.mask
    codes = _core.Codes(rows.shape[1])
    codes.append(rows)
    many = case.questions.shape[1] > 1
    flat = rows.reshape(-1)

    def ours(questions: np.ndarray) -> Answer:
        if many:
            return codes.top_k_batch(questions, rows, K, mask, threads=case.threads)[0]
        return codes.top_k(questions[0], rows, K, mask, threads=case.threads)[0]

    who: dict[str, Ask] = {"codes": ours}
    if case.threads > 1:
        who["codes, one thread"] = lambda questions: codes.top_k(questions[0], rows, K, mask, threads=1)[0]
        return who
    if not many:
        who["float32"] = lambda questions: _core.top_k(questions[0], rows, K, mask)[0]
        # The largest component: every byte is read and next to nothing is done with it.
        who["read"] = lambda questions: flat.max()
    who["numpy"] = lambda questions: with_numpy(rows, questions, mask)
    for peer in (faiss, simsimd, usearch):
        try:
            who.update(peer(case))
        except ImportError:
            continue
    return who


def with_numpy(rows: np.ndarray, questions: np.ndarray, mask: np.ndarray | None) -> Answer:
    at = None if mask is None else np.flatnonzero(mask)
    scores = questions @ (rows if at is None else rows[at]).T
    best = np.argpartition(scores, -K, axis=1)[:, -K:]
    best = np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, 1), axis=1), 1)
    return best if at is None else at[best]


def faiss(case: Case) -> dict[str, Ask]:
    lib: Any = importlib.import_module("faiss")
    lib.omp_set_num_threads(1)
    index = lib.IndexFlatIP(case.rows.shape[1])
    index.add(case.rows)
    selected = None
    if case.mask is not None:
        bits = np.packbits(case.mask, bitorder="little")
        selected = lib.SearchParameters(sel=lib.IDSelectorBitmap(bits))
    return {"faiss": lambda questions: index.search(questions, K, params=selected)[1]}


def simsimd(case: Case) -> dict[str, Ask]:
    lib: Any = importlib.import_module("simsimd")
    if case.mask is not None or case.questions.shape[1] > 1:
        return {}

    def ask(questions: np.ndarray) -> Answer:
        distances = np.asarray(lib.cdist(questions, case.rows, metric="cosine"))[0]
        best = np.argpartition(distances, K)[:K]
        return best[np.argsort(distances[best])]

    return {"simsimd": ask}


def usearch(case: Case) -> dict[str, Ask]:
    lib: Any = importlib.import_module("usearch.index")
    if case.mask is not None or case.questions.shape[1] > 1:
        return {}
    who: dict[str, Ask] = {
        "usearch exact": lambda questions: (
            lib.search(case.rows, questions, K, lib.MetricKind.IP, exact=True, threads=1).keys
        )
    }
    if "usearch HNSW" in case.bars:
        index = lib.Index(ndim=case.rows.shape[1], metric="ip", dtype="f32")
        index.add(np.arange(len(case.rows)), case.rows)
        who["usearch HNSW"] = lambda questions: index.search(questions[0], K, threads=1).keys
    return who


def corpus(n: int, d: int, *, clusters: int = 0) -> np.ndarray:
    """Unit rows: without direction, or around as many centres."""
    rng = np.random.default_rng(n + d + clusters)
    rows = rng.standard_normal((n, d), dtype=np.float32)
    if clusters:
        rows *= np.float32(0.5)
        rows += rng.standard_normal((clusters, d), dtype=np.float32)[rng.integers(0, clusters, n)]
    return _core.unit_rows(rows)


def unit_questions(rng: np.random.Generator, near: np.ndarray | float, calls: int, q: int, d: int) -> np.ndarray:
    noise = rng.standard_normal((calls * q, d), dtype=np.float32)
    return _core.unit_rows(near + np.float32(0.5 / np.sqrt(d)) * noise).reshape(calls, q, d)


def case(
    n: int,
    d: int,
    bars: dict[str, float],
    *,
    clusters: int = 300,
    q: int = 1,
    allowed: float = 1.0,
    threads: int = 1,
) -> Callable[[str], Case]:
    def make(name: str) -> Case:
        rows = corpus(n, d, clusters=clusters)
        rng = np.random.default_rng(1)
        calls = 32 if q == 1 else 2
        near = rows[rng.integers(0, n, calls * q)] if clusters else 0
        questions = unit_questions(rng, near, calls, q, d)
        mask = None if allowed == 1 else rng.random(n) < allowed
        return Case(name, rows, questions, mask, threads, bars)

    return make


def real(n: int, bars: dict[str, float], *, offset: float = 0) -> Callable[[str], Case | None]:
    """Rows between real embeddings, and real questions; with an offset they share a direction, as with many models."""

    def make(name: str) -> Case | None:
        data = Path(os.environ.get("SEPTET_DATA", Path(__file__).parents[2] / "shared"))
        file = data / "data" / "cranfield" / "embeddings.npz"
        if not file.exists():
            return None
        embeddings, rng = np.load(file), np.random.default_rng(2)
        docs = embeddings["docs"].astype(np.float32)
        docs = docs[docs.any(axis=1)]
        a, b, c = (docs[rng.integers(0, len(docs), n)] for _ in range(3))
        common = offset * rng.standard_normal(docs.shape[1]).astype(np.float32) / np.float32(np.sqrt(docs.shape[1]))
        questions = _core.unit_rows(embeddings["queries"].astype(np.float32) + common)
        rows = _core.unit_rows(a + np.float32(0.5) * (b - c) + common)
        return Case(name, rows, questions[:, np.newaxis], bars=bars)

    return make


CASES: dict[str, Callable[[str], Case | None]] = {
    "10k x 384": case(10_000, 384, {"numpy": 3, "usearch HNSW": 1 / 1.3}, clusters=100),
    "100k x 384, clustered": case(100_000, 384, {"best": 4, "read": 3.2}),
    "100k x 384, real": real(100_000, {"best": 4, "read": 3.2}),
    "100k x 384, real with an offset": real(100_000, {"best": 4, "read": 3.2}, offset=1.5),
    "100k x 384, isotropic": case(100_000, 384, {"best": 4, "read": 3.2}, clusters=0),
    "100k x 384, 2 threads, clustered": case(100_000, 384, {"codes, one thread": 1.7}, threads=2),
    "100k x 384, 2 threads, isotropic": case(100_000, 384, {"codes, one thread": 1.7}, clusters=0, threads=2),
    "100k x 1536, clustered": case(100_000, 1536, {"best": 3.7}),
    "100k x 1536, isotropic": case(100_000, 1536, {"best": 3.7}, clusters=0),
    "100k x 384, 1 % allowed": case(100_000, 384, {"numpy": 1.5}, allowed=0.01),
    "100k x 384, 10 % allowed": case(100_000, 384, {"faiss": 3}, allowed=0.1),
    "100k x 384, 50 % allowed": case(100_000, 384, {"faiss": 3}, allowed=0.5),
    "100k x 384, batch of 64": case(100_000, 384, {"numpy": 2}, q=64),
    "100k x 384, batch of 1024": case(100_000, 384, {"faiss": 2}, q=1024),
}
LARGE = {"1M x 384, clustered": case(1_000_000, 384, {"best": 3.8})}


#: Read by the libraries when they are loaded, so the program starts itself again with them set.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

if __name__ == "__main__":
    if not ONE_THREAD.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    main()
