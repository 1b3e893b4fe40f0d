"""Pool: the connections of one process to one server, opened by whoever wants one, at most so many at a time.

psycopg's own pool opens connections on threads of its own and tries again for as long as somebody waits: a server that
refuses at once would cost a search its whole deadline, with a cause that only a log knows. Here whoever needs a
connection learns at once why there is none, and nothing runs when nobody asks.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future, wait
from functools import partial
from queue import Empty, SimpleQueue
from threading import get_ident
from typing import Any

from psycopg.errors import ConnectionTimeout

from septet.errors import Closed, StoreBusy
from septet.storage.forks import renew_in_children
from septet.storage.postgres.link import Link
from septet.threads import call_on_thread

__all__ = ["Pool"]

#: A connection older than this is replaced, so that servers which joined or came back get their share.
LONGEST_LIFE_S = 3_600
#: psycopg and libpq wait no shorter for one host.
LEAST_CONNECT_S = 2
THREAD = "septet-connect"


class Pool:
    """Connections that threads borrow.

    Args:
        conninfo: where to, as libpq reads it.
        most: how many at a time.
        path: what errors call the server.
        settings: more of what `psycopg.connect` takes.
    """

    def __init__(self, conninfo: str, *, most: int, path: str, settings: dict[str, Any]) -> None:
        self._conninfo, self._most, self._path, self._settings = conninfo, most, path, settings
        self._closed = False
        self._begin()
        renew_in_children(self)

    def _begin(self) -> None:
        #: One for each connection that may be taken: `get` and `put` hold no lock that an interrupt could leave held.
        self._permits: SimpleQueue[None] = SimpleQueue()
        for _ in range(self._most):
            self._permits.put(None)
        #: The one that was used last is at the end, and taken first.
        self._idle: deque[Link] = deque()
        #: Which thread took each of the others.
        self._out: dict[Link, int] = {}

    def after_fork(self) -> None:
        """Begin without connections in a forked child: those of the parent are the parent's."""
        # What is dropped sends nothing: a connection knows its process.
        self._begin()

    def take(self, timeout_s: float, queue_s: float | None = None) -> Link:
        """Borrow a connection, until `give`.

        Args:
            timeout_s: how long opening one may take.
            queue_s: how long to wait before that while all are in use; None for a part of ``timeout_s``.

        Raises:
            Closed: the pool was closed.
            StoreBusy: all are in use.
            psycopg.Error: none can be opened.
        """
        until = time.monotonic() + timeout_s
        if self._closed:
            raise self._is_closed()
        try:
            self._permits.get(timeout=timeout_s if queue_s is None else queue_s)
        except Empty:
            raise StoreBusy(
                f"{self._path}: all {self._most} connections of this process were in use for "
                f"{timeout_s if queue_s is None else queue_s:.3g} s: "
                "raise connections, or ask on fewer threads"
            ) from None
        if queue_s is not None:
            until = time.monotonic() + timeout_s
        try:
            if self._closed:
                raise self._is_closed()
            while self._idle:
                try:
                    link = self._idle.pop()
                except IndexError:
                    break
                # Where the other end of this one is frozen, there is time left for another one.
                link.answer_s, link.left_s = max(until - time.monotonic(), 0.0) / 2, None
                if time.monotonic() - link.opened_at < LONGEST_LIFE_S and link.settled():
                    self._out[link] = get_ident()
                    return link
                link.close()
        except BaseException:
            self._permits.put(None)
            raise
        link = self._opened(max(until - time.monotonic(), 0.0))
        self._out[link] = get_ident()
        return link

    def give(self, link: Link) -> None:
        """Give a connection back, its transaction ended by `Link.leave`; a closed one is of no use any more."""
        if not link.mine:
            return
        self._out.pop(link, None)
        if not link.closed:
            self._idle.append(link)
        self._permits.put(None)
        if self._closed:
            self.drop_idle()

    def drop_idle(self) -> None:
        """Close the connections that nobody uses."""
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:
                return

    def probe(self, timeout_s: float) -> None:
        """Ask the server for a sign of life, on a new connection.

        Raises:
            psycopg.Error: it gives none.
        """
        link = self._within(timeout_s, lambda late: None if late is None else late.close())
        try:
            link.answer_s = timeout_s
            link.execute("SELECT 1")
        finally:
            link.close()

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
            # Whoever waits is told.
            self._permits.put(None)
        self.drop_idle()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _opened(self, timeout_s: float) -> Link:
        try:
            # One that comes too late is good for the next.
            return self._within(timeout_s, self._came_late)
        except _StillTrying:
            raise
        except BaseException:
            self._permits.put(None)
            raise

    def _came_late(self, link: Link | None) -> None:
        if link is None:
            self._permits.put(None)
        else:
            self.give(link)

    def _within(self, timeout_s: float, late: Any) -> Link:
        """Open a connection within so many seconds; looking up a host's name ignores every timeout.

        Args:
            late: called with the connection, or None, when nobody waits any more.

        Raises:
            _StillTrying: not yet; `late` will be called.
        """
        future = call_on_thread(partial(_connected, self._conninfo, self._settings, timeout_s), THREAD)
        if not wait([future], timeout_s).done:
            future.add_done_callback(partial(_handed_over, late))
            raise _StillTrying(f"no connection within {timeout_s:.3g} s")
        return future.result()

    def _is_closed(self) -> Closed:
        return Closed(f"the vault {self._path} was closed: open it again")


class _StillTrying(ConnectionTimeout):
    """Nobody waits for the connection any more, but it may come."""


def _connected(conninfo: str, settings: dict[str, Any], timeout_s: float) -> Link:
    return Link.connect(conninfo, **{"connect_timeout": max(LEAST_CONNECT_S, round(timeout_s)), **settings})


def _handed_over(late: Any, future: Future[Link]) -> None:
    late(None if future.exception() is not None else future.result())
