r"""Texts with NUL in SQLite's JSON, which ends a text there.

Such texts go through JSON escaped: NUL as ``\1\2`` and ``\1`` as ``\1\3``. No two texts become one, their order stays,
and texts without either character, nearly all, stay as they are.

SQLite escapes them itself: a function of Python that it calls loses the interrupt that comes within.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from septet._core import text_set

__all__ = ["among", "escaped", "escaped_json", "listed", "plain", "unescaped"]

#: What stands in JSON for a text that must be escaped, and for some that need not be.
_MARK = "\\u000"


def plain(sql: str) -> str:
    """Return, as SQL, the text that an escaped one stands for."""
    return f"replace(replace({sql}, char(1, 2), char(0)), char(1, 3), char(1))"


_LISTED = f"(SELECT key, {plain('value')} AS value FROM json_each(?))"


def escaped(text: str) -> str:
    """Return a text without NUL."""
    return text.replace("\1", "\1\3").replace("\0", "\1\2")


def unescaped(text: str) -> str:
    """Return the text that `escaped` made another of."""
    return text.replace("\1\2", "\0").replace("\1\3", "\1") if "\1" in text else text


def listed(values: Sequence[str]) -> tuple[str, str]:
    """Return texts as something to select ``key``, from 0, and ``value`` from, and its parameter."""
    text = json.dumps(values)
    return ("json_each(?)", text) if _MARK not in text else (_LISTED, json.dumps([escaped(value) for value in values]))


def among(values: Sequence[str] | Sequence[float]) -> tuple[str, str, int]:
    """Return texts, or numbers, as something to select each ``value`` from once, its parameter, and how many.

    In order, because SQLite looks values up in a tree, which grows several times as fast.
    """
    if values and isinstance(values[0], str):
        text, count = text_set(cast("Sequence[str]", values))
        return _LISTED if _MARK in text else "json_each(?)", text, count
    numbers = sorted(dict.fromkeys(cast("Sequence[float]", values)))
    return "json_each(?)", json.dumps(numbers), len(numbers)


def escaped_json(column: str) -> str:
    """Return, as SQL, the JSON of a column with its texts and names escaped."""
    # No JSON holds the character itself. With pairs of backslashes out of the way, each that is left begins an escape.
    out = rf"replace({column}, '\\', char(2))"
    for before, after in ((r"\u0001", r"\u0001\u0003"), (r"\u0000", r"\u0001\u0002")):
        out = f"replace({out}, '{before}', '{after}')"
    # Nearly no text has either.
    return rf"CASE WHEN instr({column}, '{_MARK}') THEN replace({out}, char(2), '\\') ELSE {column} END"
