"""Sidecar: what is derived from a store, as one mapped file in a folder beside it.

A sidecar is written under a name of its own, completed, and renamed; it is never changed. Its stamp says which view
of which store it was made from; one that does not fit is ignored, and removed when the next is written. Whoever has one
open keeps it: on POSIX systems a file stays until the last process lets go of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from septet import _core
from septet.spaces import Space
from septet.storage.connection import absolute
from septet.storage.forks import renew_in_children
from septet.storage.store import Reading, store_id, writer_at
from septet.storage.tables.entries import purged_at

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Sidecar", "Stamp", "stamped"]

#: Counts up with every change of what is kept: columns, tokenizer, codes, scaling of vectors.
FORMAT = 2
SUFFIX = ".arrays"
PART = ".part"


class Stamp(NamedTuple):
    """The view that arrays were made from.

    Attributes:
        store: the store's own id.
        writer: who wrote this generation. A copy of the store that went its own way has the same id, and the same
            generation in time, but from another writer.
        spaces: the spaces whose vectors are there.
    """

    store: str
    generation: int
    writer: str
    spaces: tuple[Space, ...]

    def to_bytes(self) -> bytes:
        """Return the stamp as it is written."""
        spaces = [list(space) for space in self.spaces]
        return json.dumps([FORMAT, self.store, self.generation, self.writer, spaces]).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> Stamp:
        """Read a stamp; a ValueError for one of another format, or none."""
        match json.loads(text):
            case [int(number), str(store), int(generation), str(writer), list(spaces)] if number == FORMAT:
                return cls(store, generation, writer, tuple(_space(space) for space in spaces))
        raise ValueError("the stamp is of another format")


def stamped(read: Reading, generation: int, spaces: tuple[Space, ...]) -> Stamp:
    """Return the stamp of a generation that the store had."""
    return Stamp(store_id(read), generation, writer_at(read, generation), spaces)


class Sidecar:
    """The folder beside a store. Threads and processes may share it: one writes at a time, anyone reads."""

    def __init__(
        self, store: str, *, read_only: bool = False, step: Callable[[str], None] = lambda _name: None
    ) -> None:
        """Name the store's file; ``step`` is called before each step of writing, and may raise to stop it."""
        # A relative path means the folder of today.
        self._store = absolute(store)
        self._folder = f"{self._store}.septet"
        self.read_only = read_only
        self.step = step
        self._lock: int | None = None
        renew_in_children(self)

    @property
    def folder(self) -> Path:
        """Where sidecars lie."""
        from pathlib import Path

        return Path(self._folder)

    def after_fork(self) -> None:
        """Let go of the parent's turn to write, or it would last as long as this child."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def current_file(self, read: Reading) -> tuple[Path, int] | None:
        """Return the path of what `newest` opens, and its size in bytes."""
        found = self._newest(read)
        return None if found is None else (self.folder / found[2], found[1].size_bytes)

    def newest(self, read: Reading) -> tuple[Stamp, _core.ArrayFile] | None:
        """Open the newest sidecar that was made from this store, at this generation or before; None without any."""
        found = self._newest(read)
        return None if found is None else found[:2]

    def _newest(self, read: Reading) -> tuple[Stamp, _core.ArrayFile, str] | None:
        purged = None
        for generation, name in self._files():
            if generation > read.generation:
                continue
            try:
                file = _core.ArrayFile(f"{self._folder}/{name}")
                stamp = Stamp.from_bytes(file.stamp)
            except (OSError, ValueError):
                # Cut, foreign, of another format, or removed by the one who wrote a newer one.
                continue
            purged = purged_at(read) if purged is None else purged
            if purged <= stamp.generation <= read.generation and stamp == stamped(read, stamp.generation, stamp.spaces):
                return stamp, file, name
        return None

    def write(
        self,
        stamp: Stamp,
        fill: Callable[[_core.ArrayWriter], None],
        needed: Callable[[], bool],
        *,
        wait: bool = False,
    ) -> _core.ArrayFile | None:
        """Write a sidecar in place of all others and open it.

        Args:
            needed: asked when nobody else writes any more: whether there is none as good as this.
            wait: for another thread or process that writes one; else nothing is written then.

        Raises:
            OSError: the folder takes no writes, or the disk is full; nothing is left behind.
        """
        self.step("folder")
        folder = self.folder
        mode = folder.with_suffix("").stat().st_mode & 0o666
        with suppress(FileExistsError):
            folder.mkdir(mode=mode | (mode & 0o444) >> 2)
        with self._turn(wait) as mine:
            if not mine or not needed():
                return None
            self._clean(PART)
            name = f"{stamp.generation}-{os.urandom(6).hex()}{SUFFIX}"
            part = folder / f"{name}{PART}"
            try:
                self.step("file")
                writer = _core.ArrayWriter(part, stamp.to_bytes())
                part.chmod(mode)
                fill(writer)
                self.step("end")
                writer.finish()
                self.step("rename")
                part.rename(folder / name)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
            # Before the turn is given back: the next writer removes it.
            written = _core.ArrayFile(folder / name)
            self.step("clean")
            self._clean(SUFFIX, but=name)
            self.step("done")
            return written

    def drop(self) -> None:
        """Remove every sidecar: one of them was damaged."""
        with suppress(OSError):
            self._clean(SUFFIX)

    def _files(self) -> list[tuple[int, str]]:
        """Return the names of the files that may be sidecars, the newest first, by generation."""
        try:
            names = [name for name in _names(self._folder) if name.endswith(SUFFIX)]
        except OSError:
            return []
        found = [(name.partition("-")[0], name) for name in names]
        return sorted(((int(number), name) for number, name in found if number.isdecimal()), reverse=True)

    def _clean(self, ending: str, but: str = "") -> None:
        for name in _names(self._folder):
            if name.endswith(ending) and name != but:
                (self.folder / name).unlink(missing_ok=True)

    @contextmanager
    def _turn(self, wait: bool) -> Iterator[bool]:
        """Take the turn to write, and say whether it was free. The system gives it back when a process dies."""
        import fcntl

        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            yield False
            return
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock
        try:
            yield True
        finally:
            self._lock = None
            os.close(lock)


def _names(folder: str) -> list[str]:
    with os.scandir(folder) as found:
        return [entry.name for entry in found]


def _space(values: Any) -> Space:
    match values:
        case [int(), str(), int(), str(), int()]:
            return Space(*values)
    raise ValueError("a space is none")
