"""Link: a connection to a server that waits for each answer for a bounded time only, and is not used after a fork."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import psycopg
from psycopg.generators import fetch_many
from psycopg.pq import ConnStatus, TransactionStatus
from psycopg.rows import TupleRow
from psycopg.waiting import wait

from septet.errors import ForkedInUse
from septet.system.host import host

if TYPE_CHECKING:
    from psycopg.abc import PQGen

    _Rows: TypeAlias = "list[tuple[Any, ...]]"


#: A statement, and the types of its parameters.
Asked: TypeAlias = "tuple[bytes, tuple[int, ...]]"


class _Name(NamedTuple):
    """The name of a statement on the server, None if it is not prepared; ``gone`` makes room for a ``new`` one."""

    name: bytes | None
    new: bool = False
    gone: bytes | None = None


_NOT_PREPARED = _Name(None)


class PreparedStatements:
    """The prepared statements of one connection, which ends with the first one that the server did not take."""

    def __init__(self) -> None:
        # The most recently used statement is at the end of each.
        self._names: dict[Asked, bytes] = {}
        self._times: dict[Asked, int] = {}
        self._made = 0
        #: Prefix of the names; unique to a connection, as a pooler may connect several clients to one server session.
        self.beginning = f"septet_{secrets.token_hex(4)}_"

    @property
    def kept(self) -> int:
        """The number of prepared statements."""
        return len(self._names)

    def name(self, statement: Asked, after: int | None, most: int) -> _Name:
        """Return the name of the next statement to execute.

        Args:
            after: executions before a statement is prepared; None for never.
            most: maximum of prepared statements, and of counted ones.
        """
        if after is None:
            return _NOT_PREPARED
        name = self._names.pop(statement, None)
        if name is not None:
            self._names[statement] = name
            return _Name(name)
        times = self._times.pop(statement, 0)
        if times < after:
            self._times[statement] = times + 1
            if len(self._times) > most:
                del self._times[next(iter(self._times))]
            return _NOT_PREPARED
        self._made += 1
        name = self._names[statement] = f"{self.beginning}{self._made}".encode()
        gone = self._names.pop(next(iter(self._names))) if len(self._names) > most else None
        return _Name(name, True, gone)


_Answer = TypeVar("_Answer")

#: Interval at which a wait reads the clock, in seconds.
TICK_S = 0.01
#: Maximum messages on an idle connection before it counts as broken.
MOST_SAID = 8


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time; what it does with the statement is unknown, and the connection is closed."""


class ServerLink(psycopg.Connection[TupleRow]):
    """A connection.

    psycopg ends a wait by asking the server to cancel the statement, and waits for that too; a server that is frozen
    does not hear it. Here the connection is closed instead, and the server finds out when it goes on.

    Attributes:
        answer_s: how long it waits for one answer, in seconds.
        left_s: how long it waits for all answers from now on, in seconds; None for any number of them.
        opened_at: when, by `time.monotonic`.
        reused: whether a transaction has ended on it.
        prepared: what it keeps prepared, of the statements of pipelines.
        known: whether it leads to the vault that was opened; see `vaults.check_same`.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.answer_s, self.left_s = float("inf"), None  # type: float, float | None
        self.opened_at, self.reused, self.prepared = time.monotonic(), False, PreparedStatements()
        self._process, self.known = os.getpid(), False
        self._prepare_after: int | None = None
        #: The end of its last transaction was sent, and its answer not read yet.
        self._leaving = False

    def __del__(self, *_: Any) -> None:
        # The vault was not closed; a connection that a forked child inherits is the parent's.
        if hasattr(self, "_process") and self.mine and not self.closed:
            self.close()

    @property
    def prepare_threshold(self) -> int | None:
        """Executions of a statement of a pipeline before it is prepared; None for never."""
        return self._prepare_after

    @prepare_threshold.setter
    def prepare_threshold(self, value: int | None) -> None:
        """Set how often; psycopg does when it connects."""
        # psycopg prepares nothing itself: after a DROP or a ROLLBACK it would deallocate all prepared statements of the
        # connection, those that pipelines name too.
        self._prepare_after = value
        psycopg.Connection.prepare_threshold.fset(self, None)  # type: ignore[attr-defined]

    @property
    def mine(self) -> bool:
        """True if this process opened the connection."""
        return self._process == os.getpid()

    def wait(
        self, gen: PQGen[_Answer], interval: float = TICK_S, timeout: float | None = None
    ) -> _Answer:  # `timeout` is that of psycopg 3.3
        """Wait for an answer within the time left; close the connection and raise `NoAnswer` at its end."""
        if not self.mine:
            gen.close()
            raise ForkedInUse("this process was forked during a read or a write of its parent on a server")
        most = self.answer_s if self.left_s is None else min(self.answer_s, self.left_s)
        if timeout is not None:
            most = min(most, timeout)
        started = time.monotonic()
        try:
            answer: _Answer = wait(_until(gen, started + most, most), self.pgconn.socket, min(interval, TICK_S))
        except BaseException as fault:
            # Not psycopg's own wait: it would wait for the end of a statement that was interrupted, too.
            if isinstance(fault, NoAnswer) or not isinstance(fault, Exception):
                self.close()
            raise
        else:
            return answer
        finally:
            if self.left_s is not None:
                self.left_s = max(0.0, self.left_s - (time.monotonic() - started))

    def leave(self) -> None:
        """End the transaction, if one is open, without waiting for the server; `settled` does."""
        self.reused = True
        if self.closed or not self.mine:
            return
        status = self.pgconn.transaction_status
        if status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            try:
                self.pgconn.send_query(b"ROLLBACK")
                self._leaving = not self.pgconn.flush()
            except psycopg.Error:
                pass
        # Else in the middle of an answer that is not read.
        if status != TransactionStatus.IDLE and not self._leaving:
            self.close()

    def settled(self) -> bool:
        """Return True if the next transaction may begin: the last one ended, and the server has not hung up."""
        if self.closed:
            return False
        try:
            if self._leaving:
                self.wait(fetch_many(self.pgconn))
                self._leaving = False
            for _ in range(MOST_SAID):
                # The server may have sent something: a goodbye, as a rule.
                if not host.is_readable(self.pgconn.socket):
                    return self.pgconn.transaction_status == TransactionStatus.IDLE
                self.pgconn.consume_input()
                self.pgconn.is_busy()
                if self.pgconn.status != ConnStatus.OK:
                    return False
        except psycopg.Error:
            pass
        return False


def _until(gen: PQGen[_Answer], at: float, most: float) -> Generator[Any, Any, _Answer]:
    """Go on with a wait of psycopg until a time by `time.monotonic`."""
    try:
        state = next(gen)
        while True:
            state = gen.send((yield state))
            if time.monotonic() >= at:
                raise NoAnswer(f"no answer within {most:.3g} s")
    except StopIteration as end:
        answer: _Answer = end.value
        return answer
    finally:
        gen.close()
