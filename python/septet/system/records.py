"""Named tuples that are cheap to define: those of `typing` compile every annotation, which nothing reads in a search.

A process that asks once defines a hundred of them. Type checkers see the class of `typing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # `X as X` re-exports.
    from typing import NamedTuple as NamedTuple
else:
    from collections import namedtuple

    class _Definition(type):
        """A named tuple is the body of a class; annotations stay the texts that they are in the file."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            fields = body.pop("__annotations__")
            defaults = [body.pop(field) for field in fields if field in body]
            kind = namedtuple(name, fields, defaults=defaults, module=body.pop("__module__"))
            kind.__annotations__ = fields
            for attribute, value in body.items():
                setattr(kind, attribute, value)
            return kind

    class _Declared:
        """The base that a class names; of the class it makes, the base is `tuple` alone."""

        def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
            return (_BASE,)

    _BASE = type.__new__(_Definition, "NamedTuple", (), {})
    NamedTuple = _Declared()
