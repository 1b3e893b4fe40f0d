"""Run an import: store records in batches, skip unchanged ones and report those that cannot be stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet.errors import BatchError, EntryError, EntryNotFound, SeptetError, VectorError
from septet.exchange.mapping import Mapper
from septet.exchange.source import Imported, ImportFault, LeftOut, OnError, Source
from septet.exchange.sources import checked_format, opened
from septet.inputs.arguments import called, cut, exact, shown
from septet.model.entry import Entry
from septet.model.links import Link
from septet.profiles import resolve
from septet.vault.batch import Batch, fields_of, words_a_part
from septet.vault.blocks import BLOCK, checked_matrix
from septet.vault.history import Judged
from septet.watch.progress import Report

#: Maximum faults in the result.
MOST_FAULTS = 100
#: Maximum ids remembered to detect duplicates.
MOST_FOLLOWED = 1_000_000
#: Maximum bytes of text and vectors checked as one block.
WAITING_BYTES = 4_000_000
#: Required texts of the other kinds of exported records.
_NEEDED = {"link": ("source", "target"), "feedback": ("query", "entry_id", "action")}


def import_from(
    vault: Judged,
    source: Any,
    *,
    format: object,
    map: object,
    rest: object,
    on_error: OnError,
    vectors: object,
    model: str | None,
    split: object,
    progress: Report | None,
) -> Imported:
    """Import a source; see `septet.Vault.import_`."""
    on_fault: Callable[[ImportFault], object] | None
    form, words, mapper, policy = checked_format(format), words_a_part(split), Mapper(map, rest), exact(on_error)
    if isinstance(policy, str) and policy in ("stop", "skip"):
        on_fault = None if policy == "stop" else lambda _: None
    elif callable(on_error) and not isinstance(on_error, str):
        on_fault = on_error
    else:
        raise EntryError(f"on_error is {shown(on_error)}: wanted 'stop', 'skip' or a function")
    run = _Import(vault, mapper, on_fault, words, called(progress, "progress", EntryError))
    if model is not None and vectors is None:
        raise EntryError(f"model={shown(model)} requires vectors=: it names the model that produced them")
    with vault._loading(), opened(source, form) as records:
        if vectors is not None:
            if records.length is None or not records.counted:
                raise EntryError("vectors= requires a list or a frame of records: make a list first")
            run.matrix, run.model = checked_matrix(vectors, records.length), model
        return run.run(records)


class _Waiting(NamedTuple):
    fields: dict[str, Any]
    vector: Any
    model: Any
    words: int | None
    place: ImportFault
    timed: bool


class _Import:
    """A running import."""

    def __init__(
        self,
        vault: Judged,
        mapper: Mapper,
        on_error: Callable[[ImportFault], object] | None,
        words: int | None,
        progress: Report | None,
    ) -> None:
        self.vault, self.mapper, self.on_error, self.words, self.progress = vault, mapper, on_error, words, progress
        self.stored = self.unchanged = self.skipped = self.seen = 0
        #: Hashes of the stored ids, the number of duplicates, and the first duplicate.
        self.id_hashes: set[int] = set()
        self.duplicates, self.first_duplicate = 0, ""
        self.faults: list[ImportFault] = []
        self.others: list[tuple[ImportFault, str, Mapping[str, Any]]] = []
        #: Entries that wait to be checked as one block.
        self.waiting: list[_Waiting] = []
        self.waiting_size = 0
        self.plain = True
        #: A matrix with one vector per record, and its model.
        self.matrix: NDArray[np.generic] | None = None
        self.model: str | None = None
        self._begin_batch()

    def _begin_batch(self) -> None:
        self.batch = Batch()
        #: Per row: its place in the source, and True if the record has times.
        self.places: list[ImportFault] = []
        self.timed: list[bool] = []

    def run(self, source: Source) -> Imported:
        """Store all records of a source.

        Raises:
            BatchError: a record cannot be stored and ``on_error`` is to stop, or the source cannot be read.
        """
        self.source = source
        try:
            self._read(source)
            self._flush()
            linked = self._store_others("link", self._link)
            restored = self._store_others("feedback", self.vault._restore_feedback)
        except (KeyboardInterrupt, SystemExit) as stop:
            if hasattr(stop, "add_note"):
                stop.add_note(f"{self.stored} entries are stored; importing again skips them")
            raise
        if self.progress is not None:
            self.progress(self.stored, self.stored)
        notes = (*source.notes, *self.mapper.times.notes(), *self.mapper.notes(), *self._repeated())
        return Imported(
            self.stored - self.duplicates, linked, restored, self.unchanged, self.skipped, tuple(self.faults), notes
        )

    def _read(self, source: Source) -> None:
        records = iter(source)
        while True:
            try:
                record = next(records, None)
            except Exception as fault:
                # The source may raise anything; the error must name the number of stored entries.
                self._drain()
                raise self._stopped(self._place(), fault) from fault
            if record is None:
                self._drain()
                return
            place = self._place()
            try:
                if isinstance(record, EntryError):
                    raise record
                self._take(record, place)
            except EntryError as fault:
                self._drain()
                self._failed(place, fault)
            except Exception as fault:
                self._drain()
                raise self._stopped(place, fault) from fault
            if len(self.waiting) >= BLOCK or self.waiting_size >= WAITING_BYTES:
                self._drain()
            if self.batch.full:
                self._flush()
                if self.progress is not None:
                    self.progress(self.stored, source.total(self.stored))

    def _place(self) -> ImportFault:
        return ImportFault(0 if self.source.path else self.source.line, self.source.path, "")

    def _take(self, record: Mapping[Any, Any] | Entry, place: ImportFault) -> None:
        """Queue an entry for the batch; keep links and feedback for the end."""
        fields: dict[str, Any]
        if isinstance(record, Entry):
            fields = fields_of(record)
        elif self.source.json and "record" in record and "record" not in self.mapper.map:
            kind = exact(record["record"])
            needed = _NEEDED.get(kind) if isinstance(kind, str) else None
            if needed is not None and all(isinstance(record.get(name), str) for name in needed):
                self.others.append((place, str(kind), record))
                return
            if not isinstance(kind, str) or kind != "entry":
                raise EntryError("record is not an entry, a link or feedback")
            fields = self._stamped(self.mapper.exported(record), exported="trust" in record)
        else:
            fields = self._stamped(self.mapper.fields(record))
        vector, model = fields.pop("vector", None), fields.pop("model", None)
        if self.matrix is not None:
            if vector is not None or model is not None:
                raise VectorError("it has a vector or a model of its own beside vectors=: leave one out")
            vector, model = self.matrix[self.source.line - 1], self.model
        words = words_a_part(fields.pop("split")) if "split" in fields else self.words
        # A part is never split again.
        words = words if fields.get("parent") is None else None
        timed = fields.get("created_at") is not None or fields.get("updated_at") is not None
        self.waiting.append(_Waiting(fields, vector, model, words, place, timed))
        self.plain &= vector is None and model is None and words is None
        text = fields.get("description")
        self.waiting_size += (len(text) if type(text) is str else 0) + int(getattr(vector, "nbytes", 0))

    def _drain(self) -> None:
        """Move the waiting entries into the batch: as one block, or one by one if an entry needs more checks."""
        waiting, plain, now = self.waiting, self.plain, self.vault._clock()
        self.waiting, self.waiting_size, self.plain = [], 0, True
        if plain and waiting and self.batch.take_block([entry.fields for entry in waiting], None, None, now=now):
            self.places += [entry.place for entry in waiting]
            self.timed += [entry.timed for entry in waiting]
            self.seen += len(waiting)
            return
        for fields, vector, model, words, place, timed in waiting:
            try:
                self.batch.gather(fields, vector, model, now=now, words=words, again=False)
            except EntryError as fault:
                self._failed(place, fault)
                continue
            except Exception as fault:
                raise self._stopped(place, fault) from fault
            self.places.append(place)
            self.timed.append(timed)
            self.seen += 1

    def _stamped(self, fields: dict[str, Any], *, exported: bool = False) -> dict[str, Any]:
        """Fill in source and trust. A foreign record without trust is unverified: a file is no proof of trust."""
        if not exported:
            if fields.get("source") is None:
                fields["source"] = self.source.origin
            if fields.get("trust") is None:
                fields["trust"] = "unverified"
        return fields

    # -- storing -----------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Store the batch and begin a new one."""
        if self.batch.rows:
            self._put(self._changed(), self.places)
        self._begin_batch()

    def _count_duplicates(self, ids: Iterable[str]) -> None:
        """Count stored records with a duplicate id, which replace the earlier ones."""
        for id in ids:
            if (key := hash(id)) in self.id_hashes:
                self.duplicates += 1
                self.first_duplicate = self.first_duplicate or id
            elif len(self.id_hashes) < MOST_FOLLOWED:
                self.id_hashes.add(key)

    def _repeated(self) -> Iterator[str]:
        if self.duplicates:
            records = "1 record has" if self.duplicates == 1 else f"{self.duplicates} records have"
            yield f"{records} a duplicate id, such as {shown(self.first_duplicate)}: the last one counts"

    def _changed(self) -> Batch:
        """Return the batch without unchanged entries."""
        batch, vault = self.batch, self.vault
        with vault._store.reading() as read:
            same = read.tables.entries.rows_stored(read, batch.rows, self.timed)
            if not any(same):
                return batch
            fresh = {row.id for row, known in zip(batch.rows, same) if not known}
            stored = read.tables.vectors.vectors_stored(read, batch.vectors)
            parts = [(id, part) for id, of_entry in batch.parts.items() if id not in fresh for part in of_entry]
            known = read.tables.entries.rows_stored(read, [part for _, part in parts], [False] * len(parts))
        only = resolve(vault._profile).vectors == "one"
        for vectors in batch.vectors:
            blobs = {model: np.asarray(row, "<f4").tobytes() for model, row in vectors.by_model.items()}
            known_blobs = stored.get(vectors.entry_id, {})
            if not blobs.items() <= known_blobs.items() or (only and len(known_blobs) > len(blobs)):
                fresh.add(vectors.entry_id)
        fresh.update(id for (id, _), present in zip(parts, known) if not present)
        # If one of several records with the same id has changed, write them all, in order.
        to_write = [row.id in fresh for row in batch.rows]
        self.unchanged += to_write.count(False)
        self.stored += to_write.count(False)
        self._count_duplicates(row.id for row, new in zip(batch.rows, to_write) if not new)
        self.places = [place for place, new in zip(self.places, to_write) if new]
        return _some(batch, to_write)

    def _put(self, batch: Batch, places: Sequence[ImportFault]) -> None:
        """Store a batch; if an entry fails and is to be skipped, halve the batch to store the others."""
        if not batch.rows:
            return
        try:
            self.vault._write(batch, "import_")
        except SeptetError as fault:
            if self.on_error is None or not isinstance(fault, EntryError):
                self.seen -= len(batch.rows)
                raise self._stopped(places[0], fault) from fault
            if len(batch.rows) == 1:
                self._failed(places[0], fault)
                return
            half = len(batch.rows) // 2
            first = [number < half for number in range(len(batch.rows))]
            self._put(_some(batch, first), places[:half])
            self._put(_some(batch, [not early for early in first]), places[half:])
            return
        self.stored += len(batch.rows)
        self._count_duplicates(row.id for row in batch.rows)

    def _link(self, records: Sequence[Mapping[str, Any]]) -> None:
        links = (Link(r["source"], r["target"], r.get("type", "related"), r.get("note", "")) for r in records)
        self.vault.link_many(list(links))

    def _store_others(self, kind: str, store: Callable[[Sequence[Mapping[str, Any]]], object]) -> int:
        return self._put_each([(place, record) for place, of_kind, record in self.others if of_kind == kind], store)

    def _put_each(
        self,
        records: Sequence[tuple[ImportFault, Mapping[str, Any]]],
        store: Callable[[Sequence[Mapping[str, Any]]], object],
    ) -> int:
        """Store links or feedback; return their number."""
        if not records:
            return 0
        try:
            store([record for _, record in records])
        except SeptetError as fault:
            if self.on_error is None or not isinstance(fault, (EntryError, EntryNotFound)):
                outcome = f"the {self.stored} entries are stored, but not their links and feedback: {fault}"
                raise BatchError(outcome, written=self.stored, index=self.seen) from fault
            if len(records) == 1:
                self._failed(records[0][0], fault)
                return 0
            half = len(records) // 2
            return self._put_each(records[:half], store) + self._put_each(records[half:], store)
        return len(records)

    # -- faults ------------------------------------------------------------------------------------------------------

    def _failed(self, place: ImportFault, fault: SeptetError) -> None:
        """Record a fault and skip its record, or stop.

        Raises:
            BatchError: ``on_error`` is to stop. Exceptions of the caller's function propagate.
        """
        entry = place._replace(message=cut(str(fault)))
        if not isinstance(fault, LeftOut):
            if self.on_error is None:
                raise self._stopped(place, fault) from fault
            self.on_error(entry)
        self.skipped += 1
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(entry)

    def _stopped(self, place: ImportFault, fault: Exception) -> BatchError:
        where = place.path or f"{self.source.unit} {place.line}"
        message = cut(str(fault)) or type(fault).__name__
        outcome = f"the {self.stored} entries before it are stored, the others are not"
        outcome = outcome if self.stored else "nothing was stored"
        return BatchError(f"{where}: {message}; {outcome}", written=self.stored, index=self.seen)


def _some(batch: Batch, selected: Sequence[bool]) -> Batch:
    """Return a batch of the selected rows with their parts and vectors."""
    subset = Batch()
    subset.rows = [row for row, chosen in zip(batch.rows, selected) if chosen]
    ids = {row.id for row in subset.rows}
    subset.parts = {id: parts for id, parts in batch.parts.items() if id in ids}
    subset.vectors = [row for row in batch.vectors if row.entry_id in ids]
    return subset
