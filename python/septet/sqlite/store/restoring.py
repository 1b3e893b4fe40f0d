"""Copies and restores of a file: checked, atomic, and refused while the vault is open."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from septet.errors import NotAVault, StoreBusy, StoreError
from septet.inputs.arguments import absolute
from septet.sqlite.store.connection import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    connect,
    no_room,
    store_error,
    translated,
    version_of,
)
from septet.sqlite.store.identity import is_open_here
from septet.sqlite.tables.fragments import MEMORY, SEARCHABLE
from septet.system.forks import using_sqlite
from septet.system.host import host
from septet.system.target import ARRAYS, BESIDE, belongs, complete, complete_file, target_fault, unfinished

#: Maximum wait for other processes to close the vault, in seconds.
WAIT_S = 1.0

Progress = Callable[[int, int], None]


def restore(
    backup: str, path: str, progress: Progress | None = None, step: Callable[[str], None] = lambda _name: None
) -> int:
    """Replace a vault by a copy of a backup; see `septet.exchange.restore`.

    A crash leaves either the old vault or the new one, intact. Before the rename, SQLite checkpoints and removes the
    old file's WAL, so that a WAL is never beside a file that it does not belong to. If the old file is too damaged for
    that, its WAL is renamed first.

    Args:
        step: called with the name of each step before it; may raise to stop.
    """
    for place in (backup, path):
        if not place or "\0" in place:
            raise StoreError(f"{place!r} is not a file name: name a file")
    # The target of a symbolic link is replaced, not the link.
    target = Path(os.path.realpath(absolute(path)))
    try:
        _refuse(backup, path, target)
        mode = stat.S_IMODE(target.stat().st_mode) & 0o777 if target.exists() else 0o600
        with (
            using_sqlite(),
            closing(_opened(backup)) as source,
            unfinished(target.parent) as part,
            _locked(target, step) as lock,
        ):
            step("copy")
            copied(source, str(part.path), str(target), backup, progress)
            step("check")
            entries = _checked(str(part.path), backup)
            step("complete")
            complete(part, mode)
            sound = lock is not None
            if lock is not None and not host.REPLACES_OPEN_FILES:
                # The rename fails if another process opens the vault now.
                lock.close()
            aside = [] if sound else _put_aside(target, step)
            try:
                step("rename")
                _rename(part.path, target)
            except BaseException:
                for log, name in aside:
                    name.replace(log)
                raise
            step("sync")
            host.sync_folder(target.parent)
            step("clean")
            for _, name in aside:
                name.unlink(missing_ok=True)
            _remove_arrays(target)
            step("done")
            return entries
    except OSError as fault:
        raise target_fault(target, fault.strerror or str(fault), fault.errno) from fault


def _refuse(backup: str, path: str, target: Path) -> None:
    """Refuse files that are not a backup, or overlap with the vault."""
    try:
        is_file, what = Path(backup).is_file(), "is not a file" if Path(backup).exists() else "does not exist"
    except OSError as fault:
        is_file, what = False, f"cannot be found ({fault.strerror or fault})"
    if not is_file:
        raise StoreError(f"the backup {backup} {what}: name a file written by Vault.backup")
    if belongs(backup, target):
        raise StoreError(f"{backup} is the vault {path} itself, or a part of it: name a backup of it")
    if belongs(target, backup):
        raise StoreError(f"{path} is a part of the backup {backup}: name another place for the vault")
    if target.exists() and not target.is_file():
        raise StoreError(f"{path} is not a file: name a file for the vault")
    if not target.parent.is_dir():
        raise StoreError(f"{path} cannot be written: the folder {target.parent} does not exist")


def _opened(backup: str) -> sqlite3.Connection:
    """Open a backup of a known version."""
    source = connect(os.path.abspath(absolute(backup)), mode="ro")  # noqa: PTH100
    try:
        with translated(backup):
            if not version_of(source, backup):
                raise NotAVault(f"{backup} contains no vault: name a file written by Vault.backup")
    except BaseException:
        source.close()
        raise
    return source


def _checked(part: str, backup: str) -> int:
    """Check that a copy of a backup is sound, and return its number of entries."""
    with translated(backup), closing(sqlite3.connect(part, isolation_level=None)) as sql:
        messages = [str(row[0]) for row in sql.execute("PRAGMA quick_check(5)")]
        is_of_today = version_of(sql, backup) == SCHEMA_VERSION
        count = int(sql.execute("SELECT count(*) FROM entries WHERE live").fetchone()[0])
    faults = messages if messages != ["ok"] else []
    if not faults and is_of_today:
        faults = full_text_faults(part)
    if faults:
        raise NotAVault(
            f"the backup {backup} is damaged ({'; '.join(faults[:3])}): restore another one; the vault was not changed"
        )
    return count


@contextmanager
def _locked(target: Path, step: Callable[[str], None]) -> Iterator[sqlite3.Connection | None]:
    """Lock the existing vault, or raise StoreBusy or NotAVault; yield None if SQLite can read none to lock."""
    if is_open_here(str(target)):
        raise _busy(target)
    if not target.exists():
        yield None
        return
    step("lock")
    sql = sqlite3.connect(target, timeout=WAIT_S, isolation_level=None)
    try:
        sound = _lock(sql, target)
        if not sound:
            sql.close()
            _refuse_others(target)
        yield sql if sound else None
    finally:
        # Nothing was written, and closing does not change a replaced file.
        sql.close()


def _rename(part: Path, target: Path) -> None:
    """Rename a copy to the vault."""
    try:
        part.replace(target)
    except PermissionError as fault:
        if host.REPLACES_OPEN_FILES:
            raise
        raise _busy(target) from fault


def _lock(sql: sqlite3.Connection, target: Path) -> bool:
    """Take SQLite's exclusive lock, which removes the WAL; False for a file that SQLite cannot read."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            application = int(sql.execute("PRAGMA application_id").fetchone()[0])
            tables = int(sql.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
            if tables and application != APPLICATION_ID:
                raise NotAVault(f"{target} is a database of another program: name another place for the vault")
            if sql.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete":
                sql.execute("BEGIN EXCLUSIVE")
                return True
        except sqlite3.OperationalError as fault:
            if "locked" not in str(fault):
                raise target_fault(target, str(fault)) from fault
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            return False
        # Removing the WAL fails at once while others have the file open; retry, since they may be about to close it.
        if time.monotonic() > deadline:
            raise _busy(target)
        time.sleep(0.01)


def _busy(target: Path) -> StoreBusy:
    return StoreBusy(
        f"{target} is open: close it in every program before it is restored ({host.holders(target)}); "
        "nothing was changed"
    )


def _refuse_others(target: Path) -> None:
    """Refuse a file that SQLite cannot read, unless it is a damaged vault that no process has open."""
    with target.open("r+b") as file:
        head = file.read(100)
        if head and (head[:16] != b"SQLite format 3\0" or head[68:72] != APPLICATION_ID.to_bytes(4, "big")):
            raise NotAVault(f"{target} is not a vault: move it away, or name another place for the vault")
        try:
            # The bytes locked by SQLite's readers, in WAL mode as long as they have the file open.
            host.lock_bytes(file, 0x40000000 + 2, 510)
        except OSError as fault:
            raise _busy(target) from fault


def _put_aside(target: Path, step: Callable[[str], None]) -> list[tuple[Path, Path]]:
    """Rename the logs of a missing or damaged vault, which SQLite would replay over the new one."""
    moved = []
    name = os.urandom(4).hex()
    for ending in BESIDE:
        log = Path(f"{target}{ending}")
        if os.path.lexists(log):
            step(f"aside{ending}")
            aside = Path(f"{target}.before-{name}{ending}")
            log.replace(aside)
            moved.append((log, aside))
    if moved:
        host.sync_folder(target.parent)
    return moved


def put_log_aside(path: str, logs: Mapping[str, tuple[int, int] | None]) -> None:
    """Rename the WAL of a replaced file, unless another process has it open.

    SQLite would otherwise replay it over the new file. It may contain the only copy of writes, if the old file was just
    moved, so it is not deleted.

    Args:
        path: the vault, closed in this process.
        logs: device and inode of the WAL and of its index, by path.
    """
    log, index = sorted(map(Path, logs), reverse=True)
    if is_open_here(path):
        return
    with suppress(OSError):
        for log_file in (log, index):
            status = log_file.lstat()
            if (status.st_dev, status.st_ino) != logs[str(log_file)]:
                return
        with index.open("r+b") as file:
            # The bytes of SQLite's locks: every process with an open WAL holds one of them.
            host.lock_bytes(file, 120, 9)
            if log.stat().st_size:
                log.rename(f"{str(log)[: -len('-wal')]}.before-{os.urandom(4).hex()}-wal")
            else:
                log.unlink()
            index.unlink()


def _remove_arrays(target: Path) -> None:
    """Remove the search index of the old vault; it would be ignored."""
    folder = Path(f"{target}{ARRAYS}")
    if folder.is_symlink():
        # A link may point anywhere.
        return
    with suppress(OSError):
        for file in folder.iterdir():
            if file.suffix in (".arrays", ".part") or file.name == "lock":
                with suppress(OSError):
                    host.erase(file)
        folder.rmdir()


#: The condition on entries for a row, by table.
_TABLES = {
    "entries_fts": f"e.live AND {SEARCHABLE}",
    "memories_fts": f"e.live AND {MEMORY}",
    "grams_fts": f"e.live AND {SEARCHABLE} AND e.grams <> ''",
}
#: A check must neither block a writer nor wait long for one.
_BUSY_TIMEOUT_S = 1.0


def full_text_faults(path: str) -> list[str]:
    """Return the faults of the full-text tables of a vault's file; empty if they are sound.

    FTS5's check counts as a write; it is rolled back, and nothing changes.

    Raises:
        ReadOnly: the file is not writable, so it cannot be checked.
        StoreBusy: another process is writing.
        StoreError: the file cannot be read.
    """
    faults = []
    with using_sqlite(), closing(connect(path, mode="rw", busy_timeout_s=_BUSY_TIMEOUT_S)) as sql, translated(path):
        sql.execute("BEGIN IMMEDIATE")
        for table, holds in _TABLES.items():
            try:
                sql.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
            # A damaged length makes SQLite request more memory than it gets.
            except (sqlite3.DatabaseError, MemoryError) as fault:
                faults.append(f"{table}: {fault or 'it asks for more memory than there is'}")
                continue
            rows = sql.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()[0]
            expected = sql.execute(f"SELECT count(*) FROM entries e WHERE {holds}").fetchone()[0]
            if rows != expected:
                faults.append(f"{table} has {rows} rows for {expected} entries")
        sql.execute("ROLLBACK")
    return faults


PAGES = 1_024


def copy_to(
    target: str | os.PathLike[str],
    source: sqlite3.Connection,
    file: str,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Copy a connection's database to a file, which appears when complete.

    Args:
        file: the source database; empty for one in memory.
        progress: called with the number of pages copied and the total.

    Raises:
        StoreError: the target cannot be written, or the database cannot be read.
    """
    with complete_file(target, of=file, cure="name a file for the copy") as part:
        copied(source, str(part.path), str(target), file, progress)


def copied(
    source: sqlite3.Connection, part: str, target: str, file: str, progress: Callable[[int, int], None] | None = None
) -> None:
    """Copy a connection's database to an empty file, without a WAL; see `copy_to`."""
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as to:
            if progress is None:
                source.backup(to)
            else:
                source.backup(to, pages=PAGES, progress=lambda _, rest, total: progress(total - rest, total))
            # Without a WAL, the single file is the whole copy.
            to.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as fault:
        raise _fault(fault, part, target, file, source) from fault


def _fault(fault: sqlite3.Error, part: str, target: str, file: str, source: sqlite3.Connection) -> StoreError:
    """Return the error of the faulty file: the target, partly written, or the source."""
    text = str(fault)
    # `sqlite_errorname` exists since Python 3.11.
    if re.search("not a database|malformed|locked|busy", text) or "_READ" in getattr(fault, "sqlite_errorname", ""):
        return store_error(fault, file)
    # All other errors concern writing, and the source is only read.
    needed = 0
    with suppress(sqlite3.Error):
        pages, page = (source.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        needed = int(pages * page)
    return target_fault(target, no_room(part, needed) or text)
