"""Which SQLite a vault can be kept in: the oldest version that passes the tests, and with FTS5."""

from __future__ import annotations

import sqlite3

from septet.errors import StoreError

__all__ = ["OLDEST_SQLITE", "lacking_full_text", "require_version"]

#: The oldest version that passes the tests of storage and search, see `make test-sqlite`. FTS5's check of tables
#: calls those of grams malformed in 3.33 and before, so that backups of sound vaults are refused.
OLDEST_SQLITE = (3, 34, 1)
#: Where SQLite comes from: it is no dependency that pip could bring.
_ELSEWHERE = (
    "SQLite comes with Python or with the system: use a newer Python, upgrade the system's libsqlite3, "
    "or install Python from conda or uv, which bring their own"
)


def require_version(path: str, version: tuple[int, ...] = sqlite3.sqlite_version_info) -> None:
    """Refuse a vault to an SQLite that is too old, before anything is written.

    Raises:
        StoreError: with the version that was found and the one that is needed.
    """
    if version < OLDEST_SQLITE:
        found, wanted = (".".join(map(str, one)) for one in (version, OLDEST_SQLITE))
        raise StoreError(
            f"{path} cannot be opened: Python uses SQLite {found}, Septet needs {wanted} or newer. {_ELSEWHERE}"
        )


def lacking_full_text(path: str, version: str = sqlite3.sqlite_version) -> StoreError:
    """Return the error of a vault where SQLite was built without FTS5."""
    return StoreError(f"{path} cannot be opened: SQLite {version} of this Python was built without FTS5. {_ELSEWHERE}")
