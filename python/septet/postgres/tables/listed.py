"""Listings of live entries: pages, counts, and the values of a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.model.entry import SEVERITIES, TRUSTS
from septet.postgres.store.transactions import PostgresReading
from septet.postgres.tables.conditions import conjunction, filtered, validity
from septet.postgres.tables.fragments import scalar
from septet.postgres.tables.json_values import MEMBER_ORDER, members, value_of
from septet.postgres.tables.orders import Order
from septet.ranking.pool import Candidate
from septet.store.rows import CANDIDATE, Condition

if TYPE_CHECKING:
    from septet.query.filters import Filter

_UNITS = {"day": "YYYY-MM-DD", "month": "YYYY-MM", "year": "YYYY"}
#: Years 1 to 9999, in epoch seconds.
_FIRST, _BEYOND = -62_135_596_800, 253_402_300_800
_RANKS: Mapping[str, Sequence[str]] = {"severity": SEVERITIES[::-1], "trust": TRUSTS}


class ListingSelection(NamedTuple):
    """Selection of the listed entries.

    Attributes:
        filters: filters joined by AND.
        as_of: time at which entries must be valid, epoch seconds; None for any.
        hidden: excluded rows.
        also: additional condition; None for none.
    """

    filters: Mapping[str, Filter]
    as_of: float | None
    hidden: Sequence[int] = ()
    also: Condition | None = None

    def passing(self, read: PostgresReading) -> Condition:
        """Return the condition on entries ``e``."""
        parts = [Condition("e.vault = %s AND e.live", (read.vault.number,))]
        if self.filters:
            parts.append(filtered(self.filters))
        if self.as_of is not None:
            parts.append(validity(self.as_of))
        if self.hidden:
            parts.append(Condition("e.row NOT IN (SELECT unnest(%s::bigint[]))", (list(self.hidden),)))
        if self.also is not None:
            parts.append(self.also)
        return conjunction(parts)


class Values(NamedTuple):
    """The values of a field, each with the number of entries that have it.

    Attributes:
        counts: values with their counts, the most frequent first.
        total: number of selected entries.
        missing: number of entries without a value.
        distinct: number of distinct values, before the limit.
        every: sum of all counts, before the limit.
    """

    counts: list[tuple[Any, int]]
    total: int
    missing: int
    distinct: int
    every: int


def state(read: PostgresReading) -> str:
    """Return an identifier of the database state, which differs after each change."""
    result = read.sql.execute("SELECT pg_current_snapshot()::text").fetchone()
    assert result is not None
    return f"{read.generation} {result[0]}"


def every(read: PostgresReading) -> list[tuple[int, str, float | None, float | None]]:
    """Return row, id, ``valid_from`` and ``valid_until`` of every live entry, in the order of rows."""
    sql = (
        "SELECT e.row, e.id, e.valid_from, e.valid_until FROM septet.entries e "
        "WHERE e.vault = %s AND e.live ORDER BY e.row"
    )
    return read.sql.execute(sql, (read.vault.number,)).fetchall()


def number(read: PostgresReading, listed: ListingSelection) -> int:
    """Return the number of listed entries."""
    passing = listed.passing(read)
    return scalar(read, f"SELECT count(*) FROM septet.entries e WHERE {passing.sql}", passing.parameters)


def page(
    read: PostgresReading,
    listed: ListingSelection,
    keys: Sequence[tuple[str, bool]],
    most: int | None,
    after: tuple[Sequence[Any], str] | None,
) -> list[tuple[Candidate, tuple[Any, ...]]]:
    """Return sorted entries, each with its values of the keys.

    Args:
        keys: fields, each with True if descending; ties sort by id.
        most: maximum entries; None for all.
        after: values of the keys and id of the entry before the first one.
    """
    order, passing = Order(keys), listed.passing(read)
    if after is not None:
        passing = conjunction([passing, order.after(*after)])
    joined, sorting = order.joined, order.sorting
    sql = (
        f"SELECT {CANDIDATE}{order.shown} FROM septet.entries e {joined.sql} WHERE {passing.sql} "
        f"ORDER BY {sorting.sql} LIMIT %s::bigint"
    )
    rows = read.sql.execute(sql, (*joined.parameters, *passing.parameters, *sorting.parameters, _limit(most)))
    width = len(Candidate._fields)
    return [(Candidate._make(row[:width]), order.values(row[width:])) for row in rows]


def values(read: PostgresReading, field: str, by: str | None, listed: ListingSelection, most: int | None) -> Values:
    """Return the number of listed entries with each value of a field.

    Args:
        by: group times by ``day``, ``month`` or ``year``.
        most: maximum values, the most frequent first, ties in the order of values; None for all.
    """
    passing = listed.passing(read)
    if field == "tags" or field.startswith("attrs."):
        return _members(read, field, passing, most)
    column, where = Condition(f"e.{field}"), "TRUE"
    if by is not None:
        where = f"e.{field} >= {_FIRST} AND e.{field} < {_BEYOND}"
        column = Condition(f"to_char(to_timestamp(floor(e.{field})) AT TIME ZONE 'UTC', '{_UNITS[by]}')")
    value = f"CASE WHEN {where} THEN {column.sql} END"
    rank = 'v COLLATE "C"'
    ranks: tuple[object, ...] = ()
    if field in _RANKS:
        rank, ranks = "coalesce(array_position(%s::text[], v), 0), v", (list(_RANKS[field]),)
    inner = f"SELECT {value} AS v, count(*) AS n FROM septet.entries e WHERE {passing.sql} GROUP BY 1"
    sql = (
        f"WITH g AS MATERIALIZED ({inner}), s AS (SELECT sum(n) AS total, coalesce(sum(n) FILTER (WHERE v IS NULL), 0) "
        "AS missing, count(*) FILTER (WHERE v IS NOT NULL) AS many FROM g) "
        "SELECT s.total, s.missing, s.many, b.v, b.n FROM s LEFT JOIN "
        f"(SELECT v, n FROM g WHERE v IS NOT NULL ORDER BY n DESC, {rank} LIMIT %s::bigint) b ON TRUE"
    )
    rows = read.sql.execute(sql, (*passing.parameters, *ranks, _limit(most))).fetchall()
    total, missing, many = (int(number or 0) for number in rows[0][:3])
    return Values([(value, n) for *_, value, n in rows if value is not None], total, missing, many, total - missing)


def _limit(most: int | None) -> int | None:
    """Return a limit for the server; None if it exceeds a bigint."""
    return None if most is None or most >= 2**63 else most


def _members(read: PostgresReading, field: str, passing: Condition, most: int | None) -> Values:
    source = members(field)
    columns = ", ".join(f"{sql} AS {name}" for sql, name in zip(MEMBER_ORDER, ("kind", "number", "text", "truth")))
    sql = (
        f"WITH p AS MATERIALIZED (SELECT e.row, e.{field.split('.')[0]} FROM septet.entries e WHERE {passing.sql}), "
        # Count a value once per entry; 1 equals 1.0.
        f"c AS MATERIALIZED (SELECT e.row, {columns}, min(m.text) AS written, min(m.type) AS type FROM p e "
        f"CROSS JOIN LATERAL {source.sql} WHERE m.type IN ('string', 'number', 'boolean') GROUP BY 1, 2, 3, 4, 5), "
        "g AS (SELECT kind, number, text, truth, min(written) AS written, min(type) AS type, count(*) AS n FROM c "
        "GROUP BY 1, 2, 3, 4) SELECT (SELECT count(*) FROM p), (SELECT count(DISTINCT c.row) FROM c), "
        "(SELECT count(*) FROM g), (SELECT count(*) FROM c), b.type, b.written, b.n FROM (SELECT 1) s LEFT JOIN "
        '(SELECT type, written, n FROM g ORDER BY n DESC, kind, number, text COLLATE "C", truth LIMIT %s::bigint) b '
        "ON TRUE"
    )
    rows = read.sql.execute(sql, (*passing.parameters, *source.parameters, _limit(most))).fetchall()
    total, having, many, every = map(int, rows[0][:4])
    counts = [(value_of(kind, text), n) for *_, kind, text, n in rows if kind is not None]
    return Values(counts, total, total - having, many, every)
