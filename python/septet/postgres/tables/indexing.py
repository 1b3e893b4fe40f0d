"""Keeping postings, counts and copies of vectors as `entries` has them, in the transaction that writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from septet._core import text_hash
from septet.postgres.store.analysis import GRAMS, MEMORIES, TEXTS, Prepared, Texts, analysed, differences
from septet.postgres.store.locks import hold
from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.store.vaults import VaultRow
from septet.postgres.tables import blocks, counts, covered, postings
from septet.sqlite.tables.entries import EntryRow

__all__ = ["Indexed", "change", "indexed", "indexed_at", "merge", "prepared", "rows_of", "take"]

_ROWS_OF = (
    "SELECT e.row FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) JOIN septet.entries e "
    "ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id"
)
_AT = (
    "SELECT e.row, e.live, e.kind, e.parent, e.id, e.title, e.description, e.context, e.tags, e.grams "
    "FROM unnest(%s::bigint[]) AS w (row) "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = %s + (w.row & 1023)::integer AND e.row = w.row"
)


class Indexed(NamedTuple):
    """An entry that searches find, as the full-text tables know it."""

    row: int
    memory: bool
    texts: Texts


def indexed(row: int, live: bool, kind: str, parent: str | None, *texts: str) -> Indexed | None:
    """Return an entry as it is indexed; None for one that no search finds: deleted, or split into parts."""
    return Indexed(row, kind == "memory", Texts(*texts)) if live and parent != texts[0] else None


def prepared(vault: VaultRow, rows: Sequence[EntryRow]) -> Prepared:
    """Analyse entries that are all new to the vault; of those of one id the last is written."""
    coming = {row.id: row for row in rows}.values()
    texts = [
        Texts(row.id, row.title, row.description, row.context, row.tags, row.grams)
        for row in coming
        if row.parent != row.id
    ]
    parts = analysed(texts)
    buckets = np.fromiter((vault.bucket_of(one.id) for one in texts), dtype=np.int64, count=len(texts))
    return Prepared(texts, parts, postings.ordered(parts[TEXTS], buckets), postings.ordered(parts[GRAMS], buckets))


def take(write: PostgresWriting, prepared: object) -> None:
    """Let the next write of entries use what `prepared` found for them, if they are what it was told."""
    write.held.prepared = prepared if isinstance(prepared, Prepared) else None


def rows_of(write: PostgresWriting, ids: Iterable[str]) -> list[int]:
    """Return the rows of those ids that have one, live or not, in ascending order."""
    wanted = list(dict.fromkeys(ids))
    hold(write, wanted)
    found = write.sql.execute(_ROWS_OF, ([write.vault.bucket_of(one) for one in wanted], wanted, write.vault.number))
    rows = sorted(row for (row,) in found)
    write.held.rows.update(rows)
    return rows


def indexed_at(read: PostgresReading | PostgresWriting, rows: Sequence[int]) -> dict[int, Indexed]:
    """Return of the entries at the given rows those that searches find, by row."""
    found = read.sql.execute(_AT, (list(rows), read.vault.number, read.vault.first_bucket))
    return {one.row: one for values in found if (one := indexed(*values)) is not None}


def change(
    write: PostgresWriting,
    before: Mapping[int, Indexed],
    after: Mapping[int, Indexed],
    spaces: Mapping[int, str] | None = None,
) -> None:
    """Have postings, counts and copies of vectors follow a write of entries.

    Args:
        before: by row what searches found of the entries.
        after: by row what they find now.
        spaces: by number what each is keyed by, where that is known.
    """
    gone = [one for row, one in before.items() if after.get(row) != one]
    come = [one for row, one in after.items() if before.get(row) != one]
    if not (gone or come):
        return
    every = [*gone, *come]
    texts = [one.texts for one in every]
    ahead, write.held.prepared = write.held.prepared, None
    if ahead is not None and (gone or ahead.texts != texts):
        ahead = None
    parts = analysed(texts) if ahead is None else ahead.parts
    memories = np.fromiter((one.memory for one in every), dtype=bool, count=len(every))
    signs = np.repeat(np.array([-1, 1]), [len(gone), len(come)])
    moved = {
        number + more: differences(part, signs * which)
        for number, part in parts.items()
        for more, which in ((0, ~memories), (MEMORIES, memories))
        if which.any()
    }
    if gone:
        postings.remove(write, [one.row for one in gone])
    if come:
        rows = np.fromiter((one.row for one in come), dtype=np.int64, count=len(come))
        orders = None if ahead is None else (ahead.texts_order, ahead.grams_order)
        postings.put(write, parts[TEXTS], parts[GRAMS], rows, memories[len(gone) :], orders)
    counted: dict[int, Mapping[str, int]] = {number: terms for number, (terms, _) in moved.items()}
    counted.update(covered.differences(write, [*map(_described, gone)], [*map(_described, come)], spaces))
    counts.add(
        write,
        write.vault.bucket_of_row(every[0].row),
        counted,
        {number: total for number, (_, total) in moved.items()},
        blocks.changed(parts, np.fromiter((one.row for one in every), np.int64, len(every)), memories, len(gone)),
    )


def merge(write: PostgresWriting) -> None:
    """Do nothing: words of texts that are gone leave with their postings."""


def _described(one: Indexed) -> covered.Entry:
    texts = one.texts
    return covered.Entry(one.row, one.memory, texts.id, text_hash(texts.title, texts.description, texts.context))
