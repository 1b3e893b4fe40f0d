"""Detection of rows with values that Septet never writes: damaged, or written by other programs.

Rows are checked when a read fails, by `septet doctor` and by an export. Unsound rows can be hidden from reading
connections, so that searches and exports continue without them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import lru_cache, partial
from itertools import islice
from math import inf
from types import TracebackType
from typing import Any

from septet.errors import SeptetError, StoreError
from septet.inputs.arguments import shown
from septet.model.entry import SEVERITIES, TRUSTS, json_of, tags_of
from septet.sqlite.store.connection import MEMORY, RESTORE, SCHEMA_VERSION, connect, schema, translated
from septet.system.forks import using_sqlite
from septet.system.records import NamedTuple

#: Maximum SQLite steps without a row, since a view instead of a table may yield none.
_STEPS = 50_000_000

#: Columns required for the check of a table's rows, in addition to its key.
_NEEDED: Mapping[str, set[str]] = {
    "meta": {"key", "value"},
    "spaces": {"space", "dimensions"},
    "vectors": {"space", "key", "row", "vector"},
}

_Wrong = Callable[[Any], "str | None"]
_INFINITE = frozenset({inf, -inf})


class Unsound(NamedTuple):
    """A value that is invalid in its column.

    Attributes:
        key: the values of the primary key.
        reason: the stored and the expected value, as text.
        generation: the value of this column, if the table has it.
    """

    table: str
    key: tuple[Any, ...]
    column: str
    reason: str
    generation: Any = None

    def __str__(self) -> str:
        row = ", ".join(map(shown, self.key))
        return f"{self.table} row {row}, column {self.column}: {self.reason}"


class _SchemaTable(NamedTuple):
    """A table of the schema: the validator of each column, and the primary key."""

    name: str
    columns: Mapping[str, partial[str | None]]
    key: Sequence[str]
    known: set[tuple[type, ...]]

    def fault(self, named: Sequence[str], row: tuple[Any, ...]) -> tuple[str, str] | None:
        """Return the first invalid column and the reason, given the columns that were read."""
        for name, value in zip(named, row):
            if reason := self.columns[name](value):
                return name, reason
        self.known.add(tuple(map(type, row)))
        return None

    def quick(self, named: Sequence[str]) -> Callable[[tuple[Any, ...]], bool]:
        """Return a fast predicate that is True for most sound rows, given texts in UTF-8."""
        looked_at = [(at, _MORE[self.name, name]) for at, name in enumerate(named) if (self.name, name) in _MORE]
        known, times = self.known, [at for at, name in enumerate(named) if self.columns[name].args[0] is _KINDS["REAL"]]

        def is_sound(row: tuple[Any, ...]) -> bool:
            if tuple(map(type, row)) not in known or not _INFINITE.isdisjoint([row[at] for at in times]):
                return False
            reasons = [wrong(row[at]) for at, wrong in looked_at]
            return not any(reasons)

        return is_sound


class traced(translated):
    """Also translates errors caused by unsound rows: rows are checked only after a failed read."""

    __slots__ = ()

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, fault, trace)
        if isinstance(fault, _OF_VALUES) and not isinstance(fault, SeptetError) and self.path != MEMORY:
            faults, _ = unsound_rows(self.path)
            if faults:
                raise unsound_error(self.path, faults[0]) from fault


def unsound_error(path: str, row: Unsound) -> StoreError:
    """Return the error for an unsound value in a vault's file."""
    return StoreError(f"{path} has content that was not written by Septet, {row}: {RESTORE}")


#: Errors that unexpected values raise in code.
_OF_VALUES = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)
_EMPTY = {"tags": "'[]'", "attrs": "'{}'"}


def unsound(sql: sqlite3.Connection) -> Iterator[Unsound]:
    """Yield the first invalid value of each row, by a connection for this alone; raise sqlite3.Error if damaged."""
    dimensions: dict[Any, Any] = {}
    for table in _tables():
        there = [name for _, name, *_ in sql.execute(f"PRAGMA main.table_info({table.name})")]
        named = [name for name in table.columns if name in there]
        if not _NEEDED.get(table.name, {*table.key}) <= set(named):
            # An older vault, or one with `table_faults`.
            continue
        keys, age = [named.index(name) for name in table.key], named.index("generation") if "generation" in named else 0
        is_sound, lacking = table.quick(named), {"generation", "store_id"} if table.name == "meta" else set()
        for row in _rows(sql, f"SELECT {', '.join(named)} FROM main.{table.name}"):
            reason = None if sql.text_factory is str and is_sound(row) else table.fault(named, row)
            if reason is None and table.name == "spaces":
                dimensions[row[0]] = row[named.index("dimensions")]
            elif reason is None and table.name == "vectors":
                values = dict(zip(named, row))
                if fault := _no_vector(values["vector"], dimensions.get(values["space"])):
                    reason = "vector", fault
            elif reason is None and table.name == "meta":
                reason = _wrong_meta(*row)
                lacking.discard(row[0])
            if reason is not None:
                yield Unsound(table.name, tuple(row[at] for at in keys), *reason, row[age] if age else None)
        for name in sorted(lacking):
            yield Unsound(table.name, (name,), "value", "nothing; expected the identity of a vault")


