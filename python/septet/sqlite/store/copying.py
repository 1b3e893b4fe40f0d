"""Copying a database in use to another file by SQLite's online backup."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress

from septet.errors import StoreError
from septet.sqlite.store.connection import no_room, store_error
from septet.system.target import complete_file, target_fault

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
    source: sqlite3.Connection,
    part: str,
    target: str,
    file: str,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Copy a connection's database to an empty file, without a WAL; see `copy_to`."""
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as to:
            source.backup(to, pages=-1 if progress is None else PAGES, progress=_told(progress))
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
    return target_fault(target, no_room(part, _size(source)) or text)


def _size(source: sqlite3.Connection) -> int:
    """Return the size of a copy in bytes; 0 if unknown."""
    with suppress(sqlite3.Error):
        pages, page = (source.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        return int(pages * page)
    return 0


def _told(progress: Callable[[int, int], None] | None) -> Callable[[int, int, int], None] | None:
    return None if progress is None else lambda _status, remaining, total: progress(total - remaining, total)
