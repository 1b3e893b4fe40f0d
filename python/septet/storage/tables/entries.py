"""Rows of `entries`: reading, upserting, deleting."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

from septet._core import grams, plain_row
from septet.entry import Draft, Entry, checked_attrs, checked_span, draft, tags_of, utf8
from septet.ranking.pool import Candidate, json_text, searched_text
from septet.storage.store import Reading, Writing
from septet.storage.tables import indexing, texts
from septet.storage.tables.fragments import SEARCHABLE

__all__ = [
    "Row",
    "any_searchable",
    "checked_row",
    "count",
    "count_searchable",
    "delete",
    "facts",
    "facts_at",
    "facts_changed",
    "find",
    "id_of",
    "ids_at",
    "kinds",
    "live",
    "purge",
    "purged_at",
    "read_rows",
    "row_of",
    "size_of",
    "tags_at",
    "text_hash_of",
    "texts_at",
    "upsert",
]

#: An entry on its way in: the columns of `entries` up to ``text_hash``, and whether its creation time was given.
Row = tuple[Any, ...]

PAGE_ROWS = 5_000

#: The columns of a `Candidate`, in its order.
_CANDIDATE = (
    "e.row, e.id, e.kind, e.type, e.domain, e.severity, e.title, e.description, e.context, e.tags, e.attrs, "
    "e.path, e.first_line, e.last_line, e.created_at, e.updated_at, e.valid_from, e.valid_until"
)

# On conflict the row is updated, never replaced: a replaced row would get another number.
# A revived entry (live = 0) starts a new life, so it takes the new creation time.
_UPSERT = """
INSERT INTO entries (id, kind, type, domain, severity, title, description, context, tags, grams, attrs, path,
    first_line, last_line, created_at, updated_at, valid_from, valid_until, text_hash, live, generation)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?19, 1, ?21)
ON CONFLICT (id) DO UPDATE SET
    kind = excluded.kind, type = excluded.type, domain = excluded.domain, severity = excluded.severity,
    title = excluded.title, description = excluded.description, context = excluded.context, tags = excluded.tags,
    grams = excluded.grams, attrs = excluded.attrs, path = excluded.path, first_line = excluded.first_line,
    last_line = excluded.last_line,
    created_at = CASE WHEN ?20 OR NOT entries.live THEN excluded.created_at
                      ELSE min(entries.created_at, excluded.updated_at) END,
    updated_at = excluded.updated_at, valid_from = excluded.valid_from, valid_until = excluded.valid_until,
    text_hash = excluded.text_hash, live = 1, generation = excluded.generation
"""


def checked_row(fields: Mapping[str, Any], *, now: float) -> Row:
    """Return the row of an entry whose fields pass `draft`; plain ones need no more than a look.

    Raises:
        EntryError: as `draft`.
    """
    row = plain_row(fields, now, _attrs_json, _span_columns)
    return row_of(draft(fields, now=now)) if row is None else row


def row_of(draft: Draft) -> Row:
    """Return the row of a checked entry."""
    e = draft.entry
    return (
        e.id, e.kind, e.type, e.domain, e.severity, e.title, e.description, e.context,
        json_text(e.tags), _grams(e), json_text(dict(e.attrs)), *_span_columns(e.span),
        e.created_at, e.updated_at, e.valid_from, e.valid_until, draft.text_hash, draft.created_given,
    )  # fmt: skip


def id_of(row: Row) -> str:
    """Return the id of a row."""
    return str(row[0])


def text_hash_of(row: Row) -> str:
    """Return the digest of a row's text."""
    return str(row[18])


def size_of(row: Row) -> int:
    """Return about how many bytes a row's texts and attrs are: their characters."""
    return len(row[5]) + len(row[6]) + len(row[7]) + len(row[10])


def upsert(write: Writing, rows: Sequence[Row]) -> None:
    """Insert entries, or overwrite those whose id exists; ``created_at`` of an existing one stays unless given."""
    known = indexing.rows_of(write, [id_of(row) for row in rows])
    newest = indexing.newest_row(write)
    indexing.unindex(write, known)
    write.sql.executemany(_UPSERT, ((*row, write.generation) for row in rows))
    indexing.index(write, known, after=newest, expected=len(rows))


def find(read: Reading | Writing, ids: Sequence[str]) -> dict[str, Candidate]:
    """Return the live entries with the given ids, by id.

    Raises:
        EntryError: an id that is no text.
    """
    wanted = [utf8(i, "id") for i in ids]
    sql = f"SELECT {_CANDIDATE} FROM json_each(?) j JOIN entries e ON e.id = j.value WHERE e.live"
    rows = read.sql.execute(sql, (json.dumps(wanted),))
    return {c.id: c for c in map(Candidate._make, rows)}


def live(read: Reading) -> Iterator[Candidate]:
    """Yield every live entry in the order of rows."""
    return map(Candidate._make, read.sql.execute(f"SELECT {_CANDIDATE} FROM entries e WHERE e.live ORDER BY e.row"))


def read_rows(read: Reading, rows: Sequence[int]) -> list[Candidate]:
    """Return the entries at the given rows, in that order; rows that are gone are left out."""
    sql = f"SELECT {_CANDIDATE} FROM json_each(?) j JOIN entries e ON e.row = j.value WHERE e.live"
    # No function of Python is called for each row: a search reads ten.
    made = map(tuple.__new__, repeat(Candidate), read.sql.execute(sql, (_json_list(rows),)))
    found = {candidate.row: candidate for candidate in made}
    return [found[r] for r in rows if r in found]


def _json_list(rows: Iterable[int]) -> str:
    return f"[{','.join(map(str, rows))}]"


