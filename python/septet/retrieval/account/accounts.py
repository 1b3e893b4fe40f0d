"""The parts of an envelope: waves, corpora and phrasings; and the readers of their fields."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from numbers import Real
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from septet.errors import QueryError
from septet.inputs.arguments import exact, shown, utf8
from septet.model.codec import as_dict
from septet.notes import Note

MOST_DEPTH, MOST_TEXT = 32, 1_000_000


class CorpusTrace(NamedTuple):
    """The result of one phrasing in one corpus.

    Attributes:
        corpus: name of the corpus.
        variant: number of the phrasing; 0 is the original.
        state: ``answered``, ``late``, ``failed`` or ``resting``.
        took_ms: duration in milliseconds; for ``late``, the time waited.
        hits: number of distinct hits in all lists.
        lists: number of items by list.
        backends: the backends used.
        step: the style of matching that produced the hits.
        contradictions: number of hits that contradict others.
        confidence: probability that the hits contain an answer.
    """

    corpus: str
    variant: int = 0
    state: str = "answered"
    took_ms: float = 0.0
    hits: int = 0
    lists: Mapping[str, int] = {}
    backends: tuple[str, ...] = ()
    step: str | None = None
    contradictions: int = 0
    confidence: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return as_dict(self)


class WaveTrace(NamedTuple):
    """One round of requests.

    Attributes:
        reason: ``query``, ``verification``, ``corrective`` (a paid web service was used) or ``follow_up``.
        query: the query.
        why: the reason of a further wave.
        kept: True if the hits come from it.
        took_ms: duration in milliseconds.
        asked: by corpus and phrasing.
    """

    reason: str = "query"
    query: str = ""
    why: str = ""
    kept: bool = True
    took_ms: float = 0.0
    asked: tuple[CorpusTrace, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return as_dict(self)


class ExpansionTrace(NamedTuple):
    """The phrasings of a query.

    Attributes:
        variants: all of them, the original first.
        took_ms: duration of the rephrasing in milliseconds.
    """

    variants: tuple[str, ...] = ()
    took_ms: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return as_dict(self)


def as_number(value: float | None) -> float | None:
    """Return a number for JSON: None for NaN and infinity."""
    return None if value is None or not math.isfinite(value) else float(value)


def read_field(name: str, hint: Any, value: Any) -> Any:
    """Return the value of a field, from the caller or from JSON, converted to its declared type.

    Raises:
        QueryError: the value has another type.
    """
    try:
        return _read(hint, value)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError):
        kind = next((part for part in get_args(hint) if get_origin(hint) in _UNIONS), hint)
        expected = _EXPECTED.get(kind) or f"a list of {_PLURALS[get_args(kind)[0]]}"
        raise QueryError(f"{name} of an envelope is {shown(value)}: wanted {expected}") from None


def _read(hint: Any, value: Any) -> Any:
    """Return a value as a type; NaN and infinity become None, or 0 where a number is required."""
    value = exact(value)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in _UNIONS:
        return None if value is None else _number(value) if inner[0] is float else _read(inner[0], value)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise TypeError
        return tuple(_read(inner[0], item) for item in value)
    if hint is str or origin is Literal:
        # An envelope of a newer version may have newer codes.
        return utf8(value, "a text", TypeError, MOST_TEXT)
    if hint is float:
        return _number(value) or 0.0
    if hint is int:
        if isinstance(value, bool) or (number := operator.index(value)) < 0:
            raise TypeError
        return int(number)
    if hint is bool:
        if not isinstance(value, bool):
            raise TypeError
        return value
    if origin is not None:
        if not isinstance(value, Mapping):
            raise TypeError
        return {
            _read(str, name): _json(item) if inner[1] is Any else _read(inner[1], item) for name, item in value.items()
        }
    hints = get_type_hints(hint)
    if isinstance(value, hint):
        value = {name: getattr(value, name) for name in hints}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise TypeError
    texts = {"cause": ""} if hint is Note else {}
    return hint(**texts | {name: _read(kind, value[name]) for name, kind in hints.items() if name in value})


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError
    return as_number(float(value))


def _json(value: Any, depth: int = 1) -> Any:
    """Return plain JSON; NaN and infinity become None."""
    if depth > MOST_DEPTH:
        raise TypeError
    value = exact(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return _read(str, value)
    if isinstance(value, float):
        return as_number(value)
    if isinstance(value, Mapping):
        return {_read(str, name): _json(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(inner, depth + 1) for inner in value]
    raise TypeError


_UNIONS = (Union, UnionType)
_EXPECTED: Mapping[Any, str] = {
    int: "a whole number of at least 0",
    float: "a number",
    bool: "true or false",
    str: "text",
    Mapping[str, Any]: "an object",
    ExpansionTrace: "an object with variants",
}
_PLURALS: Mapping[Any, str] = {str: "texts", WaveTrace: "waves", Note: "notes"}
