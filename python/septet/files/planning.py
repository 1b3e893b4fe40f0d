"""Plan the changes to the chunks of a file: added, changed, moved, removed and unchanged ones."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple

from septet.model.fields import Span
from septet.sqlite.tables import entries, files
from septet.sqlite.tables.files import COMPARED, ChunkRow, FileRow
from septet.sqlite.tables.mentions import Mentioned
from septet.store.rows import EntryRow

_PLACE = {name: place for place, name in enumerate(COMPARED)}
#: Columns of position and time, which do not count as content.
_WHERE = ("path", "first_line", "last_line", "created_at", "updated_at")
_CONTENT = itemgetter(*(place for name, place in _PLACE.items() if name not in (*_WHERE, "id", "grams")))
_LINES = itemgetter(_PLACE["first_line"], _PLACE["last_line"])
_PATH, _TEXT = _PLACE["path"], _PLACE["description"]
#: Placeholder of a row without an id.
_NO_ID = "-"
_CREATED, _UPDATED = _PLACE["created_at"], _PLACE["updated_at"]


class FilePlan(NamedTuple):
    """The changes to the chunks of one file.

    Attributes:
        before: the file in the vault; None for a new one.
        after: the file after the change; a new one has number 0.
        ids: ids of all its chunks, in order.
        added: chunks to insert; their ids may still collide with other entries.
        changed: chunks to overwrite.
        moved: path, first line, last line and row of chunks with another position only.
        removed: rows to erase.
        kept: number of unchanged chunks.
        fresh: True if the order of chunks changed.
        mentions: new mentions; None to keep the stored ones.
    """

    before: FileRow | None
    after: FileRow
    ids: list[str]
    added: list[EntryRow]
    changed: list[EntryRow]
    moved: list[tuple[str, int, int, int]]
    removed: list[int]
    kept: int
    fresh: bool
    mentions: list[Mentioned] | None


def file_id(root: str, path: str, number: int) -> str:
    """Return an id for a new file at a path of a root; the number distinguishes it from earlier files at that path."""
    return "file-" + _digest(root, path, str(number))[:16]


def chunk_id(root: str, path: str, text: str, occurrence: int, salt: str = "") -> str:
    """Return an id for a new chunk of a file.

    Args:
        path: path of the file, relative to the root.
        occurrence: number of equal chunks before it in the file.
        salt: id of the file, if the id without it belongs to another entry.
    """
    return _digest(root, path, text, str(occurrence), salt)[:24]


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()


def plan_rows(
    before: FileRow | None,
    after: FileRow,
    stored: Sequence[ChunkRow],
    rows: Sequence[EntryRow],
    named: Sequence[Sequence[Mentioned]],
    *,
    mtime: float,
    leading: Sequence[ChunkRow] = (),
) -> FilePlan:
    """Return the plan from the stored chunks of a file to rows, which get their ids here.

    Chunks with equal texts are matched in order.

    Args:
        named: mentions of each row.
        mtime: default time of rows; a chunk with the same text keeps its time.
        leading: chunks before the stored ones, which stay.
    """
    old: defaultdict[str, deque[ChunkRow]] = defaultdict(deque)
    for chunk in stored:
        old[str(chunk.columns[_TEXT])].append(chunk)
    matched = [equal.popleft() if (equal := old.get(row.description)) else None for row in rows]
    source = str(rows[0].source) if rows else ""
    ids = list(_ids([row.description for row in rows], matched, leading, source, after.path))
    removed = sorted(chunk.row for rest in old.values() for chunk in rest)
    every = [*(str(chunk.columns[0]) for chunk in leading), *ids]
    plan = FilePlan(before, after, every, [], [], [], removed, 0, False, None)
    unchanged = 0
    for chunk in leading:
        if chunk.columns[_PATH] == after.path:
            unchanged += 1
        else:
            plan.moved.append((after.path, *_LINES(chunk.columns), chunk.row))
    for unnamed, row_id, match in zip(rows, ids, matched):
        row = unnamed._replace(id=row_id)
        if match is None:
            plan.added.append(row)
            continue
        if row.updated_at == mtime:
            row = row._replace(created_at=match.columns[_CREATED], updated_at=match.columns[_UPDATED])
        if row.updated_at != match.columns[_UPDATED] or _CONTENT(row) != _CONTENT(match.columns):
            plan.changed.append(row._replace(created_given=True))
        elif (row.path, *_LINES(row)) != (match.columns[_PATH], *_LINES(match.columns)):
            plan.moved.append((after.path, *_LINES(row), match.row))
        else:
            unchanged += 1
    mentions = [mention._replace(chunk=row_id) for row_id, of_row in zip(ids, named) for mention in of_row]
    stored_ids = [chunk.columns[0] for chunk in (*leading, *stored)]
    # A chunk removed and added again under the same id loses its links.
    fresh = every != stored_ids or bool(removed) or (before is not None and before.size == files.UNREAD)
    return plan._replace(kept=unchanged, fresh=fresh, mentions=None if leading and not mentions else mentions)


def _ids(
    texts: Sequence[str], matched: Sequence[ChunkRow | None], leading: Sequence[ChunkRow], root: str, path: str
) -> Iterator[str]:
    used = {str(chunk.columns[0]) for chunk in (*leading, *matched) if chunk is not None}
    seen = Counter(str(chunk.columns[_TEXT]) for chunk in leading)
    for text, chunk in zip(texts, matched):
        number = seen[text]
        seen[text] += 1
        if chunk is not None:
            yield str(chunk.columns[0])
            continue
        while (new_id := chunk_id(root, path, text, number)) in used:
            number += 1
        used.add(new_id)
        yield new_id


def rows_of_chunks(chunks: Iterable[Mapping[str, Any]], shared: Mapping[str, Any], file: FileRow) -> list[EntryRow]:
    """Return the chunks of a file as rows without ids.

    Args:
        chunks: lines and fields of an entry for each chunk, except id, kind, parent, source and span.
        shared: fields of all chunks of the root: ``source``, and ``trust`` if set.
        file: its time is the default time of rows.

    Raises:
        EntryError: a field cannot be stored.
    """
    items, mtime = [], file.mtime_ns / 1e9
    for chunk in chunks:
        fields = {"created_at": mtime, "updated_at": mtime, **chunk, **shared}
        span = file.path, fields.pop("first_line"), fields.pop("last_line")
        fields |= {"id": _NO_ID, "kind": files.CHUNK, "parent": file.id, "span": span}
        items.append(fields)
    rows = entries.plain_rows(items, now=mtime, span_columns=lambda span: span)
    if rows is None:
        return [entries.checked_row({**fields, "span": Span(*fields["span"])}, now=mtime) for fields in items]
    return rows
