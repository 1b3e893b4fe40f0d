"""What a search must know of the whole vault before it can rank: totals, counts of terms, spaces, and whether there are
links. Sums over what was folded and what was not yet (see schema.sql)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.storage.postgres.pipeline import Statement

if TYPE_CHECKING:
    from septet.storage.postgres.vaults import VaultRow

__all__ = [
    "FEEDBACK",
    "GRAMS",
    "MEMORIES",
    "TERMS",
    "TEXTS",
    "TRIGRAMS",
    "WORDS",
    "counts",
    "linked",
    "outside",
    "spaces",
    "totals",
]

#: What is counted by part; see schema.sql.
TEXTS, GRAMS, TRIGRAMS, TERMS, WORDS, MEMORIES, FEEDBACK = 0, 1, 2, 3, 4, 16, 32

_COUNTS = """
WITH changed AS MATERIALIZED (
    SELECT c.counts FROM septet.count_changes c WHERE c.vault = %s AND c.bucket = ANY(%s::int[])
)
SELECT a.part, a.term, (
    coalesce((
        SELECT sum(t.count) FROM septet.term_counts t
        WHERE t.vault = %s AND t.bucket = a.bucket AND t.part = a.part AND t.term = a.term
    ), 0) + coalesce((SELECT sum((c.counts -> a.part::text ->> a.term)::bigint) FROM changed c), 0)
)::bigint
FROM unnest(%s::int[], %s::smallint[], %s::text[]) AS a (bucket, part, term)
"""
_TOTALS = """
SELECT part, sum(rows)::bigint, sum(tokens)::bigint FROM (
    SELECT t.part, t.rows, t.tokens FROM septet.totals t WHERE t.vault = %s AND t.bucket = %s
    UNION ALL
    SELECT j.key::smallint, (j.value ->> 0)::bigint, (j.value ->> 1)::bigint
    FROM septet.count_changes c, jsonb_each(c.totals) j WHERE c.vault = %s AND c.bucket = ANY(%s::int[])
) s GROUP BY part
"""
_LINKED = "SELECT EXISTS (SELECT 1 FROM septet.links l WHERE l.vault = %s AND l.bucket = ANY(%s::int[]))"
_SPACES = """
SELECT s.space, s.model, s.dimensions, s.keyed_by, 0 FROM septet.spaces s
WHERE s.vault = %s AND EXISTS (
    SELECT 1 FROM septet.vectors v WHERE v.vault = s.vault AND v.bucket = ANY(%s::int[]) AND v.space = s.space
)
ORDER BY s.space
"""
# As in the index of those whose validity has a limit.
_OUTSIDE = """
SELECT e.kind = 'memory', e.title, e.description, e.context, e.tags FROM septet.entries e
WHERE e.vault = %s AND e.bucket = ANY(%s::int[]) AND e.live AND (e.valid_from IS NOT NULL OR e.valid_until IS NOT NULL)
    AND (e.valid_from > %s::float8 OR e.valid_until <= %s::float8) AND e.parent IS DISTINCT FROM e.id
"""


def counts(vault: VaultRow, parts: Sequence[int], terms: Sequence[str]) -> Statement:
    """Return what asks how many entries hold terms: part, term and count of each, in any order."""
    buckets = [vault.bucket_of(term) for term in terms]
    return Statement(_COUNTS, (vault.number, vault.all_buckets, vault.number, buckets, list(parts), list(terms)))


def totals(vault: VaultRow) -> Statement:
    """Return what asks for the rows and tokens of each part."""
    return Statement(_TOTALS, (vault.number, vault.bucket_of_row(0), vault.number, vault.all_buckets))


def linked(vault: VaultRow) -> Statement:
    """Return what asks whether there is any link."""
    return Statement(_LINKED, (vault.number, vault.all_buckets))


def spaces(vault: VaultRow) -> Statement:
    """Return what asks for the spaces that hold vectors, in the order in which they were made."""
    return Statement(_SPACES, (vault.number, vault.all_buckets))


def outside(vault: VaultRow, now: float) -> Statement:
    """Return what asks for the texts of live entries that are not valid at a moment, and whether they are memories."""
    return Statement(_OUTSIDE, (vault.number, vault.all_buckets, now, now))
