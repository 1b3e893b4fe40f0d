"""Counts: how many entries hold each term, and the totals of each part, as schema.sql says at `term_counts`.

A write adds one row of differences; folds (`tables/folding.py`) move such rows into sums. Both together are exact in
every snapshot.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from septet.postgres.store.analysis import MEMORIES
from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.store.vaults import VaultRow

__all__ = [
    "FEEDBACK",
    "WAITING",
    "Counted",
    "Numbered",
    "Total",
    "add",
    "asked",
    "bucket_of_term",
    "everything",
    "of",
    "question",
    "totals",
]


#: The part of feedback, whose terms are actions.
FEEDBACK = 32
#: Differences are folded when there are so many rows of them, or terms in them: each search reads all that wait.
MOST_ROWS, MOST_TERMS = 32, 20_000
#: A write of so many terms may have let tables grow to several times their size.
MANY_TERMS = 2_000
_ADD = (
    "INSERT INTO septet.count_changes (vault, bucket, change, counts, totals, size, losses, postings, folded) "
    "VALUES (%s, %s, nextval('septet.row_numbers'), %s::jsonb, %s::jsonb, %s, %s, %s::bytea, false)"
)
#: How many differences wait to be folded, and the terms in them.
WAITING = (
    "SELECT count(*), coalesce(sum(c.size), 0)::bigint FROM septet.count_changes c WHERE c.vault = %s AND NOT c.folded"
)
# In one place for each bucket, if Citus keeps them in several. A value that is stored out of line is fetched once for
# each function behind FROM, and would be for each term elsewhere.
_ASKED = """
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
    {numbered}
    UNION ALL
    SELECT t.bucket, t.part, NULL, t.rows, t.tokens FROM septet.totals t WHERE t.vault = %(vault)s
    UNION ALL
    SELECT c.bucket, o.key::smallint, NULL, (o.value ->> 0)::bigint, (o.value ->> 1)::bigint
    FROM septet.count_changes c CROSS JOIN jsonb_each(c.totals) AS o WHERE c.vault = %(vault)s
) AS q GROUP BY q.part, q.term
"""
_NUMBERED = """UNION ALL
    SELECT t.bucket, t.part, t.term, t.count, 0 FROM unnest(%(names)s::text[]) AS n (name) JOIN septet.term_counts t
        ON t.vault = %(vault)s AND t.bucket = ANY(%(buckets)s::integer[]) AND t.part = ANY(%(parts)s::smallint[])
        AND t.term >= (n.name || ':') COLLATE "C" AND t.term < (n.name || ';') COLLATE "C"
    UNION ALL
    SELECT c.bucket, p.key::smallint, o.key, o.value::bigint, 0
    FROM septet.count_changes c CROSS JOIN jsonb_each(c.counts) AS p CROSS JOIN jsonb_each_text(p.value) AS o
    WHERE c.vault = %(vault)s AND p.key::smallint = ANY(%(parts)s::smallint[])
        AND split_part(o.key, ':', 1) = ANY(%(names)s::text[])
