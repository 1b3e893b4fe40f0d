"""Orders of a listing: ORDER BY over entries ``e``, and the condition for the next page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from septet.model.entry import SEVERITIES, TRUSTS
from septet.postgres.tables.conditions import conjunction, text_compared
from septet.postgres.tables.json_values import MEMBER_ORDER, canonical, members, value_of
from septet.store.rows import Condition

_RANKS: Mapping[str, Sequence[str]] = {"severity": SEVERITIES[::-1], "trust": TRUSTS}
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
