"""Named values of a vault, such as the progress of a copy into it."""

from __future__ import annotations

from septet.sqlite.store.store import SqliteReading, SqliteWriting


def get(read: SqliteReading | SqliteWriting, name: str) -> str | None:
    """Return the value of a name, or None."""
    row = read.sql.execute("SELECT value FROM meta WHERE key = ?", (f"mark:{name}",)).fetchone()
    return None if row is None else str(row[0])


def put(write: SqliteWriting, name: str, value: str | None) -> None:
    """Set the value of a name; None deletes it."""
    if value is None:
        write.sql.execute("DELETE FROM meta WHERE key = ?", (f"mark:{name}",))
    else:
        write.sql.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"mark:{name}", value))
