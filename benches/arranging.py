"""Similar entries, and results in another order, beside the search that they belong to, on one core.

python benches/run.py --only arranging
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

from race import Run, timed
from septet import Vault
from table import Row, plain
from vaults import Asked, prepared, questions

TITLE = "Similar entries, diversity and rerankers"
ABOUT = "Entries of 60 words with vectors of 384 dimensions, in a file; a first round does not count."
ENTRIES = 100_000
ROUNDS = 20


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(ENTRIES)
    path = prepared(run.folder, n)
    asked = questions(path)
    with Vault(path) as vault:
        for name, ask in _asked(vault).items():
            yield plain(f"{name}, {n:,} entries", _warm(ask, asked))


def _asked(vault: Vault) -> dict[str, Callable[[Asked], object]]:
    return {
        "hybrid search": lambda q: vault.search(q.text, query_vector=q.vector),
        "with diversity=0.5": lambda q: vault.search(q.text, query_vector=q.vector, diversity=0.5),
        "with a reranker of no cost": lambda q: vault.search(q.text, query_vector=q.vector, rerank=_scores),
        "with timeout_s": lambda q: vault.search(q.text, query_vector=q.vector, timeout_s=60),
        "text with diversity=0.5, by words": lambda q: vault.search(q.text, diversity=0.5),
        "similar by vectors": lambda q: vault.similar(vector=q.vector),
        "similar by words": lambda q: vault.similar(text=q.text),
    }


def _scores(query: str, hits: object) -> list[float]:
    return [hit.score for hit in hits]  # type: ignore[attr-defined]


def _warm(ask: Callable[[Asked], object], asked: list[Asked]) -> float:
    for one in asked[:3]:
        ask(one)
    return median(timed(partial(ask, asked[i % len(asked)]))[0] for i in range(ROUNDS))
