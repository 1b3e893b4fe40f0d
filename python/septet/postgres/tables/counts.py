"""Document frequencies of terms and totals by part; see `term_counts` in schema.sql.

A write adds one row of differences, which folds (`tables/blocks.py`) add to the sums. Sums plus differences are exact
in every snapshot.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from septet.postgres.store.analysis import MEMORIES, WORDS
from septet.postgres.store.pipeline import Statement
from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.store.vaults import VaultRow

#: The part of feedback; its terms are actions.
FEEDBACK = 32
#: Rows of differences, and terms in them, that trigger a fold: every search reads all unfolded differences.
MOST_ROWS, MOST_TERMS = 32, 20_000
#: Terms of a write after which tables may have grown to several times their size.
MANY_TERMS = 2_000
_ADD = (
    "INSERT INTO septet.count_changes (vault, bucket, change, counts, totals, size, losses, postings, folded) "
    "VALUES (%s, %s, nextval('septet.row_numbers'), %s::jsonb, %s::jsonb, %s, %s, %s::bytea, false)"
)
#: Number of unfolded differences, and of the terms in them.
WAITING = (
    "SELECT count(*), coalesce(sum(c.size), 0)::bigint FROM septet.count_changes c WHERE c.vault = %s AND NOT c.folded"
)
# Functions in FROM fetch an out-of-line value once each; elsewhere it would be fetched for each term.
_CHANGED = """SELECT c.bucket, p.key::smallint, o.key, o.value::bigint, 0
    FROM septet.count_changes c CROSS JOIN jsonb_each(c.counts) AS p CROSS JOIN jsonb_each_text(p.value) AS o
    WHERE c.vault = %(vault)s"""
_TOTALS = """
    UNION ALL
    SELECT t.bucket, t.part, NULL, t.rows, t.tokens FROM septet.totals t WHERE t.vault = %(vault)s
    UNION ALL
    SELECT c.bucket, o.key::smallint, NULL, (o.value ->> 0)::bigint, (o.value ->> 1)::bigint
    FROM septet.count_changes c CROSS JOIN jsonb_each(c.totals) AS o WHERE c.vault = %(vault)s
) AS q GROUP BY q.part, q.term
"""
# Grouped by bucket for shards of Citus.
_ASKED = f"""
SELECT q.part, q.term, sum(q.count)::bigint, sum(q.tokens)::bigint FROM (
    SELECT t.bucket, t.part, t.term, t.count, 0::bigint AS tokens
    FROM unnest(%(at)s::integer[], %(of)s::smallint[], %(terms)s::text[]) AS w (bucket, part, term)
    JOIN septet.term_counts t
        ON t.vault = %(vault)s AND t.bucket = w.bucket AND t.part = w.part AND t.term = w.term COLLATE "C"
    UNION ALL
    SELECT c.bucket, w.part, w.term, (p.value ->> w.term)::bigint, 0
    FROM septet.count_changes c CROSS JOIN jsonb_each(c.counts) AS p
    JOIN unnest(%(of)s::smallint[], %(terms)s::text[]) AS w (part, term)
        ON p.key = w.part::text AND jsonb_exists(p.value, w.term)
    WHERE c.vault = %(vault)s
    {{numbered}}{_TOTALS}"""
_NUMBERED = f"""UNION ALL
    SELECT t.bucket, t.part, t.term, t.count, 0 FROM unnest(%(names)s::text[]) AS n (name) JOIN septet.term_counts t
        ON t.vault = %(vault)s AND t.bucket = ANY(%(buckets)s::integer[]) AND t.part = ANY(%(parts)s::smallint[])
        AND t.term >= (n.name || ':') COLLATE "C" AND t.term < (n.name || ';') COLLATE "C"
    UNION ALL
    {_CHANGED} AND p.key::smallint = ANY(%(parts)s::smallint[])
        AND split_part(o.key, ':', 1) = ANY(%(names)s::text[])
"""
_EVERYTHING = f"""
SELECT q.part, q.term, sum(q.count)::bigint, sum(q.tokens)::bigint FROM (
    SELECT t.bucket, t.part, t.term, t.count, 0::bigint AS tokens FROM septet.term_counts t WHERE t.vault = %(vault)s
    UNION ALL
    {_CHANGED}{_TOTALS}"""


class Total(NamedTuple):
    """Number of entries that have a part, and of tokens (trigrams for their part) in them."""

    rows: int
    tokens: int


class Numbered(NamedTuple):
    """Unique names whose terms ``name:number`` are read for every number, the parts, and the buckets of all of them."""

    names: Sequence[str] = ()
    parts: Sequence[int] = ()
    buckets: Sequence[int] = ()


NONE_NUMBERED = Numbered()


class PartCounts(NamedTuple):
    """Counts of terms, and totals, by part; without zeros."""

    counts: dict[int, dict[str, int]]
    totals: dict[int, Total]

    @classmethod
    def read(cls, rows: Iterable[tuple[Any, ...]]) -> PartCounts:
        """Return the result of a `question`."""
        counts: dict[int, Counter[str]] = {}
        totals: dict[int, list[int]] = {}
        for part, term, number, tokens in rows:
            if term is None:
                total = totals.setdefault(part, [0, 0])
                total[0] += number
                total[1] += tokens
            elif number:
                counts.setdefault(part, Counter())[term] += number
        return cls.of(counts, totals)

    @classmethod
    def of(cls, counts: Mapping[int, Mapping[str, int]], totals: Mapping[int, Sequence[int]]) -> PartCounts:
        """Return counts and totals (rows, tokens) by part, without zeros."""
        nonzero = {part: {term: n for term, n in terms.items() if n} for part, terms in sorted(counts.items())}
        return cls(
            {part: terms for part, terms in nonzero.items() if terms},
            {part: Total(*total) for part, total in sorted(totals.items()) if any(total)},
        )

    def of_all(self, part: int, memories: bool) -> tuple[Total, dict[str, int]]:
        """Return the total and the counts of a part, plus those of memories if ``memories``."""
        rows = tokens = 0
        counts = Counter[str]()
        for own in (part, part + MEMORIES) if memories else (part,):
            total = self.totals.get(own, Total(0, 0))
            rows, tokens = rows + total.rows, tokens + total.tokens
            counts.update(self.counts.get(own, {}))
        return Total(rows, tokens), counts


def question(
    vault: VaultRow, terms: Mapping[int, Iterable[str]], numbered: Numbered = NONE_NUMBERED
) -> tuple[str, dict[str, object]]:
    """Return the query for counts of stored terms by part, and all totals, for `PartCounts.read`; with parameters."""
    pairs = [(part, term) for part, names in terms.items() for term in dict.fromkeys(names)]
    return _ASKED.format(numbered=_NUMBERED if numbered.names else ""), {
        "vault": vault.number,
        "at": [bucket_of_term(vault, term) for _, term in pairs],
        "of": [part for part, _ in pairs],
        "terms": [term for _, term in pairs],
        "names": list(numbered.names),
        "parts": list(numbered.parts),
        "buckets": list(numbered.buckets),
    }


def fetch(
    read: PostgresReading | PostgresWriting, terms: Mapping[int, Iterable[str]], numbered: Numbered = NONE_NUMBERED
) -> PartCounts:
    """Return the counts of terms by part, and all totals, in one round trip; arguments as in `question`."""
    return PartCounts.read(read.sql.execute(*question(read.vault, terms, numbered)))


def of(read: PostgresReading | PostgresWriting, part: int, terms: Iterable[str]) -> dict[str, int]:
    """Return the nonzero document frequencies of terms of a part."""
    return fetch(read, {part: terms}).counts.get(part, {})


def everything(read: PostgresReading | PostgresWriting) -> PartCounts:
    """Return all counts of a vault; slow, for checks only."""
    return PartCounts.read(read.sql.execute(_EVERYTHING, {"vault": read.vault.number}))


def add(
    write: PostgresWriting,
    bucket: int,
    counts: Mapping[int, Mapping[str, int]],
    totals: Mapping[int, Sequence[int]],
    postings: bytes = b"",
) -> None:
    """Store the differences of counts and totals by a write, by part; no-op without differences.

    Args:
        bucket: bucket of the first written entry.
        totals: rows and tokens by part.
        postings: changes of postings from `_core.written_postings`.
    """
    changed = {part: terms for part, terms in counts.items() if terms}
    moved = {part: total for part, total in totals.items() if any(total)}
    if changed or moved or postings:
        size = sum(map(len, changed.values()))
        number = write.vault.number
        losses = sum(count < 0 for terms in changed.values() for count in terms.values())

        def waiting(result: list[tuple[Any, ...]]) -> None:
            ((rows, terms),) = result
            write.held.waiting = terms
            write.held.fold_due |= rows >= MOST_ROWS or terms >= MOST_TERMS
            write.held.grown |= write.held.fold_due or size >= MANY_TERMS

        write.later(_ADD, (number, bucket, _json(changed), _json(moved), size, losses, postings or None))
        write.later(WAITING, (number,), waiting)


def bucket_of_term(vault: VaultRow, term: str) -> int:
    """Return the bucket of a term's sums."""
    return vault.first_bucket + _hash(term) % vault.buckets


# Queries share many trigrams, and each reads the actions of feedback.
@lru_cache(4_096)
def _hash(term: str) -> int:
    return int.from_bytes(sha256(term.encode()).digest()[:2], "big")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


#: Words of entries and of memories.
_WORDS = (WORDS, WORDS + MEMORIES)

# Matching words of the counts and of their unfolded changes.
_HELD = """
SELECT h.place::integer, h.term FROM (
    SELECT t.bucket, a.place, t.term, t.count FROM ({asked}) a JOIN septet.term_counts t
        ON t.vault = %s AND t.part = ANY(%s::smallint[]) AND {of_counts}
    UNION ALL
    SELECT c.bucket, a.place, o.key COLLATE "C", o.value::bigint
    FROM septet.count_changes c
    CROSS JOIN unnest(%s::text[]) AS p (part)
    CROSS JOIN LATERAL jsonb_each_text(c.counts -> p.part) AS o (key, value)
    JOIN ({asked}) a ON {of_changes}
    WHERE c.vault = %s
) h GROUP BY h.place, h.term HAVING sum(h.count) > 0
"""
# An edit adds at most one letter and removes at most one.
_NEAR = """
    char_length({0}) BETWEEN a.letters - a.edits AND a.letters + a.edits
    AND char_length(translate({0}, a.word, '')) <= a.edits
    AND char_length(translate(a.word, {0}, '')) <= a.edits
"""
_LIKE = _HELD.format(
    asked="SELECT w.word, char_length(w.word) AS letters, w.edits, w.place - 1 AS place "
    "FROM unnest(%s::text[], %s::integer[]) WITH ORDINALITY AS w (word, edits, place)",
    of_counts=_NEAR.format("t.term"),
    of_changes=_NEAR.format("o.key"),
)
_BEGINNING = _HELD.format(
    asked="SELECT w.low, w.high, w.place - 1 AS place "
    "FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS w (low, high, place)",
    of_counts='t.term >= a.low COLLATE "C" AND t.term < a.high COLLATE "C"',
    of_changes='o.key >= a.low COLLATE "C" AND o.key < a.high COLLATE "C"',
)


def range_of(beginning: str) -> tuple[str, str]:
    """Return the bounds ``[low, high)`` of all texts with a prefix, in "C" collation."""
    # The last code point.
    return beginning, beginning + "\U0010ffff"


def similar_words(vault: VaultRow, words: Mapping[str, int]) -> Statement:
    """Return the statement for words within about ``words[word]`` edits of folded words: place, and similar word.

    Some are further away; filter them with `septet._core.edits_between`.
    """
    return _statement(_LIKE, vault, (list(words), list(words.values())))


def words_beginning(vault: VaultRow, beginnings: Sequence[str]) -> Statement:
    """Return the statement for words with folded prefixes: place of the prefix, and word."""
    lows, highs = zip(*map(range_of, beginnings))
    return _statement(_BEGINNING, vault, (list(lows), list(highs)))


def _statement(sql: str, vault: VaultRow, terms: tuple[object, ...]) -> Statement:
    return Statement(sql, (*terms, vault.number, list(_WORDS), [str(part) for part in _WORDS], *terms, vault.number))
