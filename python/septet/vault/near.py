"""Near-duplicates: what is stored of an entry when the vault holds one like it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from septet.errors import SeptetError, VectorError
from septet.model.drafts import revise
from septet.model.entry import TRUSTS, Entry
from septet.model.vector import query_vector
from septet.query.plan import MEMORY
from septet.ranking.pool import Candidate, searched_text
from septet.search.similar import MOST_SIMILAR, FindsSimilar, Like
from septet.sqlite.tables.entries import EntryRow
from septet.sqlite.tables.links import Link
from septet.sqlite.tables.texts import joined
from septet.store.protocol import Writing
from septet.vault.alike import Near, chars, merged_fields, row_entry
from septet.vault.batch import Batch, fields_of, stopped
from septet.vault.blocks import gather_item
from septet.vault.own_ids import id_of_text
from septet.vault.writing import Writable
from septet.watch.progress import Report

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.model.results import Hit

__all__ = ["KnowsNear"]

#: The type of the link from an entry to the one that it is like.
SIMILAR = "similar"
#: So many similar entries are asked for at first: some may be parts of other entries.
FEW = 16
#: Equal texts and equal vectors have cosines that differ from 1 by less.
ROUNDING = 1e-6
_END = object()


class _Found(NamedTuple):
    """An entry that is like the one to be stored: its similarity, and what was compared."""

    id: str
    similarity: float
    compared: str


class KnowsNear(FindsSimilar, Writable, ABC):
    """A store that is asked for near-duplicates before it takes an entry.

    It is asked outside the write transaction. So of two writers at the same moment both may find nothing, and both
    entries are stored, as without a look.
    """

    @abstractmethod
    def vectors(self, ids: Any, model: str | None = None) -> NDArray[np.float32]:
        """Return the vectors of entries, NaN where there is none."""

    def _add_near(self, batch: Batch, near: Near, words: int | None, call: str) -> str:
        """Store the one entry of a batch, unless it is to give way to one that is like it; return the id of either."""
        row = batch.rows[0]
        if self._store.read_only:
            # Also where nothing would be written: what a call may do does not depend on what is there.
            with self._store.writing():
                pass
        found = self._near(batch, near.least)
        if found is None or (found.id == row.id and near.what == "note"):
            self._write(batch, call)
        elif near.what == "skip":
            return found.id
        elif near.what == "note":
            with self._store.writing() as write:
                self._store_batch(write, batch, call)
                if write.tables.entries.find(write, [found.id]):
                    note = f"{found.compared} {found.similarity:.4f}"
                    write.tables.links.put(write, [Link(row.id, found.id, SIMILAR, note)])
            self._written()
        else:
            with self._store.writing() as write:
                # As it is now: it may have been changed, or deleted, since it was found.
                old = write.tables.entries.find(write, [found.id]).get(found.id)
                if old is not None and TRUSTS.index(row_entry(row).trust) < TRUSTS.index(old.to_entry().trust):
                    # What anybody may have written takes no part of what is relied on.
                    return found.id
                self._store_batch(write, batch if old is None else self._merged(write, old, batch, words), call)
            self._written()
            return row.id if old is None else found.id
        return row.id

    def _add_each_near(
        self,
        source: Iterator[Any],
        total: int | None,
        matrix: NDArray[np.generic] | None,
        model: str | None,
        words: int | None,
        near: Near,
        report: Report | None,
    ) -> list[str]:
        """Store items one after the other, each compared with those before it; see `septet.Vault.add_many`."""
        ids: list[str] = []
        while True:
            batch = Batch()
            try:
                item = next(source, _END)
                if item is _END:
                    return ids
                vector = None if matrix is None else matrix[len(ids)]
                own = gather_item(batch, item, vector, model, words, self._clock())
            except Exception as fault:
                # The source may raise anything; the caller must learn how many are stored.
                raise stopped(len(ids), len(ids), fault) from fault
            try:
                ids.append(self._add_near(batch, near, own, "add_many"))
            except SeptetError as fault:
                raise stopped(len(ids), len(ids), fault) from fault
            if report is not None:
                report(len(ids), total)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _near(self, batch: Batch, least: float) -> _Found | None:
        """Return the entry that is most like the one of a batch, the oldest of equals; None if none is like it."""
        row, now = batch.rows[0], self._clock()
        if not _valid(row, now):
            return None
        with self._store.reading() as read:
            held = read.tables.entries.find(read, [row.id]).get(row.id)
        if held is not None:
            return _Found(row.id, 1.0, "text") if _valid(held, now) and _same(row, held) else None
        if row.parent == row.id:
            return None
        words = searched_text(row.title, row.description, row.context, row.tags)
        like = Like(words, joined((row.title, row.description, row.context)))
        found = []
        for model, vector in batch.vectors[0].by_model.items() if batch.vectors else [(None, None)]:
            given = None if vector is None else query_vector(vector)
            found += self._nearest_of(row, like._replace(vector=given, model=model), least)
        return min(found, key=lambda one: -one.similarity, default=None)

    def _nearest_of(self, row: EntryRow, like: Like, least: float) -> list[_Found]:
        """Return what is most like an entry by the vectors of a model; by words, what has no such vector."""
        compared, hits, _ = self._alike(row, like, least, None)
        if not hits and compared == "cosine":
            by_words = Like(like.words)
            compared, hits, left = self._alike(row, by_words, least, like.model, without_vector=True)
            if left and not hits:
                # They may have got their vectors since vectors were compared.
                compared, hits, _ = self._alike(row, like, least, None)
        if not hits:
            return []
        best = min(hits, key=lambda hit: (-round(hit.score, 6), _entry(hit).created_at, hit.id))
        return [_Found(best.id, min(best.score, 1.0), compared)]

    def _alike(
        self, row: EntryRow, like: Like, least: float, model: str | None, *, without_vector: bool = False
    ) -> tuple[str, list[Hit], bool]:
        """Return what was compared, and what an entry is like that may take its place; equals of the best all.

        And whether others were left out, as they have a vector.
        """
        limit = FEW
        while True:
            results = self._like_new(like, limit, max(0.0, least - ROUNDING), memories=row.kind == MEMORY)
            # Not by a filter: all that one passes is read again after each write.
            kept = [hit for hit in results if hit.kind == row.kind and hit.parent == row.parent and not _part(hit)]
            left = False
            if without_vector and kept:
                lacking = self._lacking(kept, model)
                kept, left = lacking, len(lacking) < len(kept)
            more = len(results) == limit < MOST_SIMILAR
            if not more or (kept and kept[0].score > results[-1].score + ROUNDING):
                return next(iter(results.weights), ""), kept, left
            limit = min(limit * FEW, MOST_SIMILAR)

    def _lacking(self, hits: Sequence[Hit], model: str | None) -> list[Hit]:
        """Return those of the hits that have no vector of a model."""
        try:
            rows = self.vectors([hit.id for hit in hits], model)
        except VectorError:
            return [*hits]
        return [hit for hit, row in zip(hits, rows) if np.isnan(row[0])]

    def _merged(self, write: Writing, old: Candidate, batch: Batch, words: int | None) -> Batch:
        """Return what stores an entry together with one that it is like."""
        entry, row = old.to_entry(), batch.rows[0]
        new = row_entry(row)
        longer = chars(new) > chars(entry)
        vector = batch.vectors[0].by_model if batch.vectors and (longer or _same(row, old)) else None
        changed = revise(entry, merged_fields(entry, new, longer=longer), now=self._clock())
        made = Batch()
        # The vector of a text that is split would describe none of its parts.
        vector = None if entry.parent == entry.id else vector
        made.gather(fields_of(changed.entry), vector, None, now=self._clock(), words=words)
        return made


def _valid(one: EntryRow | Candidate, now: float) -> bool:
    begun = one.valid_from is None or one.valid_from <= now
    return begun and (one.valid_until is None or one.valid_until > now)


def _same(row: EntryRow, held: Candidate) -> bool:
    """Say whether an id is that of the text, and both have this text."""
    texts = (row.title, row.description, row.context)
    made = id_of_text(row.kind, row.title, row.text_hash)
    return held.id == made and texts == (held.title, held.description, held.context)


def _part(hit: Hit) -> bool:
    """Say whether an entry was made by splitting another one, which makes it anew when it is stored again."""
    head, mark, number = hit.id.rpartition("#")
    return hit.parent is not None and bool(mark) and head == hit.parent and number.isdecimal()


def _entry(hit: Hit) -> Entry:
    assert hit.entry is not None
    return hit.entry
