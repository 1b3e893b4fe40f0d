"""PostgreSQL's errors as Septet's, and retries of calls that they ended.

A call is retried from its beginning: a few times after conflicts with other writers, once after a lost worker. A
connection that a coordinator kept may have ended with the worker's restart; the coordinator then opens another one.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

import psycopg
from psycopg import errors as pg

from septet.errors import (
    EntryError,
    ReadOnly,
    SeptetError,
    StoreBusy,
    StoreError,
    Unauthorized,
    Unreachable,
    VectorError,
)
from septet.postgres.store.dsn import without_passwords
from septet.postgres.store.link import NoAnswer

#: Errors of a server that lacks the connection's prepared statements: they were deallocated, or a pooler leads to
#: another server process.
FORGOTTEN = (pg.InvalidSqlStatementName, pg.DuplicatePreparedStatement)
#: Errors after which a transaction may be retried, as none of it was applied.
AGAIN = (pg.DeadlockDetected, pg.SerializationFailure, *FORGOTTEN)

#: Messages of servers and poolers with too many open connections; psycopg has no code for them.
_FULL = re.compile(r"too many (clients|connections)|connection slots|no more connections|max client connections", re.I)


def is_full(fault: psycopg.Error) -> bool:
    """Return True if a server refuses a further connection, and may well answer on open ones."""
    if isinstance(fault, pg.TooManyConnections):
        return True
    return fault.sqlstate is None and isinstance(fault, psycopg.OperationalError) and bool(_FULL.search(str(fault)))


#: Messages of Citus about a connection that ended; it has no code of its own for them.
_ENDED = re.compile(
    "failure on connection marked as essential|server closed the connection unexpectedly|postmaster was shut down"
)
#: The user in Citus's name of a worker, which no message shows.
_NODE = re.compile(r"remote node \S*@")


def of_worker(fault: BaseException | None) -> bool:
    """Return whether a Citus coordinator reports a lost worker; the loss of its own connection is FATAL, not ERROR."""
    if not isinstance(fault, psycopg.Error) or fault.diag.severity_nonlocalized != "ERROR":
        return False
    return (fault.sqlstate or "").startswith(("08", "57P")) or bool(_ENDED.search(fault.diag.message_primary or ""))


def store_error(fault: psycopg.Error, path: str) -> SeptetError:
    """Return an error of psycopg as Septet's, naming the server and what to do; no password is in it."""
    message = without_passwords(str(fault).strip().split("\n")[0])
    if fault.sqlstate:
        message = f"{fault.sqlstate}: {message}"
    match fault:
        case pg.ConnectionTimeout():
            return Unreachable(f"{path}: no connection in time ({message}): see whether the server runs")
        case NoAnswer():
            return Unreachable(
                f"{path} did not answer in time ({message}): see whether the server runs, or raise timeout_s"
            )
        case pg.QueryCanceled():
            return Unreachable(f"{path} did not answer in time ({message})")
        case _ if is_full(fault):
            return Unreachable(
                f"{path} accepts no more connections ({message}): raise max_connections on the server, or use a "
                "connection pooler"
            )
        case _ if _is_refused(fault, message):
            return Unauthorized(f"{path} refused the login ({message}){_cure(_REFUSED, message)}")
        case pg.ReadOnlySqlTransaction():
            cause = "it is a standby, or the vault is open for reading"
            return ReadOnly(f"{path} does not take writes ({message}): {cause}")
        case pg.InsufficientPrivilege():
            return ReadOnly(f"{path}: {message}: {_cure(_DENIED, message)}")
        case pg.LockNotAvailable() | pg.DeadlockDetected() | pg.SerializationFailure():
            return StoreBusy(f"{path}: the write conflicted with another writer ({message}): try again")
        case pg.InvalidSqlStatementName() | pg.DuplicatePreparedStatement():
            return StoreBusy(
                f"{path}: a prepared statement no longer exists on the server ({message}): try again; behind a "
                "connection pooler, open the vault with prepare=False"
            )
        case psycopg.DataError() if "NUL" in message or isinstance(fault, pg.UntranslatableCharacter):
            return EntryError(f"{path}: {message}: PostgreSQL stores no NUL character; leave it out")
        case pg.DataException() if "vector" in message or "dimensions" in message:
            return VectorError(f"{path}: {message}")
        case pg.UndefinedTable() if "septet.clock" in message:
            return StoreError(f"{path}: this server is a worker of a cluster: name its coordinator, and no other")
        case pg.UndefinedTable() | pg.InvalidSchemaName():
            return StoreError(f"{path}: the database holds no vaults ({message}): run `septet postgres init`")
        case pg.ProgramLimitExceeded() | pg.StatementTooComplex():
            # The server answers; psycopg counts it among the errors of its operation.
            return StoreError(f"{path}: {message}")
        case pg.DiskFull():
            return StoreError(f"{path}: the server's disk is full; nothing was written: make room and try again")
        case _ if of_worker(fault):
            reason = _NODE.sub("", message)
            return Unreachable(f"{path}: a server of its cluster cannot be reached ({reason}): see whether it runs")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return Unreachable(f"{path} cannot be reached ({message}){_cure(_REFUSED, message)}")
        case _:
            return StoreError(f"{path}: {message}")


