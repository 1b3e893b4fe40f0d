"""The identity of a store's file: detects that it was replaced or restored, or that other machines write it."""

from __future__ import annotations

import os
import sqlite3

from septet.errors import StoreError, VaultReplaced
from septet.notes import Note
from septet.system import filesystem
from septet.system.living import Living

#: Changes of writer that a store remembers.
WRITERS = 4_096

#: A generation and its writer.
State = tuple[int, str]
NOTHING: State = (-1, "")
#: The largest integer of SQLite.
_LAST = 2**63 - 1
#: Device, inode, size and time of a file and its log.
Look = tuple[int, ...]

_REOPEN = "close this vault and open it again to go on with what is there"


class Identity:
    """The known state of a store's file; empty in memory. Threads may share it.

    Attributes:
        seen: the latest state written or read by this store.
        file: device and inode; None in memory, or if the file system has none.
    """

    def __init__(self, path: str, *, in_memory: bool) -> None:
        self.seen = NOTHING
        self._path = path
        self._in_memory = in_memory
        self.file: tuple[int, int] | None = None
        #: Device and inode of the writer's WAL and of its index.
        self._logs: dict[str, tuple[int, int] | None] = {}
        #: Time of the last write to the file itself.
        self._touched = 0
        self._known = False
        _all.enlist(self)

    def opened(self, before: tuple[int, int] | None, *, writer: bool) -> None:
        """Record the opened file the first time; later, raise VaultReplaced if another one, or none, is at the path.

        Args:
            before: result of `check_file` before the opening.
        """
        if self._in_memory:
            return
        if not self._known:
            now = _identity(self._path)
            if before is not None and before != now:
                # Opening waits for locks, and the holder may have replaced the file.
                raise VaultReplaced(f"{self._path} was replaced while it was opened: open it again")
            self._known, self.file = True, now
        self.check_file()
        if writer:
            self.switched()

    def switched(self) -> None:
        """Record that the writer's WAL was created or removed."""
        # SQLite resolves links, and names the WAL after the target.
        file = "" if self._in_memory else os.path.realpath(self._path)
        log = _identity(f"{file}-wal") if file else None
        self._logs = {f"{file}-wal": log, f"{file}-shm": _identity(f"{file}-shm")} if log else {}

    def released(self) -> None:
        """Forget the WAL: the writer was closed."""
        self._logs = {}

    def orphans(self) -> dict[str, tuple[int, int] | None]:
        """Return the WAL and its index, by path, if their database file was replaced."""
        if self._known and self._logs and self.file:
            now = _identity(self._path)
            if now is not None and now != self.file:
                return self._logs
        return {}

    def closed(self) -> None:
        """Forget the file: the store was closed."""
        _all.discard(self)

    def check_file(self) -> tuple[int, int] | None:
        """Return the identity of the file, None if unknown; raise VaultReplaced if it is not at the path."""
        if self._known and (fault := self._fault()):
            raise VaultReplaced(f"{fault}: {_REOPEN}")
        return None if self._in_memory else self.file or _identity(self._path)

    def check_log(self) -> None:
        """Raise VaultReplaced if the file or the writer's WAL was replaced."""
        self.check_file()
        if fault := self._fault_of_log():
            raise VaultReplaced(f"{fault}: {_REOPEN}")

    def check(self, sql: sqlite3.Connection, state: State | None) -> None:
        """Check, inside a write transaction, that the next reader will see the write.

        Args:
            state: of the store before the write; None if the file has none.

        Raises:
            StoreError: the file has no state, or no generation can follow.
            VaultReplaced: the file was replaced, its WAL was removed, or it lacks a state seen before.
        """
        if state is None or not 0 <= state[0] < _LAST:
            raise StoreError(
                f"{self._path} has {'no generation' if state is None else f'generation {state[0]}'}, and nothing "
                "was written: restore a backup, or export what can be read and import it into a new vault"
            )
        if self._in_memory:
            return
        self.check_file()
        if fault := self._fault_of_log():
            raise VaultReplaced(f"{fault}, and nothing was written: {_REOPEN}")
        if state != self.seen and not _contains(sql, state, self.seen):
            raise VaultReplaced(
                f"{self._path} was replaced while it was open: expected a successor of generation {self.seen[0]}, "
                f"found generation {state[0]}; nothing was written: {_REOPEN}"
            )

    def wrote(self, state: State) -> None:
        """Record the committed state; raise VaultReplaced if the file or its WAL was replaced during the write."""
        self.seen = state
        self.touched()
        if self._known and (fault := self._fault() or self._fault_of_log()):
            raise VaultReplaced(
                f"{fault} during a write, and the write is lost: close the vault, open it again and repeat the write"
            )

    def touched(self) -> bool:
        """Return True if the file itself, rather than its WAL, was written since the last call."""
        before = self._touched
        if not self._in_memory:
            try:
                self._touched = os.stat(self._path).st_mtime_ns  # noqa: PTH116
            except OSError:
                self._touched = 0
        return before != self._touched

    def saw(self, sql: sqlite3.Connection, state: State) -> None:
        """Record the state that was read, if it descends from the last one."""
        if state[0] > self.seen[0] and _contains(sql, state, self.seen):
            self.seen = state

    def notes(self, tier: str) -> list[Note]:
        """Return the notes to attach to every search of this store."""
        fault = self._fault() if self._known else ""
        if not fault:
            return []
        cause = f"{fault}; searches still read the file that was opened first"
        return [Note("vault_replaced", cause, "close the vault and open it again", tier)]

    def _fault(self) -> str:
        """Return the fault of the file at the path; "" if it is the same or cannot be read."""
        try:
            now = _identity(self._path, missing_is_fault=True)
        except FileNotFoundError:
            return f"{self._path} is not there any more: it was deleted or moved"
        if now == self.file or now is None or self.file is None:
            return ""
        return f"{self._path} is another file than the one that was opened: it was replaced"

    def _fault_of_log(self) -> str:
        """Return the fault of the writer's WAL; "" if it is in place, or there is none."""
        for name, file in self._logs.items():
            if _identity(name) != file:
                return f"the log {name} was removed or replaced under the open vault"
        return ""


