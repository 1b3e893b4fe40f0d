"""Pool: the connections of one process to one server, opened by their callers, up to a maximum.

psycopg's own pool opens connections on its own threads and retries as long as a caller waits: a server that refuses at
once would cost a search its whole deadline, with a cause that only a log has. Here the caller gets the cause at once,
and an idle pool runs nothing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import get_ident
from typing import Any

import psycopg
from psycopg.errors import ConnectionTimeout

from septet.errors import Closed, StoreBusy
from septet.postgres.store.dsn import without_frames
from septet.postgres.store.faults import is_full
from septet.postgres.store.link import ServerLink
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

#: A connection older than this is replaced, so that servers which joined or came back get their share.
LONGEST_LIFE_S = 3_600
#: psycopg and libpq wait no shorter for one host.
LEAST_CONNECT_S = 2
#: A full server is asked so often by a process that has no connection, as those that were just closed count until the
#: server has noticed; after the first pause, and each time twice as long a one.
MOST_ASKED, PAUSE_S = 5, 1 / 50
THREAD = "septet-connect"


class Pool:
    """Connections that threads borrow.

    Args:
        most: maximum connections at a time.
        path: name of the server in errors.
        settings: more arguments of `psycopg.connect`.
        hosts: number of servers in the address; one that is silent leaves time for the others.
    """

    def __init__(self, conninfo: str, *, most: int, path: str, settings: dict[str, Any], hosts: int = 1) -> None:
        self._conninfo, self._most, self._path, self._settings = conninfo, most, path, settings
        #: With a preferred kind of server, each host is tried twice.
        self._asked = 1 if hosts == 1 else 2 * hosts
        self._closed = False
        self._begin()
        renew_in_children(self)

    def _begin(self) -> None:
        #: One for each connection that may be taken: `get` and `put` hold no lock that an interrupt could leave held.
        self._permits: SimpleQueue[None] = SimpleQueue()
        for _ in range(self._most):
            self._permits.put(None)
        #: The most recently used connection is at the end, and taken first.
        self._idle: deque[ServerLink] = deque()
        #: Which thread took each of the others.
        self._out: dict[ServerLink, int] = {}
        #: All of them, also while they go from one to the other.
        self._open: set[ServerLink] = set()
        #: One for each thread that waits for another's connection, as the server gives no further one.
        self._waiting: deque[SimpleQueue[None]] = deque()

    def after_fork(self) -> None:
        """Begin without connections in a forked child: those of the parent are the parent's."""
        # Dropped connections send nothing: each knows its process.
        self._begin()

    def take(self, timeout_s: float, queue_s: float | None = None) -> ServerLink:
        """Borrow a connection, until `give`; raise `StoreBusy` while all are in use.

        Args:
            timeout_s: how long opening one may take.
            queue_s: how long to wait before that while all are in use; None for a part of ``timeout_s``.
        """
        until = time.monotonic() + timeout_s
        if self._closed:
            raise self._is_closed()
        wait_s = timeout_s if queue_s is None else queue_s
        try:
            self._permits.get(timeout=wait_s)
        except Empty:
            raise StoreBusy(
                f"{self._path}: all {self._most} connections of this process were in use for {wait_s:.3g} s: "
                "raise connections, or ask on fewer threads"
            ) from None
        if queue_s is not None:
            until = time.monotonic() + timeout_s
        try:
            attempts = 0
            while (link := self._rested(until)) is None:
                try:
                    # One that comes too late is good for the next.
                    link = self._within(max(until - time.monotonic(), 0.0), self._came_late)
                    break
                except psycopg.OperationalError as fault:
                    if not is_full(fault):
                        raise
                    if self._any_open():
                        self._wait_for_another(until, fault)
                    elif (attempts := attempts + 1) == MOST_ASKED:
                        raise
                    else:
                        time.sleep(max(0.0, min(PAUSE_S * 2**attempts, until - time.monotonic())))
        except _StillTrying:
            raise
        except BaseException:
            self._permits.put(None)
            raise
        self._open.add(link)
        self._out[link] = get_ident()
        return link

    def give(self, link: ServerLink) -> None:
        """Give a connection back, its transaction ended by `Link.leave`; a closed one is of no use any more."""
        if not link.mine:
            return
        self._out.pop(link, None)
        if link.closed:
            self._open.discard(link)
        else:
            self._open.add(link)
            self._idle.append(link)
        self._permits.put(None)
        self._call_waiting()
        if self._closed:
            self.drop_idle()

    def drop_idle(self) -> None:
        """Close the idle connections."""
        # Another thread may take the last one.
        with suppress(IndexError):
            while self._idle:
                self._drop(self._idle.pop())

    def probe(self, timeout_s: float) -> None:
        """Query the server on a new connection, or an idle one if it accepts no more; the time is for each host."""
        end: Callable[[ServerLink], None] = ServerLink.close
        try:
            link = self._within(timeout_s * self._asked, lambda late: None if late is None else late.close())
        except psycopg.OperationalError:
            if not self._idle:
                raise
            link, end = self.take(timeout_s), self.give
        try:
            link.answer_s = timeout_s
            link.execute("SELECT 1")
        finally:
            end(link)

    def close(self, wait_s: float) -> None:
        """Close every connection, when the transactions of other threads have ended, or after a while."""
        if self._closed:
            return
        self._closed = True
        self.drop_idle()
        until, ended, me = time.monotonic() + wait_s, 0, get_ident()
        others = self._most - sum(thread == me for thread in list(self._out.values()))
        try:
            while ended < others and self._permits.get(timeout=max(until - time.monotonic(), 0.01)) is None:
                ended += 1
        except Empty:
            pass
        for _ in range(ended):
            # Wake the next caller.
            self._permits.put(None)
        self.drop_idle()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _rested(self, until: float) -> ServerLink | None:
        """Return a connection at rest that still works; None without any."""
        if self._closed:
            raise self._is_closed()
        while self._idle:
            try:
                link = self._idle.pop()
            except IndexError:
                break
            # Half the time is left for another connection if this one's peer is frozen.
            link.answer_s, link.left_s = max(until - time.monotonic(), 0.0) / 2, None
            if time.monotonic() - link.opened_at < LONGEST_LIFE_S and link.settled():
                return link
            self._drop(link)
        return None

    def _wait_for_another(self, until: float, refused: psycopg.Error) -> None:
        """Wait until another thread may have given a connection back; raise `StoreBusy` if none did in time."""
        called: SimpleQueue[None] = SimpleQueue()
        self._waiting.append(called)
        try:
            # It may have come back just before.
            if not self._idle and self._any_open():
                called.get(timeout=max(until - time.monotonic(), 0.0))
        except Empty:
            raise StoreBusy(
                f"{self._path} accepts no more connections, and all connections of this process are in use: raise "
                "max_connections on the server, or use fewer threads"
            ) from refused
        finally:
            try:
                self._waiting.remove(called)
            except ValueError:
                # A caller that gives up must pass a returned connection on to the others.
                self._call_waiting()

    def _drop(self, link: ServerLink) -> None:
        self._open.discard(link)
        link.close()

    def _any_open(self) -> bool:
        return any(not link.closed for link in list(self._open))

    def _call_waiting(self) -> None:
        try:
            self._waiting.popleft().put(None)
        except IndexError:
            return

    def _came_late(self, link: ServerLink | None) -> None:
        if link is None:
            self._permits.put(None)
        else:
            self.give(link)

    def _within(self, timeout_s: float, late: Any) -> ServerLink:
        """Open a connection within a time in seconds; looking up a host's name ignores every timeout.

        If that takes longer, ``late`` is called with the connection or None.
        """
        more = {"connect_timeout": max(LEAST_CONNECT_S, round(timeout_s / self._asked)), **self._settings}
        # No variable has the address: reporters of errors show them.
        future = call_on_thread(partial(ServerLink.connect, self._conninfo, **more), THREAD)
        if not wait([future], timeout_s).done:
            future.add_done_callback(lambda ended: late(None if ended.exception() is not None else ended.result()))
            raise _StillTrying(f"no connection within {timeout_s:.3g} s")
        if (fault := future.exception()) is not None:
            raise without_frames(fault)
        return future.result()

    def _is_closed(self) -> Closed:
        return Closed(f"the vault {self._path} was closed: open it again")


class _StillTrying(ConnectionTimeout):
    """Give up a connection that may still be opened."""
