"""A forked child has one thread, and must leave alone what its parent has open in SQLite.

SQLite keeps a table of the files and locks of its process. A child inherits the table but not the locks: a connection
that it closes, or opens to a file in the table, may remove the log of others, or wait for a lock that nobody holds. So
before a fork all reads and writes come to their end, and every connection is closed; parent and child open others when
they need them. Where that cannot be done, the child keeps what it inherited for ever, untouched, and refuses the file.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import AbstractContextManager, suppress
from threading import get_ident
from typing import ClassVar, NoReturn, Protocol
from weakref import WeakSet, WeakValueDictionary

from septet._core import Lock, leak, open_gate, shut_gate
from septet.errors import ForkedInUse, StoreError

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


def renew_in_children(owner: Forked) -> None:
    """Call ``owner.after_fork`` in every process forked from this one, as long as the owner lives."""
    _renewed.add(owner)


def close_before_forks(owner: Connected) -> None:
    """Call ``owner.close_connections`` before every fork, as long as the owner lives."""
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


def _before() -> None:
    _Rest.now[get_ident()] = False
    at_rest = shut_gate(WAIT_S)
    if at_rest:
        for owner in list(_connected):
            with suppress(StoreError, sqlite3.Error):
                owner.close_connections()
    _Rest.now[get_ident()] = at_rest


def _in_parent() -> None:
    _Rest.now.pop(get_ident(), None)
    open_gate()


def _in_child() -> None:
    # Programs that fork without Python's knowledge, as uWSGI does, call only what comes after.
    at_rest = _Rest.now.pop(get_ident(), True)
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


def is_open(connection: Connection) -> bool:
    """Say whether a connection was not closed."""
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
