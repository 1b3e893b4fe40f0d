"""What a vault keeps about itself under a name, such as how far a copy into it has come."""

from __future__ import annotations

from septet.sqlite.store.store import Reading, Writing

__all__ = ["get", "put"]


def get(read: Reading | Writing, name: str) -> str | None:
    """Return what is kept under a name; None without any."""
    row = read.sql.execute("SELECT value FROM meta WHERE key = ?", (f"mark:{name}",)).fetchone()
    return None if row is None else str(row[0])


def put(write: Writing, name: str, value: str | None) -> None:
    """Keep a text under a name; None forgets it."""
    if value is None:
        write.sql.execute("DELETE FROM meta WHERE key = ?", (f"mark:{name}",))
    else:
        write.sql.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"mark:{name}", value))
