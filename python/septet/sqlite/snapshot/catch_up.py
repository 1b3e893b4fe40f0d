"""From one snapshot to the next: what changed in the store since is appended to the buffers, and published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from septet import _core
from septet.model.spaces import Space
from septet.sqlite.snapshot import links
from septet.sqlite.snapshot.arrays import Slots
from septet.sqlite.snapshot.buffers import Buffers
from septet.sqlite.snapshot.columns import ColumnArrays
from septet.sqlite.snapshot.postings import agrees
from septet.sqlite.snapshot.snapshot import Snapshot, Terms, VectorRows
from septet.sqlite.snapshot.vector_space import VectorLayer
from septet.sqlite.store.store import Reading, writer_at
from septet.sqlite.tables import entries
from septet.sqlite.tables.texts import emptied_at

__all__ = ["caught_up", "precedes", "rebuilt", "with_postings", "with_terms", "with_vectors"]

PAGE_ROWS = 5_000
#: Arrays are rebuilt when more slots than this are dead, and more than half of all.
SPARE_SLOTS = 1_024


def rebuilt(buffers: Buffers, read: Reading) -> Snapshot:
    """Fill empty buffers with every live entry."""
    for page in entries.facts(read, buffers.sources):
        buffers.append(buffers.facts(page))
    return buffers.publish(read.generation, writer=read.writer)


def precedes(snapshot: Snapshot, read: Reading) -> bool:
    """Say whether the store went on from what a snapshot saw; not if it was restored from an earlier copy since."""
    return snapshot.generation <= read.generation and writer_at(read, snapshot.generation) == snapshot.writer


def caught_up(old: Snapshot, buffers: Buffers, read: Reading) -> Snapshot | None:
    """Return the snapshot of a later generation; None when it is better, or necessary, to rebuild.

    The new snapshot has no postings when the old one had some and, moved, they differ from FTS5's totals.
    """
    # The same writer goes on from what the old snapshot saw; that is known without asking.
    if read.writer != old.writer and not precedes(old, read):
        return None
    if entries.purged_at(read) > old.generation:
        # Rows that are gone cannot tell that they were deleted.
        return None
    changed = buffers.facts(entries.facts_changed(read, buffers.sources, old.generation))
    dead = buffers.dead + len(changed["rows"])
    if dead > SPARE_SLOTS and dead * 2 > len(old.rows) + len(changed["rows"]):
        return None
    return _extended(old, buffers, read, changed)


def _extended(old: Snapshot, buffers: Buffers, read: Reading, changed: ColumnArrays) -> Snapshot:
    """Kill the slots of changed rows and give the live ones new slots at the end, in every layer."""
    rows, alive = changed["rows"], changed["alive"]
    written = changed if alive.all() else {name: values[alive] for name, values in changed.items()}
    gone, fresh = old.slots_of(rows), buffers.append(written)
    gone = gone[gone >= 0]
    buffers.kill(gone)
    newly_hidden = np.count_nonzero(old.searchable[gone]) + np.count_nonzero(~written["searchable"])
    snapshot = buffers.publish(read.generation, old.hidden + int(newly_hidden), read.writer)
    slots = np.full(len(rows), -1, dtype=np.int64)
    slots[alive] = fresh
    # Texts are cut into tokens when a search needs them: most profiles never do.
    terms = None if old.terms is None else replace(old.terms, at=None)
    postings, indexes = old.postings, buffers.postings
    if postings is not None and indexes is not None:
        indexes.append(read, snapshot.rows[fresh].tolist())
        postings = postings.moved(indexes, snapshot.searchable, fresh, gone)
        postings = postings if agrees(read, postings) else None
    return replace(
        snapshot,
        index=old.by_row.moved(rows, slots),
        terms=terms,
        vectors=_extended_vectors(old, buffers, read, snapshot, fresh, gone),
        postings=postings,
        links=None if old.links is None else links.moved(old.links, read, old.generation),
    )


def _extended_vectors(
    old: Snapshot, buffers: Buffers, read: Reading, snapshot: Snapshot, fresh: Slots, gone: Slots
) -> Mapping[int, VectorRows]:
    """Give every space that is loaded the vectors of new slots, and those that came after their entries."""
    layers = buffers.vectors
    for layer in list(layers.values()):
        if layer.space.keyed_by == "text" and emptied_at(read, layer.space) > old.generation:
            # Its slots hold vectors that are gone: it is loaded anew when a search needs it.
            del layers[layer.space.space]
            continue
        layer.append(read, snapshot.rows[fresh], fresh)
        layer.append_late(read, snapshot, old.generation)
    # Without entries memories are sampled.
    known = snapshot.samples_entries and old.samples_entries
    lost = gone[old.searchable[gone]] if known else None
    return {number: layer.view(snapshot.sampled, lost) for number, layer in layers.items()}


def with_terms(snapshot: Snapshot, read: Reading, now: float) -> Snapshot:
    """Return the snapshot with the tokens of all slots, and document frequencies over the entries valid at ``now``."""
    terms = snapshot.terms
    if terms is None:
        index = _core.TermIndex()
        terms = Terms(index, index.frequencies(np.empty(0, dtype=np.int64)), np.zeros(0, dtype=bool), None)
    _append_texts(read, terms.index, snapshot)
    return replace(snapshot, terms=terms.moved(snapshot.valid(now) & snapshot.searchable, now))


def with_vectors(snapshot: Snapshot, buffers: Buffers, read: Reading, space: Space) -> Snapshot:
    """Return the snapshot with the vectors of a space."""
    layer = VectorLayer(space)
    current = np.flatnonzero(snapshot.alive)
    layer.append(read, snapshot.rows[current], current)
    buffers.vectors[space.space] = layer
    return replace(snapshot, vectors={**snapshot.vectors, space.space: layer.view(snapshot.sampled)})


def with_postings(snapshot: Snapshot, buffers: Buffers, read: Reading) -> Snapshot | None:
    """Return the snapshot with the postings of its buffers, to which the latest slots are added.

    Returns:
        None when they differ from FTS5's totals, or there are none.
    """
    indexes = buffers.postings
    if indexes is None:
        return None
    indexes.append(read, snapshot.rows[len(indexes) :].tolist())
    postings = indexes.publish(snapshot.alive & snapshot.searchable)
    return replace(snapshot, postings=postings) if agrees(read, postings) else None


def _append_texts(read: Reading, index: _core.TermIndex, snapshot: Snapshot) -> None:
    """Add the tokens of the slots behind those of the index; dead ones get an empty text."""
    alive = np.flatnonzero(snapshot.alive)
    alive = alive[alive >= len(index)]
    for start in range(0, len(alive), PAGE_ROWS):
        page = alive[start : start + PAGE_ROWS]
        # Runs of neighbours, so that the slots of the index stay those of the snapshot.
        for run in np.split(page, np.flatnonzero(np.diff(page) > 1) + 1):
            index.append([""] * (int(run[0]) - len(index)))
            index.append(entries.texts_at(read, snapshot.rows[run].tolist()))
    index.append([""] * (len(snapshot.rows) - len(index)))
