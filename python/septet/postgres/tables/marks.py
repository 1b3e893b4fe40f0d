"""Named marks of a vault, such as the progress of a copy into it."""

from __future__ import annotations

from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables import settings


def get(read: PostgresReading | PostgresWriting, name: str) -> str | None:
    return settings.get(read, f"mark:{name}")


def put(write: PostgresWriting, name: str, value: str | None) -> None:
    if value is None:
        settings.remove(write, f"mark:{name}")
    else:
        settings.put(write, f"mark:{name}", value)
