"""A whole hybrid search beside the kernels that it calls, called alone.

python benches/overhead.py
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import corpus
from race import Competitor, Run, cores, medians, race
from septet import Vault, VectorIndex, _core
from septet.ranking.profile import Profile
from septet.sqlite.tier.read_view import open_read_view
from table import Row, at_most
from vaults import Asked, prepared, questions, warm

TITLE = "A search beside its kernels"
ABOUT = (
    "A whole hybrid search (plan, transaction, recall, ranking, ten whole entries) against BM25, the scan, the corpus "
    "columns and the formula called one after the other with arguments made before; one core, interleaved."
)
SIZES = {10_000: 1.7, 100_000: None}
ROUNDS = 400
#: Results of a search by vectors alone.
LIMIT = 30


def rows(run: Run) -> Iterator[Row]:
    for n, most in SIZES.items():
        path = prepared(run.folder, run.entries(n))
        asked = questions(path)
        with cores(1), Vault(path) as vault:
            warm(vault, asked[0])
            kernels = Kernels(vault, asked)
            who = [
                Competitor("search", lambda q: vault.search(q.text, query_vector=q.vector, limit=10)),
                Competitor("kernels", kernels.ask),
            ]
            middle = medians(race(who, asked, run.rounds(ROUNDS), warm=3))
        name = f"hybrid, {run.entries(n):,} entries"
        ratio = middle["search"] / middle["kernels"]
        yield Row(name, middle["search"], middle["kernels"], 1 / ratio, None, "ms", "kernels alone")
        if most is not None:
            yield at_most(f"{name}: times the kernels", ratio, most, "x")
    yield vectors_alone(run.entries(n), path, asked, run.rounds(ROUNDS))


def vectors_alone(n: int, path: Path, asked: list[Asked], rounds: int) -> Row:
    """Vectors in a vault, with results, beside the same rows in a `VectorIndex`, on one core."""
    with cores(1), Vault(path) as vault:
        warm(vault, asked[0])
        index = VectorIndex(384)
        for block in corpus.stream(n):
            index.add(block.vectors)
        who = [
            Competitor("vault", lambda q: vault.search("", query_vector=q.vector, legs="vector", limit=LIMIT)),
            Competitor("index", lambda q: index.search(q.vector, LIMIT)),
        ]
        middle = medians(race(who, asked, rounds, warm=3))
    return at_most(f"vectors alone, {n:,} entries: times `VectorIndex`", middle["vault"] / middle["index"], 1.25, "x")


class Kernels:
    """What a search asks of the native side, kernel by kernel, with arguments that were made before."""

    def __init__(self, vault: Vault, asked: list[Asked]) -> None:
        plans = [vault._plan(q.text, {"query_vector": q.vector, "limit": 10}) for q in asked]
        self.plans = {id(q): plan for q, plan in zip(asked, plans)}
        with closing(open_read_view(vault._store, vault._tier.manager, plans[0])) as view:
            self.snapshot = view.snapshot
        postings, profile = self.snapshot.postings, plans[0].profile
        assert postings is not None
        self.postings = postings
        self.parts: list[Any] = [(postings.entries, postings.entry_rows, profile.text.weights.array)]
        if postings.gram_rows.rows:
            self.parts.append((postings.grams, postings.gram_rows, np.ones(1)))
        (self.vectors,) = self.snapshot.vectors.values()
        self.profile: Profile = profile
        self.weights = np.array([profile.weights["hybrid"][name] for name in profile.signals])

    def ask(self, question: Asked) -> object:
        plan, vectors, snapshot = self.plans[id(question)], self.vectors, self.snapshot
        assert plan.vector is not None
        # The two legs of a search share the candidates.
        taken = plan.taken(compared=True)
        best, scores, _ = _core.bm25_top_k(self.parts, plan.query.terms, taken, None, ties=snapshot.rows)
        near, _ = vectors.codes.top_k(plan.vector.scan, vectors.rows, taken, None)
        slots = _core.unite(best, vectors.slots[near])
        more = _core.bm25_at(self.parts, plan.query.terms, slots[len(best) :])
        columns = {
            "bm25": np.nan_to_num(np.concatenate([scores, more])),
            "trigram": self.postings.spelling.bm25(self.postings.spelling_rows, plan.query.text, slots),
            "cosine": _core.cosine_at(plan.vector.exact, vectors.rows, vectors.at(slots)),
        }
        return self.profile.formula.score(columns, ["entry"] * len(slots), self.weights)


if __name__ == "__main__":
    from run import main

    main(["--only", "overhead"])
