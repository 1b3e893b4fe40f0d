"""Blocks of postings: the rows that hold a term, as bytes for `septet._core`; schema.sql describes their storage.

A write appends changes. Folds add their differences of counts to the sums, and merge their postings into the blocks.
Merging is idempotent: on a cluster a search may read blocks and changes in different snapshots and still misses none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg

from septet._core import Damaged, checked_postings, folded_postings, merged_postings, written_postings
from septet.errors import StoreError
from septet.postgres.store.analysis import GRAMS, TEXTS, PartTerms
from septet.postgres.store.pipeline import Statement
from septet.postgres.store.transactions import lock_key
from septet.postgres.store.vaults import VaultRow
from septet.postgres.tables.counts import WAITING, bucket_of_term

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.postgres.store.transactions import PostgresReading


#: Maximum blocks per round trip of a fold.
_PAGE = 20_000

_CHANGES = "SELECT c.change, c.postings FROM septet.count_changes c WHERE c.vault = %s AND c.postings IS NOT NULL"
#: Rows of differences to fold.
_TAKEN = "c.vault = %(vault)s AND c.bucket = ANY(%(buckets)s::integer[]) AND c.change = ANY(%(changes)s::bigint[])"
_POSTINGS_TAKEN = f"SELECT c.change, c.postings FROM septet.count_changes c WHERE {_TAKEN} AND c.postings IS NOT NULL"
_ON_WORKERS = "SET LOCAL citus.propagate_set_commands TO 'local'"
# Force lookups by key, whatever row count the planner estimates.
_BY_KEY = ("SET LOCAL enable_hashjoin = off", "SET LOCAL enable_mergejoin = off", "SET LOCAL enable_seqscan = off")
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

    The first entries, as many as ``removed``, are removed; ``rows`` and ``memories`` are by entry ``(n,)``.
    """
    written = [
        (number, part.terms, part.term, part.entry, np.ascontiguousarray(part.counts), part.tokens)
        for number, part in parts.items()
        if number in (TEXTS, GRAMS)
    ]
    return written_postings(written, rows, memories, removed)


def changes(vault: VaultRow) -> Statement:
    """Return the statement for the unfolded changes."""
    return Statement(_CHANGES, (vault.number,))


def _fold_postings(sql: psycopg.Connection[Any], vault: VaultRow, parameters: Mapping[str, object]) -> None:
    """Merge changes into blocks; parameters are the vault, and the buckets and numbers of the changes."""
    waiting = sorted(sql.execute(_POSTINGS_TAKEN, parameters, binary=True))
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
    """Return the number of postings in the vault's blocks, and the sum of their hashes modulo 2^64."""
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


#: Maximum terms, and rows of differences, per fold.
_TERMS_A_FOLD, _ROWS_A_FOLD = 200_000, 1_000


