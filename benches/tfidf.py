"""TF-IDF of whole corpora and of candidates, side by side with scikit-learn.

The documents are words of the Cranfield abstracts in random order, as long as those abstracts are (1,000 characters on
average); without the collection (see SEPTET_DATA), made-up words. The answers are compared before anything counts.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import corpus
from race import Competitor, Run, cores, medians, race, timed
from septet import TfidfVectorizer, _core
from table import Row, at_most, faster

TITLE = "TF-IDF"
ABOUT = "The same vocabulary, the same sparse rows (weights within 1e-12); one thread, unless the line says two."
CANDIDATES = 30
CALLS = 60
#: Largest difference of two weights that are to be equal.
TOLERANCE = 1e-12
BARS = {"1 thread": 8.0, "2 threads": 14.0}


def rows(run: Run) -> Iterator[Row]:
    sizes = [run.entries(n) for n in (20_000, 100_000)]
    for n in sizes:
        yield from whole(n, run.rounds(5))
    for n in sizes:
        yield from candidates(n)


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


def whole(n: int, rounds: int) -> list[Row]:
    """Compare `fit_transform` of ``n`` documents, on one thread and on two."""
    from sklearn.feature_extraction.text import TfidfVectorizer as Theirs

    wanted: dict[str, Any] = {}

    def theirs(texts: list[str]) -> tuple[Any, Any]:
        fitted = Theirs()
        with cores(1):
            matrix = fitted.fit_transform(texts)
        return fitted.get_feature_names_out(), matrix

    def ours(texts: list[str], threads: int) -> tuple[Any, Any]:
        fitted = TfidfVectorizer()
        with cores(threads):
            matrix = fitted.fit_transform(texts, threads=threads)
        return fitted, matrix

    def check(_: object, name: str, answer: tuple[Any, Any]) -> None:
        if name == "scikit-learn":
            answer[1].sort_indices()
            wanted.update(words=answer[0].tolist(), rows=answer[1])
            return
        assert answer[0].vocabulary == wanted["words"]
        found, theirs = answer[1], wanted["rows"]
        assert (found.indptr == theirs.indptr).all() and (found.indices == theirs.indices).all()
        assert abs(found.data - theirs.data).max() <= TOLERANCE

    who = [
        Competitor("scikit-learn", theirs),
        Competitor("1 thread", lambda texts: ours(texts, 1)),
        Competitor("2 threads", lambda texts: ours(texts, 2)),
    ]
    # The first round does not count, and there is but one question: nobody needs to be warmed once more.
    middle = medians(race(who, [documents(n)], rounds, warm=0, check=check))
    return [
        faster(f"fit_transform, {n:,} documents, {name}", middle[name], middle["scikit-learn"], "scikit-learn", bar)
        for name, bar in BARS.items()
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
    found: dict[str, np.ndarray] = {}

    def check(_: object, name: str, scores: np.ndarray) -> None:
        found[name] = scores
        if len(found) == 2:
            assert abs(found["septet"] - found["scikit-learn"]).max() <= TOLERANCE
            found.clear()

    rng = random.Random(1)
    asked = [(" ".join(text.split()[:6]), np.array(rng.sample(range(n), CANDIDATES))) for text in texts[: CALLS + 1]]
    who = [
        Competitor("septet", lambda question: index.cosines(frequencies, *question)),
        Competitor("scikit-learn", lambda asked: (matrix[asked[1]] @ sklearn.transform([asked[0]]).T).toarray()[:, 0]),
    ]
    added = []
    none = np.empty(0, dtype=np.int64)
    with cores(1):
        middle = medians(race(who, asked, CALLS, check=check))
        for text in texts[:CALLS]:
            new = f"{text} unseen"
            took, after = timed(lambda new=new: frequencies.moved(index, np.array([index.append([new])]), none))
            added.append(took)
            assert after.documents == n + 1
    return [
        faster(f"{CANDIDATES} candidates of {n:,}", middle["septet"], middle["scikit-learn"], "scikit-learn", 20.0),
        at_most(f"one document more than {n:,}", median(added), 0.1),
    ]


if __name__ == "__main__":
    from run import main

    main(["--only", "tfidf"])
