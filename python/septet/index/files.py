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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from septet import _core
from septet.arguments import file_path, flag, printable, shown, whole
from septet.errors import QueryError, StoreError, VectorError
from septet.filesystem import is_local
from septet.snapshot.append_buffer import AppendBuffer
from septet.target import checked_target
from septet.vector import MOST_DIMENSIONS, numbers

__all__ = ["VectorIndex", "top_k"]

Rows = NDArray[np.float32]
Best = tuple[NDArray[np.int64], NDArray[np.float64]]

#: Rows that are read, checked and encoded at a time when a file is opened.
PAGE_ROWS = 8_192
#: How far the squared length of a stored row may be from 1: the rounding of float32, with room to spare.
UNIT_TOLERANCE = 1e-5
#: A larger ``k`` is the same as all rows, and more threads than this are not started.
MOST, MOST_THREADS = 2**31 - 1, 256
#: So often a file may be replaced by another one while it is opened.
MOST_REPLACED = 100


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
    k = _count(k, 0, "k")
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
        dimensions = whole(dimensions, "dimensions", VectorError, 1, MOST_DIMENSIONS)
        self._adding = _core.Lock()
        self._growing = AppendBuffer(np.float32, dimensions)
        # All that searches read, replaced as a whole: an addition is there when this is, or not at all.
        self._state = _State(_core.Codes(dimensions), None, self._growing.view())

    @property
    def dimensions(self) -> int:
        """The number of components of a vector."""
        return self._state.codes.dimensions

    def __len__(self) -> int:
        return self._state.n

    def __repr__(self) -> str:
        return f"<VectorIndex of {len(self)} vectors, {self.dimensions} dimensions>"

    def add(self, vectors: ArrayLike) -> range:
        """Add vectors ``(n, d)``, or one ``(d,)``, and return their ids. An error adds none of them.

        Raises:
            VectorError: another number of dimensions, a vector of length 0, or a number that is NaN or infinite.
        """
        rows = _unit(vectors, "vectors", self.dimensions, one=True)
        with self._adding.hold():
            codes, base, more = state = self._state
            if len(codes) != state.n:
                # An addition was interrupted behind its codes.
                codes = _coded(state)
            self._growing.cut(len(more))
            self._growing.append(rows)
            first = codes.append(rows)
            self._state = _State(codes, base, self._growing.view())
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
            StoreError: a file that `open` mapped was cut or overwritten since.
        """
        state = self._state
        queries, many = _queries(query, self.dimensions)
        allowed = _mask(mask, state.n)
        k = _count(k, 0, "k")
        if threads is not None:
            threads = min(_count(threads, 1, "threads"), MOST_THREADS)
        with _changed_files():
            if many:
                return state.codes.top_k_batch(queries, state.rows, k, allowed, threads=threads)
            return state.codes.top_k(queries[0], state.rows, k, allowed, threads=threads)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vectors to a file that `numpy.load` reads too, and their codes beside it, to ``path`` + ``.codes``.

        Each file is replaced atomically; a process that has the old one open keeps it.

        Raises:
            StoreError: a name belongs to a vault or a database in use, or is no file.
            OSError: a file cannot be written.
        """
        target, state = Path(file_path(path, "path", StoreError)), self._state
        for name in (target, _codes_of(target.absolute())):
            checked_target(name.absolute(), "", "name a file for the vectors")
        with _changed_files(), _beside(target) as beside:
            with beside.open("wb") as file:
                # Not by `write_array`, whose error on a full disk does not say why.
                shape = {"descr": "<f4", "fortran_order": False, "shape": (state.n, self.dimensions)}
                np.lib.format.write_array_header_1_0(file, shape)
                for start in range(0, state.n, PAGE_ROWS):
                    file.write(state.read(start, start + PAGE_ROWS).data)
                file.flush()
                os.fsync(file.fileno())
                stamp = _stamp(os.fstat(file.fileno()), state)
            codes = _codes_of(target)
            with _beside(codes) as codes_beside:
                state.codes.save(codes_beside, state.n, stamp)
                codes_beside.replace(codes)
            beside.replace(target)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, mapped: bool = True) -> VectorIndex:
        """Return the index that `save` wrote.

        Files are mapped, so processes that open the same index share them, and a search reads only the few vectors that
        can be among the best; the codes are read once to verify their checksums. If the codes are missing or damaged,
        or the vectors were written or copied since, new ones are built in memory. What is added stays in memory.

        Args:
            path: the file of vectors.
            mapped: False reads both files into memory, as is done anyway where other machines may change them.

        Raises:
            StoreError: the file does not exist, is not a file of vectors, is truncated, or holds vectors whose length
                is not 1.
        """
        target = Path(file_path(path, "path", StoreError))
        flag(mapped, "mapped", StoreError)
        mapped = mapped and is_local(target)
        base, stamp = _stored(target, mapped)
        index = cls(base.dimensions)
        state = _State(index._state.codes, base, index._state.more)
        with _changed_files():
            codes = _stored_codes(_codes_of(target), stamp, state, mapped) or _coded(state, str(path))
        index._state = state._replace(codes=codes)
        return index


