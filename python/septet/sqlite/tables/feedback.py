"""Feedback rows: actions of users on results."""

from __future__ import annotations

from collections.abc import Iterator

from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.store.rows import FeedbackRow
from septet.store.typed import TextCount, typed, typed_pages

_DAY_S = 86_400.0


def all_rows(read: SqliteReading) -> Iterator[FeedbackRow]:
    sql = "SELECT query, entry_id, action, created_at FROM feedback ORDER BY row"
    return typed_pages(FeedbackRow, read.sql.execute(sql))


def record(write: SqliteWriting, row: FeedbackRow) -> None:
    write.sql.execute("INSERT INTO feedback (query, entry_id, action, created_at) VALUES (?, ?, ?, ?)", row)


def restore(write: SqliteWriting, row: FeedbackRow) -> None:
    write.sql.execute(
        "INSERT INTO feedback (query, entry_id, action, created_at) SELECT ?, ?, ?, ? WHERE NOT EXISTS ("
        "SELECT 1 FROM feedback WHERE query = ? AND entry_id = ? AND action = ? AND created_at = ?)",
        (*row, *row),
    )


def counts(read: SqliteReading) -> dict[str, int]:
    sql = "SELECT action, count(*) FROM feedback GROUP BY action ORDER BY action"
    return dict(typed(TextCount, read.sql.execute(sql)))


def by_day(read: SqliteReading) -> list[tuple[int, str, int]]:
    sql = (
        f"SELECT CAST(created_at / {_DAY_S} AS INTEGER) - (created_at < 0) AS day, action, count(*) FROM feedback "
        "GROUP BY day, action ORDER BY day"
    )
    return read.sql.execute(sql).fetchall()


def clear(write: SqliteWriting) -> int:
    return write.sql.execute("DELETE FROM feedback").rowcount
