"""Writing to a vault: entries, memories and links."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from septet.errors import EntryError, EntryNotFound, SeptetError
from septet.inputs.arguments import listed, shown, utf8
from septet.model.drafts import checked_patch, draft, merged_attrs, revise
from septet.model.entry import Entry
from septet.model.links import Link, checked
from septet.profiles import ProfileLike, resolve
from septet.store.rows import Keeping
from septet.vault.alike import KEEP, SIMILARITY, Near, adding, is_valid, nearness, remembering, repeated_changes
from septet.vault.batch import MOST_IDS, Batch, fields_of, item_fields, items_of, stopped, with_clean_id, words_a_part
from septet.watch.progress import Progress, Report, reporter, with_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from septet.model.fields import (
        EntryChanges,
        EntryItem,
        FrameLike,
        MemoryFields,
        OnSimilar,
        Split,
        Strings,
        Suggest,
        VectorLike,
    )
    from septet.model.suggestion import Suggestion
    from septet.store.protocol import Store, Writing


class Writable(ABC):
    """A store with methods that write entries; each call is one transaction unless documented otherwise."""

    _store: Store
    _profile: ProfileLike
    _versions: int
    _clock: Callable[[], float]
    #: Context manager around a bulk load; deferrable work runs at its end.
    _loading: Callable[[], Any]

    @adding
    def add(
        self,
        entry: Entry | None = None,
        *,
        vector: VectorLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        on_similar: OnSimilar | Suggest = KEEP,
        similarity: float = SIMILARITY,
        **fields: Any,
    ) -> str | Suggestion:
        """Store an entry and return its id; an entry with the same id is overwritten (``created_at`` stays).

        Args:
            entry: a whole `Entry`; omit it to pass the fields instead.
            vector: its embedding, shape ``(d,)``, or a dict of embeddings by model. Changing title, description or
                context without a new vector drops it. Unless the vault's profile keeps vectors ``per-model``, the
                vectors of the last write replace all others of the entry.
            model: the model that produced the vector; only vectors of the same model are compared.
            split: maximum words per part of a long ``description`` with many subjects (``auto``: 150). Parts are cut
                at ends of paragraphs, lines or sentences, and stored as separate entries. Part 2 of ``ID`` is ``ID#2``;
                it has the fields of the entry, ``parent=ID``, its lines as ``span``, and a link ``next`` to ``ID#3``.
                Searches return the parts instead of the entry, whose ``parent`` is its own id; `load` returns it
                whole. Storing it again replaces its parts, and deleting it deletes them.
            on_similar: action if the vault has a similar entry: a valid one of the same kind and ``parent``, not split.
                ``keep`` does not compare. ``note`` stores the entry and links it to the most similar one (the oldest of
                equals) by a link ``similar``, with the similarity as its note. ``skip`` stores nothing and returns the
                id of the existing entry. ``merge`` merges the new entry into the existing one and returns its id: keeps
                the longer text with its span, source and vector, the union of the tags, the higher severity, the longer
                validity, the earlier ``created_at`` and the later ``updated_at``; merges ``attrs`` as `update` does;
                `history` keeps the previous version. An entry with a lower trust does not change the existing one.
                ``suggest`` stores nothing and returns a `Suggestion`: is the entry new, the same as a stored one, or
                does it change or contradict one? ``supersede`` follows it where its probability is 0.8 or more: it
                keeps the same entry and returns its id, and the new entry supersedes one that it changes or
                contradicts, if its trust is not lower (see `supersede`), and takes over its tags ``always`` and
                ``alias:NAME``; others are stored. Both compare the words, values and denials of English texts, with the
                ten entries of its domain that are most similar by words and the ten by vectors, whatever
                ``similarity``. The text of an entry that is not valid now is stored again, under another id. Any other
                entry whose id exists is overwritten, unless the id was derived from the text and both texts are equal.
            similarity: minimum similarity, 0 to 1: the cosine of the vectors or, if either has none, of the words, as
                in `similar`. An entry that is split, or not valid now, is stored without a comparison. Two entries
                stored at the same moment do not see each other.
            **fields: ``title`` (required), ``id`` (derived from title and content if missing), ``description``,
                ``context``, ``type``, ``domain``, ``severity`` (critical, warning, suggestion), ``tags``, ``kind``,
                ``attrs`` (a JSON-ready dict), ``span``, ``parent``, ``source`` (origin of the text), ``trust``
                (trusted, unverified, untrusted; trusted if missing), and the times ``created_at``, ``updated_at``,
                ``valid_from``, ``valid_until`` (epoch seconds or aware datetimes). With ``entry``, the fields to
                override.

        Raises:
            EntryError: a field cannot be stored; nothing was written.
            VectorError: the vector is NaN, infinite or zero, or its dimension differs from that of the model.
            StoreError: the vault cannot be written.
        """
        if entry is not None:
            if not isinstance(entry, Entry):
                raise EntryError(
                    f"add takes an Entry or keyword arguments, got {shown(entry)}: use add(**fields) for a dict"
                )
            fields = {**fields_of(entry), **fields}
        batch, words = Batch(), words_a_part(split)
        near = None if on_similar is KEEP and similarity is SIMILARITY else nearness(on_similar, similarity)
        batch.gather(fields, vector, model, now=self._clock(), words=words)
        if near is not None:
            return self._add_near(batch, near, words, "add")
        self._write(batch, "add")
        return batch.rows[0].id

    @with_progress("entries", EntryError)
    def add_many(
        self,
        items: Iterable[Entry | EntryItem | Mapping[str, object]] | FrameLike,
        *,
        vectors: ArrayLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        progress: Progress | None = None,
        on_similar: OnSimilar = KEEP,
        similarity: float = SIMILARITY,
    ) -> list[str]:
        """Store many entries and return their ids, in transactions of 5,000 entries or 32 MB.

        Args:
            items: entries, or dicts with the arguments of `add`; or a data frame of pandas, polars or Arrow whose
                columns are these arguments (`import_` maps others). Missing values of a frame are omitted.
            vectors: numbers of shape ``(n, d)``, one row per item, in order. Requires a list or a frame whose items
                have no ``vector``.
            model: the model that produced ``vectors``.
            split: as for `add`, for items without ``split``.
            progress: called after each transaction with the number stored and the total, None if unknown; or True.
            on_similar: as for `add`, but for ``suggest``; each item is also compared with the items before it. Unless
                ``keep``, each item is a separate transaction, and the result has its id or the id of the existing
                entry.
            similarity: as for `add`.

        Raises:
            BatchError: an item could not be stored, or ``items`` raised; ``written`` is the number of stored entries,
                ``index`` the position of the failed item, ``__cause__`` the cause.
            VectorError: ``vectors`` has another shape.
        """
        words, report = words_a_part(split), reporter(progress)
        near = nearness(on_similar, similarity, many=True)
        rows: Any = items if type(items) in (list, tuple) else None
        if rows is None:
            from septet.exchange.tables import frame_rows

            rows = frame_rows(items)
        if model is not None and vectors is None:
            raise EntryError(f"model={shown(model)} requires vectors=: it names the model that produced them")
        if rows is None:
            if vectors is not None:
                raise EntryError("vectors= requires a list or a frame of items: make a list first")
            if near is not None:
                return self._add_each_near(items_of(items), None, None, None, words, near, report)
            with self._loading():
                return self._add_each(items_of(items), words, report)
        from septet.vault.blocks import add_blocks, checked_matrix, each_of

        matrix = None if vectors is None else checked_matrix(vectors, len(rows))
        if near is not None:
            return self._add_each_near(each_of(rows), len(rows), matrix, model, words, near, report)
        ids: list[str] = []
        write = partial(self._write, call="add_many")
        prepare = self._store.prepare
        with self._loading():
            for stored in add_blocks(rows, matrix, model, words=words, clock=self._clock, write=write, prepare=prepare):
                ids += stored
                if report is not None:
                    report(len(ids), len(rows))
        return ids

    def _add_each(self, source: Iterator[Any], words: int | None, report: Report | None) -> list[str]:
        """Store the items of an iterator, whose number is unknown."""
        ids: list[str] = []
        while True:
            batch = Batch()
            try:
                for item in source:
                    fields = item_fields(item)
                    vector, model = fields.pop("vector", None), fields.pop("model", None)
                    item_words = words_a_part(fields.pop("split")) if "split" in fields else words
                    batch.gather(fields, vector, model, now=self._clock(), words=item_words)
                    if batch.full:
                        break
            except Exception as fault:
                # The source may raise anything; the caller must learn how many are stored.
                raise stopped(len(ids), len(ids) + len(batch.rows), fault) from fault
            if not batch.rows:
                return ids
            try:
                self._write(batch, "add_many")
            except SeptetError as fault:
                raise stopped(len(ids), len(ids), fault) from fault
            ids += [row.id for row in batch.rows]
            if report is not None:
                report(len(ids), None)

    def update(
        self,
        id: str,
        *,
        vector: VectorLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        merge_attrs: Mapping[str, object] | None = None,
        **changes: Unpack[EntryChanges],
    ) -> Entry:
        """Change some fields of an entry and return the changed entry; `history` keeps the previous version.

        Args:
            id: the entry to change.
            vector: as for `add`.
            model: as for `add`.
            split: as for `add`; None splits an entry that was split before, as ``auto`` does.
            merge_attrs: changes to ``attrs`` by name, None to remove one; nested dicts are merged too (JSON Merge
                Patch, RFC 7396). ``attrs`` itself replaces all of them.
            **changes: the fields of `add`, apart from the id; ``updated_at`` is now unless given.

        Raises:
            EntryNotFound: no entry has this id.
            EntryError: a field cannot be stored; nothing was written.
            VectorError: as for `add`.
            StoreError: the vault cannot be written.
        """
        words, batch = words_a_part(split), Batch()
        patch = None if merge_attrs is None else checked_patch(merge_attrs, changes)
        with self._store.writing() as write:
            row = write.tables.entries.find(write, [id]).get(id)
            if row is None:
                raise self._missing(id)
            now, old = self._clock(), row.to_entry()
            merged = {} if patch is None else {"attrs": merged_attrs(old.attrs, patch)}
            changed = revise(old, {**changes, **merged}, now=now)
            batch.gather(fields_of(changed.entry), vector, model, now=now, words=words)
            self._store_batch(write, batch, "update")
        self._written()
        return replace(changed.entry, parent=batch.rows[0].parent)

    @remembering
    def remember(
        self,
        text: str,
        details: str = "",
        topics: Strings = (),
        *,
        id: str | None = None,
        vector: VectorLike | None = None,
        model: str | None = None,
        on_similar: OnSimilar | Suggest = KEEP,
        similarity: float = SIMILARITY,
        **fields: Unpack[MemoryFields],
    ) -> str | Suggestion:
        """Store a memory (a fact, a lesson, a preference, a session) and return its id.

        A memory is an entry of the kind ``memory``. `recall` returns memories; searches return them among entries with
        ``include_memories=True``. The same text and details are the same memory: only the passed fields change.

        Args:
            text: the fact, such as "Bob owns the billing service"; the title of the entry.
            details: the description of the entry.
            topics: single words; the tags of the entry.
            id: derived from text and details if missing.
            vector, model: as for `add`.
            on_similar: as for `add`; only memories are compared.
            similarity: as for `add`.
            **fields: the other fields of `add`; ``trust`` is ``unverified`` unless given.

        Raises:
            EntryError: a field cannot be stored; nothing was written.
            VectorError: as for `add`.
            StoreError: the vault cannot be written.
        """
        memory = {"title": text, "description": details, "tags": topics, "kind": "memory", "type": "session"}
        options = {name: value for name, value in fields.items() if value is not None}
        whole: Any = with_clean_id({**memory, "id": id, "trust": "unverified", **options})
        entry = draft(whole, now=self._clock()).entry
        changes: Any = None
        if on_similar != "suggest":
            with self._store.bookkeeping() as write:
                row = write.tables.entries.find(write, [entry.id]).get(entry.id)
            if row is not None and (on_similar != "supersede" or is_valid(row, self._clock())):
                changes = repeated_changes(row.to_entry(), entry, fields)
        if changes is None:
            near: Any = on_similar
            added: str | Suggestion = self.add(
                vector=vector, model=model, on_similar=near, similarity=similarity, **whole
            )
            return added
        if changes or vector is not None or model is not None:
            self.update(entry.id, vector=vector, model=model, **changes)
        return entry.id

    def link(self, source: str, target: str, type: str = "related", *, note: str = "") -> None:
        """Link two entries; an existing link gets the new type and note.

        Raises:
            EntryNotFound: one of the two does not exist.
            EntryError: both are the same entry, or the type is empty or not text.
            StoreError: the vault cannot be written.
        """
        self.link_many([Link(source, target, type, note)])

    def link_many(
        self, items: Iterable[Link | tuple[str, str] | tuple[str, str, str] | tuple[str, str, str, str]]
    ) -> int:
        """Store many links in one transaction, each ``(source, target[, type[, note]])``; return how many.

        Raises:
            EntryNotFound: an entry does not exist; nothing was written.
            EntryError: as for `link`; nothing was written.
            StoreError: the vault cannot be written.
        """
        rows = listed(items, "items", EntryError, "a list of links (source, target[, type[, note]])", MOST_IDS)
        links = [checked(item) for item in rows]
        with self._store.writing() as write:
            ends = [end for link in links for end in (link.source, link.target)]
            known = write.tables.entries.find(write, list(set(ends)))
            for end in ends:
                if end not in known:
                    raise self._missing(end)
            write.tables.links.put(write, links)
        return len(links)

    def unlink(self, source: str, target: str) -> bool:
        """Remove a link; return True if it existed.

        Raises:
            EntryError: an id is not text.
            StoreError: the vault cannot be written.
        """
        ends = utf8(source, "source"), utf8(target, "target")
        with self._store.writing() as write:
            return write.tables.links.remove(write, *ends)

    # -- inside ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _add_near(self, batch: Batch, near: Near, words: int | None, call: str) -> str | Suggestion: ...

    @abstractmethod
    def _add_each_near(
        self,
        source: Iterator[Any],
        total: int | None,
        matrix: NDArray[np.generic] | None,
        model: str | None,
        words: int | None,
        near: Near,
        report: Report | None,
    ) -> list[str]: ...

    @abstractmethod
    def _written(self) -> None:
        """Run the follow-up of a write: new texts may need vectors."""

    def _write(self, batch: Batch, call: str) -> None:
        with self._store.writing() as write:
            self._store_batch(write, batch, call)
        self._written()

    def _store_batch(self, write: Writing, batch: Batch, call: str) -> None:
        batch.store(write, self._keeping(call), one_per_entry=resolve(self._profile).vectors == "one")

    def _keeping(self, call: str) -> Keeping:
        """Return the version-keeping options of a call."""
        return Keeping(call, self._clock(), self._versions)

    def _missing(self, id: str) -> EntryNotFound:
        return EntryNotFound(f"no entry {shown(id)} in {self._store.path}: check the id, or `add` it first")