def facts(read: Reading, sources: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield pages of facts, expressions over ``entries e``, about every live entry in the order of rows."""
    cursor = read.sql.execute(f"SELECT {', '.join(sources)} FROM entries e WHERE e.live ORDER BY e.row")
    while page := cursor.fetchmany(PAGE_ROWS):
        yield page


def facts_changed(read: Reading, sources: Sequence[str], since: int) -> list[tuple[Any, ...]]:
    """Return the facts about entries written after a generation, deleted ones included, in the order of rows.

    The first of the facts must be the row.
    """
    # Asked for an order, SQLite would walk the whole table to get it; there are few such rows.
    sql = f"SELECT {', '.join(sources)} FROM entries e INDEXED BY entries_by_generation WHERE e.generation > ?"
    return sorted(read.sql.execute(sql, (since,)), key=itemgetter(0))


def facts_at(read: Reading, sources: Sequence[str], rows: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the facts about the entries at the given rows, all of which must exist, in their order."""
    sql = f"SELECT {', '.join(sources)} FROM json_each(?) j JOIN entries e ON e.row = j.value ORDER BY j.key"
    return read.sql.execute(sql, (json.dumps(list(rows)),)).fetchall()


def texts_at(read: Reading, rows: Sequence[int]) -> list[str]:
    """Return what the text legs see of the entries at the given rows, beside their ids (see `Candidate.text`)."""
    sql = (
        "SELECT e.title, e.description, e.context, e.tags "
        "FROM json_each(?) j JOIN entries e ON e.row = j.value ORDER BY j.key"
    )
    return [searched_text(*texts) for texts in read.sql.execute(sql, (json.dumps(list(rows)),))]


def ids_at(read: Reading, rows: Sequence[int]) -> list[str]:
    """Return the ids of the entries at the given rows."""
    sql = "SELECT e.id FROM json_each(?) j JOIN entries e ON e.row = j.value ORDER BY j.key"
    return [r[0] for r in read.sql.execute(sql, (json.dumps(list(rows)),))]


def tags_at(read: Reading, rows: Sequence[int]) -> list[list[str]]:
    """Return the tags of the entries at the given rows."""
    sql = "SELECT e.tags FROM json_each(?) j JOIN entries e ON e.row = j.value ORDER BY j.key"
    return [tags_of(r[0]) for r in read.sql.execute(sql, (json.dumps(list(rows)),))]


def delete(write: Writing, ids: Sequence[str]) -> list[str]:
    """Empty the entries, remove their links and vectors, and return the ids that were live."""
    alive = list(find(write, ids))
    indexing.unindex(write, indexing.rows_of(write, alive))
    for entry_id in alive:
        write.sql.execute(
            "DELETE FROM vectors WHERE key IN (SELECT text_hash || ':' || id FROM entries WHERE id = ?) "
            "AND space IN (SELECT space FROM spaces WHERE keyed_by = 'entry')",
            (entry_id,),
        )
        write.sql.execute("DELETE FROM links WHERE source = ? OR target = ?", (entry_id, entry_id))
        write.sql.execute(
            "UPDATE entries SET live = 0, title = '', description = '', context = '', tags = '[]', grams = '', "
            "attrs = '{}', path = NULL, first_line = NULL, last_line = NULL, text_hash = '', generation = ? "
            "WHERE id = ?",
            (write.generation, entry_id),
        )
    return alive


def purge(write: Writing) -> int:
    """Remove deleted rows for good, and vectors of texts that no entry has any more; return how many rows."""
    texts.drop_orphans(write)
    newest = write.sql.execute("SELECT max(generation) FROM entries WHERE NOT live").fetchone()[0]
    if newest is None:
        return 0
    # A row that is gone cannot tell what became of it: whoever has not seen it deleted must begin anew.
    sql = "INSERT INTO meta VALUES ('purged', ?) ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)"
    write.sql.execute(sql, (newest,))
    return write.sql.execute("DELETE FROM entries WHERE NOT live").rowcount


def purged_at(read: Reading) -> int:
    """Return the generation at which the last one of the rows that were purged was deleted, 0 when none was."""
    found = read.sql.execute("SELECT value FROM meta WHERE key = 'purged'").fetchone()
    return 0 if found is None else int(found[0])


def count(read: Reading) -> int:
    """Return the number of live entries, memories included."""
    return int(read.sql.execute("SELECT count(*) FROM entries WHERE live").fetchone()[0])


def count_searchable(read: Reading) -> int:
    """Return the number of live entries, memories apart."""
    return int(read.sql.execute(f"SELECT count(*) FROM entries e WHERE e.live AND {SEARCHABLE}").fetchone()[0])


def any_searchable(read: Reading) -> bool:
    """Say whether there is a live entry that is no memory."""
    return read.sql.execute(f"SELECT 1 FROM entries e WHERE e.live AND {SEARCHABLE} LIMIT 1").fetchone() is not None


def kinds(read: Reading) -> dict[str, int]:
    """Return the number of live entries by kind."""
    return dict(read.sql.execute("SELECT kind, count(*) FROM entries WHERE live GROUP BY kind ORDER BY kind"))


def _attrs_json(value: object) -> str:
    return json_text(checked_attrs(value))


def _span_columns(value: object) -> tuple[str | None, int | None, int | None]:
    span = checked_span(value)
    return (None, None, None) if span is None else (span.path, span.first_line, span.last_line)


def _grams(entry: Entry) -> str:
    # One call with a separator that no word crosses costs a third of four calls.
    return " ".join(grams("\n".join((entry.title, entry.description, entry.context, *entry.tags))))
