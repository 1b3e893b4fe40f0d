"""Values as JSON: the fields of dataclasses and named tuples are the schema."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

#: Metadata of a field that is omitted while it is None or empty.
OMITTED: Mapping[str, bool] = {"omitted": True}
_ATOMS = frozenset({str, int, float, bool, type(None)})


class Plain:
    """A dataclass whose fields are JSON-ready values, or values with such fields."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        return as_dict(self)


def as_dict(value: Any) -> dict[str, Any]:
    """Return the public fields of a dataclass or named tuple as JSON."""
    out: dict[str, Any] = {}
    kind: Any = type(value)
    for name, omitted in _members(kind):
        item = getattr(value, name)
        if type(item) not in _ATOMS:
            if not omitted or item:
                out[name] = as_json(item)
        elif not omitted or item is not None:
            out[name] = item
    return out


def as_json(value: Any) -> Any:
    """Return a value as JSON: values with ``to_dict`` or fields as dicts, tuples and sets as lists."""
    kind: Any = type(value)
    if kind in _ATOMS:
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: item if type(item) in _ATOMS else as_json(item) for name, item in value.items()}
    if _members(kind):
        return as_dict(value)
    return [as_json(item) for item in value] if isinstance(value, (list, tuple, Set)) else value


@cache
def _members(kind: Any) -> tuple[tuple[str, bool], ...]:
    """Return name and omission of each public field; nothing for other types."""
    if is_dataclass(kind):
        return tuple((f.name, "omitted" in f.metadata) for f in fields(kind) if not f.name.startswith("_"))
    return tuple((name, False) for name in getattr(kind, "_fields", ()))
