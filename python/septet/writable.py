"""What can be done to a vault: storing entries, links and feedback."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from septet.entry import Entry, as_epoch, revise, utf8
from septet.errors import BatchError, EntryError, EntryNotFound, SeptetError
from septet.profiles import ProfileLike, resolve
from septet.storage.store import Store, Writing
from septet.storage.tables import entries, feedback, links
from septet.storage.tables import vectors as stored_vectors
from septet.storage.tables.entries import EntryRow
from septet.storage.tables.feedback import Feedback
from septet.storage.tables.links import Link
from septet.storage.tables.vectors import GivenVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from septet.fields import (
        Action,
        EntryChanges,
        EntryFields,
        EntryItem,
        EntryOverrides,
        MemoryFields,
        Strings,
        VectorLike,
    )

__all__ = ["Progress", "Writable"]

#: A transaction of `Writable.add_many` ends at so many entries, or bytes of text and vectors: large enough that FTS5
#: has little to merge, short enough that other writers wait little.
BATCH_ROWS = 5_000
BATCH_BYTES = 32 << 20

#: Called with how many are stored so far and the total, None when nobody knows it.
Progress: TypeAlias = Callable[[int, "int | None"], None]


class _Batch:
    """What one transaction stores: rows of entries, and the vectors given with them."""

    def __init__(self) -> None:
        self.rows: list[EntryRow] = []
        self.vectors: list[GivenVectors] = []
        self.size_bytes = 0

    def take(self, row: EntryRow, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        self.rows.append(row)
        self.size_bytes += row.size
        if vectors:
            self.vectors.append(GivenVectors(row.id, row.text_hash, vectors))
            self.size_bytes += sum(v.nbytes for v in vectors.values())


class Writable(ABC):
    """A store of entries that can be changed; every change is one transaction."""

    _store: Store
    _profile: ProfileLike

    @overload
    def add(
        self,
        entry: None = None,
        *,
        vector: VectorLike | None = ...,
        model: str | None = ...,
        **fields: Unpack[EntryFields],
    ) -> str: ...
    @overload
    def add(
        self,
        entry: Entry,
        *,
        vector: VectorLike | None = ...,
        model: str | None = ...,
        **fields: Unpack[EntryOverrides],
    ) -> str: ...
    def add(
        self, entry: Entry | None = None, *, vector: VectorLike | None = None, model: str | None = None, **fields: Any
    ) -> str:
        """Store an entry and return its id; an entry with the same id is overwritten (``created_at`` stays).

        Args:
            entry: a whole `Entry`; or name its fields:
            vector: its embedding, shape ``(d,)``, or a dict of embeddings by model. It belongs to the text it was
                given with: writing another title, description or context without a vector drops it. Unless the
                vault's profile keeps one ``per-model``, the vectors of the last write are the entry's only ones.
            model: names the vector's model, so that only vectors of one model are compared.
            **fields: ``title`` (required), ``id`` (made from title and content if missing), ``description``,
                ``context``, ``type``, ``domain``, ``severity`` (critical, warning, suggestion), ``tags``, ``kind``,
                ``attrs`` (a JSON-ready dict), ``span``, and the times ``created_at``, ``updated_at``, ``valid_from``,
                ``valid_until`` (epoch seconds or aware datetimes).

        Raises:
            EntryError: a field that cannot be stored; nothing was written.
            VectorError: NaN, infinite, zero, or another dimension than the model's vectors have.
            StoreError: the file does not take the write.
        """
        if entry is not None:
            if not isinstance(entry, Entry):
                raise EntryError(f"add takes an Entry or named fields, not {type(entry).__name__}: add(**fields)?")
            fields = {**_fields_of(entry), **fields}
        batch = _Batch()
        self._gather(batch, fields, vector, model)
        self._write(batch)
        return batch.rows[0].id

    def add_many(
        self, items: Iterable[Entry | EntryItem | Mapping[str, object]], *, progress: Progress | None = None
    ) -> list[str]:
        """Store many entries, five thousand a transaction or 32 MB, and return their ids.

        Args:
            items: entries, or dicts with the arguments of `add`.
            progress: called after each transaction with the number stored so far and the total, if it is known.

        Raises:
            BatchError: an item could not be stored, or ``items`` raised; ``written`` says how many are stored,
                ``index`` which item failed, ``__cause__`` why.
        """
        total = len(items) if isinstance(items, Sequence) else None
        ids: list[str] = []
        source = iter(items)
        while True:
            batch = _Batch()
            try:
                for item in source:
                    fields = _fields_of(item) if isinstance(item, Entry) else dict(item)
                    self._gather(batch, fields, fields.pop("vector", None), fields.pop("model", None))
                    if len(batch.rows) == BATCH_ROWS or batch.size_bytes >= BATCH_BYTES:
                        break
            except Exception as fault:
                # Whatever stops the source: the caller learns how far it got.
                raise _stopped(len(ids), len(ids) + len(batch.rows), fault) from fault
            if not batch.rows:
                return ids
            try:
                self._write(batch)
            except SeptetError as fault:
                raise _stopped(len(ids), len(ids), fault) from fault
            ids += [row.id for row in batch.rows]
            if progress is not None:
                progress(len(ids), total)

    def update(
        self, id: str, *, vector: VectorLike | None = None, model: str | None = None, **changes: Unpack[EntryChanges]
    ) -> Entry:
        """Change some fields of an entry and return it as it is now.

        Raises:
            EntryNotFound: there is no such entry.
            EntryError: a field that cannot be stored; nothing was written.
        """
        vectors = stored_vectors.checked(vector, model, id)
        batch = _Batch()
        with self._store.writing() as write:
            found = entries.find(write, [id]).get(id)
            if found is None:
                raise self._missing(id)
            changed = revise(found.to_entry(), changes, now=self._clock())
            batch.take(entries.row_of(changed), vectors)
            self._store_batch(write, batch)
        self._written()
        return changed.entry

    def remember(
        self,
        context: str,
        summary: str = "",
        topics: Strings = (),
        *,
        id: str | None = None,
        vector: VectorLike | None = None,
        model: str | None = None,
        **fields: Unpack[MemoryFields],
    ) -> str:
        """Store a memory (a session, a lesson, a preference) and return its id.

        Searches find memories with ``include_memories=True``. ``fields`` are those of `add`.
        """
        named = {"title": context, "description": summary, "tags": topics, "kind": "memory", "type": "session"}
        whole: Any = {**named, **fields, "id": id}
        return self.add(vector=vector, model=model, **whole)

    def delete(self, *ids: str | Iterable[str]) -> int:
        """Delete entries with their links and the vectors given with them, and return how many there were.

        Args:
            *ids: ids, or lists of ids; those that do not exist are left out.

        The text is emptied at once; `purge` removes the empty rows, and the vectors that a provider made of texts
        which no entry has any more. Until then a text that comes back costs nothing.
        """
        wanted = [i for one in ids for i in ([one] if isinstance(one, str) else one)]
        with self._store.writing() as write:
            return len(entries.delete(write, wanted))

    def purge(self) -> int:
        """Remove deleted rows, and vectors of texts that are gone, for good; return how many rows there were."""
        with self._store.writing() as write:
            return entries.purge(write)

    def link(self, source: str, target: str, type: str = "related", *, note: str = "") -> None:
        """Link two entries; a link that exists gets the new type and note.

        Raises:
            EntryNotFound: one of the two does not exist.
            EntryError: an entry cannot be linked to itself; a type that is no text.
        """
        self.link_many([Link(source, target, type, note)])

    def link_many(self, items: Iterable[Link | tuple[str, str] | tuple[str, str, str]]) -> int:
        """Store many links in one transaction, ``(source, target[, type[, note]])``, and return how many."""
        wanted = [links.checked(item) for item in items]
        with self._store.writing() as write:
            known = entries.find(write, list({end for link in wanted for end in link[:2]}))
            for link in wanted:
                for end in link[:2]:
                    if end not in known:
                        raise self._missing(end)
            links.put(write, wanted)
        return len(wanted)

    def unlink(self, source: str, target: str) -> bool:
        """Remove a link and say whether there was one."""
        ends = utf8(source, "source"), utf8(target, "target")
        with self._store.writing() as write:
            return links.remove(write, *ends)

    def feedback(self, query: str, id: str, action: Action) -> None:
        """Record what became of a result: ``accepted``, ``modified``, ``dismissed``, or ``failed`` (never counted).

        From 30 counted rows on the weights move; see `weights`.

        Raises:
            EntryError: an unknown action.
            EntryNotFound: there is no such entry.
        """
        if action not in feedback.ACTIONS:
            raise EntryError(f"action is {action!r}: wanted one of {', '.join(feedback.ACTIONS)}")
        utf8(query, "query")
        with self._store.writing() as write:
            if not entries.find(write, [id]):
                raise self._missing(id)
            feedback.record(write, Feedback(query, id, action, self._clock()))

    def reset_feedback(self) -> int:
        """Forget all feedback, so that the weights are the documented ones, and return how many rows there were."""
        with self._store.writing() as write:
            return feedback.clear(write)

    # -- inside ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _clock(self) -> float: ...

    def _restore_feedback(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Store feedback rows of an export, with their times."""
        with self._store.writing() as write:
            for row in rows:
                if row["action"] not in feedback.ACTIONS:
                    raise EntryError(f"action is {row['action']!r}: wanted one of {', '.join(feedback.ACTIONS)}")
                at = as_epoch(row.get("created_at"), "created_at", EntryError)
                now = self._clock() if at is None else at
                query, entry_id = utf8(row["query"], "query"), utf8(row["entry_id"], "entry_id")
                feedback.restore(write, Feedback(query, entry_id, row["action"], now))

    def _gather(self, batch: _Batch, fields: Mapping[str, Any], vector: Any, model: Any) -> None:
        row = entries.checked_row(fields, now=self._clock())
        plain = vector is None and model is None
        batch.take(row, {} if plain else stored_vectors.checked(vector, model, row.id))

    @abstractmethod
    def _written(self) -> None:
        """Entries were written: their texts may lack vectors."""

    def _write(self, batch: _Batch) -> None:
        with self._store.writing() as write:
            self._store_batch(write, batch)
        self._written()

    def _store_batch(self, write: Writing, batch: _Batch) -> None:
        # Of an id that comes twice the last text counts, and only vectors given for that text.
        hashes = {row.id: row.text_hash for row in batch.rows}
        stored_vectors.drop_stale(write, hashes)
        entries.upsert(write, batch.rows)
        given = [one for one in batch.vectors if hashes[one.entry_id] == one.text_hash]
        if given:
            one = resolve(self._profile).vectors == "one"
            stored_vectors.put(write, given, one_per_entry=one, now=self._clock())

    def _missing(self, id: str) -> EntryNotFound:
        return EntryNotFound(f"no entry {id!r} in {self._store.path}: check the id, or `add` it first")


def _fields_of(entry: Entry) -> dict[str, Any]:
    fields = entry.to_dict()
    for name in ("created_at", "updated_at"):
        # Not set yet: the clock decides.
        if not fields[name]:
            del fields[name]
    return fields


def _stopped(written: int, index: int, fault: Exception) -> BatchError:
    return BatchError(
        f"item {index} could not be stored: {fault}; {written} entries before it are stored, the rest is not",
        written=written,
        index=index,
    )
