"""Rows of `entries`: reading, upserting, deleting."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import repeat
from operator import itemgetter
from typing import Any, TypeVar

from septet import _core
from septet._core import gram_text
from septet.inputs.arguments import utf8
from septet.model.drafts import Draft, attrs_text, checked_span, draft
from septet.model.entry import tags_of
from septet.ranking.pool import Candidate, json_text, searched_text
from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables import history, indexing, links, texts
from septet.sqlite.tables.fragments import FINDABLE, listed, searchable
from septet.store.rows import CANDIDATE, EntryRow, Keeping, MissingRows
from septet.store.rules import SELECTED, same
from septet.store.typed import TextCount, typed, typed_pages

_Fact = TypeVar("_Fact")

PAGE_ROWS = 5_000

_STORED = EntryRow._fields[:-1]
_REPLACED = [name for name in _STORED if name not in ("id", "created_at")]
#: Maximum rows read by a list of parameters, in half the time of `json_each`; one statement per count.
FEW_ROWS = 16
_FEW = [
    f"SELECT {CANDIDATE} FROM (VALUES {', '.join(['(?)'] * rows)}) j "
    "CROSS JOIN entries e ON e.row = j.column1 WHERE e.live"
    for rows in range(1, FEW_ROWS + 1)
]

#: Makes a row of its values, without a Python call.
_AS_ROW: Callable[[tuple[Any, ...]], EntryRow] = partial(tuple.__new__, EntryRow)
#: Columns that most entries leave empty. Binding NULL costs more than binding a text: Python looks for an adapter.
_OPTIONAL = [
    _STORED.index(name) for name in ("path", "first_line", "last_line", "valid_from", "valid_until", "parent", "source")
]
_REBUILD = "INSERT INTO meta VALUES ('purged', ?) ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)"


@lru_cache(128)
def _upsert(absent: frozenset[int]) -> str:
    """Return the statement that stores rows in which these columns are NULL.

    On conflict the row is updated, not replaced, to keep its number. A revived entry (live = 0) takes the new creation
    time.
    """
    columns = [name for place, name in enumerate(_STORED) if place not in absent]
    timed, generation = len(columns) + 1, len(columns) + 2
    return f"""
INSERT INTO entries ({", ".join(columns)}, live, generation)
VALUES ({", ".join(f"?{n}" for n in range(1, timed))}, 1, ?{generation})
ON CONFLICT (id) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in (*_REPLACED, "live", "generation"))},
    created_at = CASE WHEN ?{timed} OR NOT entries.live THEN excluded.created_at
                      ELSE min(entries.created_at, excluded.updated_at) END
