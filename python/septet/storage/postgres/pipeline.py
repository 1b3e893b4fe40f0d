"""Several statements as one round trip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import psycopg

if TYPE_CHECKING:
    from psycopg.rows import TupleRow

__all__ = ["Statement", "sent", "together"]


class Statement(NamedTuple):
    """A statement with its parameters, ``%(name)s`` or ``%s`` in it."""

    sql: str
    parameters: Mapping[str, Any] | Sequence[Any] = ()


class _Reading(Protocol):
    @property
    def sql(self) -> psycopg.Connection[TupleRow]: ...


def together(read: _Reading, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    """Send all statements at once, and return the rows of each.

    Values come in PostgreSQL's binary form, so that a float is the same number on both sides.
    """
    return sent(read.sql, statements)


def sent(sql: psycopg.Connection[TupleRow], statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
    """Send all statements at once, as `together` does; one that gives no rows has none."""
    if not statements:
        return []
    fault: psycopg.Error | None = None
    try:
        with sql.pipeline():
            try:
                cursors = [
                    sql.cursor(binary=True).execute(s.sql, s.parameters or None, binary=True) for s in statements
                ]
            except psycopg.Error as met:
                # psycopg would log what it meets on its way out, which comes of the same.
                fault = met
    except psycopg.Error as met:
        fault = fault or met
    if fault is not None:
        # psycopg takes statements for prepared that the server never came to.
        sql.close()
        raise fault
    return [[] if cursor.rownumber is None else cursor.fetchall() for cursor in cursors]
