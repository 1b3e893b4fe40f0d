"""NUL characters: PostgreSQL stores none, so entries with one are refused before anything is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from septet.errors import EntryError
from septet.inputs.arguments import shown
from septet.store.rows import EntryRow

#: The escape of the character in JSON; texts may hold it too.
_MARK = "\\u0000"
_JSON = ("tags", "attrs")
_TEXTS = [at for at, name in enumerate(EntryRow._fields) if name not in _JSON]


def refuse(rows: Iterable[EntryRow]) -> None:
    """Raise if an entry holds a NUL character.

    Raises:
        EntryError: one does.
    """
    for row in rows:
        for value in row:
            if type(value) is str and ("\0" in value or _MARK in value):
                _check(row)
                break


def refuse_columns(columns: Mapping[str, object]) -> None:
    """Raise if a value of a column holds a NUL character.

    Raises:
        EntryError: one does.
    """
    for name, value in columns.items():
        if isinstance(value, str) and (
            "\0" in value or (name in _JSON and _MARK in value and _holds(json.loads(value)))
        ):
            raise _refused(name)


def refuse_texts(what: str, *texts: object) -> None:
    """Raise if a text holds a NUL character.

    Raises:
        EntryError: one does.
    """
    if any(isinstance(text, str) and "\0" in text for text in texts):
        raise _refused(what)


def _check(row: EntryRow) -> None:
    refuse_texts(f"entry {shown(row.id)}", *(row[at] for at in _TEXTS))
    if any(_holds(json.loads(getattr(row, name))) for name in _JSON):
        raise _refused(f"entry {shown(row.id)}")


def _holds(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds(part) for item in value.items() for part in item)
    return isinstance(value, list) and any(map(_holds, value))


def _refused(what: str) -> EntryError:
    return EntryError(f"{what} has a NUL character, which PostgreSQL does not store: leave it out")