"""


def checked_row(fields: Mapping[str, Any], *, now: float) -> EntryRow:
    """Check the fields of an entry as `draft`, and return its row; plain fields take a fast path."""
    rows = _core.plain_rows((fields,), now, attrs_text, _span_columns, _AS_ROW)
    return row_of(draft(fields, now=now)) if rows is None else rows[0]


def plain_rows(
    items: Sequence[object],
    *,
    now: float,
    span_columns: Callable[[Any], tuple[str | None, int | None, int | None]] | None = None,
) -> list[EntryRow] | None:
    """Return the rows of dicts of plain fields, as `checked_row`; None if any needs the full checks.

    Args:
        span_columns: converts ``span`` to its columns.
    """
    return _core.plain_rows(items, now, attrs_text, span_columns or _span_columns, _AS_ROW)


def row_of(draft: Draft) -> EntryRow:
    """Return the row of a checked entry."""
    e = draft.entry
    return EntryRow(
        e.id, e.kind, e.type, e.domain, e.severity, e.title, e.description, e.context,
        json_text(e.tags), gram_text(e.id, e.title, (e.description, e.context, *e.tags)), json_text(dict(e.attrs)),
        *_span_columns(e.span),
        e.created_at, e.updated_at, e.valid_from, e.valid_until, e.parent, e.source, e.trust,
        draft.text_hash, draft.created_given,
    )  # fmt: skip


def upsert(write: SqliteWriting, rows: Sequence[EntryRow], entries: Sequence[EntryRow], keeping: Keeping) -> None:
    if not rows:
        return
    known = indexing.rows_of(write, [row.id for row in rows])
    last = indexing.last_row(write)
    if known:
        history.keep_replaced(write, entries, keeping)
    indexing.unindex(write, known)
    columns = [*zip(*rows)]
    absent = frozenset([place for place in _OPTIONAL if columns[place].count(None) == len(rows)])
    present = [column for place, column in enumerate(columns[:-1]) if place not in absent]
    # Integers need no adapter, booleans do.
    values = zip(*present, map(int, columns[-1]), repeat(write.generation))
    write.sql.executemany(_upsert(absent), values)
    indexing.index(write, known, after=last, expected=len(rows))


def find(read: SqliteReading | SqliteWriting, ids: Sequence[str]) -> dict[str, Candidate]:
    wanted_ids = [utf8(i, "id") for i in ids]
    source, parameter = listed(wanted_ids)
    sql = f"SELECT {CANDIDATE} FROM {source} j JOIN entries e ON e.id = j.value WHERE e.live"
    rows = read.sql.execute(sql, (parameter,))
    return {c.id: c for c in typed(Candidate, rows)}


def ids_beginning(read: SqliteReading, text: str, limit: int) -> list[str]:
    sql = "SELECT id FROM entries WHERE id >= ? AND id < ? AND live ORDER BY id LIMIT ?"
    # U+10FFFF is the last character.
    return [id for (id,) in read.sql.execute(sql, (text, f"{text}\U0010ffff", limit))]


def rows_of(read: SqliteReading | SqliteWriting, ids: Sequence[str], kind: str | None = None) -> list[int]:
    source, parameter = listed(ids)
    which = "e.live" if kind is None else "e.live AND e.kind = ?"
    sql = f"SELECT DISTINCT e.row FROM {source} j JOIN entries e ON e.id = j.value WHERE {which} ORDER BY e.row"
    return [row for (row,) in read.sql.execute(sql, (parameter,) if kind is None else (parameter, kind))]


def live(read: SqliteReading) -> Iterator[Candidate]:
    for condition in ("e.parent IS NULL OR e.parent = e.id", "e.parent <> e.id"):
        sql = f"SELECT {CANDIDATE} FROM entries e WHERE e.live AND ({condition}) ORDER BY e.row"
        yield from typed_pages(Candidate, read.sql.execute(sql))


def read_rows(read: SqliteReading, rows: Sequence[int]) -> list[Candidate]:
    """Return the live entries at the given rows, in that order; raise StoreError if one is missing."""
    if not rows:
        return []
    if len(rows) <= FEW_ROWS:
        cursor = read.sql.execute(_FEW[len(rows) - 1], rows)
    else:
        sql = f"SELECT {CANDIDATE} FROM json_each(?) j JOIN entries e ON e.row = j.value WHERE e.live"
        cursor = read.sql.execute(sql, (json.dumps(list(rows)),))
    candidates = {candidate[0]: candidate for candidate in typed(Candidate, cursor)}
    return _all_of(rows, [candidates[row] for row in rows if row in candidates])


def facts(read: SqliteReading, sources: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield pages of facts, expressions over ``entries e``, on every searchable entry, in the order of rows."""
    cursor = read.sql.execute(f"SELECT {', '.join(sources)} FROM entries e WHERE {FINDABLE} ORDER BY e.row")
    while page := cursor.fetchmany(PAGE_ROWS):
        yield page


def facts_changed(read: SqliteReading, sources: Sequence[str], since: int) -> list[tuple[Any, ...]]:
    """Return the facts, the row first, on entries written after a generation, deleted ones too, by row."""
    # Sorted in Python: with ORDER BY, SQLite would scan the whole table.
    sql = f"SELECT {', '.join(sources)} FROM entries e WHERE e.generation > ?"
    return sorted(read.sql.execute(sql, (since,)), key=itemgetter(0))


