"""The requirements on SQLite: a minimum version, and FTS5."""

from __future__ import annotations

import sqlite3

from septet.errors import StoreError

#: The oldest version that passes the tests of storage and search, see `make test-sqlite`. Up to 3.33, FTS5's check
#: reports sound tables of grams as malformed, so that backups are refused.
OLDEST_SQLITE = (3, 34, 1)
#: Sources of a newer SQLite, which pip cannot install.
_ELSEWHERE = (
    "SQLite comes with Python or with the system: use a newer Python, upgrade the system's libsqlite3, "
    "or install Python from conda or uv, which bring their own"
)


def require_version(path: str, version: tuple[int, ...] = sqlite3.sqlite_version_info) -> None:
    """Raise if SQLite is too old, before anything is written.

    Raises:
        StoreError: with the installed and the required version.
    """
    if version < OLDEST_SQLITE:
        version_text, oldest = (".".join(map(str, numbers)) for numbers in (version, OLDEST_SQLITE))
        raise StoreError(
            f"{path} cannot be opened: Python uses SQLite {version_text}, Septet needs {oldest} or newer. {_ELSEWHERE}"
        )


def lacking_full_text(path: str, version: str = sqlite3.sqlite_version) -> StoreError:
    """Return the error for an SQLite built without FTS5."""
    return StoreError(f"{path} cannot be opened: SQLite {version} of this Python was built without FTS5. {_ELSEWHERE}")
