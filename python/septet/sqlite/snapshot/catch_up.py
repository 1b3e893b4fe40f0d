"""Derive the next snapshot from the previous one: append the changes of the store to the buffers, and publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from septet import _core
from septet.model.arrays import Slots
from septet.model.vector import Space
from septet.sqlite.snapshot.columns import Buffers, VectorLayer
from septet.sqlite.snapshot.postings import agrees
from septet.sqlite.snapshot.snapshot import Snapshot, Terms, VectorRows
from septet.sqlite.store.store import SqliteReading, writer_at
from septet.sqlite.tables import entries, links
from septet.sqlite.tables.texts import emptied_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAGE_ROWS = 5_000
#: Arrays are rebuilt if more slots than this, and more than half of all, are dead.
SPARE_SLOTS = 1_024


def rebuilt(buffers: Buffers, read: SqliteReading) -> Snapshot:
    """Fill empty buffers with every live entry."""
    for page in entries.facts(read, buffers.sources):
        buffers.append(buffers.facts(page))
    return buffers.publish(read.generation, writer=read.writer)


def precedes(snapshot: Snapshot, read: SqliteReading) -> bool:
    """Return True if the store continues the state of a snapshot; False if it was restored from an earlier copy."""
    return snapshot.generation <= read.generation and writer_at(read, snapshot.generation) == snapshot.writer


def caught_up(old: Snapshot, buffers: Buffers, read: SqliteReading) -> Snapshot | None:
    """Return the snapshot of a later generation; None if a rebuild is cheaper or necessary.

    The new snapshot has no postings if the updated ones differ from FTS5's totals.
    """
    # The same writer continues the state of the old snapshot: no query needed.
    if read.writer != old.writer and not precedes(old, read):
        return None
    if entries.purged_at(read) > old.generation:
        # Purged rows leave no deletion marks.
        return None
    changed = buffers.facts(entries.facts_changed(read, buffers.sources, old.generation))
    total_dead = buffers.dead + len(changed["rows"])
    if total_dead > SPARE_SLOTS and total_dead * 2 > len(old.rows) + len(changed["rows"]):
        return None
    # Kill the slots of changed rows and append new slots for the live ones, in every layer.
    rows, alive = changed["rows"], changed["alive"]
    live = changed if alive.all() else {name: values[alive] for name, values in changed.items()}
    dead, new = old.slots_of(rows), buffers.append(live)
    dead = dead[dead >= 0]
    buffers.kill(dead)
    newly_hidden = np.count_nonzero(old.searchable[dead]) + np.count_nonzero(~live["searchable"])
    snapshot = buffers.publish(read.generation, old.hidden + int(newly_hidden), read.writer)
    slots = np.full(len(rows), -1, dtype=np.int64)
    slots[alive] = new
    # Texts are tokenized when a search needs them: most profiles never do.
    terms = None if old.terms is None else replace(old.terms, at=None)
    postings, indexes = old.postings, buffers.postings
    if postings is not None and indexes is not None:
        indexes.append(read, snapshot.rows[new].tolist())
        postings = postings.moved(indexes, snapshot.searchable, new, dead)
        postings = postings if agrees(read, postings) else None
    return replace(
        snapshot,
        index=old.by_row.moved(rows, slots),
        terms=terms,
        vectors=_extended_vectors(old, buffers, read, snapshot, new, dead),
        postings=postings,
        links=None if old.links is None else moved_links(old.links, read, old.generation),
    )


def _extended_vectors(
    old: Snapshot, buffers: Buffers, read: SqliteReading, snapshot: Snapshot, new: Slots, dead: Slots
) -> Mapping[int, VectorRows]:
    """Append the vectors of new slots, and those written after their entries, to every loaded space."""
    layers = buffers.vectors
    for layer in list(layers.values()):
        if layer.space.keyed_by == "text" and emptied_at(read, layer.space) > old.generation:
            # Its slots contain deleted vectors: drop it; a search reloads it.
            del layers[layer.space.space]
            continue
        layer.append(read, snapshot.rows[new], new)
        layer.append_late(read, snapshot, old.generation)
    # Memories are sampled only if there are no entries.
    tracked = snapshot.samples_entries and old.samples_entries
    unsampled = dead[old.searchable[dead]] if tracked else None
    return {number: layer.view(snapshot.sampled, unsampled) for number, layer in layers.items()}


def with_terms(snapshot: Snapshot, read: SqliteReading, now: float) -> Snapshot:
    """Return the snapshot with tokens of all slots, and document frequencies over the entries valid at ``now``."""
    terms = snapshot.terms
    if terms is None:
        index = _core.TermIndex()
        terms = Terms(index, index.frequencies(np.empty(0, dtype=np.int64)), np.zeros(0, dtype=bool), None)
    # Dead slots, and those after the last live one, get an empty text.
    index, alive = terms.index, np.flatnonzero(snapshot.alive)
    alive = alive[alive >= len(index)]
    for start in range(0, len(alive), PAGE_ROWS):
        page = alive[start : start + PAGE_ROWS]
        # Runs of consecutive slots, with padding between them, so that slots of index and snapshot agree.
        for run in np.split(page, np.flatnonzero(np.diff(page) > 1) + 1):
            index.append([""] * (int(run[0]) - len(index)))
            index.append(entries.texts_at(read, snapshot.rows[run].tolist()))
    index.append([""] * (len(snapshot.rows) - len(index)))
    return replace(snapshot, terms=terms.moved(snapshot.valid(now) & snapshot.searchable, now))


def with_vectors(snapshot: Snapshot, buffers: Buffers, read: SqliteReading, space: Space) -> Snapshot:
    """Return the snapshot with the vectors of a space."""
    layer = VectorLayer(space)
    current = np.flatnonzero(snapshot.alive)
    layer.append(read, snapshot.rows[current], current)
    buffers.vectors[space.space] = layer
    return replace(snapshot, vectors={**snapshot.vectors, space.space: layer.view(snapshot.sampled)})


def with_postings(snapshot: Snapshot, buffers: Buffers, read: SqliteReading) -> Snapshot | None:
    """Return the snapshot with the postings of its buffers; None without any, or if they differ from FTS5's totals."""
    indexes = buffers.postings
    if indexes is None:
        return None
    indexes.append(read, snapshot.rows[len(indexes) :].tolist())
    postings = indexes.publish(snapshot.alive & snapshot.searchable)
    return replace(snapshot, postings=postings) if agrees(read, postings) else None


def links_of(read: SqliteReading) -> _core.Links:
    """Read the links of the store."""
    return _core.Links(*_columns(links.row_links(read), 3))


def moved_links(old: _core.Links, read: SqliteReading, since: int) -> _core.Links:
    """Update the links of an earlier generation to the store's current ones."""
    changed = links.changed_row_links(read, since)
    if not changed:
        return old
    source, target, age, exists = _columns(changed, 4)
    return old.moved(source, target, age, exists.astype(np.bool_))


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> list[NDArray[np.int64]]:
    matrix = np.array(rows, dtype=np.int64).reshape(-1, width)
    return [np.ascontiguousarray(matrix[:, column]) for column in range(width)]
