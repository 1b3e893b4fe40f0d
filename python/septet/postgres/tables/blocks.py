"""Blocks of postings: the rows that hold a term, as bytes for `septet._core`; schema.sql describes their storage.

A write appends changes, which folds merge into the blocks. Merging is idempotent: on a cluster a search may read blocks
and changes in different snapshots and still misses none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg

from septet._core import (
    Damaged,
    checked_postings,
    folded_postings,
    merged_postings,
    written_postings,
)
from septet.errors import StoreError
from septet.postgres.store.analysis import GRAMS, TEXTS, PartTerms
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.counts import bucket_of_term

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.postgres.store.transactions import PostgresReading
    from septet.postgres.store.vaults import VaultRow

#: Maximum blocks per round trip of a fold.
_PAGE = 20_000

_CHANGES = "SELECT c.change, c.postings FROM septet.count_changes c WHERE c.vault = %s AND c.postings IS NOT NULL"
_TAKEN = (
    "SELECT c.change, c.postings FROM septet.count_changes c WHERE c.vault = %(vault)s "
    "AND c.bucket = ANY(%(buckets)s::integer[]) AND c.change = ANY(%(changes)s::bigint[]) AND c.postings IS NOT NULL"
)
_ON_WORKERS = "SET LOCAL citus.propagate_set_commands TO 'local'"
# Force lookups by key, whatever row count the planner estimates.
_BY_KEY = (
    "SET LOCAL enable_hashjoin = off",
    "SET LOCAL enable_mergejoin = off",
    "SET LOCAL enable_seqscan = off",
)
_THESE = "unnest(%s::integer[], %s::integer[], %s::smallint[], %s::text[], %s::bigint[])"
_BEFORE = f"""
SELECT w.place, b.postings FROM {_THESE} AS w (place, bucket, part, term, span) JOIN septet.posting_blocks b
    ON b.vault = %s AND b.bucket = w.bucket AND b.part = w.part AND b.term = w.term COLLATE "C" AND b.span = w.span
"""
_PUT = """
INSERT INTO septet.posting_blocks (vault, bucket, part, term, span, postings)
SELECT %s::integer, w.* FROM unnest(%s::integer[], %s::smallint[], %s::text[], %s::bigint[], %s::bytea[]) AS w
ON CONFLICT (vault, bucket, part, term, span) DO UPDATE SET postings = excluded.postings
"""
_REMOVE = """
DELETE FROM septet.posting_blocks b
USING unnest(%s::integer[], %s::smallint[], %s::text[], %s::bigint[]) AS w (bucket, part, term, span)
WHERE b.vault = %s AND b.bucket = w.bucket AND b.part = w.part AND b.term = w.term COLLATE "C" AND b.span = w.span
"""
_STORED = "SELECT b.part, b.term, b.span, b.postings FROM septet.posting_blocks b WHERE b.vault = %s"


def changed(
    parts: Mapping[int, PartTerms], rows: NDArray[np.int64], memories: NDArray[np.bool_], removed: int
) -> bytes:
    """Return the changes of postings by a write of entries, as bytes.

    Args:
        parts: terms of the entries, removed entries before added ones.
        rows: row of each entry ``(n,)``.
        memories: True for each entry that is a memory ``(n,)``.
        removed: number of removed entries.
    """
    return written_postings(
        [
            (number, part.terms, part.term, part.entry, _counts(part), part.tokens)
            for number in (TEXTS, GRAMS)
            for part in (parts[number],)
        ],
        rows,
        memories,
        removed,
    )


def changes(vault: VaultRow) -> Statement:
    """Return the statement for the unfolded changes."""
    return Statement(_CHANGES, (vault.number,))


def fold(sql: psycopg.Connection[Any], vault: VaultRow, parameters: Mapping[str, object]) -> None:
    """Merge changes into blocks, in the open transaction.

    Args:
        parameters: the vault, and the buckets and numbers of the changes.
    """
    waiting = sorted(sql.execute(_TAKEN, parameters, binary=True))
    if not waiting:
        return
    for setting in (*([_ON_WORKERS] if vault.distributed else []), *_BY_KEY):
        sql.execute(setting)
    with checked():
        changed = iter(folded_postings([postings for _, postings in waiting]))
        while page := [*islice(changed, _PAGE)]:
            _merge(sql, vault, page)


def checksum(parts: Mapping[int, PartTerms], rows: NDArray[np.int64], memories: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the number of postings of entries and the sum of their hashes; arguments as in `changed`."""
    return checked_postings(
        [(part, term, block) for part, term, _, block in folded_postings([changed(parts, rows, memories, 0)])]
    )


def stored_checksum(read: PostgresReading) -> tuple[int, int]:
    """Return the number of postings in the vault's blocks, and the sum of their hashes modulo 2^64.

    Raises:
        StoreError: a block is damaged.
    """
    with checked(), read.sql.cursor(name="septet_blocks", binary=True) as cursor:
        waiting = [postings for _, postings in sorted(read.sql.execute(_CHANGES, (read.vault.number,), binary=True))]
        changed = {(part, term, span): change for part, term, span, change in folded_postings(waiting)}
        cursor.execute(_STORED, (read.vault.number,))
        number, total = 0, 0
        while page := cursor.fetchmany(_PAGE):
            merged = [
                ((part, term, span), block, changed.pop((part, term, span), b"")) for part, term, span, block in page
            ]
            count, hashes = _sum(merged)
            number, total = number + count, total + hashes
        count, hashes = _sum([(key, b"", change) for key, change in changed.items()])
    return number + count, (total + hashes) % 2**64


def _sum(pairs: Sequence[tuple[tuple[int, str, int], bytes, bytes]]) -> tuple[int, int]:
    merged = merged_postings([(block, change) for _, block, change in pairs])
    return checked_postings([(part, term, block) for ((part, term, _), *_), block in zip(pairs, merged)])


@contextmanager
def checked() -> Iterator[None]:
    """Raise `StoreError` for damaged blocks."""
    try:
        yield
    except Damaged as fault:
        raise StoreError("a block of postings is damaged: see `septet doctor`") from fault


def _merge(sql: psycopg.Connection[Any], vault: VaultRow, changed: Sequence[tuple[int, str, int, bytes]]) -> None:
    keys = [(bucket_of_term(vault, term), part, term, span) for part, term, span, _ in changed]
    parameters = (list(range(len(keys))), *_columns(keys), vault.number)
    before: dict[int, bytes] = dict(sql.execute(_BEFORE, parameters, binary=True))
    merged = merged_postings([(before.get(place, b""), change) for place, (*_, change) in enumerate(changed)])
    stored = [(*key, postings) for key, postings in zip(keys, merged) if postings]
    if stored:
        sql.execute(_PUT, (vault.number, *_columns(stored)))
    empty = [key for place, (key, postings) in enumerate(zip(keys, merged)) if not postings and place in before]
    if empty:
        sql.execute(_REMOVE, (*_columns(empty), vault.number))


def _columns(rows: Sequence[tuple[Any, ...]]) -> Iterator[list[Any]]:
    return map(list, zip(*rows))


def _counts(part: PartTerms) -> NDArray[np.int32]:
    return np.ones((len(part.term), 1), dtype=np.int32) if part.counts is None else np.ascontiguousarray(part.counts)
