"""A forked child has one thread, and must leave alone what its parent has open in SQLite.

SQLite keeps a table of the files and locks of its process. A child inherits the table but not the locks: a connection
that it closes, or opens to a file in the table, may remove the log of others, or wait for a lock that nobody holds. So
before a fork all reads and writes come to their end, and every connection is closed; parent and child open others when
they need them. Where that cannot be done, the child keeps what it inherited for ever, untouched, and refuses the file.

A fork must not wait while it holds a lock that a read may need. The hooks of other modules hold some, and those of
modules loaded after this one run before ours: so ours are registered again when a store is opened, and the locks of
the standard library that are held nevertheless are released while a fork waits. A hook that runs after ours may wait
for a lock whose holder wants to read: readers lose their patience then, and SQLite is brought to rest once more by the
hook that was registered first.
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
from weakref import WeakSet, WeakValueDictionary

from septet._core import Lock, leak, open_gate, passed_gate, shut_gate
from septet.errors import ForkedInUse, StoreError
from septet.watch import log

__all__ = [
    "Connection",
    "Forked",
    "OfOneProcess",
    "close_before_forks",
    "is_open",
    "may_use_copies",
    "refuse_inherited",
    "renew_in_children",
    "using_sqlite",
]

#: How long a fork waits until other threads have ended their reads and writes.
WAIT_S = 10.0
#: How long a fork waits for a lock of another module while SQLite is at rest: its holder may wait for SQLite.
LOCK_WAIT_S = 1.0 / 10
#: Modules of the standard library whose hooks hold a lock during a fork, and the lock's name.
LOCKING = {"logging": "_lock", "concurrent.futures.thread": "_global_shutdown_lock"}
#: Packages that searches and writes load modules of.
USED = sys.stdlib_module_names | {"septet", "numpy", "pydantic", "pydantic_core", "httpx"}

_Identity = tuple[int, int]


class Forked(Protocol):
    """Something that a forked child must not share with its parent."""

    def after_fork(self) -> None:
        """Replace locks and drop what another thread may have left half done."""


class OfOneProcess:
    """Something with connections, locks or threads: it is neither pickled nor copied, unless a subclass says how."""

    #: What to do instead.
    _elsewhere: ClassVar[str]

    def __getstate__(self) -> NoReturn:
        # What pickle and copy expect of such things.
        raise TypeError(f"{type(self).__name__} is neither pickled nor copied: {self._elsewhere}")


class Connected(Protocol):
    """Something with connections, which it opens again when it needs one."""

    def close_connections(self) -> None:
        """Close them, but for those of a read or a write of this thread; nobody else uses any."""


class Connection(sqlite3.Connection):
    """A connection that forks know of.

    Attributes:
        identity: device and number of its file; None for a database in memory, which a child has a copy of.
        immutable: it reads a file of which it believes that nobody writes it.
    """

    identity: _Identity | None = None
    immutable = False

    def register(self, path: str | None) -> None:
        """Have forks know of it, and of its file; None in memory."""
        self.identity = None if path is None else _identity(path)
        _connections[id(self)] = self


_connections: WeakValueDictionary[int, Connection] = WeakValueDictionary()
_connected: WeakSet[Connected] = WeakSet()
_renewed: WeakSet[Forked] = WeakSet()
#: Files whose connections this process inherited.
_inherited: set[_Identity] = set()


class _Rest:
    """Whether SQLite is at rest for the forks that threads are in, and was at each fork that led to this process."""

    #: By thread: while one is about to fork, another may begin to.
    now: ClassVar[dict[int, bool]] = {}
    always = True
    #: The process whose hooks ran last in a child: they are registered more than once.
    process = os.getpid()
    #: How many modules were loaded when the hooks were last registered: not again for each that comes and goes.
    modules = 0


def renew_in_children(owner: Forked) -> None:
    """Call ``owner.after_fork`` in every process forked from this one, as long as the owner lives."""
    _renewed.add(owner)


def close_before_forks(owner: Connected) -> None:
    """Call ``owner.close_connections`` before every fork, as long as the owner lives."""
    _register()
    _connected.add(owner)


def using_sqlite() -> AbstractContextManager[object]:
    """Keep a fork waiting until the end of a ``with`` block, for a connection that no store has."""
    held: AbstractContextManager[object] = Lock(gated=True).hold()
    return held


def may_use_copies() -> bool:
    """Whether this process may use the databases in memory of the one that it was forked from."""
    return _Rest.always


def refuse_inherited(path: str, *, in_memory: bool = False) -> None:
    """Raise if this process may not open a file, because the one that it was forked from was using it.

    Raises:
        ForkedInUse: it may not.
    """
    if _Rest.always and (in_memory or not _inherited):
        return
    try:
        refused = not _Rest.always or _identity(path) in _inherited
    except OSError:
        # Opening it says why.
        return
    if refused:
        raise ForkedInUse(
            f"{path} cannot be used in this process: it was forked in the middle of a read or a write of its parent, "
            "or by a server that does not tell Python before it forks; fork when none is running, use the start method "
            "'spawn' of multiprocessing, or open the vault in each worker (uWSGI: lazy-apps)"
        )


def _identity(path: str) -> _Identity:
    found = os.stat(path)  # noqa: PTH116 - pathlib takes 3 ms to load
    return found.st_dev, found.st_ino


def _register() -> None:
    """Have forks call the functions below, before the hooks of every module that is loaded by now."""
    if len(sys.modules) <= _Rest.modules:
        return
    _Rest.modules = len(sys.modules)
    behind = {name for name in LOCKING if _is_loaded(name)}
    os.register_at_fork(before=partial(_before, behind), after_in_parent=_in_parent, after_in_child=_in_child)


def _is_loaded(name: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


def _before(behind: Collection[str] = LOCKING) -> None:
    """Bring SQLite to rest; ``behind`` names the modules whose hooks run after this one."""
    thread = get_ident()
    if thread in _Rest.now and not passed_gate():
        return
    _Rest.now[thread] = False
    loaded = {name for name in LOCKING if _is_loaded(name)}
    held, free = [], []
    for name, lock in _locks():
        if name in behind:
            free.append(lock)
        else:
            _own(lock, held=name in loaded)
            lock.release()
            held.append(lock)
    # The first search and the first write after loggers are loaded look for their own, for which they take a lock.
    log.searches_heard(log.DEBUG)
    log.writes_heard(log.INFO)
    try:
        at_rest = _at_rest([*held, *free])
        if at_rest:
            for owner in list(_connected):
                with suppress(StoreError, sqlite3.Error):
                    owner.close_connections()
        _finish_imports()
    finally:
        for lock in held:
            lock.acquire()
    _Rest.now[thread] = at_rest


def _locks() -> list[tuple[str, Any]]:
    """Load the modules whose hooks hold locks, which no thread may do for the first time during a fork."""
    found = []
    for name, lock in LOCKING.items():
        # While the interpreter shuts down it may be too late.
        with suppress(Exception):
            __import__(name)
            found.append((name, getattr(sys.modules[name], lock)))
    return found


def _own(lock: Any, *, held: bool) -> None:
    """Take the lock of a module, unless the module's hook has taken it for this fork, as ``held`` says it may have."""
    owned = getattr(lock, "_is_owned", None)
    if owned is None:
        # Other threads hold it only for moments.
        lock.acquire(timeout=LOCK_WAIT_S if held else -1)
    elif not owned():
        lock.acquire()


