"""Named values of a vault, and notes on files whose chunks were changed in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from septet.sqlite.store.store import SqliteReading, SqliteWriting


def get(read: SqliteReading | SqliteWriting, name: str) -> str | None:
    value = value_of(read, f"mark:{name}")
    return None if value is None else str(value)


def put(write: SqliteWriting, name: str, value: str | None) -> None:
    if value is None:
        write.sql.execute("DELETE FROM meta WHERE key = ?", (f"mark:{name}",))
    else:
        set_value(write, f"mark:{name}", value)


def value_of(read: SqliteReading | SqliteWriting, key: str) -> Any:
    """Return a value of the table ``meta``; None if there is none."""
    row = read.sql.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else row[0]


def set_value(write: SqliteWriting, key: str, value: str | int) -> None:
    """Set a value of the table ``meta``."""
    write.sql.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def has_table(read: SqliteReading, name: str) -> bool:
    """Return True if the file's schema has a table; older ones lack some, and another process may upgrade it."""
    return read.sql.execute("SELECT 1 FROM main.sqlite_master WHERE name = ?", (name,)).fetchone() is not None


#: The note on such a file until it is read again.
ALTERED = "chunks of it were changed or deleted in the vault; a sync with force makes them what the file says"


def note_altered(write: SqliteWriting, rows: Sequence[int]) -> None:
    """Note that the chunks at these rows differ from their files, until the next sync that stores the file."""
    if not rows:
        return
    write.sql.execute(
        "UPDATE files SET problem = CASE WHEN problem IS NULL THEN ?1 ELSE problem || '; ' || ?1 END "
        "WHERE id IN (SELECT e.parent FROM json_each(?2) j JOIN entries e ON e.row = j.value "
        "WHERE e.live AND e.kind = 'chunk' AND e.parent IS NOT NULL) "
        "AND (problem IS NULL OR instr(problem, ?1) = 0)",
        (ALTERED, json.dumps(list(rows))),
    )
