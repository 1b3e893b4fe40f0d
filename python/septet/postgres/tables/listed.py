"""Listings of live entries: orders, pages, counts, and the values of a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.model.entry import SEVERITIES, TRUSTS
from septet.postgres.store.transactions import PostgresReading
from septet.postgres.tables.conditions import (
    LINES,
    MEMBER_ORDER,
    canonical,
    conjunction,
    filtered,
    members,
    text_compared,
    validity,
    value_of,
)
from septet.postgres.tables.fragments import scalar
from septet.ranking.pool import Candidate
from septet.store.rows import CANDIDATE, Condition
from septet.store.rules import TIMES

if TYPE_CHECKING:
    from septet.query.filters import Filter


_UNITS = {"day": "YYYY-MM-DD", "month": "YYYY-MM", "year": "YYYY"}
#: Years 1 to 9999, in epoch seconds.
_FIRST, _BEYOND = -62_135_596_800, 253_402_300_800
_RANKS: Mapping[str, Sequence[str]] = {"severity": SEVERITIES[::-1], "trust": TRUSTS}


class ListingSelection(NamedTuple):
    """Selection of the listed entries: filters joined by AND, the time (epoch seconds) at which they must be valid."""

    filters: Mapping[str, Filter]
    as_of: float | None
    #: Excluded rows.
    hidden: Sequence[int] = ()
    #: Another condition.
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
    order, passing = [_Key(field, descending, at) for at, (field, descending) in enumerate(keys)], listed.passing(read)
    # Ids need no further comparison where they are the last key.
    by_id = not (keys and keys[-1][0] == "id")
    if after is not None:
        values, last = after
        passing = conjunction([passing, _beyond(order, values, [text_compared("e.id", "$gt", last)] if by_id else [])])
    joined = _strung([key.joined for key in order if key.in_attrs], " ")
    sorting = _sorting(order, [Condition('e.id COLLATE "C"')] if by_id else [])
    shown = "".join(f", {sql}" for key in order for sql in key.shown)
    sql = (
        f"SELECT {CANDIDATE}{shown} FROM septet.entries e {joined.sql} WHERE {passing.sql} "
        f"ORDER BY {sorting.sql} LIMIT %s::bigint"
    )
    rows = read.sql.execute(sql, (*joined.parameters, *passing.parameters, *sorting.parameters, _limit(most)))
    width = len(Candidate._fields)
    placed = []
    for row in rows:
        selected = iter(row[width:])
        placed.append((Candidate._make(row[:width]), tuple(key.value(selected) for key in order)))
    return placed


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


_UNSET = {"valid_from": "-Infinity", "valid_until": "Infinity"}
_NULLABLE = frozenset(["source", "parent", "path", *LINES])
#: Columns of a value in attrs: its kind, and its value by kind; `MEMBER_ORDER` has their expressions.
_PARTS = ("kind", "number", "text", "truth")
_NUMBER, _TEXT, _TRUTH = 0, 1, 2
_COLLATED = {"text": ' COLLATE "C"'}


class _Key(NamedTuple):
    """A field to sort by, ``at`` a place among the keys."""

    field: str
    descending: bool
    at: int

    @property
    def in_attrs(self) -> bool:
        """True for a path into attrs, False for a column."""
        return self.field.startswith("attrs.")

    @property
    def joined(self) -> Condition:
        """The join for the value of a path into attrs."""
        source = members(self.field, lists=False)
        columns = ", ".join(f"{sql} AS {name}" for sql, name in zip(MEMBER_ORDER, _PARTS))
        sql = f"LEFT JOIN LATERAL (SELECT {columns}, m.type, m.text AS written FROM {source.sql}) k{self.at} ON TRUE"
        return Condition(sql, source.parameters)

    @property
    def columns(self) -> list[Condition]:
        """The sort columns, in order."""
        field = self.field
        if self.in_attrs:
            return [Condition(f"k{self.at}.{name}{_COLLATED.get(name, '')}") for name in _PARTS]
        if field in _RANKS:
            return [Condition(f"coalesce(array_position(%s::text[], e.{field}), 0)", (list(_RANKS[field]),))]
        if field in _UNSET:
            return [Condition(f"coalesce(e.{field}, '{_UNSET[field]}'::float8)")]
        return [Condition(f"e.{field}" if field in TIMES or field in LINES else f'e.{field} COLLATE "C"')]

    @property
    def shown(self) -> list[str]:
        """The columns that select the value."""
        return [f"k{self.at}.type", f"k{self.at}.written"] if self.in_attrs else [f"e.{self.field}"]

    def value(self, selected: Iterator[Any]) -> Any:
        """Return the value from the next columns, those of `shown`."""
        return value_of(next(selected), next(selected)) if self.in_attrs else next(selected)

    def equal(self, value: Any) -> Condition:
        """Return the condition that entries sort equal to a value."""
        if value is None and self.field not in _UNSET:
            column = self.columns[0]
            return Condition(f"{column.sql} IS NULL", column.parameters)
        return self._compared("$eq", "=", value)

    def beyond(self, value: Any) -> Condition:
        """Return the condition that entries sort after a value; missing values sort last."""
        if value is None and self.field not in _UNSET:
            return Condition("FALSE")
        after = self._compared("$lt" if self.descending else "$gt", "<" if self.descending else ">", value)
        if self.in_attrs or self.field in _NULLABLE:
            return Condition(f"({after.sql}) OR {self.columns[0].sql} IS NULL", after.parameters)
        return after

    def _compared(self, operator: str, sign: str, value: Any) -> Condition:
        column, *others = self.columns
        if self.field in TIMES:
            return Condition(f"{column.sql} {sign} %s::float8", (_UNSET[self.field] if value is None else value,))
        if self.field in _RANKS:
            ranks = _RANKS[self.field]
            place = ranks.index(value) + 1 if value in ranks else 0
            return Condition(f"{column.sql} {sign} %s::integer", (*column.parameters, place))
        kind = _TRUTH if isinstance(value, bool) else _TEXT if isinstance(value, str) else _NUMBER
        if not others:
            return _compare(_NUMBER if self.field in LINES else _TEXT, kind, column.sql, operator, sign, value)
        same = conjunction(
            [Condition(f"{column.sql} = {kind}"), _compare(kind, kind, others[kind].sql, operator, sign, value)]
        )
        return same if sign == "=" else Condition(f"{column.sql} {sign} {kind} OR {same.sql}", same.parameters)


def _compare(column_kind: int, kind: int, column: str, operator: str, sign: str, value: Any) -> Condition:
    """Return the comparison of a column of one kind with a value of any kind."""
    if column_kind != kind:
        after = column_kind > kind if sign == ">" else sign == "<" and column_kind < kind
        return Condition("TRUE" if after else "FALSE")
    if kind == _TEXT:
        return text_compared(column, operator, value)
    if kind == _TRUTH:
        return Condition(f"{column} {sign} {'TRUE' if value else 'FALSE'}")
    return Condition(f"{column} {sign} %s::text::numeric", (canonical(value),))


def _strung(parts: Sequence[Condition], separator: str) -> Condition:
    """Return pieces of SQL as one."""
    return Condition(separator.join(part.sql for part in parts), tuple(v for part in parts for v in part.parameters))


def _sorting(keys: Sequence[_Key], ids: Sequence[Condition]) -> Condition:
    """Return the expressions of ORDER BY."""
    parts = []
    for key in keys:
        # NULLS LAST on a column without nulls would prevent the use of its index.
        nulls = " NULLS LAST" if key.in_attrs or key.field in _NULLABLE else ""
        way = " DESC" if key.descending else ""
        parts += [Condition(f"{column.sql}{way}{nulls}", column.parameters) for column in key.columns]
    return _strung([*parts, *ids], ", ")


def _beyond(keys: Sequence[_Key], values: Sequence[Any], ids: Sequence[Condition]) -> Condition:
    """Return the condition that entries sort after one, with its values of the keys; ``ids`` compares their ids."""
    equal = [key.equal(value) for key, value in zip(keys, values)]
    steps = [conjunction([*equal[:at], key.beyond(value)]) for at, (key, value) in enumerate(zip(keys, values))]
    steps += [conjunction([*equal, after]) for after in ids]
    every = _strung([Condition(f"({step.sql})", step.parameters) for step in steps], " OR ")
    every = every._replace(sql=f"({every.sql})")
    first = keys[0]
    if first.field not in ("created_at", "updated_at"):
        return every
    # Redundant, but gives an index scan its start.
    bound = Condition(f"e.{first.field} {'<=' if first.descending else '>='} %s::float8", (values[0],))
    return conjunction([bound, every])
