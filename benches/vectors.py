"""Exact top-k of vectors, side by side with what else does it. Prints a table.

python benches/vectors.py [--rounds 25] [--only 100k]

Every line is one corpus and one kind of question. In each round every competitor answers the same question, one after
the other, so that a busy machine slows them alike; each is asked twice and timed once; the figures are medians in
milliseconds. Answers are compared: a
competitor whose rows differ from the float64 ones is marked with the part it found (by score, so ties do not count).
One thread on one core, unless the line says two. faiss-cpu, simsimd and usearch take part when they are installed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from septet import _core

K = 10
Answer = np.ndarray
Ask = Callable[[np.ndarray], Answer]


@dataclass(frozen=True)
class Case:
    """One line of the table: rows, questions as ``(calls, q, d)``, and who may answer how."""

    name: str
    rows: np.ndarray
    questions: np.ndarray
    mask: np.ndarray | None = None
    threads: int = 1
    hnsw: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--only", default="", help="lines whose name holds this")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    print(f"kernel {_core.kernel()}, {len(cores)} cores, k = {K}; milliseconds, medians, load {os.getloadavg()[0]:.1f}")
    for name, make in CASES.items():
        if options.only in name:
            case = make(name)
            os.sched_setaffinity(0, cores if case.threads > 1 else cores[:1])
            print(line(case, options.rounds), flush=True)
            os.sched_setaffinity(0, cores)


def line(case: Case, rounds: int) -> str:
    rounds = max(5, rounds // max(1, case.questions.shape[1] // 16))
    who = competitors(case)
    times: dict[str, list[float]] = {name: [] for name in who}
    found = dict.fromkeys(who, 1.0)
    for turn in range(-2, rounds):
        question = case.questions[turn % len(case.questions)]
        best = exact(case, question) if turn < 3 else None
        for name, ask in who.items():
            # Asked twice, timed once: the caches hold what this competitor left there, not what another did.
            ask(case.questions[(turn + 1) % len(case.questions)])
            start = time.perf_counter()
            ids = ask(question)
            took = 1e3 * (time.perf_counter() - start)
            if turn >= 0:
                times[name].append(took)
            if best is not None and name != "read":
                found[name] = min(found[name], recall(case, question, ids, best))
    cells = []
    for name, values in times.items():
        mark = "" if found[name] == 1 else f" ({found[name]:.0%} found)"
        cells.append(f"{name} {median(values):.3f}{mark}")
    codes = np.array(times["codes"])
    spread = f"codes p95 {np.percentile(codes, 95):.3f}"
    return f"{case.name:28} | " + " | ".join(cells) + f" | {spread}"


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
    if case.hnsw:
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


def case(
    n: int, d: int, *, clusters: int = 0, q: int = 1, allowed: float = 1.0, threads: int = 1, hnsw: bool = False
) -> Callable[[str], Case]:
    def make(name: str) -> Case:
        rows = corpus(n, d, clusters=clusters)
        rng = np.random.default_rng(1)
        calls = 32 if q == 1 else 2
        near = rows[rng.integers(0, n, calls * q)] if clusters else 0
        questions = _core.unit_rows(
            near + np.float32(0.5 / np.sqrt(d)) * rng.standard_normal((calls * q, d), dtype=np.float32)
        )
        mask = None if allowed == 1 else rng.random(n) < allowed
        return Case(name, rows, questions.reshape(calls, q, d), mask, threads, hnsw)

    return make


CASES: dict[str, Callable[[str], Case]] = {
    "10k x 384, clustered": case(10_000, 384, clusters=100, hnsw=True),
    "100k x 384, clustered": case(100_000, 384, clusters=300),
    "100k x 384, isotropic": case(100_000, 384),
    "100k x 384, 2 threads": case(100_000, 384, threads=2),
    "100k x 1536, clustered": case(100_000, 1536, clusters=300),
    "100k x 1536, isotropic": case(100_000, 1536),
    "100k x 384, 1 % allowed": case(100_000, 384, clusters=300, allowed=0.01),
    "100k x 384, 10 % allowed": case(100_000, 384, clusters=300, allowed=0.1),
    "100k x 384, 50 % allowed": case(100_000, 384, clusters=300, allowed=0.5),
    "100k x 384, batch of 64": case(100_000, 384, clusters=300, q=64),
    "100k x 384, batch of 1024": case(100_000, 384, clusters=300, q=1024),
}


#: Read by the libraries when they are loaded, so the program starts itself again with them set.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

if __name__ == "__main__":
    if not ONE_THREAD.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    main()
