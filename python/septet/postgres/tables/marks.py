"""Named marks of a vault, such as the progress of a copy into it."""

from __future__ import annotations

from septet.postgres.store.transactions import PostgresReading, PostgresWriting


def get(read: PostgresReading | PostgresWriting, name: str) -> str | None:
    return setting(read, f"mark:{name}")


def put(write: PostgresWriting, name: str, value: str | None) -> None:
    if value is not None:
        put_setting(write, f"mark:{name}", value)
        return
    sql = "DELETE FROM septet.settings WHERE vault = %s AND key = %s::text"
    write.sql.execute(sql, (write.vault.number, f"mark:{name}"))


def setting(read: PostgresReading | PostgresWriting, key: str) -> str | None:
    """Return a setting, or None."""
    sql = "SELECT value FROM septet.settings WHERE vault = %s AND key = %s::text"
    result = read.sql.execute(sql, (read.vault.number, key)).fetchone()
    return None if result is None else str(result[0])


def put_setting(write: PostgresWriting, key: str, value: str) -> None:
    """Store a setting."""
    sql = (
        "INSERT INTO septet.settings (vault, key, value) VALUES (%s, %s::text, %s::text) "
        "ON CONFLICT (vault, key) DO UPDATE SET value = excluded.value"
    )
    write.sql.execute(sql, (write.vault.number, key, value))
