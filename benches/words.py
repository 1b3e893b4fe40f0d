"""Words of a query: those that must be held, phrases, beginnings, misspelt ones, and what is counted of a result.

python benches/words.py
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from statistics import median
from typing import Any

import numpy as np

import corpus
from race import Run, timed
from septet import Results, Vault
from septet.profiles.builtin import RECALL
from septet.query.parse import parse
from table import Row, at_most, faster, plain

TITLE = "Words of a query"
ABOUT = (
    "Entries of 60 words with tags, in a file, full text in memory. Words change from call to call, so no filter was "
    "asked before. The search beside is the same query without the option."
)
ENTRIES = 100_000
ROUNDS = 40
#: Milliseconds for naming the words that may be meant.
GUESS_LIMIT = 2.0
#: FTS5 takes so many times as long for a cascade, at least.
CASCADE_BAR = 5.0
#: And for counting what matches, beside the search itself.
FACETS_LIMIT = 20.0

Ask = Callable[[int], Any]


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(ENTRIES)
    texts: list[str] = []
    with Vault(run.folder / f"words{n}.db") as vault:
        for block in corpus.stream(n):
            vault.add_many(block.entries)
            texts += [entry["description"] for entry in block.entries[:60]]
        vault.optimize()
        asked = [_Asked(text.split()) for text in np.random.default_rng(5).permutation(texts)]
        base = _median(lambda i: vault.search(asked[i].query))
        yield plain(f"search of six words, {n:,} entries", base)
        for name, ask in _options(vault, asked).items():
            yield plain(f"{name}, {n:,} entries", _median(ask))
        yield from _cascades(vault, asked, n)
        yield from _guesses(vault, asked, n)
        yield from _of_hits(vault, asked, n)
        yield from _facets(vault, asked, n, base)


class _Asked:
    """A query of words of one entry, so that it is found."""

    def __init__(self, words: list[str]) -> None:
        self.words = [word.strip(".,") for word in words]
        self.query = " ".join(self.words[10:16])
        self.rare = max(self.words, key=len)
        self.phrase = " ".join(self.words[20:22])


def _options(vault: Vault, asked: list[_Asked]) -> dict[str, Ask]:
    return {
        "must, one word": lambda i: _found(vault.search(asked[i].query, words={"must": asked[i].rare})),
        "must, three words": lambda i: _found(vault.search(asked[i].query, words={"must": asked[i].words[30:33]})),
        "must_not, one word": lambda i: vault.search(asked[i].query, words={"must_not": asked[i + 1].rare}),
        "phrase of two words": lambda i: _found(vault.search(asked[i].query, words={"phrase": asked[i].phrase})),
        "prefix of four letters": lambda i: _found(vault.search(asked[i].query, words={"prefix": asked[i].rare[:4]})),
        "prefix, as one types": lambda i: _found(
            vault.search(f"{asked[i].query} {asked[i].rare[:4]}", words={"prefix": True})
        ),
        "web syntax: a phrase, a minus, a field": lambda i: vault.search(
            f'{asked[i].query} "{asked[i].phrase}" -{asked[i + 1].rare} domain:domain{i % 20}', syntax="web"
        ),
    }


def _cascades(vault: Vault, asked: list[_Asked], n: int) -> Iterator[Row]:
    """Widen queries step by step, beside FTS5 that is asked the same steps over the same table, without a join."""
    apart = [" ".join(asked[(i + step) % len(asked)].words[10 + step] for step in range(6)) for i in range(len(asked))]
    alike = [one.query for one in asked]
    columns = ", ".join(map(repr, RECALL.text.weights.array.tolist()))
    sql = f"SELECT rowid, bm25(entries_fts, {columns}) AS score FROM entries_fts WHERE entries_fts MATCH ? "
    for name, queries in {
        "all six words are held together": alike,
        "fewer or any of six words are held": apart,
    }.items():

        def fts5(i: int, queries: list[str] = queries) -> int:
            query = parse(queries[i], RECALL.text)
            for step in range(len(query.steps)):
                found = peer.execute(f"{sql} ORDER BY score LIMIT 10", (query.at_step(step).match,)).fetchall()
                if found:
                    break
            return step

        def ours(i: int, queries: list[str] = queries) -> Results:
            return _found(vault.search(queries[i], profile="recall", limit=10))

        with closing(sqlite3.connect(vault.path)) as peer:
            steps = {parse(queries[i], RECALL.text).steps[fts5(i)].name == ours(i).matched_by for i in range(5)}
            assert steps == {True}
            took = _median(ours)
            yield faster(f"cascade: {name}, {n:,} entries", took, _median(fts5), "FTS5, the same steps", CASCADE_BAR)


def _guesses(vault: Vault, asked: list[_Asked], n: int) -> Iterator[Row]:
    """Name what is meant by a word with one letter too many: the time beside that of the search without."""

    def misspelt(i: int) -> str:
        word = asked[i].rare
        return f"{asked[i].query} {word[:2]}x{word[2:]}"

    pairs = []
    for i in range(-3, ROUNDS):
        query = misspelt(i % len(asked))
        without, _ = timed(lambda query=query: vault.search(query, typos=False))
        took, found = timed(lambda query=query: vault.search(query))
        assert [note.code for note in found.notes] == ["did_you_mean"]
        pairs.append(took - without)
    yield at_most(f"did_you_mean, the lookup alone, {n:,} entries", median(pairs[3:]), GUESS_LIMIT)


def _of_hits(vault: Vault, asked: list[_Asked], n: int) -> Iterator[Row]:
    results = [vault.search(one.query, limit=10) for one in asked[:ROUNDS]]
    for name, ask in {
        "matches of ten hits": lambda i: [hit.matches for hit in results[i % ROUNDS]],
        "excerpts of ten hits": lambda i: [hit.excerpt(marks=("<b>", "</b>")) for hit in results[i % ROUNDS]],
    }.items():
        yield plain(f"{name}, {n:,} entries", _median(ask))


def _facets(vault: Vault, asked: list[_Asked], n: int, base: float) -> Iterator[Row]:
    took, _ = timed(lambda: vault.search(asked[0].query, facets="domain"))
    yield plain(f"facets of a result, the first of a process, {n:,} entries", took)
    counted: list[int] = []
    for fields in (["domain"], ["domain", "tags", "severity"], [("created_at", "month")]):

        def ask(i: int, fields: Any = fields) -> None:
            results = vault.search(asked[i].query, facets=fields)
            counted.append(results.total or 0)

        name = ", ".join(field if isinstance(field, str) else " by ".join(field) for field in fields)
        yield at_most(f"facets of a result beside the search: {name}, {n:,} entries", _median(ask) - base, FACETS_LIMIT)
    yield plain("entries that match these, the median", median(counted), "entries")


def _found(results: Results) -> Results:
    assert results.hits
    return results


def _median(ask: Ask) -> float:
    for i in range(3):
        ask(ROUNDS + i)
    return median(timed(lambda i=i: ask(i))[0] for i in range(ROUNDS))


if __name__ == "__main__":
    from run import main

    main(["--only", "words"])
