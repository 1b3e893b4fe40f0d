"""Values of `septet.system.records` behave as those of `typing` and `dataclasses`; only their definition is faster."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from functools import cached_property
from typing import NamedTuple as Typed
from typing import get_type_hints

import pytest

from septet.system.records import NamedTuple, dataclass


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


def test_a_record_has_the_signature_and_the_attributes_of_typing():
    assert list(inspect.signature(Pair).parameters) == list(inspect.signature(TypedPair).parameters)
    assert str(inspect.signature(Point)) == "(x: 'int', y: 'float | None' = None, names: 'tuple[str, ...]' = ())"
    assert vars(TypedPair).keys() - vars(Pair).keys() <= {"__orig_bases__", "__annotate_func__"}
    assert Pair.__new__.__doc__ == TypedPair.__new__.__doc__.replace("TypedPair", "Pair")
    assert (Pair.__match_args__, Pair.one.__doc__) == (("one", "other"), TypedPair.one.__doc__)
    assert (repr(Pair(1, "a")), Pair(1, 2)._asdict()) == ("Pair(one=1, other='a')", {"one": 1, "other": 2})
    assert Pair._make([1, 2]) == Pair(1, 2) == Pair(1, 3)._replace(other=2)


@pytest.mark.parametrize(
    "act",
    [
        lambda kind: kind(1),
        lambda kind: kind(1, 2, 3),
        lambda kind: kind(1, other=2, third=3),
        lambda kind: kind(1, one=2),
        lambda kind: kind._make([1]),
        lambda kind: kind(1, 2)._replace(third=3),
        lambda kind: setattr(kind(1, 2), "one", 3),
        lambda kind: setattr(kind(1, 2), "third", 3),
    ],
)
def test_a_record_refuses_what_typing_does_with_its_words(act):
    with pytest.raises((TypeError, ValueError, AttributeError)) as theirs:
        act(TypedPair)
    with pytest.raises(type(theirs.value)) as ours:
        act(Pair)
    assert str(ours.value) == str(theirs.value).replace("TypedPair", "Pair")


class Body:
    """The base of a value of each kind."""

    __slots__ = ()

    def size(self) -> int:
        """Return a number."""
        return len(self.tags)


@dataclass(frozen=True, slots=True)
class Item(Body):
    """A value with slots."""

    id: str
    score: float = 0.0
    tags: tuple[str, ...] = ()
    attrs: dict[str, int] = field(default_factory=dict)
    origin: object = field(default=None, repr=False, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class TypedItem(Body):
    """The same by `dataclasses`."""

    id: str
    score: float = 0.0
    tags: tuple[str, ...] = ()
    attrs: dict[str, int] = field(default_factory=dict)
    origin: object = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Named:
    """A value of keywords, with attributes of its own."""

    id: str
    more: int = 0

    @cached_property
    def double(self) -> str:
        """The id twice."""
        return self.id * 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class TypedNamed:
    """The same by `dataclasses`."""

    id: str
    more: int = 0

    @cached_property
    def double(self) -> str:
        """The id twice."""
        return self.id * 2


@dataclass(frozen=True, eq=False, repr=False)
class Bare:
    """A value that is equal to itself alone."""

    id: str


@dataclass(frozen=True)
class One:
    """A value of a single field."""

    id: str

    def __repr__(self) -> str:
        return "one"


PAIRS = [(Item, TypedItem), (Named, TypedNamed)]


@pytest.mark.parametrize(("kind", "typed"), PAIRS)
def test_a_dataclass_has_the_fields_and_methods_of_dataclasses(kind, typed):
    # The default of a field with a factory is of another class.
    assert repr(inspect.signature(kind)) == repr(inspect.signature(typed))
    assert kind.__match_args__ == typed.__match_args__
    for ours, theirs in zip(dataclasses.fields(kind), dataclasses.fields(typed), strict=True):
        assert repr(ours) == repr(theirs)
    assert vars(kind).keys() - vars(typed).keys() == {"__signature__"}
    assert vars(typed).keys() <= vars(kind).keys()
    assert repr(kind.__dataclass_params__) == repr(typed.__dataclass_params__)
    for name in ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"):
        method = vars(kind)[name]
        assert (method.__name__, method.__qualname__) == (name, f"{kind.__qualname__}.{name}")


@pytest.mark.parametrize(("kind", "typed"), PAIRS)
def test_a_dataclass_is_shown_compared_and_changed_alike(kind, typed):
    value, other = kind(id="a"), typed(id="a")
    assert repr(value) == repr(other).replace(typed.__name__, kind.__name__)
    assert dataclasses.asdict(value) == dataclasses.asdict(other)
    assert value == kind(id="a") != kind(id="b")
    assert value != other
    assert dataclasses.replace(value, id="b") == kind(id="b")
    assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)


def test_a_dataclass_is_frozen_with_the_errors_of_dataclasses():
    for value, other in ((Item("a"), TypedItem("a")), (Named(id="a"), TypedNamed(id="a"))):
        for change in (lambda v: setattr(v, "id", "b"), lambda v: delattr(v, "id")):
            with pytest.raises(dataclasses.FrozenInstanceError) as ours:
                change(value)
            with pytest.raises(dataclasses.FrozenInstanceError) as theirs:
                change(other)
            assert str(ours.value) == str(theirs.value)
    for value in (Item("a"), Named(id="a")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'new'"):
            value.new = 1


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ((), {}),
        ((), {"score": 1.0}),
        (("a",), {"id": "b"}),
        (("a",), {"more": 1}),
        ((), {"name": "a"}),
        (("a", 1.0, (), {}, None, 1), {}),
        (("a", 1.0, (), {}, None), {"score": 1.0}),
    ],
)
@pytest.mark.parametrize(("kind", "typed"), PAIRS)
def test_a_dataclass_refuses_arguments_with_the_words_of_dataclasses(kind, typed, args, options):
    if kind is Named and options == {"more": 1}:
        options = {"id": "a", "less": 1}
    with pytest.raises(TypeError) as theirs:
        typed(*args, **options)
    with pytest.raises(TypeError) as ours:
        kind(*args, **options)
    assert str(ours.value) == str(theirs.value).replace(typed.__name__, kind.__name__)


def test_a_dataclass_takes_values_by_place_and_by_name():
    whole = Item("a", 1.0, ("b",), {"c": 1}, None)
    assert whole == Item("a", 1.0, ("b",), attrs={"c": 1}) == Item(attrs={"c": 1}, tags=("b",), id="a", score=1.0)
    assert (Item("a").score, Item("a").attrs, Named(more=2, id="a").more) == (0.0, {}, 2)
    assert Bare(id="a").id == Bare("a").id == One("a").id == "a"


def test_fields_that_are_not_compared_or_shown_are_not():
    assert Item("a", origin=1) == Item("a", origin=2)
    assert repr(Item("a", origin=1)) == "Item(id='a', score=0.0, tags=(), attrs={})"
    assert Item("a").attrs is not Item("a").attrs
    assert hash(Named(id="a")) == hash(TypedNamed(id="a")) == hash(("a", 0))
    assert Bare("a") != Bare("a")
    assert "Bare object at" in repr(Bare("a"))


def test_a_single_field_is_hashed_as_a_tuple_and_own_methods_stay():
    assert (hash(One("a")), repr(One("a"))) == (hash(("a",)), "one")
    assert One("a") == One("a") != One("b")


def test_a_value_that_holds_itself_is_shown():
    item = Item("a")
    item.attrs["self"] = item
    assert repr(item) == "Item(id='a', score=0.0, tags=(), attrs={'self': ...})"


@dataclasses.dataclass(frozen=True)
class Extended(Item):
    """A dataclass of `dataclasses` with the fields of one of records, and one more."""

    more: int = 0


def test_a_value_with_more_fields_is_pickled_with_them():
    value = Extended("a", more=3)
    assert pickle.loads(pickle.dumps(value)) == value == copy.copy(value)


def test_a_frozen_dataclass_of_dataclasses_extends_one_of_records():
    @dataclasses.dataclass(frozen=True)
    class More(Named):
        other: int = 1

    assert repr(More(id="a")).endswith("More(id='a', more=0, other=1)")
    assert More(id="a").double == "aa"

    class Open(Named):
        def __init__(self, name):
            super().__init__(id=name)

    assert str(inspect.signature(Open)) == "(name)"

    # A field stays frozen in a class that is none, which has attributes of its own.
    opened = Open("a")
    opened.free = 1
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'more'"):
        del opened.more