class _State(NamedTuple):
    """The vectors of an index at one moment: codes of them, those of a file, and those added since.

    There may be codes of later vectors too.
    """

    codes: _core.Codes
    base: _core.FileRows | None
    more: Rows

    @property
    def n(self) -> int:
        """The number of vectors."""
        return len(self.more) if self.base is None else len(self.base) + len(self.more)

    @property
    def rows(self) -> Rows | tuple[_core.FileRows, Rows]:
        """The vectors as searches take them."""
        return self.more if self.base is None else (self.base, self.more)

    def read(self, start: int, stop: int) -> Rows:
        """Return the vectors from ``start`` on, before ``stop``; of those in a file a copy."""
        if self.base is None:
            return self.more[start:stop]
        split = len(self.base)
        return np.concatenate(
            [
                self.base.read(min(start, split), min(stop, split)),
                self.more[max(start - split, 0) : max(stop - split, 0)],
            ]
        )


@contextmanager
def _changed_files() -> Iterator[None]:
    try:
        yield
    except _core.Damaged as fault:
        raise StoreError(
            f"a file of this index was cut or overwritten while it was open: open it again ({fault})"
        ) from fault


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


def _stamp(file: os.stat_result, state: _State) -> bytes:
    """Return what identifies a file of vectors, reading few of them."""
    # File times may have a resolution of milliseconds, so the stamp includes some rows, the last among them.
    sample, step = 0, max(1, state.n // 16)
    for at in range(state.n - 1, -1, -step):
        sample = zlib.crc32(state.read(at, at + 1).tobytes(), sample)
    return f"{file.st_size} bytes, {file.st_mtime_ns} ns, {sample:08x}".encode()


def _stored_codes(path: Path, stamp: bytes, state: _State, mapped: bool) -> _core.Codes | None:
    """Return the codes of rows that were saved with them, or None if they cannot be used: they can be rebuilt."""
    try:
        codes = _core.Codes.open(path, stamp, mapped=mapped)
    except (OSError, ValueError, MemoryError):
        return None
    return codes if (len(codes), codes.dimensions) == (state.n, state.codes.dimensions) else None


def _coded(state: _State, path: str = "the index") -> _core.Codes:
    """Return new codes of rows, which must have length 1."""
    codes = _core.Codes(state.codes.dimensions)
    for start in range(0, state.n, PAGE_ROWS):
        page = state.read(start, start + PAGE_ROWS)
        squares = np.einsum("ij,ij->i", page, page)
        # Not written the other way round: NaN must fail.
        if not (np.abs(squares - 1) <= UNIT_TOLERANCE).all():
            raise StoreError(f"{path} holds vectors whose length is not 1; write it with VectorIndex.save")
        codes.append(page)
    return codes


def _stored(path: Path, mapped: bool) -> tuple[_core.FileRows, bytes]:
    """Return the rows of a file, and the stamp of the file."""
    wanted = "wanted a file that VectorIndex.save wrote"
    try:
        for _ in range(MOST_REPLACED):
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
                try:
                    rows = _core.FileRows.open(path, start, *shape, mapped=mapped)
                except _core.Damaged:
                    if os.path.samestat(stat, path.stat()):
                        raise
                    continue
                # The file whose head was read, not one that has its name by now.
                if os.path.samestat(stat, path.stat()):
                    return rows, _stamp(stat, _State(_core.Codes(shape[1]), rows, np.empty((0, shape[1]), np.float32)))
    except StoreError:
        raise
    except Exception as error:
        # Numpy hands the head to Python's own parsers, which fail in many ways.
        raise StoreError(f"{printable(path)} cannot be read: {error}; {wanted}") from error
    raise StoreError(f"{path} is replaced again and again while it is opened; open it again")


def _unit(value: ArrayLike, name: str, width: int | None = None, *, one: bool = False) -> Rows:
    """Return float32 unit rows ``(n, d)``; with ``one``, a single row may come without its dimension."""
    wanted = f"numbers of shape (n, {'d' if width is None else width})"
    array: NDArray[Any] = numbers(value, name, wanted)
    if one and array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim != 2 or (width is not None and array.shape[1] != width):
        raise VectorError(f"{name} has shape {array.shape}: wanted {wanted}")
    if not 1 <= array.shape[1] <= MOST_DIMENSIONS:
        raise VectorError(f"{name} has {array.shape[1]:,} components a row: wanted 1 to {MOST_DIMENSIONS:,}")
    try:
        with np.errstate(all="ignore"):
            rows = np.ascontiguousarray(array, dtype=np.float32)
        return _core.unit_rows(rows)
    except MemoryError:
        raise VectorError(f"{name} has {len(array):,} rows, more than fit into memory: give fewer at once") from None
    except ValueError as error:
        raise VectorError(f"{name}: {error}") from None


def _queries(value: ArrayLike, width: int) -> tuple[Rows, bool]:
    """Return unit rows ``(q, d)``, and whether several queries were given."""
    rows = numbers(value, "query", f"numbers of shape ({width},) or (q, {width})")
    return _unit(rows, "query", width, one=True), rows.ndim == 2


def _mask(value: ArrayLike | None, n: int) -> NDArray[np.bool_] | None:
    if value is None:
        return None
    wanted = f"wanted ({n},), one boolean per vector"
    try:
        given: NDArray[Any] = np.asarray(value)
    except (TypeError, ValueError, OverflowError, MemoryError, RecursionError):
        raise QueryError(f"mask is {shown(value)}: {wanted}") from None
    if isinstance(value, np.ma.MaskedArray) or (given.dtype != np.bool_ and given.size):
        raise QueryError(f"mask is {shown(value)}: {wanted}")
    if given.shape != (n,):
        raise QueryError(f"mask has shape {given.shape}: {wanted}")
    return np.ascontiguousarray(given, dtype=np.bool_)


def _count(value: int, least: int, name: str) -> int:
    return min(whole(value, name, QueryError, least), MOST)
