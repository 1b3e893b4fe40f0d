"""Storing entries with a comparison against near-duplicates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from septet.errors import SeptetError, VectorError
from septet.model.drafts import revise
from septet.model.entry import TRUSTS, Entry
from septet.model.links import Link
from septet.model.results import Results
from septet.model.suggestion import Suggestion
from septet.model.vector import query_vector
from septet.profiles.statements import SUPERSEDED_FROM
from septet.query.options import Mode
from septet.query.plan import MEMORY
from septet.ranking.pool import Candidate, searched_text
from septet.search.named import is_standing, part_number
from septet.search.similar import MOST_SIMILAR, FindsSimilar, Like
from septet.store.rows import EntryRow
from septet.store.rules import joined
from septet.system.records import NamedTuple
from septet.vault.alike import Near, chars, is_valid, merged_fields, row_entry
from septet.vault.batch import Batch, fields_of, id_of_text, stopped
from septet.vault.blocks import gather_item
from septet.vault.history import SUPERSEDES, replace_entry
from septet.vault.writing import Writable
from septet.watch.progress import Report

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from septet.model.results import Hit
    from septet.store.protocol import Writing


class Similar(FindsSimilar):
    """Entries that can be compared with each other."""

    def similar(
        self,
        id: str | None = None,
        *,
        text: str | None = None,
        vector: ArrayLike | None = None,
        limit: int = 10,
        min_similarity: float | None = None,
        where: Mapping[str, object] | None = None,
        kinds: str | Collection[str] | None = None,
        include_expired: bool = False,
        include_memories: bool = False,
        model: str | None = None,
        mode: Mode = "full",
    ) -> Results:
        """Return entries similar to an entry, a text or a vector, most similar first.

        An entry is compared by its vector. An entry without a vector, or a text, is embedded if the vault has a working
        embedder; otherwise words are compared. All scores of a result are of one kind, named in ``results.weights``,
        and absolute: they depend on neither the limit nor the other results.

        ``cosine``: the cosine of two vectors, over all entries with a vector of the model; 1 is the same direction.
        ``tfidf``: the cosine of two texts (title, description, context and tags of an entry) as TF-IDF vectors; the
        weight of a word is its share of the text's words times ``ln((N + 1) / (n + 1)) + 1``, where ``n`` of ``N``
        entries contain it; 1 is the same words in the same proportions. Both are exact, over every entry that passes
        the filters. Entries with a cosine below 0.000001 are never returned.

        Args:
            id: an entry; it and its parts are not returned.
            text: a text; for an entry that is not stored, its title, description and context, one per line.
            vector: a vector ``(d,)``.
            limit: maximum number of results, 1 to 1,000,000.
            min_similarity: minimum score, 0 to 1.
            where: a filter, as for `search`.
            kinds: only these kinds of entries, as for `search`.
            include_expired: include entries outside their validity.
            include_memories: include memories.
            model: the model of the vectors; None for the one that searches use.
            mode: ``full`` or ``scan``, as for `search`.

        Returns:
            The similar entries; ``score`` is the similarity, 0 to 1.

        Raises:
            QueryError: an argument is malformed, or not exactly one of id, text and vector is passed.
            EntryNotFound: no entry has this id.
            VectorError: the vector matches no vectors of the vault.
            StoreError: the vault cannot be read.
        """
        options = {
            "where": where,
            "kinds": kinds,
            "include_expired": include_expired,
            "include_memories": include_memories,
            "model": model,
            "mode": mode,
        }
        return self._similar({"id": id, "text": text, "vector": vector}, limit, min_similarity, options)


#: The type of the link from an entry to its near-duplicate.
SIMILAR = "similar"
#: Initial limit of similar entries; some may be parts of other entries.
FEW = 16
#: Maximum distance from 1 of the cosine of equal texts or equal vectors.
ROUNDING = 1e-6
_END = object()
#: Attempts to supersede an entry that others supersede at the same time, and numbers of a fact that holds again.
_MOST_AGAIN, _MOST_REPEATED = 8, 1_000


class _Meanwhile(Exception):
    """Another writer superseded an entry since it was compared."""


class _Duplicate(NamedTuple):
    """A near-duplicate of the entry to be stored: its similarity, and the compared feature."""

    id: str
    similarity: float
    compared: str


class KnowsNear(FindsSimilar, Writable, ABC):
    """A store that compares a new entry with its near-duplicates.

    The comparison runs outside the write transaction, so two concurrent writers may both store similar entries.
    """

    @abstractmethod
    def vectors(self, ids: Any, model: str | None = None) -> NDArray[np.float32]:
        """Return the vectors of entries, NaN for missing ones."""

    def _add_near(self, batch: Batch, near: Near, words: int | None, call: str) -> str | Suggestion:
        """Store the only entry of a batch, or keep, merge or supersede one like it.

        Returns the id of the result, or the suggestion if nothing is to be stored.
        """
        row = batch.rows[0]
        if near.what == "suggest":
            return self._suggested(batch)
        if self._store.read_only:
            # Raise even if nothing would be written: permission must not depend on the stored entries.
            with self._store.writing():
                pass
        if near.what == "supersede":
            return self._superseding(batch, call)
        match = self._near(batch, near.least)
        if match is None or (match.id == row.id and near.what == "note"):
            self._write(batch, call)
        elif near.what == "skip":
            return match.id
        elif near.what == "note":
            with self._store.writing() as write:
                self._store_batch(write, batch, call)
                if write.tables.entries.find(write, [match.id]):
                    note = f"{match.compared} {match.similarity:.4f}"
                    write.tables.links.put(write, [Link(row.id, match.id, SIMILAR, note)])
            self._written()
        else:
            with self._store.writing() as write:
                # Read again: the match may have been changed or deleted since the comparison.
                old = write.tables.entries.find(write, [match.id]).get(match.id)
                if old is not None and TRUSTS.index(row_entry(row).trust) < TRUSTS.index(old.to_entry().trust):
                    # Untrusted text must not change a trusted entry.
                    return match.id
                self._store_batch(write, batch if old is None else self._merged(write, old, batch, words), call)
            self._written()
            return row.id if old is None else match.id
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
        """Store items one by one, each compared with those before it; see `septet.Vault.add_many`."""
        ids: list[str] = []
        while True:
            batch = Batch()
            try:
                item = next(source, _END)
                if item is _END:
                    return ids
                vector = None if matrix is None else matrix[len(ids)]
                item_words = gather_item(batch, item, vector, model, words, self._clock())
            except Exception as fault:
                # The source may raise anything; the caller must learn how many are stored.
                raise stopped(len(ids), len(ids), fault) from fault
            try:
                ids.append(str(self._add_near(batch, near, item_words, "add_many")))
            except SeptetError as fault:
                raise stopped(len(ids), len(ids), fault) from fault
            if report is not None:
                report(len(ids), total)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _suggested(self, batch: Batch) -> Suggestion:
        """Return the relation of an entry to the stored ones that are most similar by words and by vectors."""
        from septet.query.suggesting import COMPARED, MOST_SOUGHT, EntryClaims, suggested

        row, now = batch.rows[0], self._clock()
        if not is_valid(row, now) or row.parent == row.id:
            return Suggestion("new", row.id, None, 1.0, "an entry that is split, or not valid now, is not compared")
        with self._store.reading() as read:
            stored = read.tables.entries.find(read, [row.id]).get(row.id)
        again = stored is not None and _same(row, stored)
        if stored is not None and again and is_valid(stored, now):
            return Suggestion("same", row.id, row.id, 1.0, "the same text")
        if stored is not None and not again:
            # It would be overwritten: no other entry matters.
            return suggested(row.id, EntryClaims(row_entry(row)), [EntryClaims(stored.to_entry())])
        # A fact that holds again is another entry: the old one is what was valid before.
        id = self._id_of_repeated(row.id) if again else row.id
        words = searched_text(row.title, row.description, row.context, row.tags)
        searches: list[Callable[..., Results]] = [
            lambda **scope: self._worded(words[:MOST_SOUGHT], 4 * COMPARED, **scope)
        ]
        if batch.vectors or self._embeds():
            model, vector = next(iter(batch.vectors[0].by_model.items())) if batch.vectors else (None, None)
            unit = None if vector is None else query_vector(vector)
            like = Like(words, joined((row.title, row.description, row.context)), unit, model)
            searches.append(lambda **scope: self._like_new(like, 4 * COMPARED, **scope))
        others: dict[str, Entry] = {}
        for search in searches:
            hits = search(memories=row.kind == MEMORY)
            alike = _comparable(hits, row)
            if len(alike) < COMPARED and len(hits) == 4 * COMPARED:
                # Only now by a filter, whose mask each write makes again.
                alike = _comparable(search(memories=row.kind == MEMORY, kind=row.kind, domain=row.domain), row)
            others |= {hit.id: _entry(hit) for hit in alike[:COMPARED]}
        return suggested(id, EntryClaims(row_entry(row)), map(EntryClaims, others.values()))

    def _id_of_repeated(self, id: str) -> str:
        """Return an id like one that exists, which does not exist."""
        ids = [f"{id}-{number}" for number in range(2, _MOST_REPEATED)]
        with self._store.reading() as read:
            known = read.tables.entries.find(read, ids)
        return next((free for free in ids if free not in known), id)

    def _superseding(self, batch: Batch, call: str) -> str:
        """Follow suggestions: keep the same entry, supersede a changed one, store others; return the id."""
        for last in (*[False] * _MOST_AGAIN, True):
            suggestion = self._suggested(batch)
            if suggestion.id != batch.rows[0].id:
                batch = batch.changed({"id": suggestion.id}, self._clock())
            id, other = suggestion.id, suggestion.other
            if other is None or other == id or suggestion.probability < SUPERSEDED_FROM:
                break
            if suggestion.verdict == "same":
                return other
            try:
                self._supersede_similar(batch, suggestion, other, call, last=last)
            except _Meanwhile:
                # Another writer superseded it: its entry is the one to compare with, which is older than this attempt.
                row, now = batch.rows[0], self._clock()
                if not row.created_given:
                    batch.rows[0] = row._replace(created_at=now, updated_at=max(row.updated_at, now))
                continue
            self._written()
            return id
        self._write(batch, call)
        return batch.rows[0].id

    def _supersede_similar(self, batch: Batch, suggestion: Suggestion, other: str, call: str, *, last: bool) -> None:
        """Store an entry in the place of another one, if that may be; see `_superseding`.

        Raises:
            _Meanwhile: the other one was superseded since the comparison, and this is not the last attempt.
        """
        with self._store.writing() as write:
            # Read again: the other entry may have been changed or deleted since the comparison.
            old = write.tables.entries.find(write, [other]).get(other)
            row, keeping = batch.rows[0], self._keeping("supersede")
            superseded = write.tables.links.linked_by(write, other, SUPERSEDES) is not None
            if superseded and not last:
                raise _Meanwhile
            if (
                old is None
                or superseded
                or not is_valid(old, keeping.at)
                or TRUSTS.index(row_entry(row).trust) < TRUSTS.index(old.to_entry().trust)
            ):
                self._store_batch(write, batch, call)
                return
            moment = keeping.at if row.valid_from is None else row.valid_from
            batch.rows[0], tags = row._replace(valid_from=moment), row_entry(row).tags
            standing = [tag for tag in old.to_entry().tags if is_standing(tag) and tag not in tags]
            batch = batch.changed({"tags": (*tags, *standing)}, keeping.at) if standing else batch
            self._store_batch(write, batch, keeping.call)
            replace_entry(write, old, Link(row.id, other, SUPERSEDES, suggestion.reason), moment, keeping)

    def _near(self, batch: Batch, least: float) -> _Duplicate | None:
        """Return the nearest duplicate of the entry of a batch, the oldest of equals; None if there is none."""
        row, now = batch.rows[0], self._clock()
        if not is_valid(row, now):
            return None
        with self._store.reading() as read:
            stored = read.tables.entries.find(read, [row.id]).get(row.id)
        if stored is not None:
            return _Duplicate(row.id, 1.0, "text") if is_valid(stored, now) and _same(row, stored) else None
        if row.parent == row.id:
            return None
        words = searched_text(row.title, row.description, row.context, row.tags)
        like = Like(words, joined((row.title, row.description, row.context)))
        matches = []
        for model, vector in batch.vectors[0].by_model.items() if batch.vectors else [(None, None)]:
            unit = None if vector is None else query_vector(vector)
            matches += self._nearest_of(row, like._replace(vector=unit, model=model), least)
        return min(matches, key=lambda match: -match.similarity, default=None)

    def _nearest_of(self, row: EntryRow, like: Like, least: float) -> list[_Duplicate]:
        """Return the nearest entry by the vectors of a model; else, by words, the nearest without such a vector."""
        compared, hits, _ = self._alike(row, like, least, None)
        if not hits and compared == "cosine":
            by_words = Like(like.words)
            compared, hits, has_vectors = self._alike(row, by_words, least, like.model, without_vector=True)
            if has_vectors and not hits:
                # Their vectors may have arrived since the comparison of vectors.
                compared, hits, _ = self._alike(row, like, least, None)
        if not hits:
            return []
        best = min(hits, key=lambda hit: (-round(hit.score, 6), _entry(hit).created_at, hit.id))
        return [_Duplicate(best.id, min(best.score, 1.0), compared)]

    def _alike(
        self, row: EntryRow, like: Like, least: float, model: str | None, *, without_vector: bool = False
    ) -> tuple[str, list[Hit], bool]:
        """Return the compared feature, the near-duplicates (all ties of the best), and True if hits with vectors were
        dropped.
        """
        limit = FEW
        while True:
            results = self._like_new(like, limit, max(0.0, least - ROUNDING), memories=row.kind == MEMORY)
            # Not by a filter, whose mask would be rebuilt after each write.
            matches = [
                hit for hit in results if hit.kind == row.kind and hit.parent == row.parent and not part_number(hit)
            ]
            has_vectors = False
            if without_vector and matches:
                lacking = self._lacking(matches, model)
                matches, has_vectors = lacking, len(lacking) < len(matches)
            more = len(results) == limit < MOST_SIMILAR
            if not more or (matches and matches[0].score > results[-1].score + ROUNDING):
                return next(iter(results.weights), ""), matches, has_vectors
            limit = min(limit * FEW, MOST_SIMILAR)

    def _lacking(self, hits: Sequence[Hit], model: str | None) -> list[Hit]:
        """Return the hits that have no vector of a model."""
        try:
            rows = self.vectors([hit.id for hit in hits], model)
        except VectorError:
            return [*hits]
        return [hit for hit, row in zip(hits, rows) if np.isnan(row[0])]

    def _merged(self, write: Writing, old: Candidate, batch: Batch, words: int | None) -> Batch:
        """Return the batch that stores an entry merged into its near-duplicate."""
        entry, row = old.to_entry(), batch.rows[0]
        new = row_entry(row)
        longer = chars(new) > chars(entry)
        vector = batch.vectors[0].by_model if batch.vectors and (longer or _same(row, old)) else None
        changed = revise(entry, merged_fields(entry, new, longer=longer), now=self._clock())
        merged = Batch()
        # A vector of the whole text would describe none of its parts.
        vector = None if entry.parent == entry.id else vector
        merged.gather(fields_of(changed.entry), vector, None, now=self._clock(), words=words)
        return merged


def _same(row: EntryRow, stored: Candidate) -> bool:
    """Return True if the stored id was derived from the text, and both texts are equal."""
    texts = (row.title, row.description, row.context)
    derived = id_of_text(row.kind, row.title, row.text_hash)
    return stored.id == derived and texts == (stored.title, stored.description, stored.context)


def _comparable(hits: Iterable[Hit], row: EntryRow) -> list[Hit]:
    """Return the hits of the kind, domain and parent of an entry, without parts of others."""
    scope = row.kind, row.domain, row.parent
    return [hit for hit in hits if (hit.kind, hit.domain, hit.parent) == scope and not part_number(hit)]


def _entry(hit: Hit) -> Entry:
    assert hit.entry is not None
    return hit.entry
