"""Full text: the best 30 entries from memory, side by side with FTS5 (the same rows and doubles) and tantivy."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator, Sequence

import numpy as np

import peers
from corpus import FUNCTION_WORDS, make
from race import Competitor, Run, medians, race, timed
from septet import _core
from table import Row, at_least, faster

TITLE = "Full text"
ABOUT = (
    "The best 30 rows by BM25 with weights for columns; one thread. FTS5 joins the entries, as a search must. Against "
    "it, rows and scores are equal to the last bit; tantivy has its own BM25 for each column, so the part of our rows "
    "that it found is told, and it returns no more than addresses."
)
WANTED = 30
QUERIES = 40
PAGE_ROWS = 5_000
WEIGHTS = (0.0, 10.0, 5.0, 2.0, 3.0)
BARS = {
    "5 natural words": {"FTS5 with join": 250.0, "tantivy": 3.0, "tantivy, 1 column": 3.0},
    "5 rare words": {"FTS5 with join": 3.0},
}

Found = list[tuple[int, float]]


class Tables:
    """The same entries in memory and at the competitors."""

    def __init__(self, n: int) -> None:
        self.corpus = make(n, dimensions=2, queries=QUERIES)
        fields = ("id", "title", "description", "context")
        rows = [(*(e[f] for f in fields), json.dumps(e["tags"])) for e in self.corpus.entries]
        self.index = _core.TextIndex(5)
        pages = range(0, n, PAGE_ROWS)
        self.append_ms, _ = timed(lambda: [self.index.append(rows[i : i + PAGE_ROWS]) for i in pages])
        self.statistics = self.index.statistics(np.arange(n))
        self.mask = np.ones(n, dtype=bool)
        self.rows = np.arange(1, n + 1)
        self.fts5_ms, fts5 = timed(lambda: peers.fts5(rows, WEIGHTS, WANTED))
        self.who = [fts5, Competitor("septet", self.from_memory)]
        with contextlib.suppress(ImportError):
            self.who.append(peers.tantivy(rows, WEIGHTS, WANTED))
            # What is fastest for it: no weights for columns.
            joined = [("", " ".join(row[1:4]), "", "", "") for row in rows]
            one = peers.tantivy(joined, (0, 1, 0, 0, 0), WANTED)
            self.who.append(Competitor("tantivy, 1 column", one.ask))

    def from_memory(self, terms: Sequence[str]) -> Found:
        parts = [(self.index, self.statistics, np.array(WEIGHTS))]
        slots, scores, _ = _core.bm25_top_k(parts, terms, WANTED, self.mask, ties=self.rows)
        return list(zip(self.rows[slots].tolist(), scores.tolist()))

    def questions(self) -> dict[str, list[list[str]]]:
        rng = random.Random(7)
        rare = [t.decode() for t, rows in self.statistics.to_dict().items() if 3 <= rows <= 60]
        # A stem is asked for only where stemming it again changes nothing.
        rare = sorted(t for t in rare if _core.index_terms(t) == [t.encode()])
        return {
            "5 natural words": [query.split()[:5] for query in self.corpus.queries],
            "5 rare words": [rng.sample(rare, 5) for _ in range(QUERIES)],
            "5 function words": [rng.sample(FUNCTION_WORDS, 5) for _ in range(QUERIES)],
        }


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(100_000)
    tables = Tables(n)
    for name, questions in tables.questions().items():
        yield from compare(f"BM25 top {WANTED} of {n:,}, {name}", tables, questions, BARS.get(name, {}))
    ours, theirs = 1e3 * n / tables.append_ms, 1e3 * n / tables.fts5_ms
    yield at_least(f"index {n:,} entries in memory", ours, theirs, "rows/s", peer="FTS5, in memory", bar=None)


def compare(name: str, tables: Tables, questions: list[list[str]], bars: dict[str, float]) -> Iterator[Row]:
    answers: dict[str, Found] = {}
    shares: dict[str, list[float]] = {}

    def check(terms: Sequence[str], who: str, found: Found) -> None:
        answers[who] = found
        if who == "septet":
            assert found == answers["FTS5 with join"], terms
        if who.startswith("tantivy"):
            ours = {row for row, _ in answers["septet"]}
            shares.setdefault(who, []).append(len(ours & {row for row, _ in found}) / len(ours))

    middle = medians(race(tables.who, questions, QUERIES, check=check))
    ours = middle.pop("septet")
    for who, theirs in middle.items():
        peer = f"{who} ({np.mean(shares[who]):.0%})" if who in shares else who
        yield faster(name, ours, theirs, peer, bars.get(who))


if __name__ == "__main__":
    from run import main

    main(["--only", "fulltext"])
