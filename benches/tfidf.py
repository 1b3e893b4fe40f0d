"""TF-IDF of whole corpora and of candidates, side by side with scikit-learn. Prints a table.

python benches/tfidf.py [--sizes 20000 100000] [--rounds 5]

The documents are words of the Cranfield abstracts in random order, as long as those abstracts are (1,000 characters on
average); without the collection (see SEPTET_DATA), made-up words. In each round both sides do the same work, one after
the other, so that a busy machine slows them alike; the figures are medians. The answers are compared before anything
counts. One thread, pinned to one core, unless the line says two.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import corpus
from septet import TfidfVectorizer, _core

CANDIDATES = 30
CALLS = 60
#: Largest difference of two weights that are to be equal.
TOLERANCE = 1e-12


class Row(NamedTuple):
    """One line: seconds of both sides (NaN when there is no other), how many times faster ours is, and must be."""

    name: str
    ours_s: float
    theirs_s: float
    ratio: float
    bar: float


def documents(n: int) -> list[str]:
    """Return ``n`` documents of real words and lengths; seeded."""
    root = Path(os.environ.get("SEPTET_DATA") or Path(__file__).parents[2] / "shared")
    path = root / "data" / "cranfield" / "corpus.jsonl.gz"
    if not path.is_file():
        print(f"no {path}: made-up words instead")
        return [" ".join((e["title"], e["description"], e["context"])) for e in corpus.make(n, dimensions=2).entries]
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = [f"{d['title']} {d['text']}".split() for d in map(json.loads, file)]
    words = [word for text in texts for word in text]
    rng = random.Random(7)
    return [" ".join(rng.choices(words, k=len(rng.choice(texts)))) for _ in range(n)]


@contextmanager
def cores(n: int) -> Iterator[None]:
    """Pin this thread, and those it starts, to ``n`` cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:n])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def whole(n: int, rounds: int) -> list[Row]:
    """Compare `fit_transform` of ``n`` documents, on one thread and on two."""
    from sklearn.feature_extraction.text import TfidfVectorizer as Theirs

    texts = documents(n)
    times: dict[str, list[float]] = {"theirs": [], "1 thread": [], "2 threads": []}
    for _ in range(rounds):
        sklearn = Theirs()
        with cores(1):
            took, wanted = timed(lambda sklearn=sklearn: sklearn.fit_transform(texts))
        times["theirs"].append(took)
        wanted.sort_indices()
        for threads, name in ((1, "1 thread"), (2, "2 threads")):
            ours = TfidfVectorizer()
            with cores(threads):
                took, rows = timed(lambda ours=ours, threads=threads: ours.fit_transform(texts, threads=threads))
            times[name].append(took)
            assert ours.vocabulary == sklearn.get_feature_names_out().tolist()
            assert (rows.indptr == wanted.indptr).all() and (rows.indices == wanted.indices).all()
            assert abs(rows.data - wanted.data).max() <= TOLERANCE
    slow = median(times.pop("theirs"))
    bars = {"1 thread": 8.0, "2 threads": 14.0}
    return [
        Row(f"fit_transform, {n:,} documents, {name}", median(t), slow, slow / median(t), bars[name])
        for name, t in times.items()
    ]


def candidates(n: int) -> list[Row]:
    """Compare scoring 30 candidates, the rows of all documents at scikit-learn's hand; add documents one by one."""
    from sklearn.feature_extraction.text import TfidfVectorizer as Theirs

    texts = documents(n)
    index = _core.TermIndex()
    index.append(texts)
    frequencies = index.frequencies(np.arange(n))
    sklearn = Theirs(analyzer=_core.tokenize)
    matrix = sklearn.fit_transform(texts)

    def scored(query: str, at: np.ndarray) -> np.ndarray:
        return (matrix[at] @ sklearn.transform([query]).T).toarray()[:, 0]

    rng = random.Random(1)
    fast, slow, added = [], [], []
    asked = [(" ".join(text.split()[:6]), np.array(rng.sample(range(n), CANDIDATES))) for text in texts[: CALLS + 1]]
    with cores(1):
        for before, (query, at) in pairwise(asked):
            # Asked twice, timed once: the caches hold what this side left there, not what the other did.
            index.cosines(frequencies, *before)
            took, found = timed(lambda query=query, at=at: index.cosines(frequencies, query, at))
            fast.append(took)
            scored(before[0], before[1])
            took, scores = timed(lambda query=query, at=at: scored(query, at))
            slow.append(took)
            assert abs(found - scores).max() <= TOLERANCE
        none = np.empty(0, dtype=np.int64)
        for text in texts[:CALLS]:
            new = f"{text} unseen"
            took, after = timed(lambda new=new: frequencies.moved(index, np.array([index.append([new])]), none))
            added.append(took)
            assert after.documents == n + 1
    return [
        Row(f"{CANDIDATES} candidates of {n:,}", median(fast), median(slow), median(slow) / median(fast), 20.0),
        Row(f"one document more than {n:,} (bar: below 0.1 ms)", median(added), np.nan, 1e-4 / median(added), 1.0),
    ]


def rows(sizes: list[int], rounds: int) -> Iterator[Row]:
    """Yield every line of the table."""
    for n in sizes:
        yield from whole(n, rounds)
    for n in sizes:
        yield from candidates(n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; milliseconds, medians")
    print(f"{'':52} {'septet':>10} {'scikit':>10} {'ratio':>8} {'bar':>6}")
    for row in rows(options.sizes, options.rounds):
        name, ours, theirs, ratio, bar = row
        print(f"{name:52} {1e3 * ours:10.3f} {1e3 * theirs:10.3f} {ratio:8.1f} {bar:6.1f}", flush=True)


if __name__ == "__main__":
    main()
