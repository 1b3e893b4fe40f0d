"""What a vault keeps about itself, by name."""

from __future__ import annotations

from septet.postgres.store.transactions import PostgresReading, PostgresWriting

__all__ = ["get", "put", "remove"]


def get(read: PostgresReading | PostgresWriting, key: str) -> str | None:
    """Return a setting; None where there is none."""
    sql = "SELECT value FROM septet.settings WHERE vault = %s AND key = %s::text"
    found = read.sql.execute(sql, (read.vault.number, key)).fetchone()
    return None if found is None else str(found[0])


def put(write: PostgresWriting, key: str, value: str) -> None:
    """Keep a setting."""
    sql = (
        "INSERT INTO septet.settings (vault, key, value) VALUES (%s, %s::text, %s::text) "
        "ON CONFLICT (vault, key) DO UPDATE SET value = excluded.value"
    )
    write.sql.execute(sql, (write.vault.number, key, value))


def remove(write: PostgresWriting, key: str) -> None:
    """Forget a setting."""
    write.sql.execute("DELETE FROM septet.settings WHERE vault = %s AND key = %s::text", (write.vault.number, key))
