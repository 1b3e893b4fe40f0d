"""Fork safety: a forked child must not use what its parent has open in SQLite.

SQLite keeps a table of the files and locks of its process. A child inherits the table but not the locks: a connection
that it closes, or opens to a file in the table, may remove the WAL of others, or wait for a lock without a holder. So
before a fork all reads and writes finish, and every connection is closed; parent and child reopen connections on
demand. If that fails, the child never touches the inherited connections, and refuses the file.

A fork must not wait while it holds a lock that a read may need. The hooks of other modules hold locks, and those of
modules imported after this one run before these: so these are registered again when a store is opened, and locks of
the standard library that are held anyway are released while a fork waits. A hook that runs after these may wait for a
lock whose holder is about to read: such readers time out, and the hook that was registered first brings SQLite to rest
once more.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Collection
from contextlib import AbstractContextManager, suppress
from functools import partial
from threading import get_ident
from time import monotonic
from typing import Any, ClassVar, NoReturn, Protocol

from septet._core import Lock, leak, open_gate, passed_gate, shut_gate
from septet.errors import ForkedInUse, StoreError
from septet.system.host import host
from septet.system.living import Living
from septet.watch import log

#: Maximum wait of a fork for reads and writes of other threads, in seconds.
WAIT_S = 10.0
#: Maximum wait of a fork for another module's lock while SQLite is at rest: its holder may wait for SQLite.
LOCK_WAIT_S = 1.0 / 10
#: Maximum attempts of a fork to find no thread that imports a module.
TURNS = 100
#: Modules of the standard library whose hooks hold a lock during a fork, and the lock's name.
LOCKING = {"logging": "_lock", "concurrent.futures.thread": "_global_shutdown_lock"}
#: Packages whose modules searches and writes import.
USED = sys.stdlib_module_names | {"septet", "numpy", "pydantic", "pydantic_core", "httpx"}

_Identity = tuple[int, int]


class Forked(Protocol):
    """An object that a forked child must not share with its parent."""

    def after_fork(self) -> None:
        """Replace locks, and drop state that another thread may have left incomplete."""


class OfOneProcess:
    """Base of objects with connections, locks or threads, which cannot be pickled or copied."""

    #: The remedy in the error.
    _elsewhere: ClassVar[str]

    def __getstate__(self) -> NoReturn:
        # The error type that pickle and copy expect.
        raise TypeError(f"{type(self).__name__} is neither pickled nor copied: {self._elsewhere}")


class Connected(Protocol):
    """An object with connections that it reopens on demand."""

    def close_connections(self) -> None:
        """Close all connections except those of this thread's read or write; no other thread uses one."""


class Connection(sqlite3.Connection):
    """A connection registered with the fork hooks.

    Attributes:
        identity: device and inode of its file; None for a database in memory, which a child has a copy of.
        immutable: True if opened as a file that no process writes.
    """

    identity: _Identity | None = None
    immutable = False

    def register(self, path: str | None) -> None:
        """Register the connection and its file with the fork hooks; None in memory."""
        self.identity = None if path is None else _identity(path)
        _connections.enlist(self)


_connections: Living[Connection] = Living()
_connected: Living[Connected] = Living()
_renewed: Living[Forked] = Living()
#: Files whose connections this process inherited.
_inherited: set[_Identity] = set()


class _Rest:
    """State of SQLite during the current forks, and at every fork that led to this process."""

    #: By thread: while one is about to fork, another may begin to.
    now: ClassVar[dict[int, bool]] = {}
    always = True
    #: The process whose hooks ran last in a child: they are registered more than once.
    process = os.getpid()
    #: Number of modules at the last registration of the hooks, which is not repeated for every import.
    modules = 0
    #: Modules that other threads were importing when this process was forked.
    abandoned: ClassVar[set[str]] = set()


def renew_in_children(owner: Forked) -> None:
    """Call ``owner.after_fork`` in every process forked from this one, as long as the owner lives."""
    _renewed.enlist(owner)


def close_before_forks(owner: Connected) -> None:
    """Call ``owner.close_connections`` before every fork, as long as the owner lives."""
    _register()
    _connected.enlist(owner)


def using_sqlite() -> AbstractContextManager[object]:
    """Delay forks until the end of a ``with`` block, for a connection outside stores."""
    lock_context: AbstractContextManager[object] = Lock(gated=True).hold()
    return lock_context


def may_use_copies() -> bool:
    """Return True if this process may use the in-memory databases of its parent."""
    return _Rest.always


def refuse_inherited(path: str, *, in_memory: bool = False) -> None:
    """Raise `ForkedInUse` if this process must not open a file, because its parent was using it during the fork."""
    if _Rest.always and (in_memory or not _inherited):
        return
    try:
        refused = not _Rest.always or _identity(path) in _inherited
    except OSError:
        # Opening the file reports the error.
        return
    if refused:
        raise ForkedInUse(
            f"{path} cannot be used in this process: it was forked during a read or a write of its parent, "
            "or by a server that bypasses Python's fork hooks; fork when none is running, use the start method "
            "'spawn' of multiprocessing, or open the vault in each worker (uWSGI: lazy-apps)"
        )