"""
_EVERYTHING = """
SELECT q.part, q.term, sum(q.count)::bigint, sum(q.tokens)::bigint FROM (
    SELECT t.bucket, t.part, t.term, t.count, 0::bigint AS tokens FROM septet.term_counts t WHERE t.vault = %(vault)s
    UNION ALL
    SELECT c.bucket, p.key::smallint, o.key, o.value::bigint, 0
    FROM septet.count_changes c CROSS JOIN jsonb_each(c.counts) AS p CROSS JOIN jsonb_each_text(p.value) AS o
    WHERE c.vault = %(vault)s
    UNION ALL
    SELECT t.bucket, t.part, NULL, t.rows, t.tokens FROM septet.totals t WHERE t.vault = %(vault)s
    UNION ALL
    SELECT c.bucket, o.key::smallint, NULL, (o.value ->> 0)::bigint, (o.value ->> 1)::bigint
    FROM septet.count_changes c CROSS JOIN jsonb_each(c.totals) AS o WHERE c.vault = %(vault)s
) AS q GROUP BY q.part, q.term
"""


class Total(NamedTuple):
    """How many entries have a part, and the tokens in all of them; of trigrams, how many there are."""

    rows: int
    tokens: int


class Numbered(NamedTuple):
    """Names of which every term ``name:number`` is asked for, whatever its number.

    Attributes:
        names: without a colon, each once.
        parts: in which they are counted.
        buckets: of every such term that there may be.
    """

    names: Sequence[str] = ()
    parts: Sequence[int] = ()
    buckets: Sequence[int] = ()


#: No names.
NONE_NUMBERED = Numbered()


class Counted(NamedTuple):
    """Counts of terms by part, none of them 0, and the totals of the parts that have any."""

    counts: dict[int, dict[str, int]]
    totals: dict[int, Total]

    @classmethod
    def read(cls, rows: Iterable[tuple[Any, ...]]) -> Counted:
        """Return what the answer to a `question` says."""
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
    def of(cls, counts: Mapping[int, Mapping[str, int]], totals: Mapping[int, Sequence[int]]) -> Counted:
        """Return counts and totals (rows, tokens) by part, without those that are 0."""
        kept = {part: {term: n for term, n in own.items() if n} for part, own in sorted(counts.items())}
        return cls(
            {part: own for part, own in kept.items() if own},
            {part: Total(*total) for part, total in sorted(totals.items()) if any(total)},
        )

    def of_all(self, part: int, memories: bool) -> tuple[Total, dict[str, int]]:
        """Return the total and the counts of a part; those of memories are added if ``memories`` says so."""
        nothing = Total(0, 0)
        total, counts = self.totals.get(part, nothing), self.counts.get(part, {})
        if not memories:
            return total, counts
        more = self.totals.get(part + MEMORIES, nothing)
        return Total(total.rows + more.rows, total.tokens + more.tokens), dict(
            Counter(counts) + Counter(self.counts.get(part + MEMORIES, {}))
        )


def question(
    vault: VaultRow, wanted: Mapping[int, Iterable[str]], numbered: Numbered = NONE_NUMBERED
) -> tuple[str, dict[str, object]]:
    """Return the one statement, with its parameters, that `Counted.read` reads the answer of.

    Args:
        wanted: terms by part, as `analysis.stored_term` makes them; numbers of trigrams as text.
        numbered: more of them.
    """
    pairs = [(part, term) for part, terms in wanted.items() for term in dict.fromkeys(terms)]
    return _ASKED.format(numbered=_NUMBERED if numbered.names else ""), {
        "vault": vault.number,
        "at": [bucket_of_term(vault, term) for _, term in pairs],
        "of": [part for part, _ in pairs],
        "terms": [term for _, term in pairs],
        "names": list(numbered.names),
        "parts": list(numbered.parts),
        "buckets": list(numbered.buckets),
    }


def asked(
    read: PostgresReading | PostgresWriting, wanted: Mapping[int, Iterable[str]], numbered: Numbered = NONE_NUMBERED
) -> Counted:
    """Return the counts of terms by part, and all totals, in one round trip; arguments as for `question`."""
    return Counted.read(read.sql.execute(*question(read.vault, wanted, numbered)))


def of(read: PostgresReading | PostgresWriting, part: int, terms: Iterable[str]) -> dict[str, int]:
    """Return how many entries hold each of some terms of a part; those that none holds are left out."""
    return asked(read, {part: terms}).counts.get(part, {})


def totals(read: PostgresReading | PostgresWriting) -> dict[int, Total]:
    """Return the totals by part."""
    return asked(read, {}).totals


def everything(read: PostgresReading | PostgresWriting) -> Counted:
    """Return all counts of a vault: for checks, as there are many."""
    return Counted.read(read.sql.execute(_EVERYTHING, {"vault": read.vault.number}))


def add(
    write: PostgresWriting,
    bucket: int,
    counts: Mapping[int, Mapping[str, int]],
    totals: Mapping[int, Sequence[int]],
    postings: bytes = b"",
) -> None:
    """Record by how much counts and totals differ after a write, by part; without a difference nothing is written.

    Args:
        bucket: of the first entry that is written.
        totals: by part rows and tokens.
        postings: what changes of them, as `_core.written_postings` says it.
    """
    changed = {part: own for part, own in counts.items() if own}
    moved = {part: total for part, total in totals.items() if any(total)}
    if changed or moved or postings:
        size = sum(map(len, changed.values()))
        number = write.vault.number
        losses = sum(count < 0 for own in changed.values() for count in own.values())

        def waiting(found: list[tuple[Any, ...]]) -> None:
            ((rows, terms),) = found
            write.held.waiting = terms
            write.held.fold_due |= rows >= MOST_ROWS or terms >= MOST_TERMS
            write.held.grown |= write.held.fold_due or size >= MANY_TERMS

        write.later(_ADD, (number, bucket, _json(changed), _json(moved), size, losses, postings or None))
        write.later(WAITING, (number,), waiting)


def bucket_of_term(vault: VaultRow, term: str) -> int:
    """Return the bucket that the sums of a term are in."""
    return vault.first_bucket + _hashed(term) % vault.buckets


# Many trigrams are in most queries, and the actions of feedback are asked for in each.
@lru_cache(4_096)
def _hashed(term: str) -> int:
    return int.from_bytes(sha256(term.encode()).digest()[:2], "big")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
