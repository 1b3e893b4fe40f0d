"""Arguments as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from datetime import datetime
from typing import Any

from septet.errors import EntryError, QueryError
from septet.inputs.arguments import as_epoch, shown
from septet.model.fields import Span

#: Maximum numbers of an array sent as JSON; views may claim more than memory holds.
MOST_NUMBERS = 1_000_000


def plain(value: Any, name: str, error: type[Exception]) -> Any:
    """Return an argument as a JSON value: times as epoch seconds, arrays, sets and tuples as lists.

    Raises:
        error: a time without a zone, a key that is no string, an array that is too large.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, datetime):
        return as_epoch(value, name, error)
    if isinstance(value, Span):
        return {"path": value.path, "first_line": value.first_line, "last_line": value.last_line}
    if isinstance(value, Mapping):
        for key in value:
            # JSON would turn it into a string, and so another key.
            if not isinstance(key, str):
                raise error(f"{name} has the key {shown(key)}: wanted a dict with string keys")
        return {key: plain(item, name, error) for key, item in value.items()}
    if isinstance(value, (list, tuple, Set)):
        return [plain(item, name, error) for item in value]
    if hasattr(value, "tolist"):
        # Arrays and numbers of numpy.
        size = getattr(value, "size", 0)
        if isinstance(size, int) and size > MOST_NUMBERS:
            raise error(f"{name} is an array of {size:,} numbers: at most {MOST_NUMBERS:,} can be sent")
        return value.tolist()
    return value


def present(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are not None."""
    return {name: value for name, value in named.items() if value is not None}


def encoded(request: Mapping[str, Any], *, reads: bool) -> bytes:
    """Return a request as JSON.

    Raises:
        QueryError: an argument that is no JSON value; `EntryError` for one of a write.
    """
    error = QueryError if reads else EntryError
    converted: dict[str, Any] = {}
    for name, value in request.items():
        try:
            converted[name] = plain(value, name, error)
        except RecursionError:
            raise error(f"{name} is nested too deeply: make it flatter") from None
    try:
        return json.dumps(converted, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise error("a text contains a lone surrogate, which is not valid Unicode") from None
    except (TypeError, ValueError, RecursionError):
        wrong = next((name for name, value in converted.items() if not _is_json(value)), "an argument")
        raise error(f"{wrong} is {shown(request.get(wrong))}: wanted a JSON value, numbers finite") from None


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