def _is_refused(fault: psycopg.Error, message: str) -> bool:
    """Return True if the server refuses the user or the password; libpq gives it no code."""
    if fault.sqlstate is not None:
        return fault.sqlstate.startswith("28")
    return isinstance(fault, psycopg.OperationalError) and bool(_NOT_LET_IN.search(message))


_NOT_LET_IN = re.compile(
    r"authentication failed|no password supplied|role \".*\" does not exist|no pg_hba.conf entry", re.IGNORECASE
)
#: Messages of a server or of libpq about a refused connection, without a code, and their remedies.
_REFUSED = {
    "password": ": check the user name in the address, and the password in ~/.pgpass, PGPASSWORD or the address",
    'role "': ": check the user name in the address, or create the role with createuser",
    'database "': ": see the name of the database, or make it with createdb",
    "no pg_hba.conf entry": ": allow this user and host in pg_hba.conf on the server",
    "onnection refused": ": check that the server is running, and the host and port in the address",
    "resolve host": ": see the host of the address",
    "": "",
}
#: The same of a user without the rights for a statement.
_DENIED = {
    "create extension": (
        "have a superuser run CREATE EXTENSION vector in this database, then `septet postgres init` as its owner"
    ),
    "must be owner": "open it as the owner of the tables, whom `septet postgres status` names",
    "for database": (
        "run `septet postgres init` as a role that may create schemas, or grant this role CREATE on the database"
    ),
    "": "ask the owner of the tables to grant septet_writer or septet_reader to this user",
}


def _cure(cures: Mapping[str, str], message: str) -> str:
    return next(cure for words, cure in cures.items() if words in message)


_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")

MOST_TRIES = 10
#: The longest pause after the first try; twice as long after each further one. Its length is random, so that two
#: writers which met do not meet again.
PAUSE_S = 0.01


def again(call: Callable[_Asked, _Answer]) -> Callable[_Asked, _Answer]:
    """Return a call that is retried after a deadlock, and once after the loss of a worker; neither applied anything.

    Its arguments must be the same when they are read twice: no iterator, and nothing that the call changes. It raises
    `StoreBusy` if other writers were in the way each time.
    """

    @wraps(call)
    def tried(*args: _Asked.args, **more: _Asked.kwargs) -> _Answer:
        lost = False
        for tries in range(1, MOST_TRIES + 1):
            try:
                return call(*args, **more)
            except Unreachable as fault:
                if lost or not of_worker(fault.__cause__):
                    raise
                lost = True
                continue
            except StoreBusy as fault:
                if not isinstance(fault.__cause__, AGAIN):
                    raise
                if tries == MOST_TRIES:
                    # Without this error as its cause: outer calls must not retry.
                    raise StoreBusy(f"{fault}; it was tried {tries} times") from fault
            time.sleep(random.uniform(0.0, PAUSE_S * 2 ** (tries - 1)))
        raise AssertionError("the last try returns or raises")

    return tried
