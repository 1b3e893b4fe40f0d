"""Indexes as files: the vectors, which numpy reads too, what else they need behind them, and their codes beside them.

The tail behind the vectors is there if they are compared by something else than cosines, or have ids of their own: the
ids (int64, or texts as JSON), a description as JSON, and an `END`.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import StoreError
from septet.index.checks import LARGEST_ID, Metric, Rows
from septet.index.names import Names
from septet.index.state import PAGE_ROWS, State
from septet.inputs.arguments import file_path, flag, printable
from septet.model.vector import MOST_DIMENSIONS
from septet.system.filesystem import is_local
from septet.system.target import checked_target, target_fault

__all__ = ["changed_files", "opened", "save"]

#: So often a file may be replaced by another one while it is opened.
MOST_REPLACED = 100
#: The end of a tail: how long its ids and its description are, the CRC-32 of both, and what tells that it is one.
END = struct.Struct("<QII8s")
MARK = b"septetIX"
FORMAT = 1
#: A description is this long at most.
MOST_DESCRIPTION = 1_000
WANTED = "wanted a file that VectorIndex.save wrote"


class _Unwritten(StoreError, OSError):
    """An index could not be written: an error of the system too, with its number."""


#: It goes by the name of the error that programs know.
_Unwritten.code = StoreError.code


class Tail(NamedTuple):
    """What stands behind the vectors: None for ids means positions."""

    metric: Metric
    ids: NDArray[Any] | None
    fresh: int


@contextmanager
def changed_files() -> Iterator[None]:
    """Turn what the native side says of a file that changed into the error of an index."""
    try:
        yield
    except _core.Damaged as fault:
        raise StoreError(
            f"a file of this index was cut or overwritten while it was open: open it again ({fault})"
        ) from fault


def save(state: State, path: str | os.PathLike[str]) -> None:
    """Write a state to files, without what was removed; see `VectorIndex.save`."""
    target = Path(file_path(path, "path", StoreError))
    for name in (target, _codes_of(target.absolute())):
        checked_target(name.absolute(), "", "name a file for the vectors")
    try:
        _write(state, target)
    except OSError as fault:
        unwritten = _Unwritten(*target_fault(target, fault.strerror or str(fault), fault.errno).args)
        unwritten.errno = fault.errno
        raise unwritten from fault


def _write(state: State, target: Path) -> None:
    names, d = state.names, state.codes.dimensions
    left = names.positions()
    codes = _core.Codes(d, distances=state.metric == "l2") if names.dead else state.codes

    def read(start: int, stop: int) -> Rows:
        return state.read_at(left[start:stop]) if names.dead else state.read(start, min(stop, state.n))

    with changed_files(), _beside(target) as beside:
        with beside.open("wb") as file:
            # Not by `write_array`, whose error on a full disk does not say why.
            shape = {"descr": "<f4", "fortran_order": False, "shape": (len(left), d)}
            np.lib.format.write_array_header_1_0(file, shape)
            for start in range(0, len(left), PAGE_ROWS):
                page = read(start, start + PAGE_ROWS)
                file.write(page.data)
                if names.dead:
                    codes.append(page)
            _write_tail(file, state, left)
            file.flush()
            os.fsync(file.fileno())
            stamp = _stamp(os.fstat(file.fileno()), len(left), read)
        beside_it = _codes_of(target)
        with _beside(beside_it) as codes_beside:
            codes.save(codes_beside, len(left), stamp)
            codes_beside.replace(beside_it)
        beside.replace(target)


def opened(path: str | os.PathLike[str], *, mapped: bool) -> State:
    """Return the state that `save` wrote; see `VectorIndex.open`."""
    target = Path(file_path(path, "path", StoreError))
    flag(mapped, "mapped", StoreError)
    mapped = mapped and is_local(target)
    base, stamp, tail = _stored(target, mapped)
    empty = State.empty(tail.metric, base.dimensions)
    n = len(base)
    names = Names(n, fresh=n) if tail.ids is None else Names.of(tail.ids, tail.fresh)
    state = empty._replace(base=base, names=names)
    with changed_files():
        codes = _stored_codes(_codes_of(target), stamp, state, mapped) or state.coded(str(path))
    return state._replace(codes=codes)


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


def _stamp(file: os.stat_result, n: int, read: Callable[[int, int], Rows]) -> bytes:
    """Return what identifies a file of vectors, reading few of them."""
    # File times may have a resolution of milliseconds, so the stamp includes some rows, the last among them.
    sample, step = 0, max(1, n // 16)
    for at in range(n - 1, -1, -step):
        sample = zlib.crc32(read(at, at + 1).tobytes(), sample)
    return f"{file.st_size} bytes, {file.st_mtime_ns} ns, {sample:08x}".encode()


def _stored_codes(path: Path, stamp: bytes, state: State, mapped: bool) -> _core.Codes | None:
    """Return the codes of rows that were saved with them, or None if they cannot be used: they can be rebuilt."""
    try:
        codes = _core.Codes.open(path, stamp, mapped=mapped)
    except (OSError, ValueError, MemoryError):
        return None
    wanted = (state.n, state.codes.dimensions, state.codes.distances)
    return codes if (len(codes), codes.dimensions, codes.distances) == wanted else None


def _stored(path: Path, mapped: bool) -> tuple[_core.FileRows, bytes, Tail]:
    """Return the rows of a file, the stamp of the file, and its tail."""
    try:
        for _ in range(MOST_REPLACED):
            with path.open("rb") as file:
                version = np.lib.format.read_magic(file)
                if version != (1, 0):
                    raise StoreError(f"{path} has version {version}; {WANTED}")
                shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
                start, stat = file.tell(), os.fstat(file.fileno())
                wide = len(shape) == 2 and 1 <= shape[1] <= MOST_DIMENSIONS and shape[0] >= 0
                if dtype != np.float32 or fortran or not wide:
                    raise StoreError(f"{path} holds {dtype} {shape}; wanted float32 of two dimensions, row by row")
                promised = start + 4 * shape[0] * shape[1]
                tail = _read_tail(file, path, shape[0], promised, stat.st_size)
                try:
                    rows = _core.FileRows.open(path, start, *shape, mapped=mapped)
                except _core.Damaged:
                    if os.path.samestat(stat, path.stat()):
                        raise
                    continue
                # The file whose head was read, not one that has its name by now.
                if os.path.samestat(stat, path.stat()):
                    return rows, _stamp(stat, shape[0], rows.read), tail
    except StoreError:
        raise
    except Exception as error:
        # Numpy hands the head to Python's own parsers, which fail in many ways.
        raise StoreError(f"{printable(path)} cannot be read: {error}; {WANTED}") from error
    raise StoreError(f"{path} is replaced again and again while it is opened; open it again")


def _write_tail(file: BinaryIO, state: State, left: NDArray[np.int64]) -> None:
    names = state.names
    plain = names.held is None and not names.dead
    if plain and state.metric == "cosine":
        return
    ids = names.at(left)
    texts = names.kind is str
    kind = "positions" if plain else "texts" if texts else "numbers"
    if texts:
        content = json.dumps(ids.tolist(), ensure_ascii=False).encode()
    else:
        content = b"" if plain else ids.astype("<i8").tobytes()
    described = {"format": FORMAT, "metric": state.metric, "ids": kind, "fresh": names.fresh}
    description = json.dumps(described).encode()
    file.write(content)
    file.write(description)
    file.write(END.pack(len(content), len(description), zlib.crc32(description, zlib.crc32(content)), MARK))


def _read_tail(file: BinaryIO, path: Path, n: int, start: int, size: int) -> Tail:
    if size == start:
        return Tail("cosine", None, n)
    if size >= start + END.size:
        file.seek(size - END.size)
        ids_bytes, description_bytes, checksum, mark = END.unpack(file.read(END.size))
        whole = start + ids_bytes + description_bytes + END.size == size and description_bytes <= MOST_DESCRIPTION
        if mark == MARK and whole:
            file.seek(start)
            content, description = file.read(ids_bytes), file.read(description_bytes)
            if zlib.crc32(description, zlib.crc32(content)) != checksum:
                raise StoreError(f"{path} is damaged behind its vectors: write it again")
            return _tail(path, n, content, json.loads(description))
    raise StoreError(f"{path} has {size} bytes, its header says {start}; write it again")


def _tail(path: Path, n: int, content: bytes, described: Any) -> Tail:
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise StoreError(f"{path} is of a newer version of Septet, or damaged; open it with that one")
    metric, kind, fresh = described.get("metric"), described.get("ids"), described.get("fresh")
    ids: NDArray[Any] | None = None
    if kind == "numbers" and len(content) == 8 * n:
        ids = np.frombuffer(content, "<i8").astype(np.int64)
    elif kind == "texts":
        texts = json.loads(content)
        if isinstance(texts, list) and len(texts) == n and all(isinstance(text, str) for text in texts):
            ids = np.empty(n, object)
            ids[:] = texts
    known = ids is not None or (kind == "positions" and not content)
    if metric not in ("cosine", "ip", "l2") or not known or type(fresh) is not int or not 0 <= fresh <= LARGEST_ID + 1:
        raise StoreError(f"{path} is damaged behind its vectors: write it again")
    if ids is not None and len(set(ids.tolist())) != n:
        raise StoreError(f"{path} has an id twice: write it again")
    return Tail(metric, ids, fresh)
