"""Lists as PostgreSQL reads arrays: a search sends two dozen of them, a load thousands of values in each."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any

from psycopg.types.array import ListDumper

if TYPE_CHECKING:
    from psycopg.abc import Buffer
    from psycopg.adapt import PyFormat

_NUMBERS = frozenset({int, float, bool, NoneType})


class ArrayDumper(ListDumper):
    """Writes a list as an array in text whose type is that of the place where it stands.

    psycopg writes value by value, and takes the type from the largest number: a statement then has several types, and
    is prepared once for each.
    """

    def get_key(self, obj: list[Any], format: PyFormat) -> type:
        """Return what stands for all lists."""
        return self.cls

    def upgrade(self, obj: list[Any], format: PyFormat) -> ArrayDumper:
        """Return itself, as it writes all lists."""
        return self

    def dump(self, obj: list[Any]) -> Buffer | None:
        """Return a list as text."""
        kinds = {*map(type, obj)}
        if kinds <= _NUMBERS:
            # Python writes floats so that they are read as the same number.
            return f"{{{repr(obj)[1:-1]}}}".replace("None", "NULL").encode()
        if kinds == {str}:
            text = "\0".join(obj)
            if text.count("\0") == len(obj) - 1:
                text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", '","')
                return f'{{"{text}"}}'.encode(self._tx.encoding)
        return super().dump(obj)