#: Identities of all files open in this process, and of some closed ones.
_all: Living[Identity] = Living()


def is_open_here(path: str) -> bool:
    """Return True if a store of this process has the file open."""
    file = _identity(path)
    return file is not None and any(other.file == file for other in _all)


def look(path: str) -> Look:
    """Return sizes and times of a file and its logs, which change with every write."""
    signature: list[int] = []
    for name in (path, path + "-wal", path + "-journal"):
        try:
            seen = os.stat(name)  # noqa: PTH116 - pathlib takes 3 ms to load
        except OSError:
            signature.append(-1)
        else:
            signature += (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)
    return tuple(signature)


def writer_of(sql: sqlite3.Connection, generation: int) -> str:
    """Return the writer of a generation (its first generation and a name); empty if unknown."""
    row = sql.execute(
        "SELECT key || ':' || value FROM meta WHERE key BETWEEN 'writer:' AND ? ORDER BY key DESC LIMIT 1",
        (f"writer:{generation:016d}",),
    ).fetchone()
    return "" if row is None else str(row[0])


def sign(sql: sqlite3.Connection, generation: int) -> str:
    """Record a new writer from this generation on; return the generation and the writer's name.

    Keeps the last few thousand changes of writer.
    """
    key, name = f"writer:{generation:016d}", os.urandom(16).hex()
    sql.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, name))
    oldest = "SELECT key FROM meta WHERE key BETWEEN 'writer:' AND 'writer;' ORDER BY key DESC LIMIT 1 OFFSET ?"
    sql.execute(f"DELETE FROM meta WHERE key BETWEEN 'writer:' AND ({oldest})", (WRITERS,))
    return f"{key}:{name}"


def _contains(sql: sqlite3.Connection, now: State, before: State) -> bool:
    """Return True if a state of the store descends from an earlier one."""
    if now[0] < before[0]:
        return False
    if now[1] == before[1] or writer_of(sql, before[0]) == before[1]:
        return True
    count, oldest = sql.execute(
        "SELECT count(*), min(key) FROM meta WHERE key BETWEEN 'writer:' AND 'writer;'"
    ).fetchone()
    # Writers that old were dropped from the record: assume that it does.
    return bool(count >= WRITERS and oldest > f"writer:{before[0]:016d}")


def _identity(path: str, *, missing_is_fault: bool = False) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - pathlib takes 3 ms to load
    except FileNotFoundError:
        if missing_is_fault:
            raise
        return None
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if status.st_ino else None


def place_note(path: str) -> Note | None:
    """Return the note on a vault's folder; None if only this machine writes it.

    Elsewhere a write-ahead log is unsafe: its index is memory of a single machine, and synchronisation copies the log
    separately from its database.
    """
    if not filesystem.is_local(path):
        cause = (
            f"{path} is on a network file system ({filesystem.file_system(path)}): it is written without a log, so "
            "searches and writes wait for each other"
        )
        return Note("network_folder", cause, "keep the vault on a disk of this machine, and copies of it there")
    program = filesystem.synchronised(path)
    if program:
        cause = (
            f"{path} is in a folder that appears to be synced by {program}: the write-ahead log is off, so "
            "searches and writes block each other, and writes from two machines overwrite each other"
        )
        return Note("synchronised_folder", cause, "keep the vault elsewhere, and backup() into the folder")
    return None
