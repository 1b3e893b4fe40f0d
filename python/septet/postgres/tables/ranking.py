"""Ranking: the best rows for the terms of a query, by blocks of postings and their changes.

Reads all postings of the terms as bytes and ranks them in the client: the total is exact, and the server only reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from septet._core import Begun, ranked_postings, written_postings
from septet.postgres.store.analysis import GRAMS, TEXTS
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.blocks import checked
from septet.postgres.tables.counts import bucket_of_term, range_of
from septet.postgres.tables.fulltext import alternatives
from septet.query.plan import MOST

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.fulltext import Posting, TextLeg
    from septet.store.rows import Condition

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
# Few entries have a limited validity; a partial index has them.
_OUTSIDE = """
SELECT e.row FROM septet.entries e
WHERE e.vault = %s AND e.bucket = ANY(%s::integer[]) AND e.live
    AND (e.valid_from IS NOT NULL OR e.valid_until IS NOT NULL)
    AND (e.valid_from > %s::float8 OR e.valid_until <= %s::float8)
"""
# Grouped by bucket for shards of Citus.
_PASSING = """
SELECT string_agg(int8send(e.row), ''::bytea) FROM septet.entries e
WHERE e.vault = %s AND e.row = ANY(%s::bigint[]) AND ({condition}) GROUP BY e.bucket
"""


class TermBlocks(NamedTuple):
    """Postings read for a query: part, term and blocks of each term; number and bytes of each change, in any order.

    Entries at the rows ``outside`` are not valid.
    """

    blocks: Sequence[tuple[Any, ...]]
    changes: Sequence[tuple[Any, ...]]
    outside: Sequence[tuple[Any, ...]] = ()


def of_terms(vault: VaultRow, leg: TextLeg) -> Statement:
    """Return the statement for the blocks of the terms of a query."""
    pairs = [*dict.fromkeys(zip(leg.terms.parts, leg.terms.terms))]
    buckets = [bucket_of_term(vault, term) for _, term in pairs]
    parts, terms = [part for part, _ in pairs], [term for _, term in pairs]
    return Statement(_OF_TERMS, (buckets, parts, terms, vault.number, buckets))


def of_beginning(vault: VaultRow, stem: str) -> Statement:
    """Return the statement for the blocks of the terms with a stem, as stored, as prefix."""
    return Statement(_OF_BEGINNING, (vault.number, vault.all_buckets, *range_of(stem)))


def begun(
    words: Mapping[str, Sequence[tuple[Any, ...]]], changes: Sequence[tuple[Any, ...]], phrases: Sequence[Posting]
) -> Begun:
    """Return the stems of a cascade for counting and ranking, from the blocks of the words that begin with each.

    Phrases and the empty stem have none.
    """
    ranges = [(stem, stem + "\0") if " " in stem or not stem else range_of(stem) for stem in words]
    stems = [(low, high, blocks) if low else ("", "", []) for (low, high), blocks in zip(ranges, words.values())]
    return Begun(stems, [*(postings for _, postings in sorted(changes)), _phrase_postings(phrases)])


def outside(vault: VaultRow, now: float) -> Statement:
    """Return the statement for the rows of entries not valid at a time (epoch seconds)."""
    return Statement(_OUTSIDE, (vault.number, vault.all_buckets, now, now))


def ranked(leg: TextLeg, read: TermBlocks) -> list[tuple[Any, ...]]:
    """Return the best matches of a query: with every needed word first, then by score, then by row.

    Each has the number of all matches and of those with every needed word, its score and its row.
    """
    return _results(*_rank(leg, read, leg.most))


def matched(leg: TextLeg, read: TermBlocks) -> Matches:
    """Return all matches of a query in the order of `ranked`, without its filters."""
    rows, scores, _, whole = _rank(leg, read, MOST)
    return Matches(rows, scores, whole)


class Matches(NamedTuple):
    """Rows ``(m,)`` of matches, best first, and their scores; the first ``whole`` hold every needed word."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    whole: int

    @classmethod
    def of(cls, whole: ArrayLike, scores: ArrayLike, rows: ArrayLike) -> Matches:
        """Sort matches ``(m,)``: those with every needed word first, then by score, then by row."""
        holds_all, score, row = np.asarray(whole, bool), np.asarray(scores, np.float64), np.asarray(rows, np.int64)
        order = np.lexsort((row, -score, ~holds_all))
        return cls(row[order], score[order], int(np.count_nonzero(holds_all)))

    def merged(self, other: Matches) -> Matches:
        """Return the matches of both in one order."""
        whole = [np.arange(len(each.rows)) < each.whole for each in (self, other)]
        pairs = zip(self[:2], other[:2])
        rows, scores = (np.concatenate(pair) for pair in pairs)
        return Matches.of(np.concatenate(whole), scores, rows)

    def only(self, row: int) -> Matches:
        """Return the match of a row, if there is one."""
        mask = self.rows == row
        return Matches(self.rows[mask], self.scores[mask], int(mask[: self.whole].sum()))

    def before(self, row: int, score: float, *, whole: bool) -> int:
        """Return the number of matches that come before a row with a score; ``whole`` if it holds every needed word."""
        better = (self.scores > score) | ((self.scores == score) & (self.rows < row))
        return int(better[: self.whole].sum() if whole else self.whole + better[self.whole :].sum())

    def passing(self, vault: VaultRow, condition: Condition) -> Statement:
        """Return the statement for the rows that pass a condition."""
        return Statement(
            _PASSING.format(condition=condition.sql), (vault.number, self.rows.tolist(), *condition.parameters)
        )

    def filtered(self, passed: Sequence[tuple[bytes]]) -> Matches:
        """Return the matches in the results of `passing`."""
        rows = np.frombuffer(b"".join(rows for (rows,) in passed), dtype=">i8")
        mask = np.isin(self.rows, rows)
        return Matches(self.rows[mask], self.scores[mask], int(mask[: self.whole].sum()))

    def best(self, most: int) -> list[tuple[Any, ...]]:
        """Return the best matches in the format of `ranked`."""
        return _results(self.rows[:most], self.scores[:most], len(self.rows), self.whole)


