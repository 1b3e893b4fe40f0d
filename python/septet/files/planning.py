"""The chunks that a file should have beside those it has: what stays, what moves, what is written, what goes."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple

from septet.model.drafts import attrs_text
from septet.model.entry import Span
from septet.sqlite.tables import entries, files
from septet.sqlite.tables.entries import EntryRow
from septet.sqlite.tables.files import COMPARED, ChunkRow, FileRow
from septet.sqlite.tables.mentions import Mentioned

__all__ = ["Draft", "Plan", "chunk_id", "file_id", "plan_of", "plan_rows", "rows_of_drafts"]

_PLACE = {name: place for place, name in enumerate(COMPARED)}
#: What is neither the caller's nor the text's: where it stands, and when it came.
_WHERE = ("path", "first_line", "last_line", "created_at", "updated_at")
_SAID = itemgetter(*(place for name, place in _PLACE.items() if name not in (*_WHERE, "id", "grams")))
_LINES = itemgetter(_PLACE["first_line"], _PLACE["last_line"])
_PATH, _TEXT = _PLACE["path"], _PLACE["description"]
#: Of a row whose id is still to be made.
_NO_ID = "-"
_CREATED, _UPDATED = _PLACE["created_at"], _PLACE["updated_at"]


class Draft(NamedTuple):
    """A chunk as a file says it: the fields of an entry, apart from id, kind, parent, source and span, and its lines.

    Attributes:
        mentions: target, anchor and type of what it names.
    """

    fields: Mapping[str, Any]
    mentions: Sequence[Mentioned]


class Plan(NamedTuple):
    """How the chunks of one file become what they should be.

    Attributes:
        before: the file as the vault has it; None for a new one.
        after: as it should have it; of a new one the number is 0.
        ids: of all its chunks, in their order.
        added: chunks to be stored; their ids are taken if no other entry has them.
        changed: chunks to be stored in place of what they were.
        moved: path, first line, last line and row of those that only stand somewhere else.
        removed: rows to erase.
        kept: how many stay as they are.
        fresh: whether the order of chunks is another one than before.
        mentions: None if they stay.
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
    """Return an id for a file that comes to a path of a root; the number tells it from those that were there before."""
    return "file-" + _digest(root, path, str(number))[:16]


def chunk_id(root: str, path: str, text: str, occurrence: int, salt: str = "") -> str:
    """Return an id for a text that comes into a file.

    Args:
        path: of the file, below the root, when the text came.
        occurrence: how many equal chunks stand before it in the file.
        salt: the id of the file, where the id without it is another entry's.
    """
    return _digest(root, path, text, str(occurrence), salt)[:24]


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()


def plan_of(
    before: FileRow | None,
    after: FileRow,
    stored: Sequence[ChunkRow],
    drafts: Sequence[Draft],
    given: Mapping[str, Any],
    *,
    mtime: float,
    leading: Sequence[ChunkRow] = (),
) -> Plan:
    """Return how the chunks of a file become its drafts; those of equal texts are the same chunk, in their order.

    Args:
        given: fields that all chunks of the root have: ``source``, and ``trust`` if it is given.
        mtime: the time that drafts have whose file says none; of a text that stays, the time it has already stays.
        leading: chunks before those, which stay as they are.

    Raises:
        EntryError: a field cannot be stored.
    """
    rows = rows_of_drafts(drafts, given, after, mtime)
    return plan_rows(before, after, stored, rows, [draft.mentions for draft in drafts], mtime=mtime, leading=leading)


def plan_rows(
    before: FileRow | None,
    after: FileRow,
    stored: Sequence[ChunkRow],
    rows: Sequence[EntryRow],
    named: Sequence[Sequence[Mentioned]],
    *,
    mtime: float,
    leading: Sequence[ChunkRow] = (),
) -> Plan:
    """Return how the chunks of a file become rows, which get their ids here; as `plan_of`, which makes the rows too.

    Args:
        named: what each of them mentions.
    """
    old: defaultdict[str, deque[ChunkRow]] = defaultdict(deque)
    for one in stored:
        old[str(one.columns[_TEXT])].append(one)
    matched = [own.popleft() if (own := old.get(row.description)) else None for row in rows]
    source = str(rows[0].source) if rows else ""
    ids = list(_ids([row.description for row in rows], matched, leading, source, after.path))
    gone = sorted(one.row for left in old.values() for one in left)
    every = [*(str(one.columns[0]) for one in leading), *ids]
    plan = Plan(before, after, every, [], [], [], gone, 0, False, None)
    kept = 0
    for one in leading:
        if one.columns[_PATH] == after.path:
            kept += 1
        else:
            plan.moved.append((after.path, *_LINES(one.columns), one.row))
    for made, made_id, chunk in zip(rows, ids, matched):
        row = made._replace(id=made_id)
        if chunk is None:
            plan.added.append(row)
            continue
        if row.updated_at == mtime:
            row = row._replace(created_at=chunk.columns[_CREATED], updated_at=chunk.columns[_UPDATED])
        if row.updated_at != chunk.columns[_UPDATED] or _SAID(row) != _SAID(chunk.columns):
            plan.changed.append(row._replace(created_given=True))
        elif (row.path, *_LINES(row)) != (chunk.columns[_PATH], *_LINES(chunk.columns)):
            plan.moved.append((after.path, *_LINES(row), chunk.row))
        else:
            kept += 1
    mentions = [one._replace(chunk=own) for own, its in zip(ids, named) for one in its]
    was = [one.columns[0] for one in (*leading, *stored)]
    # One that goes and comes again under its id loses its links on the way.
    fresh = every != was or bool(gone) or (before is not None and before.size == files.UNREAD)
    return plan._replace(kept=kept, fresh=fresh, mentions=None if leading and not mentions else mentions)


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
        while (made := chunk_id(root, path, text, number)) in used:
            number += 1
        used.add(made)
        yield made


def rows_of_drafts(drafts: Sequence[Draft], given: Mapping[str, Any], file: FileRow, mtime: float) -> list[EntryRow]:
    """Return drafts as rows, whose ids are still to be made.

    Raises:
        EntryError: a field cannot be stored.
    """
    items = []
    for draft in drafts:
        fields = {"created_at": mtime, "updated_at": mtime, **draft.fields, **given}
        span = file.path, fields.pop("first_line"), fields.pop("last_line")
        fields |= {"id": _NO_ID, "kind": files.CHUNK, "parent": file.id, "span": span}
        items.append(fields)
    rows = entries.plain_rows(items, now=mtime, attrs_json=_AttrsJson(), span_columns=_as_it_is)
    if rows is None:
        return [entries.checked_row({**fields, "span": Span(*fields["span"])}, now=mtime) for fields in items]
    return rows


class _AttrsJson:
    """Attrs as JSON; those of chunks under one heading are the same, and checked and written once."""

    def __init__(self) -> None:
        self._last: tuple[object, str] = ({}, "{}")

    def __call__(self, attrs: object) -> str:
        if attrs != self._last[0]:
            self._last = attrs, attrs_text(attrs)
        return self._last[1]


def _as_it_is(span: tuple[str, int, int]) -> tuple[str, int, int]:
    return span
