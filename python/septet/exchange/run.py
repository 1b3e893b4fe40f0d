"""An import: records in batches, what is stored already left alone, and what cannot be stored told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.errors import BatchError, EntryError, EntryNotFound, SeptetError, VectorError
from septet.exchange.imported import Imported, ImportFault, OnError
from septet.exchange.mapping import Mapper
from septet.exchange.source import LeftOut, Source
from septet.exchange.sources import checked_format, opened
from septet.inputs.arguments import called, cut, exact, shown
from septet.model.entry import Entry
from septet.profiles import resolve
from septet.sqlite.tables.links import Link
from septet.vault.batch import Batch, fields_of, words_a_part
from septet.vault.blocks import BLOCK, checked_matrix
from septet.vault.judged import Judged
from septet.watch.progress import Report

__all__ = ["import_from"]

#: So many faults are kept to be shown.
MOST_FAULTS = 100
#: So many ids are followed, to tell of those that come again.
MOST_FOLLOWED = 1_000_000
#: So much text may wait to be checked as one block.
WAITING_BYTES = 4_000_000
#: What an export marks, beside entries, and the texts that it must have.
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
    """Store what a source holds; see `septet.Vault.import_`."""
    form, words = checked_format(format), words_a_part(split)
    loading = _Loading(
        vault, Mapper(map, rest), _checked_on_error(on_error), words, called(progress, "progress", EntryError)
    )
    if model is not None and vectors is None:
        raise EntryError(f"model is {shown(model)} without vectors: it says who made vectors=")
    with vault._loading(), opened(source, form) as found:
        if vectors is not None:
            loading.beside(vectors, model, found.length if found.counted else None)
        return loading.run(found)


def _checked_on_error(on_error: object) -> Callable[[ImportFault], object] | None:
    """Return what is called with a fault; None to stop."""
    given = exact(on_error)
    if isinstance(given, str) and given in ("stop", "skip"):
        return None if given == "stop" else lambda _: None
    if callable(on_error) and not isinstance(on_error, str):
        return on_error
    raise EntryError(f"on_error is {shown(on_error)}: wanted 'stop', 'skip' or a function")


class _Loading:
    """One import on its way."""

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
        #: Hashes of the ids that came, how many came again, and the first of these.
        self.came: set[int] = set()
        self.again, self.first_again = 0, ""
        self.faults: list[ImportFault] = []
        self.others: list[tuple[ImportFault, str, Mapping[str, Any]]] = []
        #: Entries that wait to be checked as one block: fields, vector, model, words, place, whether times were given.
        self.waiting: list[tuple[dict[str, Any], Any, Any, int | None, ImportFault, bool]] = []
        self.waiting_size = 0
        self.plain = True
        self.matrix: NDArray[np.generic] | None = None
        self.model: str | None = None
        self._renew()

    def _renew(self) -> None:
        self.batch = Batch()
        #: Of each row: where it came from, and whether its times were given.
        self.places: list[ImportFault] = []
        self.timed: list[bool] = []

    def beside(self, vectors: object, model: str | None, count: int | None) -> None:
        """Take a matrix with a vector for each record.

        Raises:
            EntryError: the number of records is not known.
            VectorError: another shape, or no numbers.
        """
        if count is None:
            raise EntryError("vectors= is for a list or a frame of records, whose number is known: make a list first")
        self.matrix, self.model = checked_matrix(vectors, count), model

    def run(self, source: Source) -> Imported:
        """Store all records of a source.

        Raises:
            BatchError: a record cannot be stored, and is not to be skipped, or the source cannot be read on.
        """
        self.source = source
        try:
            self._read(source)
            self._flush()
            linked = self._put_others("link", self._link)
            given = self._put_others("feedback", self.vault._restore_feedback)
        except (KeyboardInterrupt, SystemExit) as stop:
            if hasattr(stop, "add_note"):
                stop.add_note(f"{self.stored} entries are stored; importing again leaves them as they are")
            raise
        if self.progress is not None:
            self.progress(self.stored, self.stored)
        notes = (*source.notes, *self.mapper.times.notes(), *self.mapper.notes(), *self._repeated())
        return Imported(
            self.stored - self.again, linked, given, self.unchanged, self.skipped, tuple(self.faults), notes
        )

    def _read(self, source: Source) -> None:
        records = iter(source)
        while True:
            try:
                record = next(records, None)
            except Exception as fault:
                # The source may raise anything; the caller must learn how many are stored.
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
        """Take an entry into the batch, and put every other record aside."""
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
                raise EntryError("it is not an entry, a link or feedback")
            fields = self._stamped(self.mapper.exported(record), exported="trust" in record)
        else:
            fields = self._stamped(self.mapper.fields(record))
        vector, model = fields.pop("vector", None), fields.pop("model", None)
        if self.matrix is not None:
            if vector is not None or model is not None:
                raise VectorError("it has a vector or a model of its own beside vectors=: leave one out")
            vector, model = self.matrix[self.source.line - 1], self.model
        words = words_a_part(fields.pop("split")) if "split" in fields else self.words
        # What was split comes with its parts.
        words = words if fields.get("parent") is None else None
        timed = fields.get("created_at") is not None or fields.get("updated_at") is not None
        self.waiting.append((fields, vector, model, words, place, timed))
        self.plain &= vector is None and model is None and words is None
        text = fields.get("description")
        self.waiting_size += (len(text) if type(text) is str else 0) + int(getattr(vector, "nbytes", 0))

    def _drain(self) -> None:
        """Take what waits into the batch, as one block, or one after the other if an entry wants more checks."""
        waiting, plain, now = self.waiting, self.plain, self.vault._clock()
        self.waiting, self.waiting_size, self.plain = [], 0, True
        if plain and waiting and self.batch.take_block([one[0] for one in waiting], None, None, now=now):
            self.places += [one[4] for one in waiting]
            self.timed += [one[5] for one in waiting]
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
        """Say where an entry comes from. Who says nothing of trust is not vouched for by being in a file."""
        if not exported:
            if fields.get("source") is None:
                fields["source"] = self.source.origin
            if fields.get("trust") is None:
                fields["trust"] = "unverified"
        return fields

    # -- storing -----------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Store the batch, and begin another one."""
        if self.batch.rows:
            self._put(self._changed(), self.places)
        self._renew()

    def _follow(self, ids: Iterable[str]) -> None:
        """Count stored records whose id was stored before: of such the vault keeps the last."""
        for id in ids:
            if (number := hash(id)) in self.came:
                self.again += 1
                self.first_again = self.first_again or id
            elif len(self.came) < MOST_FOLLOWED:
                self.came.add(number)

    def _repeated(self) -> Iterator[str]:
        if self.again:
            records = "1 record has" if self.again == 1 else f"{self.again} records have"
            yield f"{records} an id that came before, such as {shown(self.first_again)}: the last one counts"

    def _changed(self) -> Batch:
        """Return the batch without the entries that are stored just so."""
        batch, vault = self.batch, self.vault
        with vault._store.reading() as read:
            same = read.tables.unchanged.rows_stored(read, batch.rows, self.timed)
            if not any(same):
                return batch
            fresh = {row.id for row, known in zip(batch.rows, same) if not known}
            stored = read.tables.unchanged.vectors_stored(read, batch.vectors)
            own = [(id, part) for id, found in batch.parts.items() if id not in fresh for part in found]
            known = read.tables.unchanged.rows_stored(read, [part for _, part in own], [False] * len(own))
        only = resolve(vault._profile).vectors == "one"
        for one in batch.vectors:
            given = {model: np.asarray(row, "<f4").tobytes() for model, row in one.by_model.items()}
            kept = stored.get(one.entry_id, {})
            if any(kept.get(model) != blob for model, blob in given.items()) or (only and len(kept) > len(given)):
                fresh.add(one.entry_id)
        fresh.update(id for (id, _), here in zip(own, known) if not here)
        # An id that comes twice is written as often as it comes, if once is new.
        changed = [row.id in fresh for row in batch.rows]
        self.unchanged += changed.count(False)
        self.stored += changed.count(False)
        self._follow(row.id for row, new in zip(batch.rows, changed) if not new)
        self.places = [place for place, new in zip(self.places, changed) if new]
        return _some(batch, changed)

    def _put(self, batch: Batch, places: Sequence[ImportFault]) -> None:
        """Store a batch; if an entry of it cannot be stored and is to be skipped, store the others."""
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
            self._put(_some(batch, [not one for one in first]), places[half:])
            return
        self.stored += len(batch.rows)
        self._follow(row.id for row in batch.rows)

    def _link(self, records: Sequence[Mapping[str, Any]]) -> None:
        found = (Link(r["source"], r["target"], r.get("type", "related"), r.get("note", "")) for r in records)
        self.vault.link_many(list(found))

    def _put_others(self, kind: str, store: Callable[[Sequence[Mapping[str, Any]]], object]) -> int:
        wanted = [(place, record) for place, found, record in self.others if found == kind]
        return self._put_each(wanted, store) if wanted else 0

    def _put_each(
        self,
        wanted: Sequence[tuple[ImportFault, Mapping[str, Any]]],
        store: Callable[[Sequence[Mapping[str, Any]]], object],
    ) -> int:
        """Store links or feedback; return how many."""
        try:
            store([record for _, record in wanted])
        except SeptetError as fault:
            if self.on_error is None or not isinstance(fault, (EntryError, EntryNotFound)):
                raise BatchError(
                    f"the {self.stored} entries are stored, but not their links and feedback: {fault}",
                    written=self.stored,
                    index=self.seen,
                ) from fault
            if len(wanted) == 1:
                self._failed(wanted[0][0], fault)
                return 0
            half = len(wanted) // 2
            return self._put_each(wanted[:half], store) + self._put_each(wanted[half:], store)
        return len(wanted)

    # -- faults ------------------------------------------------------------------------------------------------------

    def _failed(self, place: ImportFault, fault: SeptetError) -> None:
        """Note a record that is skipped, or stop.

        Raises:
            BatchError: it is not to be skipped. What the caller's own function raises comes through.
        """
        found = place._replace(message=cut(str(fault)))
        if not isinstance(fault, LeftOut):
            if self.on_error is None:
                raise self._stopped(place, fault) from fault
            self.on_error(found)
        self.skipped += 1
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(found)

    def _stopped(self, place: ImportFault, fault: Exception) -> BatchError:
        where = place.path or f"{self.source.unit} {place.line}"
        said = cut(str(fault)) or type(fault).__name__
        kept = (
            f"the {self.stored} entries before it are stored, the others are not"
            if self.stored
            else "nothing was stored"
        )
        return BatchError(
            f"{where}: {said}; {kept}",
            written=self.stored,
            index=self.seen,
        )


def _some(batch: Batch, wanted: Sequence[bool]) -> Batch:
    """Return a batch of those rows that are wanted, with their parts and vectors."""
    made = Batch()
    made.rows = [row for row, one in zip(batch.rows, wanted) if one]
    ids = {row.id for row in made.rows}
    made.parts = {id: found for id, found in batch.parts.items() if id in ids}
    made.vectors = [one for one in batch.vectors if one.entry_id in ids]
    return made