#: The bucket of a term, equal to `counts.bucket_of_term`.
_DIGEST = "sha256(convert_to(s.term, 'UTF8'))"
_BUCKET = f"(%(first)s + (get_byte({_DIGEST}, 0) * 256 + get_byte({_DIGEST}, 1)) %% %(size)s)::integer"
_TRY = "SELECT pg_try_advisory_xact_lock(%s::bigint)"
_TRY_THERE = f"{_TRY} FROM septet.buckets b WHERE b.vault = %s"
_NEXT = (
    "SELECT bucket, change, size, losses FROM septet.count_changes WHERE vault = %s AND NOT folded "
    "ORDER BY change LIMIT %s"
)
#: The terms ``o`` of rows of differences by part ``p``.
_TERMS = f"FROM septet.count_changes c, jsonb_each(c.counts) AS p, jsonb_each_text(p.value) AS o WHERE {_TAKEN}"
# In the order of the index.
_FOLD_TERMS = f"""
INSERT INTO septet.term_counts AS t (vault, bucket, part, term, count)
SELECT %(vault)s::integer, {_BUCKET}, s.part, s.term, s.count FROM (
    SELECT p.key::smallint AS part, o.key AS term, sum(o.value::bigint)::bigint AS count {_TERMS}
    GROUP BY p.key, o.key
) AS s WHERE s.count <> 0 ORDER BY 2, 3, s.term COLLATE "C"
ON CONFLICT (vault, bucket, part, term) DO UPDATE SET count = t.count + excluded.count
"""
# Terms with a count of 0, deleted by key: a plan that searches them without knowing their number takes minutes.
_LOST = "RETURNING t.bucket, t.part, CASE WHEN t.count = 0 THEN t.term END"
_DROP_TERMS = """
DELETE FROM septet.term_counts t USING unnest(%s::integer[], %s::smallint[], %s::text[]) AS s (bucket, part, term)
WHERE t.vault = %s AND t.bucket = s.bucket AND t.part = s.part AND t.term = s.term COLLATE "C"
"""
_FOLD_TOTALS = f"""
INSERT INTO septet.totals AS t (vault, bucket, part, rows, tokens)
SELECT %(vault)s::integer, %(first)s::integer, o.key::smallint,
    sum((o.value ->> 0)::bigint)::bigint, sum((o.value ->> 1)::bigint)::bigint
FROM septet.count_changes c, jsonb_each(c.totals) AS o WHERE {_TAKEN} GROUP BY o.key
ON CONFLICT (vault, bucket, part) DO UPDATE SET rows = t.rows + excluded.rows, tokens = t.tokens + excluded.tokens
"""
_DROP = f"DELETE FROM septet.count_changes c WHERE {_TAKEN}"
# On a cluster a search may see a fold on one server before it does on another.
_EMPTY = (
    "UPDATE septet.count_changes c SET counts = '{}', totals = '{}', size = 0, losses = 0, folded = true "
    f"WHERE {_TAKEN}"
)
_DROP_FOLDED = "DELETE FROM septet.count_changes c WHERE c.vault = %s AND c.folded"


def fold(sql: psycopg.Connection[Any], vault: VaultRow) -> int:
    """Fold the oldest differences in a separate transaction and return the number of their rows.

    Returns 0 if another writer is folding. A call takes at most about a second.
    """
    with sql.transaction():
        buckets, changes, losses = _next_changes(sql, vault) if _lock(sql, vault) else ([], [], 0)
        if changes:
            named = {"vault": vault.number, "first": vault.first_bucket, "size": vault.buckets}
            parameters = {**named, "buckets": buckets, "changes": changes}
            if losses:
                folded = sql.execute(_FOLD_TERMS + _LOST, parameters).fetchall()
                lost = [*zip(*((bucket, part, term) for bucket, part, term in folded if term is not None))]
                if lost:
                    sql.execute(_DROP_TERMS, (*map(list, lost), vault.number))
            else:
                sql.execute(_FOLD_TERMS, parameters)
            sql.execute(_FOLD_TOTALS, parameters)
            _fold_postings(sql, vault, parameters)
            sql.execute(_EMPTY if vault.distributed else _DROP, parameters)
    if changes and vault.distributed:
        # On failure the next fold drops them.
        with suppress(psycopg.Error):
            sql.execute(_DROP_FOLDED, (vault.number,))
    return len(changes)


def fold_all(sql: psycopg.Connection[Any], vault: VaultRow) -> None:
    """Fold all current differences; other writers may add more."""
    ((remaining, _),) = sql.execute(WAITING, (vault.number,)).fetchall()
    while remaining > 0 and (folded := fold(sql, vault)):
        remaining -= folded


def _next_changes(sql: psycopg.Connection[Any], vault: VaultRow) -> tuple[list[int], list[int], int]:
    """Return buckets and numbers of the next differences to fold, and the number of negative counts in them."""
    buckets: set[int] = set()
    changes: list[int] = []
    terms = losses = 0
    for bucket, change, size, negative in sql.execute(_NEXT, (vault.number, _ROWS_A_FOLD)):
        # Take at least one, of any size.
        if changes and terms + size > _TERMS_A_FOLD:
            break
        buckets.add(bucket)
        changes.append(change)
        terms += size
        losses += negative
    return sorted(buckets), changes, losses


def _lock(sql: psycopg.Connection[Any], vault: VaultRow) -> bool:
    """Lock folds until the end of the transaction, on every server of a cluster; return False if another one runs."""
    key = lock_key(vault.number, "fold")
    tried = sql.execute(_TRY, (key,)).fetchall()
    if vault.distributed and tried == [(True,)]:
        sql.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
        tried = sql.execute(_TRY_THERE, (key, vault.number)).fetchall()
    return all(taken for (taken,) in tried)
