"""Orders of a listing in SQL: what entries ``e`` are sorted by, and which of them stand behind a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from septet.model.entry import SEVERITIES, TRUSTS
from septet.postgres.tables.conditions import Condition, conjunction, text_compared
from septet.postgres.tables.json_values import MEMBER_ORDER, canonical, members, value_of

__all__ = ["Order"]

_RANKS: Mapping[str, Sequence[str]] = {"severity": SEVERITIES[::-1], "trust": TRUSTS}
_TIMES = frozenset(["created_at", "updated_at", "valid_from", "valid_until"])
_UNSET = {"valid_from": "-Infinity", "valid_until": "Infinity"}
_LINES = frozenset(["first_line", "last_line"])
_NULLABLE = frozenset(["source", "parent", "path", *_LINES])
#: The columns of a value in attrs: its kind, and what values of the kind are compared by; then its type and text.
_PARTS = ("kind", "number", "text", "truth")
_NUMBER, _TEXT, _TRUTH = 0, 1, 2


class _Key(NamedTuple):
    """A field to sort by.

    Attributes:
        at: its place among the keys.
    """

    field: str
    descending: bool
    at: int

    @property
    def joined(self) -> Condition | None:
        """What is joined to the entries to know the value of a path into attrs."""
        if not self.field.startswith("attrs."):
            return None
        given = members(self.field, lists=False)
        columns = ", ".join(f"{sql} AS {name}" for sql, name in zip(MEMBER_ORDER, _PARTS))
        sql = f"LEFT JOIN LATERAL (SELECT {columns}, m.type, m.text AS written FROM {given.sql}) k{self.at} ON TRUE"
        return Condition(sql, given.parameters)

    @property
    def columns(self) -> list[Condition]:
        """What is compared, one after the other."""
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
        """What tells the value of an entry."""
        return [f"k{self.at}.type", f"k{self.at}.written"] if self.joined is not None else [f"e.{self.field}"]

    def value(self, found: Sequence[Any]) -> Any:
        """Return the value from what `shown` selected."""
        return value_of(*found) if self.joined is not None else found[0]

    def equal(self, value: Any) -> Condition:
        """Return the condition that entries are sorted as by a value."""
        if value is None and self.field not in _UNSET:
            column = self.columns[0]
            return Condition(f"{column.sql} IS NULL", column.parameters)
        return self._compared("$eq", "=", value)

    def beyond(self, value: Any) -> Condition:
        """Return the condition that entries are sorted behind those with a value; those without one are last."""
        if value is None and self.field not in _UNSET:
            return Condition("FALSE")
        found = self._compared("$lt" if self.descending else "$gt", "<" if self.descending else ">", value)
        if self.joined is not None or self.field in _NULLABLE:
            return Condition(f"({found.sql}) OR {self.columns[0].sql} IS NULL", found.parameters)
        return found

    def _compared(self, operator: str, sign: str, value: Any) -> Condition:
        column, *others = self.columns
        if self.field in _TIMES:
            return Condition(f"{column.sql} {sign} %s::float8", (_UNSET[self.field] if value is None else value,))
        if self.field in _RANKS:
            ranks = _RANKS[self.field]
            place = ranks.index(value) + 1 if value in ranks else 0
            return Condition(f"{column.sql} {sign} %s::integer", (*column.parameters, place))
        kind = _kind(value)
        if not others:
            return _of_kind(_NUMBER if self.field in _LINES else _TEXT, kind, column.sql, operator, sign, value)
        same = conjunction(
            [Condition(f"{column.sql} = {kind}"), _of_kind(kind, kind, others[kind].sql, operator, sign, value)]
        )
        return same if sign == "=" else Condition(f"{column.sql} {sign} {kind} OR {same.sql}", same.parameters)


_COLLATED = {"text": ' COLLATE "C"'}


def _kind(value: Any) -> int:
    return _TRUTH if isinstance(value, bool) else _TEXT if isinstance(value, str) else _NUMBER


def _of_kind(own: int, kind: int, column: str, operator: str, sign: str, value: Any) -> Condition:
    """Compare a column of one kind with a value of another, or of the same."""
    if own != kind:
        return Condition("TRUE" if (sign == ">" and own > kind) or (sign == "<" and own < kind) else "FALSE")
    if kind == _TEXT:
        return text_compared(column, operator, value)
    if kind == _TRUTH:
        return Condition(f"{column} {sign} {'TRUE' if value else 'FALSE'}")
    return Condition(f"{column} {sign} %s::text::numeric", (canonical(value),))


class Order:
    """The order of a listing: by fields, then by ids.

    Args:
        keys: fields, and whether each is descending; nothing stands behind ``id``.
    """

    def __init__(self, keys: Sequence[tuple[str, bool]]) -> None:
        self._keys = [_Key(field, descending, at) for at, (field, descending) in enumerate(keys)]

    @property
    def joined(self) -> Condition:
        """What is joined to the entries."""
        joins = [join for key in self._keys if (join := key.joined) is not None]
        return Condition(" ".join(join.sql for join in joins), tuple(v for join in joins for v in join.parameters))

    @property
    def shown(self) -> str:
        """The columns that tell the values of an entry, each behind a comma."""
        return "".join(f", {sql}" for key in self._keys for sql in key.shown)

    @property
    def sorting(self) -> Condition:
        """What stands behind ORDER BY."""
        parts = []
        for key in self._keys:
            # An index has columns that are never null in the order that they have by themselves.
            nulls = " NULLS LAST" if key.joined is not None or key.field in _NULLABLE else ""
            way = " DESC" if key.descending else ""
            parts += [Condition(f"{one.sql}{way}{nulls}", one.parameters) for one in key.columns]
        if not self._ends_in_id:
            parts.append(Condition('e.id COLLATE "C"'))
        return Condition(", ".join(part.sql for part in parts), tuple(v for part in parts for v in part.parameters))

    def behind(self, values: Sequence[Any], last: str) -> Condition:
        """Return the condition that entries stand behind one.

        Args:
            values: of the keys.
            last: the id.
        """
        pairs = list(zip(self._keys, values))
        steps = [
            conjunction([*(k.equal(v) for k, v in pairs[:at]), key.beyond(value)])
            for at, (key, value) in enumerate(pairs)
        ]
        if not self._ends_in_id:
            steps.append(conjunction([*(k.equal(v) for k, v in pairs), text_compared("e.id", "$gt", last)]))
        every = Condition(
            "(" + " OR ".join(f"({one.sql})" for one in steps) + ")", tuple(v for one in steps for v in one.parameters)
        )
        first = self._keys[0]
        if first.field not in ("created_at", "updated_at"):
            return every
        # Implied; an index finds where to begin by it.
        bound = Condition(f"e.{first.field} {'<=' if first.descending else '>='} %s::float8", (values[0],))
        return conjunction([bound, every])

    def values(self, found: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values of the keys from what `shown` selected."""
        at, out = 0, []
        for key in self._keys:
            width = len(key.shown)
            out.append(key.value(found[at : at + width]))
            at += width
        return tuple(out)

    @property
    def _ends_in_id(self) -> bool:
        return bool(self._keys) and self._keys[-1].field == "id"
