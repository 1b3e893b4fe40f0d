"""Arrays that only grow: a view that was handed out never changes, so readers need no lock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["AppendBuffer"]


class AppendBuffer:
    """Rows appended to a buffer with spare room. Only one thread may append; all may use views."""

    def __init__(self, dtype: DTypeLike, width: int | None = None) -> None:
        self._shape: tuple[int, ...] = () if width is None else (width,)
        self._buffer: NDArray[Any] = np.empty((0, *self._shape), dtype=dtype)
        self._size = 0

    @classmethod
    def of(cls, rows: NDArray[Any]) -> AppendBuffer:
        """Begin with rows that may be mapped from a file: they are copied when the first row is added."""
        buffer = cls(rows.dtype, rows.shape[1] if rows.ndim > 1 else None)
        buffer._buffer, buffer._size = rows, len(rows)
        return buffer

    def __len__(self) -> int:
        return self._size

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows at the end; views taken before keep their length and content."""
        if not len(rows):
            # A mapped buffer refuses even an empty write.
            return
        size = self._size + len(rows)
        if size > len(self._buffer):
            # Old views keep the old buffer alive; growing by half keeps appends cheap on average.
            buffer = np.empty((max(size, len(self._buffer) * 3 // 2, 64), *self._shape), dtype=self._buffer.dtype)
            buffer[: self._size] = self._buffer[: self._size]
            self._buffer = buffer
        self._buffer[self._size : size] = rows
        self._size = size

    def cut(self, size: int) -> None:
        """Forget the rows behind the first ``size``, which must not have been handed out."""
        self._size = size

    def view(self) -> NDArray[Any]:
        """Return everything appended so far, read-only."""
        view = self._buffer[: self._size]
        view.flags.writeable = False
        return view
