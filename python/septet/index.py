"""Exact nearest neighbours without a vault, for services that need only the vector scan.

>>> index = VectorIndex(384)
>>> index.add(vectors)
>>> ids, scores = index.search(query, 10)

Scores are cosines in float64, best first; ties are ordered by id. Results are always exact.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from septet import _core
from septet.errors import QueryError, StoreError, VectorError
from septet.snapshot.append_buffer import AppendBuffer

__all__ = ["VectorIndex", "top_k"]

Rows = NDArray[np.float32]
Best = tuple[NDArray[np.int64], NDArray[np.float64]]

#: Rows that are read, checked and encoded at a time when a file is opened.
PAGE_ROWS = 8_192
#: How far the squared length of a stored row may be from 1: the rounding of float32, with room to spare.
UNIT_TOLERANCE = 1e-5


def top_k(query: ArrayLike, matrix: ArrayLike, k: int, *, mask: ArrayLike | None = None) -> Best:
    """Find the ``k`` rows of a matrix with the largest cosine, exactly.

    Each call scales every row of the matrix to unit length. To search the same rows more than once, keep them in a
    `VectorIndex`, which is several times faster.

    Args:
        query: one query ``(d,)``, or several ``(q, d)``.
        matrix: the rows, ``(n, d)``; converted to float32.
        k: how many rows to return, 0 or more; fewer are returned if fewer are allowed.
        mask: booleans ``(n,)``, true where a row may be returned.

    Returns:
        Row numbers (int64) and cosines (float64), best first, each ``(min(k, allowed),)``, or with a leading ``q``.

    Raises:
        VectorError: the shapes do not match, a row or query has length 0, or a number is NaN or infinite.
        QueryError: ``k`` is negative, or the mask has another length.
    """
    rows = _unit(matrix, "matrix")
    queries, many = _queries(query, rows.shape[1])
    allowed = _mask(mask, len(rows))
    _at_least(k, 0, "k")
    found = [_core.top_k(one, rows, k, allowed) for one in queries]
    if not many:
        return found[0]
    width = min(k, len(rows) if allowed is None else int(np.count_nonzero(allowed)))
    ids = np.array([ids for ids, _ in found], dtype=np.int64).reshape(len(found), width)
    return ids, np.array([scores for _, scores in found], dtype=np.float64).reshape(len(found), width)


class VectorIndex:
    """Vectors with 8-bit codes, searched exactly. Threads may search while another adds.

    Args:
        dimensions: the number of components of each vector, 1 to 65,536.

    The id of a vector is its position: the first one added has id 0. Vectors are scaled to unit length. They cannot be
    removed; pass a ``mask`` to leave some out of a search.

    Raises:
        VectorError: ``dimensions`` outside 1..65,536.
    """

    def __init__(self, dimensions: int) -> None:
        if not 1 <= dimensions <= 65_536:
            raise VectorError(f"dimensions is {dimensions}: wanted 1 to 65536")
        self._codes = _core.Codes(dimensions)
        self._adding = threading.Lock()
        self._growing: AppendBuffer | None = AppendBuffer(np.float32, dimensions)
        # What searches read: replaced as a whole, after the codes of its rows are complete.
        self._rows: Rows = self._growing.view()

    @property
    def dimensions(self) -> int:
        """The number of components of a vector."""
        return self._codes.dimensions

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<VectorIndex of {len(self)} vectors, {self.dimensions} dimensions>"

    def add(self, vectors: ArrayLike) -> range:
        """Add vectors ``(n, d)``, or one ``(d,)``, and return their ids. An error adds none of them.

        Raises:
            VectorError: another number of dimensions, a vector of length 0, or a number that is NaN or infinite.
        """
        rows = _unit(vectors, "vectors", self.dimensions, one=True)
        with self._adding:
            if self._growing is None:
                # The rows so far are a mapped file, which is never written.
                growing = AppendBuffer(np.float32, self.dimensions)
                growing.append(self._rows)
                self._growing = growing
            self._growing.append(rows)
            first = self._codes.append(rows)
            self._rows = self._growing.view()
        return range(first, first + len(rows))

    def search(
        self, query: ArrayLike, k: int = 10, *, mask: ArrayLike | None = None, threads: int | None = None
    ) -> Best:
        """Find the ``k`` vectors with the largest cosine, exactly.

        Args:
            query: one query ``(d,)``, or several ``(q, d)``, which is faster than one call each.
            k: how many vectors to return, 0 or more; fewer are returned if fewer are allowed.
            mask: booleans ``(len(index),)``, true where a vector may be returned; a sparse mask is faster.
            threads: the most threads to use; None takes every core if there is work for more than one.

        Returns:
            Ids (int64) and cosines (float64), best first, each ``(min(k, allowed),)``, or with a leading ``q``.

        Raises:
            VectorError: the query has another number of dimensions, length 0, or a number that is NaN or infinite.
            QueryError: ``k`` is negative, ``threads`` is below 1, or the mask has another length.
        """
        rows = self._rows
        queries, many = _queries(query, self.dimensions)
        allowed = _mask(mask, len(rows))
        _at_least(k, 0, "k")
        if threads is not None:
            _at_least(threads, 1, "threads")
        if many:
            return self._codes.top_k_batch(queries, rows, k, allowed, threads=threads)
        return self._codes.top_k(queries[0], rows, k, allowed, threads=threads)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vectors to a file that `numpy.load` reads too, and their codes beside it, to ``path`` + ``.codes``.

        Each file is replaced atomically; a process that has the old one open keeps it.

        Raises:
            OSError: a file cannot be written.
        """
        target, rows = Path(path), self._rows
        with _beside(target) as beside:
            with beside.open("wb") as file:
                # Not by `write_array`, whose error on a full disk does not say why.
                np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(rows))
                file.write(np.ascontiguousarray(rows).data)
                file.flush()
                os.fsync(file.fileno())
                stamp = _stamp(os.fstat(file.fileno()), rows)
            codes = _codes_of(target)
            with _beside(codes) as codes_beside:
                self._codes.save(codes_beside, len(rows), stamp)
                codes_beside.replace(codes)
            beside.replace(target)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, mmap: bool = True) -> VectorIndex:
        """Return the index that `save` wrote.

        The codes are mapped, so processes that open the same index share them; they are read once to verify their
        checksums. If they are missing or damaged, or the vectors were written or copied since, new codes are built in
        memory.

        Args:
            path: the file of vectors.
            mmap: leave the vectors on disk. A search then reads only the few that can be among the best; the first
                `add` reads all of them into memory.

        Raises:
            StoreError: the file does not exist, is not a file of vectors, is truncated, or holds vectors whose length
                is not 1.
        """
        rows, stamp = _stored(Path(path), mmap)
        index = cls(rows.shape[1])
        index._codes = _stored_codes(_codes_of(Path(path)), stamp, rows) or _coded(rows, path)
        index._growing, index._rows = None, rows
        return index


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Yield a temporary name beside a file; a file that is left under it is removed."""
    beside = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        yield beside
    finally:
        beside.unlink(missing_ok=True)


def _codes_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.codes")


def _stamp(file: os.stat_result, rows: Rows) -> bytes:
    """Return what identifies a file of vectors, reading few of them."""
    # File times may have a resolution of milliseconds, so the stamp includes some rows, the last among them.
    sample = zlib.crc32(rows[:: -max(1, len(rows) // 16)].tobytes())
    return f"{file.st_size} bytes, {file.st_mtime_ns} ns, {sample:08x}".encode()


def _stored_codes(path: Path, stamp: bytes, rows: Rows) -> _core.Codes | None:
    """Return the codes of rows that were saved with them, or None if they cannot be used: they can be rebuilt."""
    try:
        codes = _core.Codes.open(path, stamp)
    except (OSError, ValueError):
        return None
    return codes if (len(codes), codes.dimensions) == rows.shape else None


def _coded(rows: Rows, path: str | os.PathLike[str]) -> _core.Codes:
    """Return new codes of rows from a file; the rows must have length 1."""
    codes = _core.Codes(rows.shape[1])
    for start in range(0, len(rows), PAGE_ROWS):
        page = rows[start : start + PAGE_ROWS]
        squares = np.einsum("ij,ij->i", page, page)
        # Not written the other way round: NaN must fail.
        if not (np.abs(squares - 1) <= UNIT_TOLERANCE).all():
            raise StoreError(f"{path} holds vectors whose length is not 1; write it with VectorIndex.save")
        codes.append(page)
    return codes


def _stored(path: Path, mmap: bool) -> tuple[Rows, bytes]:
    """Return the matrix of a file, read-only, and the stamp of the file."""
    wanted = "wanted a file that VectorIndex.save wrote"
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            if version != (1, 0):
                raise StoreError(f"{path} has version {version}; {wanted}")
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
            start, stat = file.tell(), os.fstat(file.fileno())
            if dtype != np.float32 or len(shape) != 2 or fortran or not 1 <= shape[1] <= 65_536 or shape[0] < 0:
                raise StoreError(f"{path} holds {dtype} {shape}; wanted float32 of two dimensions, row by row")
            size, promised = stat.st_size, start + 4 * shape[0] * shape[1]
            if size != promised:
                raise StoreError(f"{path} has {size} bytes, its header says {promised}; write it again")
            # Map the file that was checked, even if another one has its name by now.
            if mmap and shape[0]:
                mapped: Rows = np.memmap(file, np.float32, "r", start, shape).view(np.ndarray)
                return mapped, _stamp(stat, mapped)
            rows: Rows = np.fromfile(file, np.float32, shape[0] * shape[1]).reshape(shape)
    except (OSError, ValueError, SyntaxError) as error:
        raise StoreError(f"{path} cannot be read: {error}; {wanted}") from error
    rows.flags.writeable = False
    return rows, _stamp(stat, rows)


def _unit(value: ArrayLike, name: str, width: int | None = None, *, one: bool = False) -> Rows:
    """Return float32 unit rows ``(n, d)``; with ``one``, a single row may come without its dimension."""
    array: NDArray[Any] = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise VectorError(f"{name} cannot be read as numbers: wanted floats, got {array.dtype}")
    if one and array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim != 2 or (width is not None and array.shape[1] != width):
        shape = f"(n, {'d' if width is None else width})"
        raise VectorError(f"{name} has shape {array.shape}: wanted {shape}")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        rows = np.ascontiguousarray(array, dtype=np.float32)
    try:
        return _core.unit_rows(rows)
    except ValueError as error:
        raise VectorError(f"{name}: {error}") from None


def _queries(value: ArrayLike, width: int) -> tuple[Rows, bool]:
    """Return unit rows ``(q, d)``, and whether several queries were given."""
    return _unit(value, "query", width, one=True), np.ndim(value) == 2


def _mask(value: ArrayLike | None, n: int) -> NDArray[np.bool_] | None:
    if value is None:
        return None
    mask = np.ascontiguousarray(value, dtype=np.bool_)
    if mask.shape != (n,):
        raise QueryError(f"mask has shape {mask.shape}: wanted ({n},), one boolean per vector")
    return mask


def _at_least(value: int, least: int, name: str) -> None:
    if value < least:
        raise QueryError(f"{name} is {value}: wanted at least {least}")
