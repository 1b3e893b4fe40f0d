"""Index files: vectors in numpy's format followed by a tail, and a second file of codes.

The tail is written if the metric is not cosine, or ids differ from positions: ids (int64, or texts as JSON), a
description as JSON, and an `END`.
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
from septet.errors import StoreError, printable
from septet.index.checks import LARGEST_ID, Metric, Rows
from septet.index.state import PAGE_ROWS, State, VectorNames
from septet.inputs.arguments import file_path, flag
from septet.model.vector import MOST_DIMENSIONS
from septet.system.filesystem import is_local
from septet.system.host import host
from septet.system.target import checked_target, target_fault

#: Maximum attempts to open a file that is being replaced.
MOST_REPLACED = 100
#: End of a tail: lengths of ids and description, CRC-32 of both, and a magic number.
END = struct.Struct("<QII8s")
MARK = b"septetIX"
FORMAT = 1
#: Maximum length of a description.
MOST_DESCRIPTION = 1_000
WANTED = "wanted a file that VectorIndex.save wrote"


class _Unwritten(StoreError, OSError):
    """An index cannot be written; an OSError, too, with its errno."""


#: Same error code as its public base class.
_Unwritten.code = StoreError.code


class Tail(NamedTuple):
    """Data after the vectors; ids are None if they equal positions."""

    metric: Metric
    ids: NDArray[Any] | None
    fresh: int


@contextmanager
def changed_files() -> Iterator[None]:
    """Translate native errors on changed files to `StoreError`."""
    try:
        yield
    except _core.Damaged as fault:
        raise StoreError(
            f"a file of this index was truncated or overwritten while it was open: open it again ({fault})"
        ) from fault


def save(state: State, path: str | os.PathLike[str]) -> None:
    """Write a state to files, without removed vectors; see `VectorIndex.save`."""
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
    if state.names.dead and state.codes.lists:
        # Lists hold positions, which change without the removed vectors.
        state = state.dense()
    names, d = state.names, state.codes.dimensions
    positions = names.positions()
    codes = _core.Codes(d, distances=state.metric == "l2") if names.dead else state.codes

    def read(start: int, stop: int) -> Rows:
        return state.read_at(positions[start:stop]) if names.dead else state.read(start, min(stop, state.n))

    with changed_files(), _temporary(target) as part:
        with part.open("wb") as file:
            # Not by `write_array`, whose error on a full disk has no reason.
            shape = {"descr": "<f4", "fortran_order": False, "shape": (len(positions), d)}
            np.lib.format.write_array_header_1_0(file, shape)
            for start in range(0, len(positions), PAGE_ROWS):
                page = read(start, start + PAGE_ROWS)
                file.write(page.data)
                if names.dead:
                    codes.append(page)
            _write_tail(file, state, positions)
            file.flush()
            os.fsync(file.fileno())
            stamp = _stamp(os.fstat(file.fileno()), len(positions), read)
        codes_path = _codes_of(target)
        with _temporary(codes_path) as codes_part:
            codes.save(codes_part, len(positions), stamp)
            host.replace(codes_part, codes_path)
        host.replace(part, target)


def opened(path: str | os.PathLike[str], *, mapped: bool) -> State:
    """Read a state written by `save`; see `VectorIndex.open`."""
    target = Path(file_path(path, "path", StoreError))
    flag(mapped, "mapped", StoreError)
    mapped = mapped and is_local(target)
    base, stamp, tail = _stored(target, mapped)
    empty = State.empty(tail.metric, base.dimensions)
    n = len(base)
    names = VectorNames(n, fresh=n) if tail.ids is None else VectorNames.of(tail.ids, tail.fresh)
    state = empty._replace(base=base, names=names)
    with changed_files():
        codes = _stored_codes(_codes_of(target), stamp, state, mapped) or state.coded(str(path))
    return state._replace(codes=codes)


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside a file; remove the file there at the end, if any."""
    part = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        yield part
    finally:
        # One that an interrupt left open stays on some systems, and the next save of this thread writes over it.
        host.remove(part)


def _codes_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.codes")


def _stamp(file: os.stat_result, n: int, read: Callable[[int, int], Rows]) -> bytes:
    """Return a stamp that identifies a file of vectors."""
    # File times may have a resolution of milliseconds, so the stamp includes some rows, including the last.
    sample, step = 0, max(1, n // 16)
    for at in range(n - 1, -1, -step):
        sample = zlib.crc32(read(at, at + 1).tobytes(), sample)
    return f"{file.st_size} bytes, {file.st_mtime_ns} ns, {sample:08x}".encode()


def _stored_codes(path: Path, stamp: bytes, state: State, mapped: bool) -> _core.Codes | None:
    """Open the codes of a file; None if they are unusable, and have to be rebuilt."""
    try:
        codes = _core.Codes.open(path, stamp, mapped=mapped)
    except (OSError, ValueError, MemoryError):
        return None
    expected = (state.n, state.codes.dimensions, state.codes.distances)
    return codes if (len(codes), codes.dimensions, codes.distances) == expected else None


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
                    raise StoreError(f"{path} contains {dtype} {shape}; wanted float32 of two dimensions, row by row")
                promised = start + 4 * shape[0] * shape[1]
                tail = _read_tail(file, path, shape[0], promised, stat.st_size)
                try:
                    rows = _core.FileRows.open(path, start, *shape, mapped=mapped)
                except _core.Damaged:
                    if os.path.samestat(stat, path.stat()):
                        raise
                    continue
                # The path must still be the file whose header was read.
                if os.path.samestat(stat, path.stat()):
                    return rows, _stamp(stat, shape[0], rows.read), tail
    except StoreError:
        raise
    except Exception as error:
        # numpy evaluates the header with Python's parser, which may raise many types of errors.
        raise StoreError(f"{printable(path)} cannot be read: {error}; {WANTED}") from error
    raise StoreError(f"{path} keeps being replaced while it is opened; open it again")


def _write_tail(file: BinaryIO, state: State, positions: NDArray[np.int64]) -> None:
    names = state.names
    plain = names.stored is None and not names.dead
    if plain and state.metric == "cosine":
        return
    ids = names.at(positions)
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
                raise StoreError(f"{path} has a damaged tail: write it again")
            return _tail(path, n, content, json.loads(description))
    raise StoreError(f"{path} has {size} bytes, its header says {start}; write it again")


def _tail(path: Path, n: int, content: bytes, description: Any) -> Tail:
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise StoreError(f"{path} was written by a newer version of Septet, or is damaged; open it with that version")
    metric, kind, fresh = description.get("metric"), description.get("ids"), description.get("fresh")
    ids: NDArray[Any] | None = None
    if kind == "numbers" and len(content) == 8 * n:
        ids = np.frombuffer(content, "<i8").astype(np.int64)
    elif kind == "texts":
        texts = json.loads(content)
        if isinstance(texts, list) and len(texts) == n and all(isinstance(text, str) for text in texts):
            ids = np.empty(n, object)
            ids[:] = texts
    complete = ids is not None or (kind == "positions" and not content)
    last = LARGEST_ID + 1
    if metric not in ("cosine", "ip", "l2") or not complete or type(fresh) is not int or not 0 <= fresh <= last:
        raise StoreError(f"{path} has a damaged tail: write it again")
    if ids is not None and len(set(ids.tolist())) != n:
        raise StoreError(f"{path} has duplicate ids: write it again")
    return Tail(metric, ids, fresh)
