"""Named tuples and frozen dataclasses that are cheap to define, for processes that ask once and define a hundred.

Named tuples of `typing` compile every annotation, and `dataclasses` writes and compiles up to eight methods a class.
These compile nothing. Values behave alike, and type checkers see the originals.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    # `X as X` re-exports.
    from dataclasses import dataclass as dataclass
    from typing import NamedTuple as NamedTuple
else:
    from collections import namedtuple
    from collections.abc import Callable, Sequence
    from dataclasses import MISSING, Field, FrozenInstanceError, field, fields
    from dataclasses import dataclass as _dataclass
    from functools import cache
    from operator import attrgetter, itemgetter
    from reprlib import recursive_repr
    from types import FunctionType

    class _Definition(type):
        """A named tuple is the body of a class; annotations stay the texts that they are in the file."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            names = tuple(body["__annotations__"])
            defaults = {field: body.pop(field) for field in names if field in body}
            template = _template(len(names))
            # The constructor of the template is that of the new class under other names: nothing is compiled.
            code = template.__new__.__code__.replace(co_varnames=("_cls", *names))
            constructor = FunctionType(code, template.__new__.__globals__, "__new__", tuple(defaults.values()) or None)
            constructor.__qualname__, constructor.__annotations__ = f"{name}.__new__", body["__annotations__"]
            constructor.__doc__ = f"Create new instance of {name}({', '.join(names)})"
            shared = vars(template)
            methods = {method: shared[method] for method in ("_make", "_asdict", "__getnewargs__")}
            fields = dict(zip(names, [shared[field] for field in template._fields]))
            about = {"__slots__": (), "__match_args__": names, "_fields": names, "_field_defaults": defaults}
            methods |= {"__new__": constructor, "__repr__": _shown, "_replace": _replaced, "__replace__": _replaced}
            body.setdefault("__doc__", f"{name}({', '.join(names)})")
            return type(name, (tuple,), {**methods, **fields, **about, **body})

    @cache
    def _template(count: int) -> type:
        return namedtuple("Template", [f"field_{number}" for number in range(count)])

    def _shown(self) -> str:
        values = ", ".join([f"{name}={value!r}" for name, value in zip(self._fields, self)])
        return f"{type(self).__name__}({values})"

    def _replaced(self, /, **changes):
        value = self._make(map(changes.pop, self._fields, self))
        if changes:
            raise _UNKNOWN(f"Got unexpected field names: {list(changes)!r}")
        return value

    #: The error for fields that a named tuple does not have.
    _UNKNOWN = TypeError if sys.version_info >= (3, 13) else ValueError

    class _Declared:
        """The base that a class names; of the class it makes, the base is `tuple` alone."""

        def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
            return (_BASE,)

    _BASE = type.__new__(_Definition, "NamedTuple", (), {})
    NamedTuple = _Declared()

    def dataclass(*, frozen: bool, eq: bool = True, repr: bool = True, kw_only: bool = False, slots: bool = False):
        """Decorate a class as `dataclasses.dataclass` does with the same arguments; ``frozen`` is True."""

        def define(plain: type) -> type:
            kind = _dataclass(init=False, repr=False, eq=False, kw_only=kw_only, slots=slots)(plain)
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

    def _constructor(kind: type, members: Sequence[Field], slots: bool) -> Callable:
        names = [member.name for member in members]
        places = [member.name for member in members if not member.kw_only]
        defaults = {member.name: member.default for member in members if member.default is not MISSING}
        factories = {m.name: m.default_factory for m in members if m.default_factory is not MISSING}
        count, row = len(names), _getter(names, itemgetter)
        setters = [getattr(kind, name).__set__ for name in names] if slots else []
        # Values by place alone are the most frequent, of small classes.
        whole = count if slots and places == names else -1

        def __init__(self, *args, **named):
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
        body = {"__annotations__": {}, "__qualname__": kind.__qualname__, "__module__": kind.__module__}
        for member in fields(kind):
            body["__annotations__"][member.name] = member.type
            default = MISSING if member.default_factory is MISSING else member.default_factory
            body[member.name] = field(default=member.default, default_factory=default, kw_only=member.kw_only)
        return _dataclass(type(kind.__name__, (), body))

    def _getter(names: Sequence[str], getter: Callable) -> Callable:
        """Return a function of a value that returns the tuple of its attributes or items."""
        read = getter(*names)
        # A getter of a single name returns no tuple.
        return read if len(names) > 1 else lambda value: (read(value),)

    def _refusals(kind: type, members: Sequence[Field]) -> tuple[Callable, ...]:
        names = frozenset(member.name for member in members)

        def __setattr__(self, name, value):
            if type(self) is kind or name in names:
                raise FrozenInstanceError(f"cannot assign to field {name!r}")
            super(kind, self).__setattr__(name, value)

        def __delattr__(self, name):
            if type(self) is kind or name in names:
                raise FrozenInstanceError(f"cannot delete field {name!r}")
            super(kind, self).__delattr__(name)

        return __setattr__, __delattr__

    def _representation(members: Sequence[Field]) -> tuple[Callable, ...]:
        names = [member.name for member in members if member.repr]

        @recursive_repr()
        def __repr__(self):
            values = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
            return f"{type(self).__qualname__}({values})"

        return (__repr__,)

    def _comparison(members: Sequence[Field]) -> tuple[Callable, ...]:
        names = [member.name for member in members if member.compare]
        values = _getter(names, attrgetter)

        def __eq__(self, other):
            return values(self) == values(other) if type(other) is type(self) else NotImplemented

        def __hash__(self):
            return hash(values(self))

        return __eq__, __hash__

    def _state(self) -> list[object]:
        return [getattr(self, member.name) for member in fields(self)]

    def _restored(self, state: Sequence[object]) -> None:
        for member, value in zip(fields(self), state):
            object.__setattr__(self, member.name, value)
