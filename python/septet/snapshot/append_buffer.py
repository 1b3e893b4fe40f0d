"""Arrays that only grow: a view once handed out never changes, so readers need no lock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["AppendBuffer"]


class AppendBuffer:
    """Rows appended to a buffer with room to spare. Only one thread may append; any may hold views."""

    def __init__(self, dtype: DTypeLike, width: int | None = None) -> None:
        self._shape: tuple[int, ...] = () if width is None else (width,)
        self._buffer: NDArray[Any] = np.empty((0, *self._shape), dtype=dtype)
        self._size = 0

    @classmethod
    def of(cls, rows: NDArray[Any]) -> AppendBuffer:
        """Begin with rows that may lie in a file: they are copied when the first row is added."""
        growing = cls(rows.dtype, rows.shape[1] if rows.ndim > 1 else None)
        growing._buffer, growing._size = rows, len(rows)
        return growing

    def __len__(self) -> int:
        return self._size

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows at the end; views taken before keep their length and content."""
        if not len(rows):
            # A buffer in a file takes not even nothing.
            return
        wanted = self._size + len(rows)
        if wanted > len(self._buffer):
            # Old views keep the old buffer alive; growing by half keeps appends cheap on average.
            buffer = np.empty((max(wanted, len(self._buffer) * 3 // 2, 64), *self._shape), dtype=self._buffer.dtype)
            buffer[: self._size] = self._buffer[: self._size]
            self._buffer = buffer
        self._buffer[self._size : wanted] = rows
        self._size = wanted

    def view(self) -> NDArray[Any]:
        """Return everything appended so far, read-only."""
        view = self._buffer[: self._size]
        view.flags.writeable = False
        return view
