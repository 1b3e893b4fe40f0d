"""Reads entries in the order of rows, and live ids."""

from __future__ import annotations

from collections.abc import Sequence

from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables.fragments import BY_ID, named, scalar
from septet.ranking.pool import Candidate
from septet.store.rows import CANDIDATE
from septet.store.rules import RUN_CHARS, RUN_ROWS

_Read = PostgresReading | PostgresWriting

#: Rows per fetch of `run`; low, as texts may be long.
PAGE_ROWS = 50

_HELD = f"SELECT e.id FROM {BY_ID} WHERE e.live"
_RUN = (
    f"SELECT {CANDIDATE} FROM septet.entries e WHERE e.vault = %s AND e.row > %s AND e.row <= %s AND e.live "
    f"ORDER BY e.row LIMIT {RUN_ROWS}"
)


def held(read: _Read, entry_ids: Sequence[str]) -> frozenset[str]:
    rows = read.sql.execute(_HELD, named(read.vault, dict.fromkeys(entry_ids)))
    return frozenset(entry_id for (entry_id,) in rows)


def last_row(read: _Read) -> int:
    return scalar(read, "SELECT coalesce(max(row), 0) FROM septet.entries WHERE vault = %s", (read.vault.number,))


def run(read: _Read, after: int, last: int) -> list[Candidate]:
    entries, chars = [], 0
    with read.sql.cursor(name="septet_run") as cursor:
        cursor.itersize = PAGE_ROWS
        cursor.execute(_RUN, (read.vault.number, after, last))
        for entry in map(Candidate._make, cursor):
            entries.append(entry)
            chars += len(entry.title) + len(entry.description) + len(entry.context) + len(entry.attrs_json)
            if chars > RUN_CHARS:
                break
    return entries
