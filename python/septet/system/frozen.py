"""Frozen dataclasses without generated methods; `septet.system.records` hands them out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields
from dataclasses import dataclass as _dataclass
from operator import attrgetter, itemgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeAlias

_Fields: TypeAlias = Sequence[Field[Any]]
_Method: TypeAlias = Callable[..., Any]


def frozen(
    *, frozen: bool, eq: bool = True, repr: bool = True, kw_only: bool = False, slots: bool = False
) -> Callable[[type], Any]:
    """Decorate a class as `dataclasses.dataclass` does with the same arguments; ``frozen`` is True."""

    def define(plain: type) -> Any:
        kind: Any = _dataclass(init=False, repr=False, eq=False, kw_only=kw_only, slots=slots)(plain)
        members = fields(kind)
        methods = [_constructor(kind, members, slots), *_refusals(kind, members)]
        methods += _representation(members) if repr else []
        methods += _comparison(members) if eq else []
        for method in methods:
            if method.__name__ not in vars(plain):
                method.__qualname__ = f"{kind.__qualname__}.{method.__name__}"
                setattr(kind, method.__name__, method)
        kind.__signature__ = _Signature()
        if slots:
            # `pickle` and `copy` have no other way without `__setattr__`.
            kind.__getstate__, kind.__setstate__ = _state, _restored
        about = kind.__dataclass_params__
        about.init, about.repr, about.eq, about.frozen = True, repr, eq, frozen
        return kind

    return define


def _constructor(kind: Any, members: _Fields, slots: bool) -> _Method:
    names = [member.name for member in members]
    places = [member.name for member in members if not member.kw_only]
    defaults = {member.name: member.default for member in members if member.default is not MISSING}
    factories = {m.name: m.default_factory for m in members if m.default_factory is not MISSING}
    count, row = len(names), _getter(names, itemgetter)
    setters = [getattr(kind, name).__set__ for name in names] if slots else []
    # Values by place alone are the most frequent, of small classes.
    whole = count if slots and places == names else -1

    def __init__(self: Any, *args: Any, **named: Any) -> None:
        if len(args) == whole and not named:
            for put, value in zip(setters, args):
                put(self, value)
            return
        if args:
            if len(args) > len(places) or not named.keys().isdisjoint(places[: len(args)]):
                _refuse(kind, args, named)
            named.update(zip(places, args))
        values = defaults | named
        for name in factories:
            if name not in values:
                values[name] = factories[name]()
        # As many values as fields, each under the name of one.
        if len(values) != count:
            _refuse(kind, args, named)
        try:
            ordered = row(values)
        except KeyError:
            _refuse(kind, args, named)
        if slots:
            for put, value in zip(setters, ordered):
                put(self, value)
        else:
            self.__dict__.update(values)

    return __init__


class _Signature:
    """The signature of a class, made when it is read; without one, that of its constructor is read instead."""

    def __get__(self, value: object, kind: type) -> object:
        from inspect import signature

        owner = next(base for base in kind.__mro__ if "__init__" in vars(base))
        if value is not None or "__signature__" not in vars(owner):
            raise AttributeError("__signature__")
        return signature(_original(owner))


def _refuse(kind: type, args: tuple[object, ...], named: dict[str, object]) -> NoReturn:
    """Raise the `TypeError` of `dataclasses` for arguments that do not fit."""
    raise _original(kind)(*args, **named)


def _original(kind: type) -> type:
    """Return the dataclass of `dataclasses` with the fields of a class."""
    body: dict[str, Any] = {"__annotations__": {}, "__qualname__": kind.__qualname__, "__module__": kind.__module__}
    for member in fields(kind):
        body["__annotations__"][member.name] = member.type
        default: Any = MISSING if member.default_factory is MISSING else member.default_factory
        body[member.name] = field(default=member.default, default_factory=default, kw_only=member.kw_only)
    return _dataclass(type(kind.__name__, (), body))


def _getter(names: Sequence[str], getter: Any) -> _Method:
    """Return a function of a value that returns the tuple of its attributes or items."""
    read = getter(*names)
    # A getter of a single name returns no tuple.
    return read if len(names) > 1 else lambda value: (read(value),)


def _refusals(kind: Any, members: _Fields) -> tuple[_Method, ...]:
    names = frozenset(member.name for member in members)

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is kind or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(kind, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is kind or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(kind, self).__delattr__(name)

    return __setattr__, __delattr__


def _representation(members: _Fields) -> tuple[_Method, ...]:
    names = [member.name for member in members if member.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{type(self).__qualname__}({values})"

    return (__repr__,)


def _comparison(members: _Fields) -> tuple[_Method, ...]:
    names = [member.name for member in members if member.compare]
    values = _getter(names, attrgetter)

    def __eq__(self: Any, other: object) -> bool:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __eq__, __hash__


def _state(self: Any) -> list[object]:
    return [getattr(self, member.name) for member in fields(self)]


def _restored(self: Any, state: Sequence[object]) -> None:
    for member, value in zip(fields(self), state):
        object.__setattr__(self, member.name, value)
