"""Named tuples and frozen dataclasses that are cheap to define, for processes that ask once and define a hundred.

Named tuples of `typing` compile every annotation, and `dataclasses` writes and compiles up to eight methods a class.
These compile nothing. Values behave alike, and type checkers see the originals.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # `X as X` re-exports.
    from dataclasses import dataclass as dataclass
    from typing import NamedTuple as NamedTuple
else:
    from collections import namedtuple
    from collections.abc import Callable
    from functools import cache
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

    def dataclass(**options: bool) -> Callable[[type], type]:
        """Decorate a class as `dataclasses.dataclass` does; its module is not loaded for named tuples alone."""
        from septet.system.frozen import frozen

        return frozen(**options)