def _results(rows: NDArray[np.int64], scores: NDArray[np.float64], matches: int, whole: int) -> list[tuple[Any, ...]]:
    return [(matches, whole, score, row) for score, row in zip(scores.tolist(), rows.tolist())]


def _rank(leg: TextLeg, read: TermBlocks, most: int) -> tuple[NDArray[np.int64], NDArray[np.float64], int, int]:
    terms, ranking = leg.terms, leg.ranking
    with checked():
        return ranked_postings(
            [*zip(terms.parts, terms.terms, terms.weights)],
            read.blocks,
            [*(postings for _, postings in sorted(read.changes)), _phrase_postings(leg.phrases)],
            most,
            weights=ranking.weights,
            average=ranking.average,
            constants=(ranking.k1, ranking.b),
            needed=alternatives(leg.needed, terms.terms, 0),
            outside=[row for (row,) in read.outside],
            memories=leg.memories,
        )


def _phrase_postings(phrases: Sequence[Posting]) -> bytes:
    """Return the postings of phrases in the format of a write."""
    entries = {posting.row: place for place, posting in enumerate(phrases)}
    terms = [*dict.fromkeys(posting.term for posting in phrases)]
    places = {term: place for place, term in enumerate(terms)}
    parts = []
    for number in (TEXTS, GRAMS):
        postings = [posting for posting in phrases if posting.part == number]
        of_terms = np.array([places[posting.term] for posting in postings], dtype=np.int64)
        of_entries = np.array([entries[posting.row] for posting in postings], dtype=np.int64)
        counts = np.array([[p.id, p.title, p.description, p.context, p.tags] for p in postings], dtype=np.int32)
        tokens = np.zeros(len(phrases), dtype=np.int64)
        tokens[of_entries] = [posting.tokens for posting in postings]
        parts.append((number, terms, of_terms, of_entries, counts.reshape(-1, 5), tokens))
    rows = np.array([posting.row for posting in phrases], dtype=np.int64)
    memories = np.array([posting.memory for posting in phrases], dtype=np.bool_)
    return written_postings(parts, rows, memories, 0)
