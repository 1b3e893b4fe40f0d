"""Rows of `entries`: read, upsert, delete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from septet.inputs.arguments import utf8
from septet.model.entry import tags_of
from septet.postgres.store.packing import refuse
from septet.postgres.store.transactions import PostgresReading, PostgresWriting, hold
from septet.postgres.tables import history, indexing
from septet.postgres.tables.fragments import BY_ID, BY_PLACE, named, numbered, scalar, searched
from septet.postgres.tables.indexing import IndexedEntry, indexed
from septet.postgres.tables.parts import prefetch
from septet.postgres.tables.postings import FEW
from septet.ranking.pool import Candidate
from septet.store.rows import CANDIDATE, EntryRow, Keeping, MissingRows
from septet.store.rules import SELECTED, same

_Read = PostgresReading | PostgresWriting

#: Rows per fetch of `live`.
PAGE_ROWS = 1_000

_FIND = f"SELECT {CANDIDATE} FROM {BY_ID} WHERE e.live"
_ROWS_OF = f"SELECT e.row FROM {BY_ID} WHERE e.live AND (%s::text IS NULL OR e.kind = %s::text)"
_LIVE = (
    f"SELECT {CANDIDATE} FROM septet.entries e WHERE e.vault = %s AND e.live "
    "ORDER BY e.parent IS NOT NULL AND e.parent <> e.id, e.row"
)
_BEGINNING = (
    'SELECT id FROM septet.entries WHERE vault = %s AND id COLLATE "C" >= %s::text AND id COLLATE "C" < %s::text '
    'AND live ORDER BY id COLLATE "C" LIMIT %s'
)

_COLUMNS = EntryRow._fields[:-1]
_TYPES = {"first_line": "int8", "last_line": "int8", "created_at": "float8", "updated_at": "float8"}
_TYPES |= {"valid_from": "float8", "valid_until": "float8"}
_COPY = f"COPY septet.entries (vault, bucket, row, {', '.join(_COLUMNS)}, live, generation) FROM STDIN (FORMAT BINARY)"
_INSERT = (
    f"INSERT INTO septet.entries (vault, bucket, row, {', '.join(_COLUMNS)}, live, generation) "
    f"VALUES ({', '.join(['%s'] * (len(_COLUMNS) + 5))})"
)
_COPIED = ["int4", "int4", "int8", *(_TYPES.get(name, "text") for name in _COLUMNS), "bool", "int8"]
_UPDATE = (
    f"UPDATE septet.entries SET {', '.join(f'{name} = %s' for name in _COLUMNS)}, live = true, generation = %s "
    "WHERE vault = %s AND bucket = %s AND row = %s"
)
_DEAD = "SELECT id FROM septet.entries WHERE vault = %s AND NOT live"
_PURGE = "DELETE FROM septet.entries WHERE vault = %s AND NOT live AND id = ANY(%s::text[])"


def upsert(write: PostgresWriting, rows: Sequence[EntryRow], entries: Sequence[EntryRow], keeping: Keeping) -> None:
    refuse(rows)
    ids = list(dict.fromkeys(row.id for row in rows))
    prefetched, write.held.foreseen = write.held.foreseen, None
    if prefetched is None or prefetched.ids != ids:
        prefetched, write.held.foreseen = prefetch(write, ids), None
    before: dict[int, IndexedEntry] = {}
    stored: dict[str, tuple[int, bool, float]] = {}
    for *values, created_at in prefetched.stored:
        number, is_live, _, _, entry_id, *_ = values
        stored[entry_id] = number, is_live, created_at
        if (entry := indexed(*values)) is not None:
            before[entry.row] = entry
    if stored:
        history.keep_replaced(write, entries, keeping, prefetched.replaced)
    merged = _merge(rows, stored)
    new = [row for row in merged.values() if row.id not in stored]
    numbers = {row.id: stored[row.id][0] for row in merged.values() if row.id in stored}
    if new:
        numbers |= {
            row.id: write.vault.row_of(number, write.vault.bucket_of(row.id))
            for row, number in zip(new, prefetched.numbers)
        }
        _insert(write, [(numbers[row.id], row) for row in new])
    _update(write, [(numbers[row.id], row) for row in merged.values() if row.id in stored])
    after = {}
    for row in merged.values():
        texts = (row.id, row.title, row.description, row.context, row.tags, row.grams)
        if (entry := indexed(numbers[row.id], True, row.kind, row.parent, *texts)) is not None:
            after[entry.row] = entry
    indexing.change(write, before, after, prefetched.spaces)
    write.held.rows.update(numbers.values())


def find(read: _Read, ids: Sequence[str]) -> dict[str, Candidate]:
    ids = [utf8(i, "id") for i in ids]
    hold(read, ids)
    return {c.id: c for c in map(Candidate._make, read.sql.execute(_FIND, named(read.vault, dict.fromkeys(ids))))}


def ids_beginning(read: _Read, text: str, limit: int) -> list[str]:
    if "\0" in text:
        return []
    # U+10FFFF is the last code point.
    rows = read.sql.execute(_BEGINNING, (read.vault.number, text, f"{text}\U0010ffff", limit))
    return [entry_id for (entry_id,) in rows]


def rows_of(read: _Read, ids: Sequence[str], kind: str | None = None) -> list[int]:
    hold(read, ids)
    rows = sorted({row for (row,) in read.sql.execute(_ROWS_OF, (*named(read.vault, dict.fromkeys(ids)), kind, kind))})
    if isinstance(read, PostgresWriting):
        read.held.rows.update(rows)
    return rows


def live(read: _Read) -> Iterator[Candidate]:
    with read.sql.cursor(name="septet_live") as cursor:
        cursor.itersize = PAGE_ROWS
        cursor.execute(_LIVE, (read.vault.number,))
        yield from map(Candidate._make, cursor)


def ids_at(read: _Read, rows: Sequence[int]) -> list[str]:
    return _at(read, "e.id", rows)


def tags_at(read: _Read, rows: Sequence[int]) -> list[list[str]]:
    return [tags_of(tags) for tags in _at(read, "e.tags", rows)]


def purge(write: PostgresWriting) -> int:
    write.tables.texts.drop_orphans(write)
    dead = [entry_id for (entry_id,) in write.sql.execute(_DEAD, (write.vault.number,))]
    if not dead:
        return 0
    # Another writer may revive an entry until it is locked; the statement checks again.
    hold(write, dead)
    return write.sql.execute(_PURGE, (write.vault.number, dead)).rowcount


def count(read: _Read) -> int:
    return scalar(read, "SELECT count(*) FROM septet.entries WHERE vault = %s AND live", (read.vault.number,))


def count_searchable(read: _Read, *, memories: bool = False) -> int:
    sql = f"SELECT count(*) FROM septet.entries e WHERE e.vault = %s AND {searched(memories)}"
    return scalar(read, sql, (read.vault.number,))


def any_searchable(read: _Read, *, memories: bool) -> bool:
    first = f"SELECT 1 FROM septet.entries e WHERE e.vault = %s AND {searched(memories)} LIMIT 1"
    return scalar(read, f"SELECT count(*) FROM ({first}) AS found", (read.vault.number,)) > 0


def kinds(read: _Read) -> dict[str, int]:
    sql = 'SELECT kind, count(*) FROM septet.entries WHERE vault = %s AND live GROUP BY kind ORDER BY kind COLLATE "C"'
    return dict(read.sql.execute(sql, (read.vault.number,)).fetchall())


def _merge(rows: Iterable[EntryRow], stored: dict[str, tuple[int, bool, float]]) -> dict[str, EntryRow]:
    """Return the entries to be written by id, in the order of first occurrence; the last row of an id wins.

    A revived entry gets a new ``created_at``.
    """
    merged: dict[str, EntryRow] = {}
    created = {entry_id: created_at for entry_id, (_, is_live, created_at) in stored.items() if is_live}
    for row in rows:
        before = created.get(row.id)
        if before is not None and not row.created_given:
            row = row._replace(created_at=min(before, row.updated_at))
        created[row.id] = row.created_at
        merged[row.id] = row
    return merged


def _insert(write: PostgresWriting, rows: Sequence[tuple[int, EntryRow]]) -> None:
    vault, generation = write.vault, write.generation
    new = [(vault.number, vault.bucket_of_row(number), number, *row[:-1], True, generation) for number, row in rows]
    if len(new) <= FEW:
        for values in new:
            write.later(_INSERT, values)
        return
    with write.sql.cursor().copy(_COPY) as copy:
        copy.set_types(_COPIED)
        for values in new:
            copy.write_row(values)


def _update(write: PostgresWriting, rows: Iterable[tuple[int, EntryRow]]) -> None:
    vault, generation = write.vault, write.generation
    updates = [(*row[:-1], generation, vault.number, vault.bucket_of_row(number), number) for number, row in rows]
    if len(updates) > FEW:
        write.sql.cursor().executemany(_UPDATE, updates)
    else:
        for update in updates:
            write.later(_UPDATE, update)


def _at(read: _Read, source: str, rows: Sequence[int]) -> list[str]:
    """Return the values of an expression over ``entries e`` at these rows, in their order."""
    if not rows:
        return []
    sql = f"SELECT {source} FROM {BY_PLACE} ORDER BY w.place"
    values = read.sql.execute(sql, numbered(read.vault, rows)).fetchall()
    # Callers match values to rows by position, so none may be missing.
    if len(values) != len(rows):
        raise MissingRows(f"{len(rows) - len(values)} of {len(rows)} entries no longer exist: search again")
    return [value for (value,) in values]


_STORED_ROWS = f"SELECT {', '.join(f'e.{name}' for name in SELECTED)} FROM {BY_ID} WHERE e.live"


def rows_stored(read: _Read, rows: Sequence[EntryRow], timed: Sequence[bool]) -> list[bool]:
    buckets, ids, vault = named(read.vault, dict.fromkeys(row.id for row in rows))
    hold(read, ids)
    return same(read.sql.execute(_STORED_ROWS, (buckets, ids, vault)), rows, timed)
