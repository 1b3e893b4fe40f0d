r"""SQL that several tables share: conditions on ``entries e``, and escaping of texts with NUL.

SQLite's JSON truncates texts at NUL. There it is escaped as ``\1\2`` and ``\1`` as ``\1\3``: injective, and keeps the
order; few texts change. SQLite does the escaping: a Python function called from SQL would lose interrupts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from septet._core import text_set

_FOUND = "e.parent IS NOT e.id"
#: Searchable entries: live and not split; searches return the parts instead.
FINDABLE = f"e.live AND {_FOUND}"
#: Entries of every search; memories have their own full-text table, and are searched on request.
SEARCHABLE = f"e.kind <> 'memory' AND {_FOUND}"
MEMORY = f"e.kind = 'memory' AND {_FOUND}"
#: The values of a list in JSON.
THESE = "(SELECT value FROM json_each(?))"


def searchable(memories: bool) -> str:
    """Return the condition of entries that searches return, memories included or not."""
    return FINDABLE if memories else f"e.live AND {SEARCHABLE}"


def vector_key(keyed_by: str) -> str:
    """Return the expression that addresses an entry's vector in a space; see the table ``spaces`` in schema.sql."""
    return "e.text_hash || ':' || e.id" if keyed_by == "entry" else "e.text_hash"


#: A necessary condition, in JSON, of a text that must be escaped.
_MARK = "\\u000"


def plain(sql: str) -> str:
    """Return SQL that unescapes a text."""
    return f"replace(replace({sql}, char(1, 2), char(0)), char(1, 3), char(1))"


_LISTED = f"(SELECT key, {plain('value')} AS value FROM json_each(?))"


def escaped(text: str) -> str:
    """Return a text without NUL."""
    return text.replace("\1", "\1\3").replace("\0", "\1\2")


def unescaped(text: str) -> str:
    """Invert `escaped`."""
    return text.replace("\1\2", "\0").replace("\1\3", "\1") if "\1" in text else text


def listed(values: Sequence[str]) -> tuple[str, str]:
    """Return a table expression of texts with ``key`` (from 0) and ``value``, and its parameter."""
    text = json.dumps(values)
    return ("json_each(?)", text) if _MARK not in text else (_LISTED, json.dumps([escaped(value) for value in values]))


def among(values: Sequence[str] | Sequence[float]) -> tuple[str, str, int]:
    """Return a table expression of distinct texts or numbers as ``value``, its parameter, and their number.

    Sorted, since SQLite builds a B-tree of the values, which is several times faster in order.
    """
    if values and isinstance(values[0], str):
        text, count = text_set(cast("Sequence[str]", values))
        return _LISTED if _MARK in text else "json_each(?)", text, count
    numbers = sorted(dict.fromkeys(cast("Sequence[float]", values)))
    return "json_each(?)", json.dumps(numbers), len(numbers)


def escaped_json(column: str) -> str:
    """Return SQL for the JSON of a column with its texts and names escaped."""
    # JSON never contains this character. Once pairs of backslashes are replaced, each remaining one begins an escape.
    out = rf"replace({column}, '\\', char(2))"
    for before, after in ((r"\u0001", r"\u0001\u0003"), (r"\u0000", r"\u0001\u0002")):
        out = f"replace({out}, '{before}', '{after}')"
    # Few texts contain either character.
    return rf"CASE WHEN instr({column}, '{_MARK}') THEN replace({out}, char(2), '\\') ELSE {column} END"
