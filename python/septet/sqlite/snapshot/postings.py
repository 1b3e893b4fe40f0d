"""Postings: FTS5's tables and the spelling index as arrays, built in the background, checked against FTS5's totals.

Searches use FTS5 until they are built, and if they differ from its totals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from septet import _core
from septet.model.arrays import AppendBuffer, Mask, Slots
from septet.ranking.pool import searched_text
from septet.sqlite.store.store import PartReading, SqliteReading
from septet.sqlite.tables import indexing
from septet.system.records import NamedTuple

COLUMNS = 5
_NONE: Slots = np.empty(0, dtype=np.int64)


class Postings(NamedTuple):
    """The rows of ``entries_fts`` and ``grams_fts`` at one generation, by slot.

    The indexes contain memories; the statistics, and therefore all scores, exclude them.

    Attributes:
        with_grams: mask of slots with grams ``(s,)``; must be the last field: searches get the others.
    """

    entries: _core.TextIndex
    entry_rows: _core.Statistics
    grams: _core.TextIndex
    gram_rows: _core.Statistics
    spelling: _core.SpellingIndex
    spelling_rows: _core.SpellingStatistics
    with_grams: Mask

    def moved(self, buffers: PostingsBuffers, searchable: Mask, added: Slots, removed: Slots) -> Postings:
        """Return the postings after slots were added and others died.

        Args:
            searchable: mask of slots that are rows of the full-text table ``(s,)``.
        """
        with_grams = buffers.with_grams.view()
        added, removed = added[searchable[added]], removed[searchable[removed]]
        return self._replace(
            entry_rows=self.entry_rows.moved(self.entries, added, removed),
            spelling_rows=self.spelling_rows.moved(self.spelling, added, removed),
            gram_rows=self.gram_rows.moved(self.grams, added[with_grams[added]], removed[with_grams[removed]]),
            with_grams=with_grams,
        )

    def with_memories(self, memories: Slots) -> Postings:
        """Return the postings with statistics that include memories, given their slots ``(x,)``."""
        return self._replace(
            entry_rows=self.entry_rows.moved(self.entries, memories, _NONE),
            spelling_rows=self.spelling_rows.moved(self.spelling, memories, _NONE),
            gram_rows=self.gram_rows.moved(self.grams, memories[self.with_grams[memories]], _NONE),
        )

    def of_memories(self, memories: Slots) -> tuple[_core.Statistics, _core.Statistics]:
        """Return statistics of memories only: of their texts and of their grams."""
        return self.entries.statistics(memories), self.grams.statistics(memories[self.with_grams[memories]])


class PostingsBuffers:
    """The growing indexes shared by successive `Postings`; one thread at a time appends.

    Args:
        base: postings of the first slots, and the mask of those that are rows of the full-text table.
        with_grams: mask of the first slots with grams.
    """

    def __init__(self, base: tuple[Postings, Mask] | None = None, with_grams: Mask | None = None) -> None:
        self._base = base
        self.entries = _core.TextIndex(COLUMNS) if base is None else base[0].entries
        self.grams = _core.TextIndex(1) if base is None else base[0].grams
        self.spelling = _core.SpellingIndex() if base is None else base[0].spelling
        self.with_grams = AppendBuffer(np.bool_) if with_grams is None else AppendBuffer.of(with_grams)

    def __len__(self) -> int:
        return len(self.with_grams)

    def append(self, read: SqliteReading, rows: Sequence[int]) -> None:
        """Append a slot per row of the store; deleted entries get an empty one."""
        texts: list[tuple[str, ...]] = [("",) * COLUMNS] * len(rows)
        grams = [("",)] * len(rows)
        spelling_texts = [""] * len(rows)
        for at, *columns, gram_text in indexing.indexed_texts(read, rows):
            texts[at] = tuple(columns)
            grams[at] = (gram_text,)
            spelling_texts[at] = searched_text(*columns[1:])
        self.entries.append(texts)
        self.grams.append(grams)
        self.spelling.append(spelling_texts)
        self.with_grams.append(np.array([bool(g[0]) for g in grams], dtype=np.bool_))

    def publish(self, rows: Mask) -> Postings:
        """Return the postings over the slots that are rows of the full-text table ``(s,)``."""
        with_grams = self.with_grams.view()
        if self._base is not None:
            # Update the statistics by the difference.
            postings, first = self._base
            before = np.zeros(len(rows), dtype=bool)
            before[: len(first)] = first
            changed = np.flatnonzero(rows & ~before), np.flatnonzero(before & ~rows)
            return postings.moved(self, np.ones(len(rows), dtype=bool), *changed)
        return Postings(
            entries=self.entries,
            entry_rows=self.entries.statistics(np.flatnonzero(rows)),
            grams=self.grams,
            gram_rows=self.grams.statistics(np.flatnonzero(rows & with_grams)),
            spelling=self.spelling,
            spelling_rows=self.spelling.statistics(np.flatnonzero(rows)),
            with_grams=with_grams,
        )


def agrees(read: SqliteReading, postings: Postings) -> bool:
    """Return True if rows and tokens equal FTS5's totals."""
    if isinstance(read, PartReading):
        # FTS5 also counts the excluded rows.
        return True
    entries, grams = postings.entry_rows, postings.gram_rows
    return indexing.totals(read, "entries_fts") == (entries.rows, entries.tokens) and indexing.totals(
        read, "grams_fts"
    ) == (grams.rows, grams.tokens)