def _identity(path: str) -> _Identity:
    status = os.stat(path)  # noqa: PTH116 - pathlib takes 3 ms to load
    return status.st_dev, status.st_ino


def _register() -> None:
    """Register the hooks below, to run before those of all modules imported so far."""
    if len(sys.modules) <= _Rest.modules:
        return
    _Rest.modules = len(sys.modules)
    later = {name for name in LOCKING if _is_loaded(name)}
    host.at_forks(partial(_before, later), _in_parent, _in_child)


def _is_loaded(name: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


def _before(later: Collection[str] = LOCKING) -> None:
    """Bring SQLite to rest; ``later`` has the modules whose hooks run after this one."""
    thread = get_ident()
    if thread in _Rest.now and not passed_gate():
        return
    _Rest.now[thread] = False
    loaded = {name for name in LOCKING if _is_loaded(name)}
    locked, free = [], []
    for name, lock in _locks():
        if name in later:
            free.append(lock)
        else:
            _acquire(lock, may_be_held=name in loaded)
            lock.release()
            locked.append(lock)
    # Initialise the loggers now: the first search and write would take a lock for that.
    log.searches_heard(log.DEBUG)
    log.writes_heard(log.INFO)
    try:
        at_rest = _at_rest([*locked, *free])
        if at_rest:
            for owner in _connected:
                with suppress(StoreError, sqlite3.Error):
                    owner.close_connections()
    finally:
        _acquire_between_imports(locked)
    _Rest.now[thread] = at_rest


def _locks() -> list[tuple[str, Any]]:
    """Import the modules whose hooks hold locks; no thread may import them first during a fork."""
    hooks = []
    for name, lock in LOCKING.items():
        # Imports may fail during interpreter shutdown.
        with suppress(Exception):
            __import__(name)
            hooks.append((name, getattr(sys.modules[name], lock)))
    return hooks


def _acquire(lock: Any, *, may_be_held: bool) -> None:
    """Acquire a module's lock, unless its hook already holds it for this fork, which ``may_be_held`` allows."""
    owned = getattr(lock, "_is_owned", None)
    if owned is None:
        # Other threads hold it only briefly.
        lock.acquire(timeout=LOCK_WAIT_S if may_be_held else -1)
    elif not owned():
        lock.acquire()


def _at_rest(locks: list[Any]) -> bool:
    """Stop other threads from using SQLite; return True if that succeeded and no waiting thread holds a lock."""
    until = monotonic() + WAIT_S
    while shut_gate(max(until - monotonic(), 0)):
        for lock in locks:
            if not lock.acquire(timeout=LOCK_WAIT_S):
                break
            lock.release()
        else:
            return True
        open_gate()
    return False


def _acquire_between_imports(locks: list[Any]) -> None:
    """Acquire locks while no thread imports a module that searches use: a child could not finish the import."""
    for _ in range(TURNS):
        for name in _importing():
            # Importing it again waits for the thread that imports it.
            with suppress(Exception):
                __import__(name)
        for lock in locks:
            lock.acquire()
        # Another import may have begun while a lock was awaited.
        if not _importing():
            return
        for lock in locks:
            lock.release()
    for lock in locks:
        lock.acquire()


def _importing() -> list[str]:
    """Return the modules that searches use and some thread of this process imports."""
    names = [name for name in list(sys.modules) if name.partition(".")[0] in USED and not _is_loaded(name)]
    return [name for name in names if name not in _Rest.abandoned]


def _in_parent() -> None:
    if _Rest.now.pop(get_ident(), None) is not None:
        open_gate()
        _register()


def _in_child() -> None:
    if _Rest.process == os.getpid():
        return
    _Rest.process = os.getpid()
    # No thread is left that could finish them, so a fork of this process must not wait.
    _Rest.abandoned.update(_importing())
    # Programs that fork outside Python, such as uWSGI, run only the hooks after the fork.
    at_rest = _Rest.now.pop(get_ident(), True) and not passed_gate()
    _Rest.now.clear()
    _Rest.always = _Rest.always and at_rest
    for connection in [candidate for candidate in _connections if is_open(candidate)]:
        if connection.identity is None and _Rest.always:
            continue
        leak(connection)
        if connection.identity is not None:
            _inherited.add(connection.identity)
        if at_rest:
            # A write of this thread may continue in the child, and must not reach the file.
            connection.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
    for owner in _renewed:
        owner.after_fork()
    _register()


def is_open(connection: Connection) -> bool:
    """Return True if a connection is open."""
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


_register()
