"""Entries as rows of a table and back: the output of `septet export --format csv` is imported unchanged."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from septet.errors import EntryError
from septet.inputs.times import Times, iso_time

#: The header of an export; ``record`` identifies it, as in JSON.
COLUMNS = (
    "record", "id", "title", "kind", "type", "domain", "severity", "trust", "tags", "context", "description", "source",
    "parent", "created_at", "updated_at", "valid_from", "valid_until", "span", "attrs",
)  # fmt: skip
_TIMES = frozenset({"created_at", "updated_at", "valid_from", "valid_until"})
_OBJECTS = frozenset({"span", "attrs"})
#: Texts that a spreadsheet would evaluate as a formula, and those already escaped by an apostrophe.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_FRACTION = re.compile(r"(.*:\d\d)(\.\d+)Z", re.ASCII)
#: Fractional digits of a time to try; the first exact representation is written.
_DIGITS = (3, 6, 7, 9)


def guarded_cell(text: str) -> str:
    """Return a text as a cell that no spreadsheet evaluates: formulas are escaped by an apostrophe."""
    return f"'{text}" if _FORMULA.match(text) else text


def row_of(record: Mapping[str, Any]) -> list[str]:
    """Return the cells of an exported record, one per column of `COLUMNS`."""
    return [guarded_cell(_cell(name, record.get(name))) for name in COLUMNS]


def is_exported(names: list[str]) -> bool:
    """Return True if a header is an export's; columns may be missing and in any order."""
    return "record" in names and set(names) <= set(COLUMNS)


def record_of(row: Mapping[str, str]) -> dict[str, Any]:
    """Return the record of an exported row.

    Raises:
        EntryError: an invalid cell.
    """
    plain = {name: cell[1:] if _GUARDED.match(cell) else cell for name, cell in row.items()}
    return {name: _value(name, cell) for name, cell in plain.items()}


def tags_in(text: str) -> Any:
    """Return the tags of a text: a JSON list, or names separated by commas or semicolons.

    Raises:
        EntryError: the text begins like a JSON list but is invalid.
    """
    if text.lstrip().startswith("["):
        return _json(text, "tags")
    return [tag.strip() for tag in text.replace(";", ",").split(",") if tag.strip()]


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in _TIMES:
        return _time(value)
    if name == "tags":
        text = ", ".join(value)
        return (
            text if not text.startswith("[") and tags_in(text) == list(value) else json.dumps(value, ensure_ascii=False)
        )
    return json.dumps(value, ensure_ascii=False) if name in _OBJECTS else str(value)


def _value(name: str, cell: str) -> Any:
    if name in _TIMES:
        return _epoch(cell, name)
    if name == "tags":
        return tags_in(cell)
    return _json(cell, name) if name in _OBJECTS else cell


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise EntryError(f"{name} is {text[:80]!r}: wanted JSON") from None


def _time(epoch: float) -> str:
    """Return a time as ISO text that is exact; as a number if no date is."""
    whole = math.floor(epoch)
    text, rest = iso_time(whole), epoch - whole
    if not text.endswith("Z"):
        return repr(float(epoch))
    if not rest:
        return text
    for digits in _DIGITS:
        fraction = f"{rest:.{digits}f}"
        if whole + float(fraction) == epoch and fraction[0] == "0":
            return f"{text[:-1]}{fraction[1:]}Z"
    return repr(float(epoch))


def _epoch(text: str, name: str) -> Any:
    try:
        return float(text)
    except ValueError:
        pass
    exact = _FRACTION.fullmatch(text.strip())
    when: Any = Times().epoch(f"{exact[1]}Z" if exact else text, name)
    return when if when is None else when.timestamp() + (float(exact[2]) if exact else 0.0)
