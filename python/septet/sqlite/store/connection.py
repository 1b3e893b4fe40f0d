"""Opening a vault's file: pragmas, identity, schema version, and translation of SQLite's errors."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from types import TracebackType

from septet.errors import NotAVault, ReadOnly, SchemaTooNew, StoreBusy, StoreError
from septet.inputs.arguments import absolute
from septet.sqlite.store.migrations import OLDEST, stand_ins, upgrade
from septet.system.filesystem import create_private
from septet.system.forks import Connection, refuse_inherited
from septet.system.host import host

#: The oldest version that passes the tests of storage and search, see `make test-sqlite`. Up to 3.33, FTS5's check
#: reports sound tables of grams as malformed, so that backups are refused.
OLDEST_SQLITE = (3, 34, 1)
#: Sources of a newer SQLite, which pip cannot install.
_ELSEWHERE = (
    "SQLite comes with Python or with the system: use a newer Python, upgrade the system's libsqlite3, "
    "or install Python from conda or uv, which bring their own"
)


def require_version(path: str, version: tuple[int, ...] = sqlite3.sqlite_version_info) -> None:
    """Raise StoreError, before anything is written, if SQLite is too old."""
    if version < OLDEST_SQLITE:
        version_text, oldest = (".".join(map(str, numbers)) for numbers in (version, OLDEST_SQLITE))
        raise StoreError(
            f"{path} cannot be opened: Python uses SQLite {version_text}, Septet needs {oldest} or newer. {_ELSEWHERE}"
        )


MEMORY = ":memory:"
SCHEMA_VERSION = 7
#: "SPTT": marks an SQLite file as a vault.
APPLICATION_ID = 0x53505454
BUSY_TIMEOUT_S = 10.0
#: The module sqlite3 decodes messages as UTF-8, and fails if one quotes a damaged schema.
SQLITE_FAULTS = (sqlite3.Error, UnicodeDecodeError)
#: The remedy for a damaged vault.
RESTORE = "restore a backup with septet.exchange.restore(backup, path) or `septet restore BACKUP VAULT`"
#: A view instead of a table may never end, and is not writable; a virtual table of another module has no page.
_NO_TABLES = """
SELECT CASE type WHEN 'view' THEN type ELSE 'virtual table' END, name FROM sqlite_master
WHERE (type = 'view' OR (type = 'table' AND NOT rootpage)) AND name IN ('claims', 'entries', 'feedback', 'files',
'history', 'jobs', 'link_changes', 'links', 'mentions', 'meta', 'roots', 'spaces', 'staged', 'vectors')
"""
#: With less free space, SQLite may fail with other errors than "disk full": its shared memory takes 32 KB.
LEAST_FREE = 65_536

#: Readers are many and read single rows: with mmap, the whole file would end up in memory.
_SMALL = ("cache_size=-8192", "mmap_size=0")
_LARGE = ("cache_size=-65536", "mmap_size=268435456")
#: With a WAL, a power failure may lose the last writes but never corrupts the file; without one it could.
_LOGGED = ("synchronous=NORMAL",)
_UNLOGGED = ("synchronous=FULL", "mmap_size=0")
#: Maximum wait of a WAL removal for other connections, in seconds.
UNLOG_WAIT_S = 1.0


def connect(
    path: str, *, mode: str, busy_timeout_s: float = BUSY_TIMEOUT_S, writer: bool = False, alone: bool = True
) -> Connection:
    """Open a connection with Septet's pragmas, in autocommit mode, usable from any one thread at a time.

    Args:
        mode: SQLite's ``ro``, ``rw``, or ``rwc`` to create a missing file.
        writer: use more memory, for bulk loads.
        alone: only this machine writes the folder. Otherwise the file is neither mapped nor written with a WAL.

    Raises:
        ForkedInUse: this process was forked while its parent used the file.
        StoreError: the file cannot be opened, with the reason.
    """
    if "\0" in path:
        raise StoreError(f"{path!r} is not a file name: it contains a NUL character")
    refuse_inherited(path, in_memory=path == MEMORY)
    with translated(path):
        if mode == "rwc" and path != MEMORY:
            create_private(path)
            # SQLite would leave a journal beside a device. Pathlib is not loaded here.
            if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):  # noqa: PTH110, PTH112, PTH113
                raise NotAVault(f"{path} is a device or a pipe: name a file")
        target = MEMORY if path == MEMORY else f"{host.sqlite_uri(absolute(path))}?mode={mode}"
        connection = _opened(target, busy_timeout_s)
        try:
            connection.register(None if path == MEMORY else path)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as fault:
            connection.close()
            if not (mode == "ro" and re.search("unable to open|readonly", str(fault)) and _at_rest(path)):
                raise
            # In a read-only folder SQLite cannot create the shared memory of a WAL database, and no process writes.
            connection = _opened(target + "&immutable=1", busy_timeout_s)
            connection.immutable = True
            connection.register(path)
        except OSError as fault:
            # The file was deleted.
            connection.close()
            raise _unopenable(path, str(fault)) from fault
        except BaseException:
            connection.close()
            raise
        try:
            _set_up(connection, mode=mode, writer=writer, alone=alone)
        except BaseException:
            connection.close()
            raise
        return connection


def _set_up(connection: Connection, *, mode: str, writer: bool, alone: bool) -> None:
    for pragma in (*(_LARGE if writer else _SMALL), *(_LOGGED if alone else _UNLOGGED), "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    # SQLite's own lower() is ASCII only. Functions called from SQL must be native: sqlite3 drops an interrupt raised in
    # a Python function and raises its own error.
    connection.create_function("casefold", 1, str.casefold, deterministic=True)
    if mode == "ro" and (version := int(connection.execute("PRAGMA user_version").fetchone()[0])) > 0:
        for statement in stand_ins(version):
            connection.execute(statement)


def _opened(target: str, busy_timeout_s: float) -> Connection:
    return sqlite3.connect(
        target,
        timeout=busy_timeout_s,
        isolation_level=None,
        check_same_thread=False,
        uri=target != MEMORY,
        factory=Connection,
    )


def prepare(
    connection: sqlite3.Connection, path: str, *, read_only: bool, busy_timeout_s: float, alone: bool = True
) -> None:
    """Create a vault in a new file, or check that an existing file is a vault of a known version.

    An older version is upgraded if opened for writing, and read unchanged otherwise.

    Raises:
        NotAVault: another program's database.
        SchemaTooNew: written by a newer Septet.
        StoreError: SQLite is too old, or was built without FTS5.
    """
    require_version(path)
    with translated(path):
        # Provided by FTS5 itself; reads nothing from the file.
        connection.execute("SELECT fts5(NULL)")
        version = version_of(connection, path)
        if version and (odd := connection.execute(_NO_TABLES).fetchone()):
            raise NotAVault(f"{path} has a {odd[0]} {odd[1]} instead of a table: {RESTORE}")
        if read_only and version:
            return
        if read_only:
            raise NotAVault(f"{path} contains no vault, and read_only=True cannot make one: open it for writing once")
        if path != MEMORY:
            _switch_journal(connection, *(("wal", busy_timeout_s) if alone else ("delete", UNLOG_WAIT_S)))
        if version == SCHEMA_VERSION:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have created or upgraded the vault during the wait for the lock.
            if version := version_of(connection, path):
                upgrade(connection, version)
            else:
                for statement in _statements(schema()):
                    connection.execute(statement)
                identity = [("store_id", os.urandom(16).hex()), ("generation", 0)]
                connection.executemany("INSERT INTO meta VALUES (?, ?)", identity)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")
        except BaseException:
            # An interrupt may come after the commit, and a full disk may have ended the transaction.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """Return the schema version of a vault, 0 for an empty database; raise NotAVault or SchemaTooNew."""
    # Before the identity: another process may create the vault between the two queries.
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if application == APPLICATION_ID:
        if version > SCHEMA_VERSION:
            raise SchemaTooNew(
                f"{path} has schema version {version}, this Septet knows up to {SCHEMA_VERSION}: "
                "upgrade with `pip install -U septet`; the file was not changed"
            )
        if version < OLDEST:
            raise NotAVault(f"{path} has schema version {version}, which no version of Septet writes: {RESTORE}")
        return version
    if tables:
        raise NotAVault(f"{path} is a database of another program: give the vault a file of its own")
    return 0


def schema() -> str:
    """Return the statements that create a vault of the current version."""
    from pathlib import Path

    return Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements; `executescript` would commit the transaction it runs in."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def _switch_journal(connection: sqlite3.Connection, mode: str, wait_s: float) -> None:
    """Turn write-ahead logging on, or off unless others have the file open with it.

    Retried, since SQLite does not always wait for the exclusive lock it needs.
    """
    deadline, is_needed = time.monotonic() + wait_s, mode == "wal"
    while True:
        try:
            if connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0] == mode or is_needed:
                return
        except sqlite3.OperationalError as fault:
            if is_needed and ("locked" not in str(fault) or time.monotonic() > deadline):
                raise
        if not is_needed and time.monotonic() > deadline:
            return
        time.sleep(0.01)


def _at_rest(path: str) -> bool:
    """Return True if a file exists without a WAL or a rollback journal, so that it can be read without locks."""
    from pathlib import Path

    logs = [Path(path + ending) for ending in ("-wal", "-journal")]
    empty = all(not log.exists() or log.stat().st_size == 0 for log in logs)
    return empty and Path(path).is_file() and os.access(path, os.R_OK)


class translated:
    """Translates SQLite's errors to Septet's, with the file and a remedy."""

    # A class: a generator takes twice as many calls, several times in every search.
    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(fault, SQLITE_FAULTS):
            raise store_error(fault, self.path) from fault
        if type(fault) is MemoryError:
            # SQLite reports a damaged length in a full-text table as out of memory too.
            reason = "out of memory, or a full-text table is damaged: run `septet doctor`, with --fix to repair it"
            raise StoreError(f"{self.path}: {reason}") from fault


def _unopenable(path: str, text: str) -> StoreError:
    from pathlib import Path

    file, folder = Path(path), Path(path).absolute().parent
    try:
        if not folder.is_dir():
            return StoreError(f"{path} cannot be opened: the folder {folder} does not exist")
        if file.is_dir():
            return NotAVault(f"{path} is a folder: name a file in it")
        if file.exists() and not os.access(file, os.R_OK):
            return StoreError(f"{path} may not be read: check the permissions of the file")
        if not file.exists() and os.access(folder, os.W_OK):
            return StoreError(f"{path} does not exist (any more): check the name, or open it for writing to make it")
    except OSError as fault:
        return StoreError(f"{path} cannot be opened: {fault.strerror}")
    if not os.access(folder, os.W_OK):
        return ReadOnly(f"{path} cannot be opened: the folder {folder} does not take writes; try read_only=True")
    if "disk I/O" in text:
        reason = no_room(path)
        if reason is None:
            return StoreError(
                f"{path}: the disk failed, or a quota is used up ({text}): see the system's log and `quota`"
            )
        return StoreError(f"{path}: {reason}; nothing was written: make room and try again")
    return StoreError(f"{path} cannot be opened ({text}): check its permissions")


def no_room(path: str, needed: int = 0) -> str | None:
    """Return the reason why a file cannot grow, or None: SQLite only reports "disk I/O error".

    Args:
        needed: intended size in bytes; after a rollback the file is small again.
    """
    try:
        free = host.free_bytes(os.path.dirname(path) or ".")  # noqa: PTH120
    except OSError:
        return None
    if free < LEAST_FREE:
        return "the disk is full"
    from pathlib import Path

    limit = host.most_file_bytes()
    sizes = [file.stat().st_size for file in map(Path, (path, path + "-wal", path + "-shm")) if file.exists()]
    if limit is None or max([needed, *sizes]) + LEAST_FREE <= limit:
        return None
    return f"the file size limit of this process is {limit} bytes: raise it with `ulimit -f`"


def store_error(fault: sqlite3.Error | UnicodeDecodeError, path: str) -> StoreError:
    """Translate SQLite's error to Septet's, with the file and a remedy."""
    # Python 3.10 has an empty message where newer versions fail to decode.
    text = (
        fault.object.decode("utf-8", "replace") if isinstance(fault, UnicodeDecodeError) else str(fault) or "malformed"
    )
    if re.search("no such (function|module): fts5", text):
        reason = f"SQLite {sqlite3.sqlite_version} of this Python was built without FTS5"
        return StoreError(f"{path} cannot be opened: {reason}. {_ELSEWHERE}")
    if re.search(r"not a database|malformed(?! JSON)", text):
        return NotAVault(f"{path} is not a readable SQLite database ({text}): {RESTORE}, or choose another file")
    if "readonly" in text or "read-only" in text:
        return ReadOnly(f"{path} does not take writes ({text}): check the permissions of the file and its folder")
    if "locked" in text or "busy" in text:
        return StoreBusy(
            f"{path} is locked by another process: end the process that is writing to it ({host.holders(path)})"
        )
    if "unable to open" in text or "disk I/O" in text:
        return _unopenable(path, text)
    if "disk is full" in text:
        return StoreError(f"{path}: the disk is full; nothing was written: make room and try again")
    return StoreError(f"{path}: {text}")
