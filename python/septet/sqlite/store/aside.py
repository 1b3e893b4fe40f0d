"""Hiding damaged or foreign rows from searches and exports, so that other rows stay usable."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from septet.errors import StoreError
from septet.sqlite.store.soundness import Unsound, hide, unsound_rows
from septet.sqlite.store.store import SqliteReading, SqliteStore
from septet.system.forks import Connection


class PartReading(SqliteReading):
    """A read transaction with some rows hidden."""

    __slots__ = ()


def set_aside(store: SqliteStore, known: Sequence[Unsound]) -> bool:
    """Check every row of a store's file and hide those with unsound values; return True if any are new.

    Args:
        known: rows hidden from the failed read.
    """
    if store.in_memory:
        return False
    if store.left_out is known:
        faults, _ = unsound_rows(store.file)
        if not set(faults) - set(known):
            return False
        with suppress(sqlite3.Error, StoreError):
            via = partial(_connected, rows=faults)
            via(store._connect).close()
            store.search_by(via, PartReading, faults)
    return store.left_out is not known


def _connected(connect: Callable[[], Connection], rows: Sequence[Unsound]) -> Connection:
    """Return a connection with rows hidden."""
    connection = connect()
    try:
        hide(connection, rows)
    except BaseException:
        connection.close()
        raise
    return connection