def _rows(sql: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table; bytes that are not UTF-8 become surrogates."""
    sql.text_factory, count = str, 0
    try:
        for row in sql.execute(query):
            yield row
            count += 1
    except sqlite3.OperationalError as fault:
        if "decode" not in str(fault):
            raise
        sql.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        yield from islice(sql.execute(query), count, None)


def unsound_rows(path: str) -> tuple[list[Unsound], str]:
    """Return the first unsound value of each row of a vault's file, and the error that stopped the check, or ""."""
    faults: list[Unsound] = []
    try:
        with using_sqlite(), closing(connect(path, mode="ro")) as sql:
            steps = iter(range(_STEPS // 1_000))
            sql.set_progress_handler(lambda: next(steps, None) is None, 1_000)
            # One snapshot: another writer may add a space and its vectors between two tables.
            sql.execute("BEGIN")
            faults.extend(unsound(sql))
    except (sqlite3.Error, StoreError) as fault:
        return faults, str(fault)
    return faults, ""


def table_faults(sql: sqlite3.Connection) -> list[str]:
    """Return foreign objects in the schema: instead of tables or the view, and triggers on them."""
    schema_rows = sql.execute("SELECT type, name, rootpage, sql FROM sqlite_master WHERE type IN ('table', 'view')")
    objects = {name: (kind, root, text) for kind, name, root, text in schema_rows}
    # An older vault has fewer tables and columns.
    is_whole = int(sql.execute("PRAGMA user_version").fetchone()[0]) == SCHEMA_VERSION
    faults = []
    for table in _tables():
        kind, root, _ = objects.get(table.name, ("table", int(not is_whole), ""))
        if table.name not in objects and is_whole:
            faults.append(f"there is no table {table.name}")
        elif kind != "table" or not root:
            faults.append(f"{table.name} is a {kind if kind != 'table' else 'virtual table'}, not a table")
        elif is_whole:
            there = {name for _, name, *_ in sql.execute(f"PRAGMA main.table_info({table.name})")}
            lacking = [name for name in table.columns if name not in there]
            faults += [f"{table.name} has no column {name}" for name in lacking]
    kind, _, text = objects.get("memories", ("view", 0, None))
    if kind != "view" or (text is not None and " ".join(text.split()) != _view()):
        faults.append("the view memories is another one than Septet makes")
    names = ", ".join(f"'{table.name}'" for table in _tables())
    triggers = sql.execute(f"SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ({names})")
    faults += [f"the trigger {shown(name)} on {table} was not created by Septet" for name, table in triggers]
    return faults


def hide(sql: sqlite3.Connection, faults: Sequence[Unsound]) -> None:
    """Hide rows from one connection; one written again, with another generation, is visible again."""
    for table in _tables():
        # The table meta is required.
        of_table = [fault for fault in faults if fault.table == table.name != "meta"]
        if not of_table:
            continue
        aged = ["generation"] if "generation" in table.columns and "generation" not in table.key else []
        columns, hidden = [*table.key, *aged], f"hidden_{table.name}"
        sql.execute(f"CREATE TEMP TABLE {hidden} ({', '.join(columns)})")
        sql.execute(f"CREATE INDEX temp.{hidden}_by_key ON {hidden} ({', '.join(table.key)})")
        rows = [(*fault.key, *([fault.generation] if aged else [])) for fault in of_table]
        sql.executemany(f"INSERT INTO {hidden} VALUES ({', '.join('?' * len(columns))})", map(_plain, rows))
        same = " AND ".join(f"h.{name} IS e.{name}" for name in columns)
        is_hidden = f"EXISTS (SELECT 1 FROM temp.{hidden} h WHERE {same})"
        # SQLite may evaluate other conditions first, which fail on such a value. Indexes need the column.
        odd = {"tags", "attrs", *(fault.column for fault in of_table)} - {*table.key, "id", "generation", "parent"}
        sql.execute(
            f"CREATE TEMP VIEW {table.name} AS SELECT "
            + ", ".join(
                f"CASE WHEN {is_hidden} THEN {_EMPTY.get(name, 'NULL')} ELSE e.{name} END AS {name}"
                if name in odd
                else f"e.{name}"
                for name in table.columns
            )
            + f" FROM main.{table.name} e WHERE NOT {is_hidden}"
        )


def _plain(values: tuple[Any, ...]) -> tuple[Any, ...]:
    # A key that is not UTF-8 cannot be passed as text.
    return tuple(
        value.encode("utf-8", "surrogateescape") if isinstance(value, str) and not _is_utf8(value) else value
        for value in values
    )


@lru_cache(1)
def _tables() -> tuple[_SchemaTable, ...]:
    """Return the tables of the schema, as parsed by SQLite."""
    with closing(sqlite3.connect(":memory:")) as sql:
        sql.executescript(schema())
        statements = []
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY rowid"
        for (name,) in sql.execute(names).fetchall():
            if "_fts" in name or name.startswith("sqlite_"):
                continue
            columns: dict[str, partial[str | None]] = {}
            keys: list[tuple[int, str]] = []
            for _, column, kind, required, _, key in sql.execute(f"PRAGMA table_info({name})"):
                columns[column] = partial(_wrong, _KINDS[kind], not required and not key, _MORE.get((name, column)))
                keys += [(key, column)] if key else []
            statements.append(_SchemaTable(name, columns, [column for _, column in sorted(keys)], set()))
    # Vectors last: they are checked against the spaces.
    return tuple(sorted(statements, key=lambda table: table.name == "vectors"))


@lru_cache(1)
def _view() -> str:
    with closing(sqlite3.connect(":memory:")) as sql:
        sql.executescript(schema())
        (text,) = sql.execute("SELECT sql FROM sqlite_master WHERE name = 'memories'").fetchone()
        return " ".join(text.split())


def _wrong(kind: _Kind, optional: bool, more: _Wrong | None, value: Any) -> str | None:
    if value is None:
        return None if optional else f"nothing; expected {kind.expected}"
    if type(value) not in kind.types:
        return f"{shown(value)}; expected {kind.expected}"
    if type(value) is str and not (value.isascii() or _is_utf8(value)):
        return "text that is not UTF-8"
    if kind.expected == "a time" and value in _INFINITE:
        return f"{value}; expected a time"
    return None if more is None else more(value)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class _Kind(NamedTuple):
    types: tuple[type, ...]
    expected: str


#: Every real number of the schema is a time.
_KINDS = {
    "TEXT": _Kind((str,), "text"),
    "INTEGER": _Kind((int,), "a whole number"),
    "REAL": _Kind((float, int), "a time"),
    "BLOB": _Kind((bytes,), "bytes"),
    "": _Kind((str, int), "text or a whole number"),
}


def _no_object(text: str) -> str | None:
    try:
        json_of(text, dict)
    except StoreError:
        return f"{shown(text)}; expected a JSON object"
    return None


def _no_version(text: str) -> str | None:
    """Return the fault of a stored version: not JSON, or with unknown columns."""
    reason = _no_object(text)
    entries = next(table for table in _tables() if table.name == "entries")
    return reason or (None if json_of(text, dict).keys() <= entries.columns.keys() else f"other columns: {shown(text)}")


def _no_tags(text: str) -> str | None:
    try:
        tags_of(text)
        if {*map(type, json_of(text, list))} <= {str}:
            return None
    except StoreError:
        pass
    return f"{shown(text)}; expected a JSON list of texts"


def _none_of(names: Sequence[Any], value: Any) -> str | None:
    return None if value in names else f"{shown(value)}; expected one of {', '.join(map(str, names))}"


def _no_dimensions(size: int) -> str | None:
    from septet.model.vector import MOST_DIMENSIONS

    return None if 0 < size <= MOST_DIMENSIONS else f"{size}; expected 1 to {MOST_DIMENSIONS:,}"


def _no_vector(vector: bytes, dimensions: int | None) -> str | None:
    if dimensions is None:
        return "a vector of a space that is not there"
    if len(vector) != 4 * dimensions:
        return f"{len(vector):,} bytes; expected {dimensions:,} float32 numbers"
    import numpy as np

    numbers = np.frombuffer(vector, dtype="<f4")
    if not np.isfinite(numbers).all():
        return "a number that is NaN or infinite"
    return None if numbers.any() else "zeros alone"


def _wrong_meta(key: str, value: Any) -> tuple[str, str] | None:
    if key.startswith(("generation", "purged", "emptied:")):
        sound, expected = type(value) is int and value >= 0, "a whole number"
    elif key.startswith(("store_id", "state:", "pooling:", "mark:", "writer:")):
        sound, expected = type(value) is str, "text"
    elif key.startswith("device:"):
        sound, expected = type(value) is str and value.isdecimal(), "a number in digits"
    elif key.startswith("staged:"):
        expected = "a JSON list of two"
        try:
            sound = len(json_of(value, list)) == 2
        except StoreError:
            sound = False
    else:
        return None
    return None if sound else ("value", f"{shown(value)}; expected {expected}")


_MORE: Mapping[tuple[str, str], _Wrong] = {
    ("entries", "tags"): _no_tags,
    ("entries", "attrs"): _no_object,
    ("entries", "severity"): partial(_none_of, SEVERITIES),
    ("entries", "trust"): partial(_none_of, TRUSTS),
    ("entries", "live"): partial(_none_of, (0, 1)),
    ("history", "columns"): _no_version,
    ("roots", "options"): _no_object,
    ("files", "state"): _no_object,
    ("staged", "entry"): _no_object,
    ("spaces", "dimensions"): _no_dimensions,
    ("spaces", "keyed_by"): partial(_none_of, ("text", "entry")),
}
