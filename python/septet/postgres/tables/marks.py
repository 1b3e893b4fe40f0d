"""What a vault keeps about itself under a name, such as how far a copy into it has come."""

from __future__ import annotations

from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables import settings

__all__ = ["get", "put"]


def get(read: PostgresReading | PostgresWriting, name: str) -> str | None:
    """Return what is kept under a name; None without any."""
    return settings.get(read, f"mark:{name}")


def put(write: PostgresWriting, name: str, value: str | None) -> None:
    """Keep a text under a name; None forgets it."""
    if value is None:
        settings.remove(write, f"mark:{name}")
    else:
        settings.put(write, f"mark:{name}", value)
