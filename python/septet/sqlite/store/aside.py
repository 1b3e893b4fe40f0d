"""Keeping searches and exports from rows that hold what Septet does not write, so that one such row harms no other."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from septet.errors import StoreError
from septet.sqlite.store.soundness import Unsound, hide, unsound_rows
from septet.sqlite.store.store import Reading, Store
from septet.system.forks import Connection

__all__ = ["PartReading", "set_aside"]


class PartReading(Reading):
    """A read transaction that some rows are hidden from."""

    __slots__ = ()


def set_aside(store: Store, known: Sequence[Unsound]) -> bool:
    """Look at every row of a store's file and leave out those that hold unsound values; say whether any are new.

    Args:
        known: what was left out of the read that failed.
    """
    if store.in_memory:
        return False
    if store.left_out is known:
        found, _ = unsound_rows(store.file)
        if not set(found) - set(known):
            return False
        with suppress(sqlite3.Error, StoreError):
            via = partial(_connected, rows=found)
            via(store._connect).close()
            store.search_by(via, PartReading, found)
    return store.left_out is not known


def _connected(connect: Callable[[], Connection], rows: Sequence[Unsound]) -> Connection:
    """Return a connection that rows are hidden from."""
    connection = connect()
    try:
        hide(connection, rows)
    except BaseException:
        connection.close()
        raise
    return connection
