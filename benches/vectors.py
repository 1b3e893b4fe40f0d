"""Exact top-k of vectors, side by side with what else does it.

python benches/vectors.py [CASES] [--large]

Every case is one corpus and one kind of question. Answers are compared: a competitor whose rows differ from the float64
ones is marked with the part it found (by score, so ties do not count); ours must find all. One thread on one core,
unless the case says two. "best" is the fastest of numpy, faiss and simsimd, "read" merely reads the float32 rows.

The main cases are measured again with each level of instructions that the machine can be forced to, in a process in
which numpy, faiss and simsimd are held to that level as well. Brackets behind the case and its peer tell the kernels.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import peers
from race import Competitor, Run, cores, medians, race
from septet import _core
from table import Row, faster

TITLE = "Vectors"
ABOUT = (
    "The best 10 rows by cosine, exact to float64; one thread, unless the line says two. Brackets tell the kernel\n"
    "that ran; where it is not this machine's best, numpy, faiss and simsimd are held to AVX2 as well."
)
K = 10
#: Questions asked before the one that is timed; after three, times did not fall any more.
WARM = 3
ROUNDS = 25


@dataclass(frozen=True)
class Case:
    """Rows, questions as ``(calls, q, d)``, who may answer how, and how many times faster than whom is wanted."""

    name: str
    rows: np.ndarray
    questions: np.ndarray
    mask: np.ndarray | None = None
    threads: int = 1
    bars: dict[str, float] = field(default_factory=dict)
    level: str = _core.kernel()

    @property
    def many(self) -> bool:
        return self.questions.shape[1] > 1


def rows(run: Run) -> Iterator[Row]:
    """Measure the cases whose name holds a word, pinned to one core or to as many as a case has threads."""
    every = {**cases(run.entries), **(large(run.entries) if run.large else {})}
    if run.level in peers.WITHOUT_AVX512:
        peers.force(run.level)
        most = without_avx512(run.entries)
        every = every | most if run.level == _core.kernel() else most
    for name, make in every.items():
        if run.only in name and (case := make(name)) is not None:
            case = replace(case, level=run.level or _core.kernel())
            with cores(case.threads):
                yield from compare(case, run.rounds(ROUNDS))


def levels() -> list[str]:
    """Return the levels to measure, the best first."""
    return [level for level in _core.kernels() if level in (_core.kernel(), *peers.WITHOUT_AVX512)]


def compare(case: Case, rounds: int) -> list[Row]:
    """Return a line for each competitor, and for every bar."""
    times, found = measure(case, rounds)
    middle = medians(times)
    contenders = [middle[name] for name in ("numpy", "faiss", "simsimd") if name in middle]
    if contenders:
        middle["best"] = min(contenders)
    ours = middle.pop("codes")
    assert found["codes"] == 1, f"{case.name}: rows were missed"
    lines, what = [], f"{case.name} [{case.level}]"
    for name, theirs in middle.items():
        kernel = case.level if name in ("float32", "one thread") else peers.kernel_of(name)
        mark = f" ({found[name]:.0%} found)" if found.get(name, 1) < 1 else ""
        lines.append(faster(what, ours, theirs, f"{name}{f' [{kernel}]' if kernel else ''}{mark}", case.bars.get(name)))
    if case.threads > 1:
        tail = float(np.percentile(times["codes"], 95))
        lines.append(faster(f"{what}: p95", tail, 2 * ours, "limit: 2 x p50", 1.0))
    return lines


def measure(case: Case, rounds: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Return the times of every competitor, and the part of the best rows that it found in two questions."""
    who = competitors(case)
    found = {one.name: 1.0 for one in who if one.name != "read"}
    checked = {number: exact(case, case.questions[number]) for number in range(2)}

    def check(number: int, name: str, ids: np.ndarray) -> None:
        if number in checked and name in found:
            found[name] = min(found[name], recall(case, case.questions[number], ids, checked[number]))

    who_by_number = [Competitor(one.name, lambda number, one=one: one.ask(case.questions[number])) for one in who]
    rounds, warm = max(3, rounds // max(1, case.questions.shape[1] // 16)), 1 if case.many else WARM
    return race(who_by_number, range(len(case.questions)), rounds, warm=warm, check=check), found


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


def competitors(case: Case) -> list[Competitor]:
    rows, mask, threads, level = case.rows, case.mask, case.threads, case.level
    codes = _core.Codes(rows.shape[1])
    codes.append(rows)
    flat = rows.reshape(-1)
    if case.many:
        same = {"threads": threads, "kernel": level}
        batch = Competitor("codes", lambda asked: codes.top_k_batch(asked, rows, K, mask, **same)[0])
        return [batch, *peers.of_vectors(rows, mask, K, many=True, hnsw=False)]

    def search(threads: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda asked: codes.top_k(asked[0], rows, K, mask, threads=threads, kernel=level)[0]

    ours = Competitor("codes", search(threads))
    if threads > 1:
        return [ours, Competitor("one thread", search(1))]
    others = peers.of_vectors(rows, mask, K, many=False, hnsw="usearch HNSW" in case.bars)
    return [
        ours,
        Competitor("float32", lambda asked: _core.top_k(asked[0], rows, K, mask, kernel=level)[0]),
        # The largest component: every byte is read and next to nothing is done with it.
        Competitor("read", lambda asked: flat.max()),
        # usearch cannot be held to a level.
        *(one for one in others if level == _core.kernel() or "usearch" not in one.name),
    ]


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
        both, rng = embeddings(), np.random.default_rng(2)
        if both is None:
            return None
        docs, queries = both
        a, b, c = (docs[rng.integers(0, len(docs), n)] for _ in range(3))
        common = offset * rng.standard_normal(docs.shape[1]).astype(np.float32) / np.float32(np.sqrt(docs.shape[1]))
        questions = _core.unit_rows(queries + common)
        rows = _core.unit_rows(a + np.float32(0.5) * (b - c) + common)
        return Case(name, rows, questions[:, np.newaxis], bars=bars)

    return make


def embeddings() -> tuple[np.ndarray, np.ndarray] | None:
    """Return real documents and questions as float32 rows; None without the collection."""
    data = Path(os.environ.get("SEPTET_DATA", Path(__file__).parents[2] / "shared"))
    file = data / "data" / "cranfield" / "embeddings.npz"
    if not file.exists():
        return None
    both = np.load(file)
    documents = both["docs"].astype(np.float32)
    return documents[documents.any(axis=1)], both["queries"].astype(np.float32)


Make = Callable[[str], "Case | None"]


def cases(size: Callable[[int], int]) -> dict[str, Make]:
    small, n = size(10_000), size(100_000)
    at, half = f"{n:,} x 384", f"{n:,} x 1536"
    return {
        # First: a helper keeps the cores that its process had when it was born.
        f"{at}, 2 threads, clustered": case(n, 384, {"one thread": 1.7}, threads=2),
        f"{at}, 2 threads, isotropic": case(n, 384, {"one thread": 1.7}, clusters=0, threads=2),
        f"{small:,} x 384": case(small, 384, {"numpy": 3, "usearch HNSW": 1 / 1.3}, clusters=100),
        f"{at}, clustered": case(n, 384, {"best": 4, "read": 3.2}),
        f"{at}, real": real(n, {"best": 4, "read": 3.2}),
        f"{at}, real with an offset": real(n, {"best": 4, "read": 3.2}, offset=1.5),
        f"{at}, isotropic": case(n, 384, {"best": 4, "read": 3.2}, clusters=0),
        f"{half}, clustered": case(n, 1536, {"best": 3.7}),
        f"{half}, isotropic": case(n, 1536, {"best": 3.7}, clusters=0),
        f"{at}, 1 % allowed": case(n, 384, {"numpy": 1.5}, allowed=0.01),
        f"{at}, 10 % allowed": case(n, 384, {"faiss": 3}, allowed=0.1),
        f"{at}, 50 % allowed": case(n, 384, {"faiss": 3}, allowed=0.5),
        f"{at}, batch of 64": case(n, 384, {"numpy": 2}, q=64),
        f"{at}, batch of 1,024": case(n, 384, {"faiss": 2}, q=1024),
    }


def without_avx512(size: Callable[[int], int]) -> dict[str, Make]:
    """Return what is measured with the instructions of machines without AVX-512."""
    small, n = size(10_000), size(100_000)
    at = f"{n:,} x 384"
    return {
        f"{small:,} x 384": case(small, 384, {"best": 4}, clusters=100),
        f"{at}, clustered": case(n, 384, {"best": 6}),
        f"{at}, real": real(n, {}),
        f"{at}, isotropic": case(n, 384, {"best": 3.5}, clusters=0),
        f"{at}, batch of 64": case(n, 384, {}, q=64),
    }


def large(size: Callable[[int], int]) -> dict[str, Make]:
    """Return what takes 6 GB of memory."""
    n = size(1_000_000)
    return {f"{n:,} x 384, clustered": case(n, 384, {"best": 3.8})}


if __name__ == "__main__":
    from run import main

    main(["--only", "/".join(["vectors", *sys.argv[1:2]]), *sys.argv[2:]])
