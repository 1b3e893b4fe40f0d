"""Server: transactions begun on whichever connection works, and faults told as Septet's errors."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
from psycopg.errors import ConnectionTimeout

from septet.errors import SeptetError, Unreachable
from septet.postgres.store.faults import FORGOTTEN, of_worker, store_error
from septet.postgres.store.link import NoAnswer, PreparedStatements, ServerLink
from septet.postgres.store.pipeline import Statement, sent
from septet.postgres.store.pool import Pool
from septet.postgres.store.vaults import VaultRow, check_same, whose
from septet.system.breaker import CircuitBreaker

#: Class of the codes of a server that ends its connections: it shuts down, crashed or starts.
_GOODBYE = "57P"
#: Number of prepared statements whose names have a prefix.
_KEPT = "SELECT count(*) FROM pg_prepared_statements WHERE starts_with(name, %s::text)"
#: Maximum time of a probe, in seconds.
PROBE_S = 2
#: Maximum wait of `close` for transactions of other threads, in seconds.
CLOSE_WAIT_S = 10


class PostgresServer:
    """One server, or several of which libpq chooses one; arguments are those of `Pool`.

    Attributes:
        vault: the opened vault, which connections must reach; None before it is opened.
    """

    def __init__(self, conninfo: str, path: str, *, most: int, settings: dict[str, Any], hosts: int = 1) -> None:
        self.path = path
        self.vault: VaultRow | None = None
        self.pool = Pool(conninfo, most=most, path=path, settings=settings, hosts=hosts)
        self.breaker = ServerBreaker(partial(self.pool.probe, PROBE_S))

    def begin(
        self, statements: Sequence[Statement], timeout_s: float, answer_s: float, *, in_all: bool = False
    ) -> tuple[ServerLink, list[list[tuple[Any, ...]]]]:
        """Begin a transaction; return its connection, and the rows of each statement.

        Args:
            statements: the beginning, and what is asked in the same round trip; sent again on another connection if
                this one turns out to be lost.
            timeout_s: for a connection and the first answer; for all answers, where ``in_all``.
            answer_s: for each later answer, and for a connection while all are in use.
        """
        self.breaker.check()
        until = time.monotonic() + timeout_s
        try:
            while True:
                left = max(until - time.monotonic(), 0.0)
                if not in_all:
                    # Work that waits for its turn is no sign of a server that is away.
                    link, left = self.pool.take(left, answer_s), timeout_s
                else:
                    link = self.pool.take(left)
                    left = until - time.monotonic()
                    if left <= 0:
                        # It came just too late, and is good for the next.
                        self.pool.give(link)
                        raise ConnectionTimeout(f"no connection within {timeout_s:.3g} s")
                link.answer_s, link.left_s = left, left if in_all else None
                try:
                    answers = self._sent(link, statements)
                except BaseException as fault:
                    lost = link.reused and _lost(fault)
                    self.give_back(link)
                    if lost:
                        # Those that lie beside it are as old, and the server was restarted.
                        self.pool.drop_idle()
                        continue
                    raise
                self.breaker.succeeded()
                link.answer_s = answer_s
                return link, answers
        except psycopg.Error as fault:
            raise self.fault(fault) from fault

    @contextmanager
    def lent(self, timeout_s: float, answer_s: float) -> Iterator[ServerLink]:
        """Borrow a connection outside a transaction; psycopg's errors of the ``with`` block become Septet's.

        Args:
            timeout_s: for the connection.
            answer_s: for each answer.
        """
        self.breaker.check()
        try:
            link = self.pool.take(timeout_s)
            try:
                link.answer_s = answer_s
                self._sent(link, ())
                yield link
            finally:
                self.give_back(link)
        except psycopg.Error as fault:
            raise self.fault(fault) from fault

    def give_back(self, link: ServerLink) -> None:
        """End what a connection was borrowed for; a transaction that is still open is rolled back."""
        link.leave()
        self.pool.give(link)

    def fault(self, fault: psycopg.Error) -> SeptetError:
        """Return an error of psycopg as Septet's, and keep in mind whether the server answers."""
        error = store_error(fault, self.path)
        # A coordinator that reports a lost worker is itself reachable.
        answers = isinstance(fault, psycopg.errors.QueryCanceled) or of_worker(fault)
        if isinstance(error, Unreachable) and not answers:
            self.breaker.failed(str(error))
        return error

    def close(self) -> None:
        """Close every connection; transactions of other threads end first."""
        self.breaker.close()
        self.pool.close(CLOSE_WAIT_S)

    def _sent(self, link: ServerLink, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Return the rows of statements; a new connection's vault is checked in the same round trip."""
        vault = self.vault
        if vault is None or link.known:
            if not link.prepared.kept:
                return sent(link, statements)
            if statements:
                *answers, ((kept,),) = sent(link, [*statements, Statement(_KEPT, (link.prepared.beginning,))])
            else:
                # Outside a transaction; `execute` names nothing that is prepared.
                answers, (kept,) = [], link.execute(_KEPT, (link.prepared.beginning,)).fetchone() or (0,)
            if kept < link.prepared.kept:
                # Later statements of this transaction must not name prepared statements that are gone.
                link.prepared = PreparedStatements()
            return answers
        *answers, rows = sent(link, [*statements, whose(vault)])
        check_same(link, vault, rows, self.path)
        return answers


def _lost(fault: BaseException) -> bool:
    """Return True if a connection had ended before its use, ended without an answer, or lost prepared statements."""
    if isinstance(fault, FORGOTTEN):
        return True
    if not isinstance(fault, psycopg.OperationalError) or isinstance(fault, NoAnswer):
        return False
    # The server's goodbye, or none.
    return fault.sqlstate is None or (fault.sqlstate.startswith(_GOODBYE) and not of_worker(fault))


#: Failures in a row after which calls fail at once.
FAILURES = 3
#: First and last pause between two probes of a lost server.
REST_S, LONGEST_REST_S = 1.0, 15
THREAD = "septet-probe"


class ServerBreaker(CircuitBreaker[str]):
    """A circuit breaker for calls to a server, which a probe on a thread closes again.

    Args:
        probe: sends the server a request, in bounded time, and raises an error if it does not answer.
        first_s: pause between the first two probes; the first one runs at once, so a server that is only slow fails few
            calls.
        longest_s: longest pause between two probes.
    """

    def __init__(
        self, probe: Callable[[], object], *, first_s: float = REST_S, longest_s: float = LONGEST_REST_S
    ) -> None:
        self._probe = probe
        self._ended = threading.Event()
        super().__init__(first_s, longest_s, failures=FAILURES)

    def after_fork(self) -> None:
        """Restart in a forked child, which does not have the thread that probes."""
        super().after_fork()
        ended, self._ended = self._ended, threading.Event()
        if ended.is_set():
            self._ended.set()
        self.succeeded()

    def check(self) -> None:
        """Raise `Unreachable` with the reason if calls fail at once."""
        if self.is_open:
            raise Unreachable(
                f"{self.fault}; it failed {FAILURES} times and is asked in the background until it answers"
            )

    def failed(self, fault: str, wait_s: float = 0.0) -> bool:
        """Record that the server cannot be reached, or did not answer in time; see `CircuitBreaker.failed`."""
        opened = not self._ended.is_set() and super().failed(fault, wait_s)
        if opened:
            arguments = weakref.ref(self), self._ended
            try:
                threading.Thread(target=_probe_repeatedly, args=arguments, name=THREAD, daemon=True).start()
            except RuntimeError:
                # Without a thread, no probe would notice that the server is back.
                self.succeeded()
        return opened

    def close(self) -> None:
        """End the probes."""
        self._ended.set()

    def probe(self) -> bool:
        """Probe once. Return True if that was the last time: the server answers."""
        try:
            self._probe()
        except Exception:  # noqa: BLE001 - any error means that the server does not answer
            fault = self.fault
            if fault is not None:
                super().failed(fault)
            return fault is None
        self.succeeded()
        return True


def _probe_repeatedly(breaker: weakref.ref[ServerBreaker], ended: threading.Event) -> None:
    """Probe until the server answers, the vault is closed, or nothing refers to it any more."""
    while not ended.is_set():
        probed = breaker()
        if probed is None or probed.probe():
            return
        pause_s = probed.remaining_s
        del probed
        ended.wait(pause_s)
