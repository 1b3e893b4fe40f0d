"""Ranking: the best rows for the terms of a query, by blocks of postings and the changes of them.

All postings of the terms are read, as bytes, and ranked here: so the total is exact, and a server only looks up rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from septet._core import Begun, ranked_postings, written_postings
from septet.postgres.store.analysis import GRAMS, TEXTS
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.blocks import checked
from septet.postgres.tables.counts import bucket_of_term
from septet.postgres.tables.vocabulary import range_of
from septet.query.plan import MOST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.conditions import Condition
    from septet.postgres.tables.fulltext import Needed, Posting, TextLeg

__all__ = ["Matched", "Read", "begun", "matched", "of_beginning", "of_terms", "outside", "ranked"]

_OF_TERMS = """
SELECT b.part, b.term, string_agg(b.postings, ''::bytea)
FROM unnest(%s::integer[], %s::smallint[], %s::text[]) AS w (bucket, part, term) JOIN septet.posting_blocks b
    ON b.vault = %s AND b.bucket = w.bucket AND b.part = w.part AND b.term = w.term COLLATE "C"
WHERE b.bucket = ANY(%s::integer[])
GROUP BY b.bucket, b.part, b.term
"""
_OF_BEGINNING = """
SELECT b.term, string_agg(b.postings, ''::bytea) FROM septet.posting_blocks b
WHERE b.vault = %s AND b.bucket = ANY(%s::integer[]) AND b.part = 0
    AND b.term >= %s::text COLLATE "C" AND b.term < %s::text COLLATE "C"
GROUP BY b.bucket, b.term
"""
# Few entries have a limit of their validity, and these have an index of their own.
_OUTSIDE = """
SELECT e.row FROM septet.entries e
WHERE e.vault = %s AND e.bucket = ANY(%s::integer[]) AND e.live
    AND (e.valid_from IS NOT NULL OR e.valid_until IS NOT NULL)
    AND (e.valid_from > %s::float8 OR e.valid_until <= %s::float8)
"""
# In one place for each bucket, if Citus keeps them in several.
_PASSING = """
SELECT string_agg(int8send(e.row), ''::bytea) FROM septet.entries e
WHERE e.vault = %s AND e.row = ANY(%s::bigint[]) AND ({condition}) GROUP BY e.bucket
"""


class Read(NamedTuple):
    """Postings read for the terms of a query.

    Attributes:
        blocks: part, term, and its blocks.
        changes: number and bytes of each, in any order.
        outside: rows that are not valid.
    """

    blocks: Sequence[tuple[Any, ...]]
    changes: Sequence[tuple[Any, ...]]
    outside: Sequence[tuple[Any, ...]] = ()


def of_terms(vault: VaultRow, leg: TextLeg) -> Statement:
    """Return what asks for the blocks of the terms of a query."""
    named = [*dict.fromkeys(zip(leg.asked.parts, leg.asked.terms))]
    buckets = [bucket_of_term(vault, term) for _, term in named]
    parts, terms = [part for part, _ in named], [term for _, term in named]
    return Statement(_OF_TERMS, (buckets, parts, terms, vault.number, buckets))


def of_beginning(vault: VaultRow, stem: str) -> Statement:
    """Return what asks for the blocks of the terms that begin with a stem, as it is stored."""
    return Statement(_OF_BEGINNING, (vault.number, vault.all_buckets, *range_of(stem)))


def begun(
    words: Mapping[str, Sequence[tuple[Any, ...]]], changes: Sequence[tuple[Any, ...]], phrases: Sequence[Posting]
) -> Begun:
    """Return the words of a cascade, ready to be counted and ranked.

    Args:
        words: by stem the blocks of what begins with it; of a phrase, and of an empty one, none.
        changes: as in `Read`.
        phrases: postings of the phrases.
    """
    ranges = [(stem, stem + "\0") if " " in stem or not stem else range_of(stem) for stem in words]
    asked = [(low, high, blocks) if low else ("", "", []) for (low, high), blocks in zip(ranges, words.values())]
    return Begun(asked, [*(postings for _, postings in sorted(changes)), _posted(phrases)])


def outside(vault: VaultRow, now: float) -> Statement:
    """Return what asks for the rows that are not valid at a moment."""
    return Statement(_OUTSIDE, (vault.number, vault.all_buckets, now, now))


def ranked(leg: TextLeg, read: Read) -> list[tuple[Any, ...]]:
    """Return the best of a query: those that hold every needed word first, then by score, then by row.

    Each has the number of all matches, and of those that hold every needed word, its score and its row.

    Raises:
        StoreError: what was read is no blocks.
    """
    return _told(*_ranked(leg, read, leg.most))


def matched(leg: TextLeg, read: Read) -> Matched:
    """Return everything that matches a query, as `ranked` orders it, whatever its filters."""
    rows, scores, _, whole = _ranked(leg, read, MOST)
    return Matched(rows, scores, whole)


class Matched(NamedTuple):
    """Rows ``(m,)`` that match a query, best first, and their scores; the first ``whole`` hold every needed word."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    whole: int

    def passing(self, vault: VaultRow, condition: Condition) -> Statement:
        """Return what asks which of the rows pass a condition."""
        return Statement(
            _PASSING.format(condition=condition.sql), (vault.number, self.rows.tolist(), *condition.parameters)
        )

    def kept(self, passed: Sequence[tuple[bytes]]) -> Matched:
        """Return those that pass, given what `passing` was answered."""
        among = np.frombuffer(b"".join(rows for (rows,) in passed), dtype=">i8")
        kept = np.isin(self.rows, among)
        return Matched(self.rows[kept], self.scores[kept], int(kept[: self.whole].sum()))

    def best(self, most: int) -> list[tuple[Any, ...]]:
        """Return the best of them, as `ranked` does."""
        return _told(self.rows[:most], self.scores[:most], len(self.rows), self.whole)


