"""Settings of a vault, by key."""

from __future__ import annotations

from septet.postgres.store.transactions import PostgresReading, PostgresWriting


def get(read: PostgresReading | PostgresWriting, key: str) -> str | None:
    """Return a setting, or None."""
    sql = "SELECT value FROM septet.settings WHERE vault = %s AND key = %s::text"
    result = read.sql.execute(sql, (read.vault.number, key)).fetchone()
    return None if result is None else str(result[0])


def put(write: PostgresWriting, key: str, value: str) -> None:
    """Store a setting."""
    sql = (
        "INSERT INTO septet.settings (vault, key, value) VALUES (%s, %s::text, %s::text) "
        "ON CONFLICT (vault, key) DO UPDATE SET value = excluded.value"
    )
    write.sql.execute(sql, (write.vault.number, key, value))


def remove(write: PostgresWriting, key: str) -> None:
    """Remove a setting."""
    write.sql.execute("DELETE FROM septet.settings WHERE vault = %s AND key = %s::text", (write.vault.number, key))
