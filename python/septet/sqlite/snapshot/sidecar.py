"""Sidecar: arrays derived from a store, as one memory-mapped file in a folder beside it.

A sidecar is written under a temporary name, then renamed; it never changes. Its stamp names the store and generation of
its source; sidecars with another stamp are ignored, and removed when a new one is written. A process can continue to
use a removed sidecar: on POSIX systems the file exists until the last process closes it. If another program truncates
or overwrites it, it is discarded, and its arrays are rebuilt.

A symbolic link is not accepted as the folder: the author of a vault could point it at a folder of the user.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import ref

from septet import _core
from septet.inputs.arguments import absolute
from septet.model.vector import Space
from septet.sqlite.store.store import SqliteReading, store_id, writer_at
from septet.sqlite.tables.entries import purged_at
from septet.system.forks import renew_in_children
from septet.system.host import host
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

#: Incremented when the meaning of any part changes: tokenizer, codes, scaling of vectors, a column.
FORMAT = 7
SUFFIX = ".arrays"
PART = ".part"


class Stamp(NamedTuple):
    """State of the store that arrays were derived from.

    Attributes:
        store: id of the store.
        generation: generation of the store.
        writer: writer of this generation. A diverged copy of the store has the same id and may reach the same
            generation, but with another writer.
        spaces: spaces with vectors in the sidecar.
    """

    store: str
    generation: int
    writer: str
    spaces: tuple[Space, ...]

    def to_bytes(self) -> bytes:
        """Serialize the stamp."""
        spaces = [list(space) for space in self.spaces]
        return json.dumps([FORMAT, self.store, self.generation, self.writer, spaces]).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> Stamp:
        """Parse a stamp.

        Raises:
            Damaged: the text is not a stamp.
            ValueError: the format is another version.
        """
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as fault:
            raise _core.Damaged(f"the stamp cannot be read: {fault}") from None
        match values:
            case [int(number), str(store), int(generation), str(writer), list(spaces)] if number == FORMAT:
                return cls(store, generation, writer, tuple(_space(space) for space in spaces))
        raise ValueError("the stamp has another format")


def stamped(read: SqliteReading, generation: int, spaces: tuple[Space, ...]) -> Stamp:
    """Return the stamp of a generation of the store, the current or an earlier one."""
    return Stamp(store_id(read), generation, writer_at(read, generation), spaces)


class Sidecar:
    """The folder of sidecars beside a store, shared by threads and processes: one writer at a time, any readers."""

    def __init__(
        self,
        store: str,
        *,
        read_only: bool = False,
        mapped: bool = True,
        step: Callable[[str], None] = lambda _name: None,
    ) -> None:
        """Set the path of the store; nothing is opened.

        Args:
            mapped: False reads files into memory, as is always done on network file systems.
            step: called before each step of a write; may raise to abort it.
        """
        # Resolved now: the working directory may change.
        self._store = absolute(store)
        self._folder = f"{self._store}.septet"
        self.read_only = read_only
        #: True if a truncated or foreign file was found, and ignored.
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
        """True if the folder is a symbolic link, which is never read, written or cleaned."""
        return host.is_link(self._folder)

    def after_fork(self) -> None:
        """Close the inherited lock file; otherwise the parent's lock would last as long as this child."""
        lock = None if self._lock is None else self._lock()
        if lock is not None:
            lock.close()

    def current_file(self, read: SqliteReading) -> tuple[Path, int] | None:
        """Return the path and the size in bytes of the sidecar that `latest` opens; None without any."""
        latest = self.latest(read)
        return None if latest is None else (self.folder / latest[2], latest[1].size_bytes)

    def latest(self, read: SqliteReading) -> tuple[Stamp, _core.ArrayFile, str] | None:
        """Open the latest sidecar made from this store at this generation or an earlier one; None without any.

        Returns:
            its stamp, the file and its name.
        """
        purged = None
        for name in self._files():
            if _place(name)[0] > read.generation:
                continue
            try:
                file = self._open(name)
                stamp = Stamp.from_bytes(file.stamp)
            except _core.Damaged:
                self.damaged = True
                continue
            except (OSError, ValueError, MemoryError):
                # Another format, or removed by the writer of a later one.
                continue
            purged = purged_at(read) if purged is None else purged
            if purged <= stamp.generation <= read.generation and stamp == stamped(read, stamp.generation, stamp.spaces):
                return stamp, file, name
        return None

    def write(
        self, stamp: Stamp, fill: Callable[[_core.ArrayWriter], None], needed: Callable[[], bool], *, wait: bool = False
    ) -> _core.ArrayFile | None:
        """Write a sidecar, remove all others, and open it; None if it is not needed, or another writer is active.

        Args:
            fill: writes the columns.
            needed: returns True if no equal sidecar exists; called with the writers' lock held.
            wait: True to wait for another writer.

        Raises:
            OSError: the folder is not writable or is a link, or the disk is full; the partial file is removed.
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
            # An earlier file of this generation may stay: of a killed writer, or, on Windows, while a process maps it.
            serial = 1 + max((_place(name)[1] for name in self._names() if name.endswith(SUFFIX)), default=0)
            name = f"{stamp.generation}-{serial}-{os.urandom(6).hex()}{SUFFIX}"
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
            # Opened under the lock: another writer would remove the file.
            written = self._open(name)
            self.step("clean")
            self._clean(SUFFIX, but=name)
            self.step("done")
            return written

    def drop(self) -> None:
        """Remove all sidecars; ignore errors."""
        with suppress(OSError):
            self._clean(SUFFIX)

    def erase(self) -> None:
        """Remove all sidecars and partial files; wait for other writers.

        Raises:
            OSError: a file cannot be removed, or the folder is a link.
        """
        self._refuse_link()
        if not self.folder.is_dir():
            return
        with self._locked(wait=True):
            for ending in (PART, SUFFIX):
                self._clean(ending, remove=host.erase)

    def unfinished(self) -> int:
        """Return the number of partial files without an active writer."""
        try:
            count = sum(name.endswith(PART) for name in self._names())
        except OSError:
            return 0
        if not count:
            return 0
        with self._locked(wait=False) as free:
            return count if free else 0

    def sweep(self) -> int:
        """Remove partial files without an active writer; return their number.

        Raises:
            OSError: a file cannot be removed.
        """
        if not (count := self.unfinished()):
            return 0
        with self._locked(wait=False) as free:
            if not free:
                return 0
            self._clean(PART)
        return count

    def faults(self) -> list[str]:
        """Verify the checksums of all files; return the errors."""
        faults = []
        for name in self._files():
            try:
                file = self._open(name)
                Stamp.from_bytes(file.stamp)
                file.verify()
            except _core.Damaged as fault:
                faults.append(f"{name}: {fault}")
            except (OSError, ValueError, MemoryError):
                # Another format, or removed in the meantime.
                continue
        return faults

    def _open(self, name: str) -> _core.ArrayFile:
        if self._local is None:
            from septet.system.filesystem import is_local

            self._local = is_local(self._folder)
        return _core.ArrayFile(f"{self._folder}/{name}", mapped=self._mapped and self._local)

    def _files(self) -> list[str]:
        """Return the names of the sidecar files, latest first."""
        try:
            names = [name for name in self._names() if name.endswith(SUFFIX)]
        except OSError:
            return []
        return sorted((name for name in names if name.partition("-")[0].isdecimal()), key=_place, reverse=True)

    def _clean(self, ending: str, but: str = "", remove: Callable[[str], None] = host.remove) -> None:
        for name in self._names():
            if name.endswith(ending) and name != but:
                remove(f"{self._folder}/{name}")

    def _names(self) -> list[str]:
        self._refuse_link()
        with os.scandir(self._folder) as entries:
            return [entry.name for entry in entries]

    def _refuse_link(self) -> None:
        if self.linked:
            raise OSError(errno.ELOOP, "it is a link, which may point anywhere: remove the link", self._folder)

    @contextmanager
    def _locked(self, wait: bool) -> Iterator[bool]:
        """Take the writers' lock; yield True if it was free. The system releases it when a process dies."""
        # A file object closes itself, and so releases the lock, even after an interrupt before the with statement.
        with open(f"{self._folder}/lock", "ab", buffering=0, opener=_unlinked) as lock:
            # Set before locking: a child forked in between must close its copy, or it would keep the lock.
            self._lock = ref(lock)
            yield host.lock_file(lock.fileno(), wait=wait)


def _place(name: str) -> tuple[int, int]:
    """Return the generation of a file and its number among those of one generation; 0 for what has none."""
    generation, serial, _ = (*name.split("-"), "", "")[:3]
    return int(generation) if generation.isdecimal() else 0, int(serial) if serial.isdecimal() else 0


def _unlinked(path: str, flags: int) -> int:
    """Open a file; refuse symbolic links."""
    return host.open_unlinked(path, flags, 0o666)


def _space(values: Any) -> Space:
    match values:
        case [int(), str(), int(), str(), int()]:
            return Space(*values)
    raise ValueError("the stamp contains an invalid space")
