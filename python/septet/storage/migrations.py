"""From older schemas to the present one, each step in SQL; a file is upgraded in one transaction, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

__all__ = ["OLDEST", "steps"]

#: What brings a file from the version before to the version named. Reading needs none of it: a file of an older
#: version, opened for reading, is read as it is.
_STEPS: Mapping[int, tuple[str, ...]] = MappingProxyType(
    {
        2: (
            "ALTER TABLE vectors ADD COLUMN generation INTEGER NOT NULL DEFAULT 0",
            "CREATE INDEX vectors_by_generation ON vectors (space, generation) WHERE generation > 0",
            "CREATE TABLE claims (model TEXT NOT NULL, key TEXT NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL, "
            "PRIMARY KEY (model, key)) WITHOUT ROWID",
        ),
        3: (
            "CREATE TABLE jobs (job INTEGER PRIMARY KEY, model TEXT NOT NULL, place TEXT NOT NULL, name TEXT NOT NULL, "
            "batch TEXT, owner TEXT NOT NULL, until REAL NOT NULL, created_at REAL NOT NULL)",
        ),
    }
)

#: The oldest version that can be upgraded.
OLDEST = min(_STEPS) - 1


def steps(version: int) -> Iterator[str]:
    """Yield the statements that bring a file of an older version to the present one."""
    for target in sorted(_STEPS):
        if target > version:
            yield from _STEPS[target]
