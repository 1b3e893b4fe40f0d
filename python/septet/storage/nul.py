r"""Texts with NUL in SQLite's JSON, which ends a text there.

Such texts go through JSON escaped: NUL as ``\1\2`` and ``\1`` as ``\1\3``. No two texts become one, their order stays,
and texts without either character, nearly all, stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from septet._core import text_set

__all__ = ["among", "contains", "escaped", "escaped_json", "listed", "unescaped"]

#: What stands in JSON for a text that must be escaped, and for some that need not be.
_MARK = "\\u000"
_LISTED = "(SELECT key, replace(replace(value, char(1, 2), char(0)), char(1, 3), char(1)) AS value FROM json_each(?))"


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


def escaped_json(value: str) -> str:
    """Return JSON whose texts have no NUL; the names in objects stay. SQL calls it on those that `_MARK` is in."""
    return json.dumps(_escaped(json.loads(value)), ensure_ascii=False, separators=(",", ":"))


def contains(value: object, part: str) -> bool:
    """Say whether an escaped text contains another, whatever their case."""
    text = value if isinstance(value, str) else ""
    return part.casefold() in unescaped(text).casefold()


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return {name: _escaped(item) for name, item in value.items()} if isinstance(value, dict) else value
