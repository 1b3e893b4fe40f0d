"""Configuration values validated by pydantic.

Importing pydantic takes 50 ms, longer than the rest of a first search. So Septet's own values (the built-in profiles)
are created without it, by `Checked.known`, and a test validates them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

from septet.errors import ProfileError
from septet.inputs.arguments import cut, exact, listed, real, shown, utf8

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter
    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_):
        """Do nothing: only type checkers read the real one, which Python 3.10 lacks."""
        return lambda cls: cls


#: Maximum levels of nesting, members of a list, and characters of a text.
MOST_DEPTH, MOST_ITEMS, MOST_CHARS = 64, 10_000, 10_000
#: The validator of each class, built on first use.
_CHECKS: dict[type, TypeAdapter[Any]] = {}


#: Maximum number, and minimum divisor, in a profile: sums and products stay far from infinity.
LARGE = 1e9
SMALL = 1e-9


class Bounds:
    """Limits of a number or a collection, by pydantic's names (``ge``, ``gt``, ``le``, ``min_length``, …)."""

    def __init__(self, **bounds: float) -> None:
        self._bounds = bounds

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return {**handler(source), **self._bounds}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Checked:
    """A frozen dataclass whose fields pydantic checks; `dataclasses.replace` returns a changed copy, also checked.

    Raises:
        ProfileError: a field is unknown, missing or invalid; the message names it.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}

    def __init_subclass__(cls) -> None:
        # Generating these methods would dominate the time to create the class.
        dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(self.checked(values).__dict__)

    @classmethod
    def checked(cls, data: Mapping[Any, Any]) -> Self:
        """Return the value described by a mapping; nested values are dicts and lists.

        Raises:
            ProfileError: a field is unknown, missing or invalid; the message names it.
        """
        from pydantic import TypeAdapter, ValidationError

        if cls not in _CHECKS:
            _CHECKS[cls] = TypeAdapter(cls)
        if not isinstance(data, Mapping):
            names = ", ".join(cls.__dataclass_fields__)
            raise ProfileError(f"{cls.__name__} is {shown(data)}: wanted a dict of {names}")
        plain = _converted(data, cls.__name__, 0)
        try:
            value: Self = _CHECKS[cls].validate_python(plain)
        except ValidationError as fault:
            first = fault.errors(include_input=False, include_context=False)[0]
            where = cut(".".join(str(part) for part in first["loc"])) or "the top"
            where = where if where.isprintable() else shown(where)
            raise ProfileError(f"{cls.__name__} does not fit at {where}: {cut(first['msg'])}") from None
        _check_kept(plain, value, cls.__name__)
        return value

    @classmethod
    def known(cls, **values: Any) -> Self:
        """Return a value from valid fields, without checking or copying them."""
        value = object.__new__(cls)
        for name, f in cls.__dataclass_fields__.items():
            if name in values:
                value.__dict__[name] = values[name]
            else:
                value.__dict__[name] = f.default if f.default_factory is MISSING else f.default_factory()
        return value

    def _with(self, **changes: Any) -> Self:
        """Return a copy with other valid fields, which are not checked."""
        return self.known(**dict(self._fields()) | changes)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; `checked` turns it back into an equal value."""
        return {name: _plain(value) for name, value in self._fields()}

    def _fields(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in self.__dataclass_fields__)

    def __getstate__(self) -> dict[str, Any]:
        # Cached properties are computed again by the copy.
        return dict(self._fields())

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"{type(self).__name__} is frozen: dataclasses.replace makes a changed copy")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Checked):
            return NotImplemented
        return type(other) is type(self) and [*self._fields()] == [*other._fields()]

    def __hash__(self) -> int:
        return hash((type(self), *self._fields()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._fields())})"


def _converted(value: Any, where: str, depth: int) -> Any:
    """Convert data to plain dicts, tuples, text and numbers."""
    if value is None or isinstance(value, (bool, Checked)):
        return value
    value = exact(value)
    if isinstance(value, (str, int, float)):
        return utf8(value, f"text in {where}", ProfileError, MOST_CHARS) if isinstance(value, str) else value
    if isinstance(value, (Integral, Real)):
        return int(value) if isinstance(value, Integral) else real(value, f"a number in {where}", ProfileError)
    if depth > MOST_DEPTH:
        raise ProfileError(f"{where} is nested deeper than {MOST_DEPTH} levels: make it flatter")
    if isinstance(value, Mapping):
        members = {}
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ProfileError(f"{where} has the key {shown(key)}: wanted text")
            members[utf8(key, f"a key of {where}", ProfileError, MOST_CHARS)] = _converted(inner, where, depth + 1)
        return members
    if isinstance(value, (list, tuple)):
        items = listed(value, where, ProfileError, "a list", MOST_ITEMS)
        return tuple([_converted(inner, where, depth + 1) for inner in items])
    raise ProfileError(f"{where} has {shown(value)}: wanted text, numbers, lists and dicts")


def _check_kept(before: Any, after: Any, where: str) -> None:
    """Raise if pydantic coerced a value: text to a number, or a number to a bool."""
    if isinstance(before, Mapping):
        for name, inner in before.items():
            inner_after = getattr(after, name) if isinstance(after, Checked) else after[name]
            _check_kept(inner, inner_after, f"{where}.{name}")
    elif isinstance(before, tuple):
        for inner, inner_after in zip(before, after):
            _check_kept(inner, inner_after, where)
    elif any(isinstance(before, kind) != isinstance(after, kind) for kind in (str, bool)):
        raise ProfileError(f"{where} is {shown(before)}: wanted {'text' if isinstance(after, str) else 'a number'}")


def _plain(value: Any) -> Any:
    if isinstance(value, Checked):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (tuple, list)) else value