def facts_at(read: SqliteReading | SqliteWriting, sources: Sequence[str], rows: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the facts about the entries at the given rows, in their order; raise StoreError if one is missing."""
    sql = f"SELECT {', '.join(sources)} FROM json_each(?) j JOIN entries e ON e.row = j.value ORDER BY j.key"
    return _all_of(rows, read.sql.execute(sql, (json.dumps(list(rows)),)).fetchall())


def texts_at(read: SqliteReading, rows: Sequence[int]) -> list[str]:
    """Return the searched texts of the entries at the given rows, without ids (see `Candidate.text`)."""
    facts = facts_at(read, ("e.title", "e.description", "e.context", "e.tags"), rows)
    return [searched_text(*texts) for texts in facts]


def ids_at(read: SqliteReading, rows: Sequence[int]) -> list[str]:
    return [entry_id for (entry_id,) in facts_at(read, ("e.id",), rows)]


def groups_at(read: SqliteReading, rows: Sequence[int]) -> list[str]:
    """Return the parents' ids of the entries at the given rows, or their own without a parent."""
    return [group for (group,) in facts_at(read, ("coalesce(e.parent, e.id)",), rows)]


def places_at(read: SqliteReading, rows: Sequence[int]) -> list[tuple[str, int, int, str]]:
    """Return path, first line, last line (empty and 0 without a span) and id of the entries at the given rows."""
    sources = ("coalesce(e.path, '')", "coalesce(e.first_line, 0)", "coalesce(e.last_line, 0)", "e.id")
    return list(facts_at(read, sources, rows))


def tags_at(read: SqliteReading, rows: Sequence[int]) -> list[list[str]]:
    return [tags_of(tags) for (tags,) in facts_at(read, ("e.tags",), rows)]


def column_at(read: SqliteReading, column: str, rows: Sequence[int]) -> list[str]:
    """Return a column of the entries at the given rows."""
    return [value for (value,) in facts_at(read, (f"e.{column}",), rows)]


def purge(write: SqliteWriting) -> int:
    texts.drop_orphans(write)
    latest = write.sql.execute("SELECT max(generation) FROM entries WHERE NOT live").fetchone()[0]
    if latest is None:
        return 0
    # A purged row is invisible to snapshots: those from before the deletion must be rebuilt.
    write.sql.execute(_REBUILD, (latest,))
    links.purge(write)
    return write.sql.execute("DELETE FROM entries WHERE NOT live").rowcount


def begin_anew(write: SqliteWriting) -> None:
    """Invalidate all snapshots from before this transaction, which may contain words of erased texts."""
    write.sql.execute(_REBUILD, (write.generation,))


def purged_at(read: SqliteReading) -> int:
    """Return the latest generation in which a purged row was deleted; 0 if none was purged."""
    row = read.sql.execute("SELECT value FROM meta WHERE key = 'purged'").fetchone()
    # After an invalid value, no earlier snapshot can be trusted.
    return 0 if row is None else row[0] if type(row[0]) is int else read.generation


def count(read: SqliteReading) -> int:
    return int(read.sql.execute("SELECT count(*) FROM entries WHERE live").fetchone()[0])


def count_searchable(read: SqliteReading, *, memories: bool = False) -> int:
    return int(read.sql.execute(f"SELECT count(*) FROM entries e WHERE {searchable(memories)}").fetchone()[0])


def any_searchable(read: SqliteReading, *, memories: bool) -> bool:
    return read.sql.execute(f"SELECT 1 FROM entries e WHERE {searchable(memories)} LIMIT 1").fetchone() is not None


def kinds(read: SqliteReading) -> dict[str, int]:
    sql = "SELECT kind, count(*) FROM entries WHERE live GROUP BY kind ORDER BY kind"
    return dict(typed(TextCount, read.sql.execute(sql)))


def _all_of(rows: Sequence[int], facts: list[_Fact]) -> list[_Fact]:
    # Callers match results to rows by position: a missing row would shift all others.
    if len(facts) != len(rows):
        raise MissingRows(
            f"{len(rows) - len(facts)} of {len(rows)} entries of the arrays in memory are missing from the file: it "
            "was changed by another program; open the vault again"
        )
    return facts


def _span_columns(value: object) -> tuple[str | None, int | None, int | None]:
    span = checked_span(value)
    return (None, None, None) if span is None else (span.path, span.first_line, span.last_line)


def rows_stored(read: SqliteReading, rows: Sequence[EntryRow], timed: Sequence[bool]) -> list[bool]:
    source, parameter = listed([row.id for row in rows])
    sql = (
        f"SELECT {', '.join(f'e.{name}' for name in SELECTED)} FROM {source} j "
        "JOIN entries e ON e.id = j.value WHERE e.live"
    )
    return same(read.sql.execute(sql, (parameter,)), rows, timed)
