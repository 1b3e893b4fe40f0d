"""Feedback of users on results. Actions are counted as terms of the part `FEEDBACK`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from septet.postgres.store.packing import refuse_texts
from septet.postgres.store.transactions import PostgresReading, PostgresWriting, hold
from septet.postgres.tables import counts as counted
from septet.postgres.tables.counts import FEEDBACK
from septet.store.rows import ACTIONS, FeedbackRow

_Read = PostgresReading | PostgresWriting

_ALL = "SELECT query, entry_id, action, created_at FROM septet.feedback WHERE vault = %s ORDER BY row"
_NEW = (
    "INSERT INTO septet.feedback (vault, bucket, row, query, entry_id, action, created_at) "
    "VALUES (%s, %s, nextval('septet.row_numbers') * 1024 + %s::integer %% 1024, %s, %s, %s, %s)"
)
_THERE = (
    "SELECT 1 FROM septet.feedback WHERE vault = %s AND bucket = %s "
    "AND query = %s::text AND entry_id = %s::text AND action = %s::text AND created_at = %s::float8 LIMIT 1"
)
_BY_DAY = (
    "SELECT trunc(created_at / 86400.0)::bigint - (created_at < 0)::integer AS day, action, count(*) "
    'FROM septet.feedback WHERE vault = %s GROUP BY day, action ORDER BY day, action COLLATE "C"'
)


def all_rows(read: _Read) -> Iterator[FeedbackRow]:
    with read.sql.cursor(name="septet_feedback") as cursor:
        cursor.execute(_ALL, (read.vault.number,))
        yield from map(FeedbackRow._make, cursor)


def record(write: PostgresWriting, row: FeedbackRow) -> None:
    bucket = _bucket(write, row)
    write.sql.execute(_NEW, (write.vault.number, bucket, bucket, *row))
    counted.add(write, bucket, {FEEDBACK: {row.action: 1}}, {FEEDBACK: (1, 0)})


def restore(write: PostgresWriting, row: FeedbackRow) -> None:
    hold(write, [row.entry_id])
    if write.sql.execute(_THERE, (write.vault.number, _bucket(write, row), *row)).fetchone() is None:
        record(write, row)


def counts(read: _Read) -> dict[str, int]:
    return dict(sorted(counted.of(read, FEEDBACK, ACTIONS).items()))


def by_day(read: _Read) -> list[tuple[int, str, int]]:
    return [(day, action, number) for day, action, number in read.sql.execute(_BY_DAY, (read.vault.number,))]


def clear(write: PostgresWriting) -> int:
    sql = "DELETE FROM septet.feedback WHERE vault = %s RETURNING action"
    deleted = Counter(action for (action,) in write.sql.execute(sql, (write.vault.number,)))
    if deleted:
        differences = {action: -number for action, number in deleted.items()}
        counted.add(write, write.vault.first_bucket, {FEEDBACK: differences}, {FEEDBACK: (-deleted.total(), 0)})
    return deleted.total()


def _bucket(write: PostgresWriting, row: FeedbackRow) -> int:
    refuse_texts("feedback", row.query, row.entry_id)
    return write.vault.bucket_of(row.entry_id)
