"""Updates of postings, counts and copies of vectors, in the transaction that writes entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from septet._core import text_hash
from septet.postgres.store.analysis import GRAMS, MEMORIES, TEXTS, EntryTexts, Prepared, analysed, differences
from septet.postgres.store.transactions import PostgresReading, PostgresWriting, hold
from septet.postgres.store.vaults import VaultRow
from septet.postgres.tables import blocks, counts, covered, postings
from septet.postgres.tables.fragments import BY_ID, BY_ROW, numbered
from septet.store.rows import EntryRow

_ROWS_OF = f"SELECT e.row FROM {BY_ID}"
#: Columns for `indexed`.
INDEXED = "e.row, e.live, e.kind, e.parent, e.id, e.title, e.description, e.context, e.tags, e.grams"
_AT = f"SELECT {INDEXED} FROM {BY_ROW}"


class IndexedEntry(NamedTuple):
    """A findable entry with its texts for the index."""

    row: int
    memory: bool
    texts: EntryTexts


def indexed(row: int, live: bool, kind: str, parent: str | None, *texts: str) -> IndexedEntry | None:
    """Return an entry as indexed; None if it is deleted, or split into parts."""
    return IndexedEntry(row, kind == "memory", EntryTexts(*texts)) if live and parent != texts[0] else None


def prepared(vault: VaultRow, rows: Sequence[EntryRow]) -> Prepared:
    """Analyse entries that are new to the vault; the last row of an id wins."""
    coming = {row.id: row for row in rows}.values()
    texts = [
        EntryTexts(row.id, row.title, row.description, row.context, row.tags, row.grams)
        for row in coming
        if row.parent != row.id
    ]
    parts = analysed(texts)
    buckets = np.fromiter((vault.bucket_of(entry.id) for entry in texts), dtype=np.int64, count=len(texts))
    return Prepared(texts, parts, postings.ordered(parts[TEXTS], buckets), postings.ordered(parts[GRAMS], buckets))


def take(write: PostgresWriting, prepared: object) -> None:
    write.held.prepared = prepared if isinstance(prepared, Prepared) else None


def rows_of(write: PostgresWriting, ids: Iterable[str]) -> list[int]:
    names = list(dict.fromkeys(ids))
    hold(write, names)
    parameters = ([*map(write.vault.bucket_of, names)], names, write.vault.number)
    rows = sorted(row for (row,) in write.sql.execute(_ROWS_OF, parameters))
    write.held.rows.update(rows)
    return rows


def indexed_at(read: PostgresReading | PostgresWriting, rows: Sequence[int]) -> dict[int, IndexedEntry]:
    """Return the findable entries at these rows, by row."""
    entries = read.sql.execute(_AT, numbered(read.vault, rows))
    return {entry.row: entry for values in entries if (entry := indexed(*values)) is not None}


def change(
    write: PostgresWriting,
    before: Mapping[int, IndexedEntry],
    after: Mapping[int, IndexedEntry],
    spaces: Mapping[int, str] | None = None,
) -> None:
    """Update postings, counts and copies of vectors after a write of entries.

    Args:
        before, after: the findable entries before and after the write, by row.
        spaces: the key of each space, by number, if known.
    """
    removed = [entry for row, entry in before.items() if after.get(row) != entry]
    added = [entry for row, entry in after.items() if before.get(row) != entry]
    if not (removed or added):
        return
    changed = [*removed, *added]
    texts = [entry.texts for entry in changed]
    analysis, write.held.prepared = write.held.prepared, None
    if analysis is not None and (removed or analysis.texts != texts):
        analysis = None
    parts = analysed(texts) if analysis is None else analysis.parts
    memories = np.fromiter((entry.memory for entry in changed), dtype=bool, count=len(changed))
    signs = np.repeat(np.array([-1, 1]), [len(removed), len(added)])
    moved = {
        number + offset: differences(part, signs * mask)
        for number, part in parts.items()
        for offset, mask in ((0, ~memories), (MEMORIES, memories))
        if mask.any()
    }
    if removed:
        postings.remove(write, [entry.row for entry in removed])
    if added:
        rows = np.fromiter((entry.row for entry in added), dtype=np.int64, count=len(added))
        orders = None if analysis is None else (analysis.texts_order, analysis.grams_order)
        postings.put(write, parts[TEXTS], parts[GRAMS], rows, memories[len(removed) :], orders)
    counted: dict[int, Mapping[str, int]] = {number: terms for number, (terms, _) in moved.items()}
    counted.update(covered.differences(write, [*map(_covered, removed)], [*map(_covered, added)], spaces))
    totals = {number: total for number, (_, total) in moved.items()}
    rows = np.fromiter((entry.row for entry in changed), dtype=np.int64, count=len(changed))
    postings_changed = blocks.changed(parts, rows, memories, len(removed))
    counts.add(write, write.vault.bucket_of_row(changed[0].row), counted, totals, postings_changed)


def merge(write: PostgresWriting) -> None:
    """Do nothing: postings are removed with their entries."""


def _covered(entry: IndexedEntry) -> covered.CoveredEntry:
    texts = entry.texts
    return covered.CoveredEntry(
        entry.row, entry.memory, texts.id, text_hash(texts.title, texts.description, texts.context)
    )
