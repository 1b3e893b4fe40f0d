"""Feedback rows: what users did with results."""

from __future__ import annotations

from septet.storage.store import Reading, Writing

__all__ = ["ACTIONS", "clear", "counts", "record", "restore"]

#: What a user can do with a result; ``failed`` is a system error and never counts.
ACTIONS = ("accepted", "modified", "dismissed", "failed")


def record(write: Writing, query: str, entry_id: str, action: str, now: float) -> None:
    """Store one row."""
    write.sql.execute(
        "INSERT INTO feedback (query, entry_id, action, created_at) VALUES (?, ?, ?, ?)", (query, entry_id, action, now)
    )


def restore(write: Writing, query: str, entry_id: str, action: str, created_at: float) -> None:
    """Store a row of an export, unless it is there already: importing twice must not count twice."""
    row = (query, entry_id, action, created_at)
    write.sql.execute(
        "INSERT INTO feedback (query, entry_id, action, created_at) SELECT ?, ?, ?, ? WHERE NOT EXISTS ("
        "SELECT 1 FROM feedback WHERE query = ? AND entry_id = ? AND action = ? AND created_at = ?)",
        (*row, *row),
    )


def counts(read: Reading) -> dict[str, int]:
    """Return the number of rows by action."""
    return dict(read.sql.execute("SELECT action, count(*) FROM feedback GROUP BY action"))


def clear(write: Writing) -> int:
    """Forget all feedback and return how many rows there were."""
    return write.sql.execute("DELETE FROM feedback").rowcount