def _at_rest(locks: list[Any]) -> bool:
    """Let no other thread use SQLite, and return whether that is so and no lock is held by a thread that wants to."""
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


def _finish_imports() -> None:
    """Wait until no other thread is loading a module that a search may load: a child could not go on with it."""
    for name in [name for name in list(sys.modules) if name.partition(".")[0] in USED and not _is_loaded(name)]:
        # Loading it again waits for who loads it.
        with suppress(Exception):
            __import__(name)


def _in_parent() -> None:
    if _Rest.now.pop(get_ident(), None) is not None:
        open_gate()
        _register()


def _in_child() -> None:
    if _Rest.process == os.getpid():
        return
    _Rest.process = os.getpid()
    # Programs that fork without Python's knowledge, as uWSGI does, call only what comes after.
    at_rest = _Rest.now.pop(get_ident(), True) and not passed_gate()
    _Rest.now.clear()
    _Rest.always = _Rest.always and at_rest
    for connection in [one for one in list(_connections.values()) if is_open(one)]:
        if connection.identity is None and _Rest.always:
            continue
        leak(connection)
        if connection.identity is not None:
            _inherited.add(connection.identity)
        if at_rest:
            # A write of this thread may go on here, and must not reach the file.
            connection.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
    for owner in list(_renewed):
        owner.after_fork()
    _register()


def is_open(connection: Connection) -> bool:
    """Say whether a connection was not closed."""
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


_register()
