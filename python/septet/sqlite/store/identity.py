"""Which file a store opened, and whether what lies at its path is still that file, with what was seen of it."""

from __future__ import annotations

import os
import sqlite3
from weakref import WeakSet

from septet.errors import StoreError, VaultReplaced
from septet.notes import Note

__all__ = ["NOTHING", "WRITERS", "Identity", "Look", "State", "is_open_here", "look", "writer_of"]

#: Changes of writer that a store remembers.
WRITERS = 4_096

#: A generation, and who wrote it.
State = tuple[int, str]
NOTHING: State = (-1, "")
#: The largest whole number of SQLite.
_LAST = 2**63 - 1
#: How a file and its log look from outside.
Look = tuple[int, ...]

_REOPEN = "close this vault and open it again to go on with what is there"


class Identity:
    """What is known of a store's file; of one in memory, nothing. Threads may share it.

    Attributes:
        seen: the latest state that was written or read here.
        file: its device and number; None in memory, and where the system gives none.
    """

    def __init__(self, path: str, *, in_memory: bool) -> None:
        self.seen = NOTHING
        self._path = path
        self._in_memory = in_memory
        self.file: tuple[int, int] | None = None
        #: The same of the log that the writing connection has open, and of its index.
        self._logs: dict[str, tuple[int, int] | None] = {}
        #: When somebody wrote to the file itself.
        self._touched = 0
        self._known = False
        _all.add(self)

    def opened(self, before: tuple[int, int] | None, *, writer: bool) -> None:
        """Remember the file that was opened, the first time; then make sure that it was the same.

        Args:
            before: what `check_file` returned before it was opened.
            writer: it was opened for writing.

        Raises:
            VaultReplaced: another file lies at the path, or none.
        """
        if self._in_memory:
            return
        if not self._known:
            now = _identity(self._path)
            if before is not None and before != now:
                # Opening waits while others lock the file, and they may have put another one there.
                raise VaultReplaced(f"{self._path} was replaced while it was opened: open it again")
            self._known, self.file = True, now
        self.check_file()
        if writer:
            self.switched()

    def switched(self) -> None:
        """Take note that the connection that writes has begun or ceased to keep a log."""
        # SQLite follows links to the file, and names the log after what it finds.
        file = "" if self._in_memory else os.path.realpath(self._path)
        log = _identity(f"{file}-wal") if file else None
        self._logs = {f"{file}-wal": log, f"{file}-shm": _identity(f"{file}-shm")} if log else {}

    def released(self) -> None:
        """Forget the log: the connection that writes was closed."""
        self._logs = {}

    def orphans(self) -> dict[str, tuple[int, int] | None]:
        """Return the log and its index, by path, if another file lies where the one that they belong to was."""
        if self._known and self._logs and self.file:
            now = _identity(self._path)
            if now is not None and now != self.file:
                return self._logs
        return {}

    def closed(self) -> None:
        """Forget the file: the store was closed."""
        _all.discard(self)

    def check_file(self) -> tuple[int, int] | None:
        """Make sure that the file that was opened still lies at the path; return which one does, None if unknown.

        Raises:
            VaultReplaced: another file lies there, or none.
        """
        if self._known and (fault := self._fault()):
            raise VaultReplaced(f"{fault}: {_REOPEN}")
        return None if self._in_memory else self.file or _identity(self._path)

    def check_log(self) -> None:
        """Make sure that the file and the log of the connection that writes are still there.

        Raises:
            VaultReplaced: one of them was replaced.
        """
        self.check_file()
        if fault := self._fault_of_log():
            raise VaultReplaced(f"{fault}: {_REOPEN}")

    def check(self, sql: sqlite3.Connection, state: State | None) -> None:
        """Make sure, inside a write transaction, that what is written is where the next reader looks.

        Args:
            state: of the store, before the write; None where the file does not say it.

        Raises:
            StoreError: it does not, or no generation can follow.
            VaultReplaced: another file lies at the path, its log was removed, or it does not contain what was seen.
        """
        if state is None or not 0 <= state[0] < _LAST:
            raise StoreError(
                f"{self._path} holds {'no generation' if state is None else f'generation {state[0]}'}, and nothing "
                "was written: restore a backup, or export what can be read and import it into a new vault"
            )
        if self._in_memory:
            return
        self.check_file()
        if fault := self._fault_of_log():
            raise VaultReplaced(f"{fault}, and nothing was written: {_REOPEN}")
        if state != self.seen and not _contains(sql, state, self.seen):
            raise VaultReplaced(
                f"the content of {self._path} was replaced: generation {self.seen[0]} was seen here, and generation "
                f"{state[0]} that is there now did not come from it, so nothing was written: {_REOPEN}"
            )

    def wrote(self, state: State) -> None:
        """Remember what was committed, and make sure that the file and its log are still there.

        Raises:
            VaultReplaced: one of them was replaced meanwhile.
        """
        self.seen = state
        self.touched()
        if self._known and (fault := self._fault() or self._fault_of_log()):
            raise VaultReplaced(
                f"{fault}, during a write, which is not in what is there now: close this vault, open it again and "
                "write again"
            )

    def touched(self) -> bool:
        """Say whether somebody wrote to the file itself, rather than to its log, since this was asked last."""
        before = self._touched
        if not self._in_memory:
            try:
                self._touched = os.stat(self._path).st_mtime_ns  # noqa: PTH116
            except OSError:
                self._touched = 0
        return before != self._touched

    def saw(self, sql: sqlite3.Connection, state: State) -> None:
        """Remember what was read, if it came from what was seen before."""
        if state[0] > self.seen[0] and _contains(sql, state, self.seen):
            self.seen = state

    def notes(self, tier: str) -> list[Note]:
        """Return what searches should say of the file."""
        fault = self._fault() if self._known else ""
        if not fault:
            return []
        cause = f"{fault}; what was open before answers"
        return [Note("vault_replaced", cause, "close the vault and open it again", tier)]

    def _fault(self) -> str:
        """Say what is wrong with the file at the path; nothing if it is the same or cannot be seen."""
        try:
            now = _identity(self._path, missing_is_fault=True)
        except FileNotFoundError:
            return f"{self._path} is not there any more: it was deleted or moved"
        if now == self.file or now is None or self.file is None:
            return ""
        return f"{self._path} is another file than the one that was opened: it was replaced"

    def _fault_of_log(self) -> str:
        """Say what is wrong with the log of the connection that writes; nothing if it is there, or none is kept."""
        for name, file in self._logs.items():
            if _identity(name) != file:
                return f"the log {name} was removed or replaced under the open vault"
        return ""


