"""Sidecar: the arrays derived from a store, as one mapped file in a folder beside it.

A sidecar is written under a temporary name, completed and renamed; it never changes. Its stamp says which generation of
which store it was made from; one that does not fit is ignored, and removed when another is written. A process that has
one open can go on using it: on POSIX systems a removed file exists until the last process closes it. Other programs may
cut or overwrite it all the same: then it is given up, and what it held is made anew.

A folder that is a link is no sidecar: whoever made the vault may have it lead to a folder of yours.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from septet import _core
from septet.inputs.arguments import absolute
from septet.model.spaces import Space
from septet.sqlite.store.store import Reading, store_id, writer_at
from septet.sqlite.tables.entries import purged_at
from septet.system.forks import renew_in_children

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

__all__ = ["Sidecar", "Stamp", "stamped"]

#: Goes up when a part changes its meaning: tokenizer, codes, scaling of vectors, a column.
FORMAT = 6
SUFFIX = ".arrays"
PART = ".part"


class Stamp(NamedTuple):
    """Which state of which store arrays were made from.

    Attributes:
        store: the store's own id.
        writer: who wrote this generation. A copy of the store that was changed separately has the same id and, in time,
            the same generation, but from another writer.
        spaces: the spaces whose vectors the sidecar has.
    """

    store: str
    generation: int
    writer: str
    spaces: tuple[Space, ...]

    def to_bytes(self) -> bytes:
        """Return the stamp as a sidecar stores it."""
        spaces = [list(space) for space in self.spaces]
        return json.dumps([FORMAT, self.store, self.generation, self.writer, spaces]).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> Stamp:
        """Read a stamp.

        Raises:
            Damaged: it is none.
            ValueError: it is of another format.
        """
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as fault:
            raise _core.Damaged(f"the stamp cannot be read: {fault}") from None
        match found:
            case [int(number), str(store), int(generation), str(writer), list(spaces)] if number == FORMAT:
                return cls(store, generation, writer, tuple(_space(space) for space in spaces))
        raise ValueError("the stamp is of another format")


def stamped(read: Reading, generation: int, spaces: tuple[Space, ...]) -> Stamp:
    """Return the stamp of a generation of the store, the present or an earlier one."""
    return Stamp(store_id(read), generation, writer_at(read, generation), spaces)


class Sidecar:
    """The folder of sidecars beside a store. Threads and processes may share it: one writes at a time, all read."""

    def __init__(
        self,
        store: str,
        *,
        read_only: bool = False,
        mapped: bool = True,
        step: Callable[[str], None] = lambda _name: None,
    ) -> None:
        """Name the store's file.

        Args:
            mapped: False reads files into memory, as is done anyway where other machines may change them.
            step: called before each step of writing; it may raise to stop it.
        """
        # A relative path stays relative to the working directory of this moment.
        self._store = absolute(store)
        self._folder = f"{self._store}.septet"
        self.read_only = read_only
        #: A file was found that is cut or no sidecar at all; it is not used.
        self.damaged = False
        self._mapped = mapped
        self._local: bool | None = None
        self.step = step
        self._lock: ref[FileIO] | None = None
        renew_in_children(self)

    @property
    def folder(self) -> Path:
        """The folder beside the store."""
        from pathlib import Path

        return Path(self._folder)

    @property
    def linked(self) -> bool:
        """Whether the folder is a link; then it is neither read nor written nor emptied."""
        return os.path.islink(self._folder)  # noqa: PTH114 - pathlib takes 3 ms to load

    def after_fork(self) -> None:
        """Close the inherited lock, or the parent's would last as long as this child."""
        lock = None if self._lock is None else self._lock()
        if lock is not None:
            lock.close()

    def current_file(self, read: Reading) -> tuple[Path, int] | None:
        """Return the path and the size in bytes of the sidecar that `latest` opens; None without any."""
        found = self._latest(read)
        return None if found is None else (self.folder / found[2], found[1].size_bytes)

    def latest(self, read: Reading) -> tuple[Stamp, _core.ArrayFile] | None:
        """Open the latest sidecar made from this store at this generation or an earlier one; None without any."""
        found = self._latest(read)
        return None if found is None else found[:2]

    def _latest(self, read: Reading) -> tuple[Stamp, _core.ArrayFile, str] | None:
        purged = None
        for generation, name in self._files():
            if generation > read.generation:
                continue
            try:
                file = self._open(name)
                stamp = Stamp.from_bytes(file.stamp)
            except _core.Damaged:
                self.damaged = True
                continue
            except (OSError, ValueError, MemoryError):
                # Of another format, or removed by the writer of a later one.
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
        """Write a sidecar, remove all others, and open it; None when it is not needed, or another writer is at work.

        Args:
            fill: writes the columns.
            needed: whether no sidecar is as good as this one; called when no other process is writing.
            wait: for another thread or process that is writing.

        Raises:
            OSError: the folder takes no writes or is a link, or the disk is full; nothing is left behind.
        """
        self.step("folder")
        folder = self.folder
        mode = folder.with_suffix("").stat().st_mode & 0o666
        with suppress(FileExistsError):
            folder.mkdir(mode=mode | (mode & 0o444) >> 2)
        self._refuse_link()
        with self._locked(wait) as locked:
            if not locked or not needed():
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
            # Before the lock is released: another writer would remove the file.
            written = self._open(name)
            self.step("clean")
            self._clean(SUFFIX, but=name)
            self.step("done")
            return written

    def drop(self) -> None:
        """Remove every sidecar, because one of them is damaged."""
        with suppress(OSError):
            self._clean(SUFFIX)

    def erase(self) -> None:
        """Remove every sidecar and what is left of half-written ones, when no other process is writing one.

        Raises:
            OSError: one of them cannot be removed, or the folder is a link.
        """
        self._refuse_link()
        if not self.folder.is_dir():
            return
        with self._locked(wait=True):
            for ending in (PART, SUFFIX):
                self._clean(ending)

    def unfinished(self) -> int:
        """Return how many half-written files lie there that nobody is writing."""
        try:
            found = sum(name.endswith(PART) for name in self._names())
        except OSError:
            return 0
        if not found:
            return 0
        with self._locked(wait=False) as free:
            return found if free else 0

    def sweep(self) -> int:
        """Remove half-written files that nobody is writing; return how many.

        Raises:
            OSError: one of them cannot be removed.
        """
        if not (found := self.unfinished()):
            return 0
        with self._locked(wait=False) as free:
            if not free:
                return 0
            self._clean(PART)
        return found

    def faults(self) -> list[str]:
        """Return what is wrong with the files, each of which is compared with its checksums; empty if nothing is."""
        found = []
        for _, name in self._files():
            try:
                file = self._open(name)
                Stamp.from_bytes(file.stamp)
                file.verify()
            except _core.Damaged as fault:
                found.append(f"{name}: {fault}")
            except (OSError, ValueError, MemoryError):
                # Of another format, or removed meanwhile.
                continue
        return found

    def _open(self, name: str) -> _core.ArrayFile:
        if self._local is None:
            from septet.system.filesystem import is_local

            self._local = is_local(self._folder)
        return _core.ArrayFile(f"{self._folder}/{name}", mapped=self._mapped and self._local)

    def _files(self) -> list[tuple[int, str]]:
        """Return generation and name of the files that may be sidecars, the latest first."""
        try:
            names = [name for name in self._names() if name.endswith(SUFFIX)]
        except OSError:
            return []
        found = [(name.partition("-")[0], name) for name in names]
        return sorted(((int(number), name) for number, name in found if number.isdecimal()), reverse=True)

    def _clean(self, ending: str, but: str = "") -> None:
        for name in self._names():
            if name.endswith(ending) and name != but:
                (self.folder / name).unlink(missing_ok=True)

    def _names(self) -> list[str]:
        self._refuse_link()
        with os.scandir(self._folder) as found:
            return [entry.name for entry in found]

    def _refuse_link(self) -> None:
        if self.linked:
            raise OSError(errno.ELOOP, "it is a link, which may lead anywhere: remove the link", self._folder)

    @contextmanager
    def _locked(self, wait: bool) -> Iterator[bool]:
        """Take the lock of writers, and say whether it was free. The system releases it when a process dies."""
        # A file object closes itself, and gives the lock back, when an interrupt leaves it to nobody.
        with open(f"{self._folder}/lock", "ab", buffering=0, opener=_unlinked) as lock:
            # Before it is locked: a child that is forked now must not keep what its parent will hold.
            self._lock = ref(lock)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
                free = True
            except BlockingIOError:
                free = False
            yield free


def _unlinked(path: str, flags: int) -> int:
    """Open a file that is no link."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _space(values: Any) -> Space:
    match values:
        case [int(), str(), int(), str(), int()]:
            return Space(*values)
    raise ValueError("the stamp names a space that is none")
