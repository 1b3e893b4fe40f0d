"""Typed rows: named tuples whose values are checked against the declared types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat
from math import inf
from operator import itemgetter
from typing import Any, TypeVar

from septet.errors import StoreError
from septet.inputs.arguments import shown
from septet.system.records import NamedTuple

_Row = TypeVar("_Row", bound=tuple[Any, ...])

#: Small, since texts may be large.
PAGE_ROWS = 16
#: SQLite stores whole floats as integers in untyped columns.
_TYPES = {
    "str": (str,), "int": (int,), "float": (float, int), "bytes": (bytes,), "None": (type(None),), "bool": (bool,),
    "tuple[Any, ...]": (tuple,),
}  # fmt: skip

_INFINITE = frozenset({inf, -inf})


class TextCount(NamedTuple):
    """A text and its number of rows."""

    name: str
    rows: int


class _Shape(NamedTuple):
    """The declared types of a named tuple by position, a getter of its times, and a cache of valid row types."""

    types: Sequence[frozenset[type]]
    times: Callable[[Sequence[Any]], Sequence[Any]] | None
    known: set[tuple[type, ...]]


def typed(kind: type[_Row], rows: Iterable[tuple[Any, ...]]) -> list[_Row]:
    """Return rows as named tuples.

    Raises:
        StoreError: a value has another type than declared, or a time is infinite.
    """
    # Called in every search: no Python call per row.
    listed_rows = list(rows)
    shape = _shape(kind)
    if not shape.known.issuperset(map(tuple, map(map, repeat(type), listed_rows))):
        _check(kind, shape, listed_rows)
    if shape.times is not None and not _INFINITE.isdisjoint(chain.from_iterable(map(shape.times, listed_rows))):
        row, at = next((row, at) for row in listed_rows for at, value in enumerate(row) if value in _INFINITE)
        _refuse(kind, at, row)
    return list(map(tuple.__new__, repeat(kind), listed_rows))


def typed_pages(kind: type[_Row], rows: Any) -> Iterator[_Row]:
    """Yield the rows of a cursor as named tuples, a few read at a time.

    Raises:
        StoreError: as `typed`.
    """
    return chain.from_iterable(typed(kind, page) for page in iter(lambda: rows.fetchmany(PAGE_ROWS), []))


@lru_cache(64)
def _shape(kind: type[Any]) -> _Shape:
    declared = [kind.__annotations__[name] for name in kind._fields]
    words = [getattr(annotation, "__forward_arg__", annotation).split(" | ") for annotation in declared]
    types = [frozenset(chain.from_iterable(_TYPES[word] for word in names)) for names in words]
    times = [at for at, names in enumerate(words) if "float" in names]
    # Doubled: itemgetter with a single index returns no tuple.
    return _Shape(types, itemgetter(*times, times[0]) if times else None, set())


def _check(kind: type[Any], shape: _Shape, rows: Sequence[tuple[Any, ...]]) -> None:
    for row in rows:
        for at, (value, types) in enumerate(zip(row, shape.types)):
            if type(value) not in types:
                _refuse(kind, at, row)
        shape.known.add(tuple(map(type, row)))


def _refuse(kind: type[Any], at: int, row: tuple[Any, ...]) -> None:
    place = f"{kind._fields[0]} {shown(row[0])}" if at else "a row"
    raise StoreError(
        f"{place} has {shown(row[at])} as {kind._fields[at]}: damaged, or written by another program; "
        "`septet doctor` lists all such rows, and a backup may have them intact"
    )