#: Every identity of a file that is open in this process, and some of files that were closed.
_all: WeakSet[Identity] = WeakSet()


def is_open_here(path: str) -> bool:
    """Say whether a store of this process has a file open."""
    file = _identity(path)
    return file is not None and any(one.file == file for one in list(_all))


def look(path: str) -> Look:
    """Return sizes and times of a file and its logs, which change when somebody writes."""
    found: list[int] = []
    for name in (path, path + "-wal", path + "-journal"):
        try:
            seen = os.stat(name)  # noqa: PTH116 - pathlib takes 3 ms to load
        except OSError:
            found.append(-1)
        else:
            found += (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)
    return tuple(found)


def writer_of(sql: sqlite3.Connection, generation: int) -> str:
    """Return who wrote a generation: from which one on, and a name; empty where it is unknown."""
    found = sql.execute(
        "SELECT key || ':' || value FROM meta WHERE key BETWEEN 'writer:' AND ? ORDER BY key DESC LIMIT 1",
        (f"writer:{generation:016d}",),
    ).fetchone()
    return "" if found is None else str(found[0])


def _signature(generation: int) -> str:
    return f"writer:{generation:016d}"


def sign(sql: sqlite3.Connection, generation: int) -> str:
    """Record that somebody else writes from this generation on, under a new name, and return both.

    The changes of writer before the last few thousand are dropped.
    """
    key, name = _signature(generation), os.urandom(16).hex()
    sql.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, name))
    oldest = "SELECT key FROM meta WHERE key BETWEEN 'writer:' AND 'writer;' ORDER BY key DESC LIMIT 1 OFFSET ?"
    sql.execute(f"DELETE FROM meta WHERE key BETWEEN 'writer:' AND ({oldest})", (WRITERS,))
    return f"{key}:{name}"


def _contains(sql: sqlite3.Connection, now: State, before: State) -> bool:
    """Say whether a state of the store came from an earlier one."""
    if now[0] < before[0]:
        return False
    if now[1] == before[1] or writer_of(sql, before[0]) == before[1]:
        return True
    kept, oldest = sql.execute(
        "SELECT count(*), min(key) FROM meta WHERE key BETWEEN 'writer:' AND 'writer;'"
    ).fetchone()
    # The names of those who wrote so long ago were dropped: nothing speaks against it.
    return bool(kept >= WRITERS and oldest > f"writer:{before[0]:016d}")


def _identity(path: str, *, missing_is_fault: bool = False) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - pathlib takes 3 ms to load
    except FileNotFoundError:
        if missing_is_fault:
            raise
        return None
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if found.st_ino else None
