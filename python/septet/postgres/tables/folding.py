"""Folds: add the differences of writes to sums, and merge them into blocks of postings."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg

from septet.postgres.store.locks import lock_key
from septet.postgres.store.vaults import VaultRow
from septet.postgres.tables import blocks
from septet.postgres.tables.counts import WAITING

#: Maximum terms, and rows of differences, per fold.
_TERMS_A_FOLD, _ROWS_A_FOLD = 200_000, 1_000


def _term_bucket(term: str) -> str:
    """Return the expression for the bucket of a term, equal to `counts.bucket_of_term`."""
    digest = f"sha256(convert_to({term}, 'UTF8'))"
    return f"(%(first)s + (get_byte({digest}, 0) * 256 + get_byte({digest}, 1)) %% %(size)s)::integer"


_TRY = "SELECT pg_try_advisory_xact_lock(%s::bigint)"
_TRY_THERE = f"{_TRY} FROM septet.buckets b WHERE b.vault = %s"
_NEXT = (
    "SELECT bucket, change, size, losses FROM septet.count_changes WHERE vault = %s AND NOT folded "
    "ORDER BY change LIMIT %s"
)
#: Rows of differences to fold; then their terms ``o`` by part ``p``.
_TAKEN = "c.vault = %(vault)s AND c.bucket = ANY(%(buckets)s::integer[]) AND c.change = ANY(%(changes)s::bigint[])"
_TERMS = f"FROM septet.count_changes c, jsonb_each(c.counts) AS p, jsonb_each_text(p.value) AS o WHERE {_TAKEN}"
# In the order of the index.
_FOLD_TERMS = f"""
INSERT INTO septet.term_counts AS t (vault, bucket, part, term, count)
SELECT %(vault)s::integer, {_term_bucket("s.term")}, s.part, s.term, s.count FROM (
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
            blocks.fold(sql, vault, parameters)
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
