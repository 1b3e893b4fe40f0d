"""Several statements as one round trip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

if TYPE_CHECKING:
    from septet.storage.postgres.store import PostgresReading

__all__ = ["Statement", "together"]


class Statement(NamedTuple):
    """A statement with its parameters, ``%(name)s`` or ``%s`` in it."""

    sql: str
    parameters: Mapping[str, Any] | Sequence[Any] = ()


def together(read: PostgresReading, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    """Send all statements at once, and return the rows of each.

    Values come in PostgreSQL's binary form, so that a float is the same number on both sides.
    """
    if not statements:
        return []
    try:
        with read.sql.pipeline():
            cursors = [
                read.sql.cursor(binary=True).execute(one.sql, one.parameters or None, binary=True) for one in statements
            ]
    except psycopg.Error:
        # psycopg takes statements for prepared that the server never came to.
        read.sql.close()
        raise
    return [cursor.fetchall() for cursor in cursors]
