"""Listings of live entries: orders, pages, counts, and the values of a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.model.entry import SEVERITIES, TRUSTS
from septet.postgres.store.transactions import PostgresReading
from septet.postgres.tables.conditions import conjunction, filtered, text_compared, validity
from septet.postgres.tables.fragments import scalar
from septet.postgres.tables.json_values import MEMBER_ORDER, canonical, members, value_of
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


_TIMES = frozenset(["created_at", "updated_at", "valid_from", "valid_until"])
_UNSET = {"valid_from": "-Infinity", "valid_until": "Infinity"}
_LINES = frozenset(["first_line", "last_line"])
_NULLABLE = frozenset(["source", "parent", "path", *_LINES])
#: Columns of a value in attrs: its kind, and its value by kind; `MEMBER_ORDER` has their expressions.
_PARTS = ("kind", "number", "text", "truth")
_NUMBER, _TEXT, _TRUTH = 0, 1, 2


class _Key(NamedTuple):
    """A field to sort by.

    Attributes:
        at: place among the keys.
    """

    field: str
    descending: bool
    at: int

    @property
    def joined(self) -> Condition | None:
        """The join for the value of a path into attrs; None for a column."""
        if not self.field.startswith("attrs."):
            return None
        source = members(self.field, lists=False)
        columns = ", ".join(f"{sql} AS {name}" for sql, name in zip(MEMBER_ORDER, _PARTS))
        sql = f"LEFT JOIN LATERAL (SELECT {columns}, m.type, m.text AS written FROM {source.sql}) k{self.at} ON TRUE"
        return Condition(sql, source.parameters)

    @property
    def columns(self) -> list[Condition]:
        """The sort columns, in order."""
        field = self.field
        if self.joined is not None:
            return [Condition(f"k{self.at}.{name}{_COLLATED.get(name, '')}") for name in _PARTS]
        if field in _RANKS:
            return [Condition(f"coalesce(array_position(%s::text[], e.{field}), 0)", (list(_RANKS[field]),))]
        if field in _UNSET:
            return [Condition(f"coalesce(e.{field}, '{_UNSET[field]}'::float8)")]
        return [Condition(f"e.{field}" if field in _TIMES or field in _LINES else f'e.{field} COLLATE "C"')]

    @property
    def shown(self) -> list[str]:
        """The columns that select the value."""
        return [f"k{self.at}.type", f"k{self.at}.written"] if self.joined is not None else [f"e.{self.field}"]

    def value(self, selected: Sequence[Any]) -> Any:
        """Return the value from the columns of `shown`."""
        return value_of(*selected) if self.joined is not None else selected[0]

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
        if self.joined is not None or self.field in _NULLABLE:
            return Condition(f"({after.sql}) OR {self.columns[0].sql} IS NULL", after.parameters)
        return after

    def _compared(self, operator: str, sign: str, value: Any) -> Condition:
        column, *others = self.columns
        if self.field in _TIMES:
            return Condition(f"{column.sql} {sign} %s::float8", (_UNSET[self.field] if value is None else value,))
        if self.field in _RANKS:
            ranks = _RANKS[self.field]
            place = ranks.index(value) + 1 if value in ranks else 0
            return Condition(f"{column.sql} {sign} %s::integer", (*column.parameters, place))
        kind = _kind_of(value)
        if not others:
            return _compare(_NUMBER if self.field in _LINES else _TEXT, kind, column.sql, operator, sign, value)
        same = conjunction(
            [Condition(f"{column.sql} = {kind}"), _compare(kind, kind, others[kind].sql, operator, sign, value)]
        )
        return same if sign == "=" else Condition(f"{column.sql} {sign} {kind} OR {same.sql}", same.parameters)


_COLLATED = {"text": ' COLLATE "C"'}


def _kind_of(value: Any) -> int:
    return _TRUTH if isinstance(value, bool) else _TEXT if isinstance(value, str) else _NUMBER


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


class Order:
    """The order of a listing: by fields, then by ids.

    Args:
        keys: fields, each with True if descending; ``id`` is the last one, if present.
    """

    def __init__(self, keys: Sequence[tuple[str, bool]]) -> None:
        self._keys = [_Key(field, descending, at) for at, (field, descending) in enumerate(keys)]

    @property
    def joined(self) -> Condition:
        """The joins of all keys."""
        joins = [join for key in self._keys if (join := key.joined) is not None]
        return Condition(" ".join(join.sql for join in joins), tuple(v for join in joins for v in join.parameters))

    @property
    def shown(self) -> str:
        """The columns that select the values, each after a comma."""
        return "".join(f", {sql}" for key in self._keys for sql in key.shown)

    @property
    def sorting(self) -> Condition:
        """The expressions of ORDER BY."""
        parts = []
        for key in self._keys:
            # NULLS LAST on a column without nulls would prevent the use of its index.
            nulls = " NULLS LAST" if key.joined is not None or key.field in _NULLABLE else ""
            way = " DESC" if key.descending else ""
            parts += [Condition(f"{column.sql}{way}{nulls}", column.parameters) for column in key.columns]
        if not self._ends_in_id:
            parts.append(Condition('e.id COLLATE "C"'))
        return Condition(", ".join(part.sql for part in parts), tuple(v for part in parts for v in part.parameters))

    def after(self, values: Sequence[Any], last: str) -> Condition:
        """Return the condition that entries sort after one, with its values of the keys and its id."""
        pairs = list(zip(self._keys, values))
        steps = [
            conjunction([*(k.equal(v) for k, v in pairs[:at]), key.beyond(value)])
            for at, (key, value) in enumerate(pairs)
        ]
        if not self._ends_in_id:
            steps.append(conjunction([*(k.equal(v) for k, v in pairs), text_compared("e.id", "$gt", last)]))
        every = Condition(
            "(" + " OR ".join(f"({s.sql})" for s in steps) + ")", tuple(v for s in steps for v in s.parameters)
        )
        first = self._keys[0]
        if first.field not in ("created_at", "updated_at"):
            return every
        # Redundant, but gives an index scan its start.
        bound = Condition(f"e.{first.field} {'<=' if first.descending else '>='} %s::float8", (values[0],))
        return conjunction([bound, every])

    def values(self, selected: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values of the keys from the columns of `shown`."""
        at, out = 0, []
        for key in self._keys:
            width = len(key.shown)
            out.append(key.value(selected[at : at + width]))
            at += width
        return tuple(out)

    @property
    def _ends_in_id(self) -> bool:
        return bool(self._keys) and self._keys[-1].field == "id"
