"""Array types of snapshots, and numbered names. ``s`` counts slots, ``v`` vectors, ``d`` dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from septet import _core

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

#: One array per column, all of the same length.
ColumnArrays: TypeAlias = "Mapping[str, NDArray[Any]]"

#: Slots, or rows of the store.
Slots: TypeAlias = "NDArray[np.int64]"
#: Position of each slot's vector ``(s,)``, -1 without one.
Positions: TypeAlias = "NDArray[np.int32]"
#: One flag per slot ``(s,)`` or per vector ``(v,)``.
Mask: TypeAlias = "NDArray[np.bool_]"
#: Rows ``(v, d)``: base rows, in memory or in a file, and rows added later.
Pieces: TypeAlias = "tuple[NDArray[np.float32] | _core.FileRows, NDArray[np.float32]]"


class NameTable:
    """Numbered texts, in order of first use. Append-only, so successive snapshots share it."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)
        #: The names in the form that native searches read.
        self.native = _core.NameTable()
        self.native.extend(self.names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def numbers(self, names: Iterable[str]) -> list[int]:
        """Return the number of each text; add unknown texts."""
        known, names = self._numbers, list(names)
        for name in dict.fromkeys(names):
            if name not in known:
                known[name] = len(self.names)
                self.names.append(name)
                self.native.extend([name])
        return [known[name] for name in names]


class AppendBuffer:
    """Rows in a buffer with spare capacity. Only one thread may append; any thread may use views."""

    def __init__(self, dtype: DTypeLike, width: int | None = None) -> None:
        self._shape: tuple[int, ...] = () if width is None else (width,)
        self._buffer: NDArray[Any] = np.empty((0, *self._shape), dtype=dtype)
        self._size = 0

    @classmethod
    def of(cls, rows: NDArray[Any]) -> AppendBuffer:
        """Start with rows, which may be mapped from a file: the first append copies them."""
        buffer = cls(rows.dtype, rows.shape[1] if rows.ndim > 1 else None)
        buffer._buffer, buffer._size = rows, len(rows)
        return buffer

    def __len__(self) -> int:
        return self._size

    def append(self, rows: NDArray[Any]) -> None:
        """Append rows; existing views keep their length and content."""
        if not len(rows):
            # A read-only mapped buffer refuses even an empty write.
            return
        size = self._size + len(rows)
        if size > len(self._buffer):
            # Old views keep the old buffer alive; growth by half makes appends amortized O(1).
            buffer = np.empty((max(size, len(self._buffer) * 3 // 2, 64), *self._shape), dtype=self._buffer.dtype)
            buffer[: self._size] = self._buffer[: self._size]
            self._buffer = buffer
        self._buffer[self._size : size] = rows
        self._size = size

    def cut(self, size: int) -> None:
        """Truncate to the first ``size`` rows; the others must not be in a view."""
        self._size = size

    def view(self) -> NDArray[Any]:
        """Return a read-only view of all rows."""
        view = self._buffer[: self._size]
        view.flags.writeable = False
        return view
