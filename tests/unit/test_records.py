"""The named tuples of `septet.system.records` are those of `typing`, but for the time to define them."""

from __future__ import annotations

import copy
import pickle
from typing import NamedTuple as Typed
from typing import get_type_hints

import pytest

from septet.system.records import NamedTuple


class Point(NamedTuple):
    """A place on a map."""

    x: int
    y: float | None = None
    names: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of names."""
        return len(self.names)

    @classmethod
    def origin(cls) -> Point:
        """Return the middle."""
        return cls(0, 0.0)

    def __repr__(self) -> str:
        return f"<{self.x}, {self.y}>"


class Pair(NamedTuple):
    """Without a default."""

    one: int
    other: int


class TypedPair(Typed):
    """The same by `typing`."""

    one: int
    other: int


def test_a_record_is_a_tuple_with_names_and_defaults():
    point = Point(1, names=("a", "b"))
    assert (point.x, point.y, point.names, point.size) == (1, None, ("a", "b"), 2)
    assert point == (1, None, ("a", "b"))
    assert Point._fields == ("x", "y", "names")
    assert Point._field_defaults == {"y": None, "names": ()}
    assert Point.origin()._replace(x=3) == Point(3, 0.0)
    assert repr(point) == "<1, None>"
    assert Point.__doc__ == "A place on a map."
    assert (Point.__module__, Point.__qualname__, Point.__bases__) == (__name__, "Point", (tuple,))


def test_a_record_is_pickled_copied_and_matched():
    point = Point(1, 2.0)
    assert pickle.loads(pickle.dumps(point)) == point
    assert copy.deepcopy(point) == point
    match point:
        case Point(x=1, y=y):
            assert y == 2.0


def test_the_types_of_a_record_are_read_as_those_of_typing():
    assert get_type_hints(Point) == {"x": int, "y": float | None, "names": tuple[str, ...]}
    assert get_type_hints(Pair) == get_type_hints(TypedPair)
    assert [name for name in dir(TypedPair) if name not in dir(Pair)] in ([], ["__orig_bases__"])


def test_a_record_takes_its_fields_and_no_others():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'other'"):
        Pair(1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'third'"):
        Pair(1, other=2, third=3)
    with pytest.raises(AttributeError):
        Pair(1, 2).one = 3