def _told(rows: NDArray[np.int64], scores: NDArray[np.float64], matches: int, whole: int) -> list[tuple[Any, ...]]:
    return [(matches, whole, score, row) for score, row in zip(scores.tolist(), rows.tolist())]


def _ranked(leg: TextLeg, read: Read, most: int) -> tuple[NDArray[np.int64], NDArray[np.float64], int, int]:
    asked, ranking = leg.asked, leg.ranking
    with checked():
        return ranked_postings(
            [*zip(asked.parts, asked.terms, asked.weights)],
            read.blocks,
            [*(postings for _, postings in sorted(read.changes)), _posted(leg.phrases)],
            most,
            weights=ranking.weights,
            average=ranking.average,
            constants=(ranking.k1, ranking.b),
            needed=_ways(leg.needed, asked.terms),
            outside=[row for (row,) in read.outside],
            memories=leg.memories,
        )


def _posted(phrases: Sequence[Posting]) -> bytes:
    """Return the postings of phrases as a write that added them would."""
    entries = {one.row: place for place, one in enumerate(phrases)}
    terms = [*dict.fromkeys(one.term for one in phrases)]
    places = {term: place for place, term in enumerate(terms)}
    parts = []
    for number in (TEXTS, GRAMS):
        own = [one for one in phrases if one.part == number]
        tokens = np.zeros(len(phrases), dtype=np.int64)
        for one in own:
            tokens[entries[one.row]] = one.tokens
        counts = [[one.id, one.title, one.description, one.context, one.tags] for one in own]
        parts.append(
            (
                number,
                terms,
                np.array([places[one.term] for one in own], dtype=np.int64),
                np.array([entries[one.row] for one in own], dtype=np.int64),
                np.array(counts, dtype=np.int32).reshape(-1, 5),
                tokens,
            )
        )
    rows = np.array([one.row for one in phrases], dtype=np.int64)
    memories = np.array([one.memory for one in phrases], dtype=np.bool_)
    return written_postings(parts, rows, memories, 0)


def _ways(needed: Needed, terms: Sequence[str]) -> list[list[list[list[int]]]]:
    """Return by needed word the ways to hold it: by a form of it, or by all its pieces.

    A way has groups, of each of which one term is held; terms are named by their places.
    """
    ways = []
    for word in range(needed.every):
        pieces: dict[int, list[int]] = {}
        for number, term, piece, _ in zip(*needed[:4]):
            if number == word:
                pieces.setdefault(piece, []).extend(at for at, one in enumerate(terms) if one == term)
        forms = pieces.pop(0, None)
        ways.append([groups for groups in ([] if forms is None else [forms], [*pieces.values()]) if groups])
    return ways
