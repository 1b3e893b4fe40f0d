"""Values as JSON and back: the fields of dataclasses and named tuples are the schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from functools import cache, partial
from operator import attrgetter
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from septet.system.records import NamedTuple

_Value = TypeVar("_Value")
#: Metadata of a field that is omitted while it is None or empty.
OMITTED: Mapping[str, bool] = {"omitted": True}
_ATOMS = frozenset({str, int, float, bool, type(None)})


class _Members(NamedTuple):
    """The public fields of a type; those that hold JSON of any depth, and those that may be omitted."""

    names: tuple[str, ...]
    json: frozenset[str] = frozenset()
    omitted: tuple[str, ...] = ()


class Plain:
    """A dataclass whose fields are JSON-ready values, or values with such fields."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        return as_dict(self)


def as_dict(value: Any) -> dict[str, Any]:
    """Return the public fields of a dataclass or named tuple as JSON."""
    kind: Any = type(value)
    members = _members(kind)
    out: dict[str, Any] = {}
    for name, item in zip(members.names, _getter(members.names)(value)):
        if type(item) in _ATOMS:
            out[name] = item
        else:
            out[name] = dict(item) if name in members.json else as_json(item)
    for name in members.omitted:
        if out[name] is None or out[name] == [] or out[name] == {}:
            del out[name]
    return out


def attributes(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return attributes of a value as JSON."""
    return {name: item if type(item) in _ATOMS else as_json(item) for name, item in zip(names, _getter(names)(value))}


def as_json(value: Any) -> Any:
    """Return a value as JSON: values with ``to_dict`` or fields as dicts, tuples and sets as lists."""
    kind: Any = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        atomic = _ATOMS.issuperset(map(type, value.values()))
        return value.copy() if atomic else {name: as_json(item) for name, item in value.items()}
    if kind is tuple or kind is list:
        return list(value) if _ATOMS.issuperset(map(type, value)) else [as_json(item) for item in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if _members(kind).names:
        return as_dict(value)
    if isinstance(value, Mapping):
        return as_json(dict(value))
    return as_json(list(value)) if isinstance(value, (list, tuple, Set)) else value


@cache
def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    # `attrgetter` returns no tuple for a single name.
    return attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),)


def value_of(kind: type[_Value], data: Mapping[str, Any], **more: Any) -> _Value:
    """Return the value of `as_dict`, from validated fields and ``more``. Omitted fields have their defaults."""
    # mypy takes types of values for unhashable.
    hashable: Any = kind
    readers = _readers(hashable)
    read = {name: readers[name](item) if name in readers else item for name, item in data.items()}
    return kind(**read, **more)


@cache
def _readers(kind: Any) -> Mapping[str, Callable[[Any], Any]]:
    """Return the readers of the fields that JSON has in another form."""
    hints = get_type_hints(kind)
    return {name: reader for name in _members(kind).names if (reader := _reader(hints[name])) is not None}


def _reader(hint: Any) -> Callable[[Any], Any] | None:
    """Return the reader of a type; None for types that JSON has too."""
    origin, inner = get_origin(hint), [part for part in get_args(hint) if part not in (type(None), ...)]
    item = _reader(inner[-1]) if inner else None
    if origin in (Union, UnionType):
        return None if item is None else lambda value: None if value is None else item(value)
    if origin in (tuple, Sequence):
        return tuple if item is None else lambda values: tuple(map(item, values))
    if origin is Mapping and item is not None:
        return lambda values: {name: item(value) for name, value in values.items()}
    return partial(value_of, hint) if _members(hint).names else None


@cache
def _members(kind: Any) -> _Members:
    """Return the public fields of a dataclass or named tuple; none of another type."""
    if not is_dataclass(kind):
        return _Members(getattr(kind, "_fields", ()))
    public = [member for member in fields(kind) if not member.name.startswith("_")]
    return _Members(
        tuple(member.name for member in public),
        frozenset(member.name for member in public if str(member.type).startswith("Mapping[str, Any]")),
        tuple(member.name for member in public if "omitted" in member.metadata),
    )
