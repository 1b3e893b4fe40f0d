"""Rows as named tuples, of the types that these declare: the door by which what a file holds comes in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat
from math import inf
from typing import Any, NamedTuple, TypeVar

from septet.arguments import shown
from septet.errors import StoreError

__all__ = ["Counted", "Valued", "typed", "typed_pages"]

_Row = TypeVar("_Row", bound=tuple[Any, ...])

#: Texts may be large.
PAGE_ROWS = 16
#: SQLite keeps a whole time as a whole number where a column has no type.
_TYPES = {
    "str": (str,), "int": (int,), "float": (float, int), "bytes": (bytes,), "None": (type(None),), "bool": (bool,),
    "tuple[Any, ...]": (tuple,),
}  # fmt: skip


class Counted(NamedTuple):
    """How many rows have a text."""

    name: str
    count: int


class Valued(NamedTuple):
    """A row of `entries`, and a value in it."""

    row: int
    value: str | int | float


class _Shape(NamedTuple):
    """What a named tuple declares: types by position, where times are, and types of whole rows that were sound."""

    types: Sequence[frozenset[type]]
    times: Sequence[int]
    known: set[tuple[type, ...]]


def typed(kind: type[_Row], rows: Iterable[tuple[Any, ...]]) -> list[_Row]:
    """Return rows as named tuples.

    Raises:
        StoreError: a value is of another type than is declared, or a time infinite.
    """
    # A search reads ten rows: no function of Python is called for each.
    found = list(rows)
    shape = _shape(kind)
    if not {tuple(map(type, row)) for row in found} <= shape.known:
        _check(kind, shape, found)
    for at in shape.times:
        times = [row[at] for row in found if row[at] is not None]
        if times and (min(times) == -inf or max(times) == inf):
            _refuse(kind, at, next(row for row in found if row[at] in (-inf, inf)))
    return list(map(tuple.__new__, repeat(kind), found))  # type: ignore[arg-type]


def typed_pages(kind: type[_Row], rows: Any) -> Iterator[_Row]:
    """Yield the rows of a cursor as named tuples, a few read at a time.

    Raises:
        StoreError: as `typed`.
    """
    return chain.from_iterable(typed(kind, page) for page in iter(lambda: rows.fetchmany(PAGE_ROWS), []))


@lru_cache(64)
def _shape(kind: type[Any]) -> _Shape:
    declared = [kind.__annotations__[name] for name in kind._fields]
    words = [getattr(one, "__forward_arg__", one).split(" | ") for one in declared]
    types = [frozenset(chain.from_iterable(_TYPES[word] for word in own)) for own in words]
    return _Shape(types, [at for at, own in enumerate(words) if "float" in own], set())


def _check(kind: type[Any], shape: _Shape, rows: Sequence[tuple[Any, ...]]) -> None:
    for row in rows:
        for at, (value, types) in enumerate(zip(row, shape.types)):
            if type(value) not in types:
                _refuse(kind, at, row)
        shape.known.add(tuple(map(type, row)))


def _refuse(kind: type[Any], at: int, row: tuple[Any, ...]) -> None:
    own = f"{kind._fields[0]} {shown(row[0])}" if at else "a row"
    raise StoreError(
        f"{own} holds {shown(row[at])} as {kind._fields[at]}: damaged, or of another program than Septet; "
        "`septet doctor` names all such rows, and a backup may have them whole"
    )
