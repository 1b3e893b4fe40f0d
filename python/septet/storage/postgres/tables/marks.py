"""What a vault keeps about itself under a name, such as how far a copy into it has come."""

from __future__ import annotations

from septet.storage.postgres.store import PostgresReading, PostgresWriting

__all__ = ["get", "put"]

_GET = "SELECT value FROM septet.settings WHERE vault = %s::int AND key = %s::text"
_PUT = (
    "INSERT INTO septet.settings (vault, key, value) VALUES (%s::int, %s::text, %s::text) "
    "ON CONFLICT (vault, key) DO UPDATE SET value = excluded.value"
)
_DROP = "DELETE FROM septet.settings WHERE vault = %s::int AND key = %s::text"


def get(read: PostgresReading | PostgresWriting, name: str) -> str | None:
    """Return what is kept under a name; None without any."""
    found = read.sql.execute(_GET, (read.vault.number, f"mark:{name}")).fetchone()
    return None if found is None else str(found[0])


def put(write: PostgresWriting, name: str, value: str | None) -> None:
    """Keep a text under a name; None forgets it."""
    if value is None:
        write.sql.execute(_DROP, (write.vault.number, f"mark:{name}"))
    else:
        write.sql.execute(_PUT, (write.vault.number, f"mark:{name}", value))
