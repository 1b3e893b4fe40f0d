"""The table of columns: facts of every entry in a snapshot, by slot; and growing arrays of them and of vectors.

To add a fact for searches, add a line to `COLUMNS` (and a migration for a new column of ``entries``). The query of the
facts, the buffers, the snapshot and the sidecar are all driven by this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from septet import _core
from septet.model.arrays import AppendBuffer, ColumnArrays, Mask, NameTable, Slots
from septet.model.vector import Space
from septet.sqlite.snapshot.postings import PostingsBuffers
from septet.sqlite.snapshot.snapshot import Snapshot, VectorRows
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables import texts
from septet.sqlite.tables import vectors as stored
from septet.sqlite.tables.fragments import FINDABLE, SEARCHABLE
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAGE_ROWS = 5_000
#: Lists absorb the vectors in none if these are more than this part of all.
UNLISTED_PART = 20


class FactColumn(NamedTuple):
    """One fact of every entry.

    Attributes:
        name: name in snapshots and sidecars.
        dtype: dtype of the array.
        source: SQL expression over ``entries e``.
        fill: value for NULL; None if the source is never NULL.
        numbered: True if the source is text; the array contains indexes into the snapshot's `names`.
        saved: True if sidecars contain it; otherwise it is read from the store when the sidecar is opened.
    """

    name: str
    dtype: type[np.generic]
    source: str
    fill: float | str | None = None
    numbered: bool = False
    saved: bool = True

    @property
    def expression(self) -> str:
        """The SQL expression with NULL replaced."""
        if self.fill is None:
            return self.source
        text = f"'{self.fill}'" if isinstance(self.fill, str) else repr(self.fill).replace("inf", "9e999")
        return f"coalesce({self.source}, {text})"


COLUMNS: tuple[FactColumn, ...] = (
    FactColumn("rows", np.int64, "e.row"),
    # Searches may return the entry, and the slot is its current one: buffers clear it when the entry is updated.
    FactColumn("alive", np.bool_, FINDABLE),
    FactColumn("searchable", np.bool_, SEARCHABLE),
    FactColumn("valid_from", np.float64, "e.valid_from", fill=-np.inf),
    FactColumn("valid_until", np.float64, "e.valid_until", fill=np.inf),
    FactColumn("created_at", np.float64, "e.created_at"),
    FactColumn("updated_at", np.float64, "e.updated_at"),
    FactColumn("kind", np.int32, "e.kind", numbered=True),
    FactColumn("severity", np.int32, "e.severity", numbered=True),
    FactColumn("domain", np.int32, "e.domain", numbered=True),
)


def facts_of(
    columns: Sequence[FactColumn], rows: Sequence[tuple[Any, ...]], names: NameTable
) -> dict[str, NDArray[Any]]:
    """Convert rows read with the columns' expressions to one array per column."""
    values: Iterable[Sequence[Any]] = zip(*rows) if rows else ((),) * len(columns)
    arrays: dict[str, NDArray[Any]] = {}
    for column, column_values in zip(columns, values):
        arrays[column.name] = np.array(
            names.numbers(column_values) if column.numbered else column_values, dtype=column.dtype
        )
    return arrays


class Buffers:
    """Growing arrays by slot; only the manager appends, under its lock.

    Args:
        table: the columns.
        columns: initial arrays, one per column; may be mapped from a file.
        names: names of the numbered columns.
    """

    def __init__(
        self,
        table: Sequence[FactColumn] = COLUMNS,
        columns: Mapping[str, NDArray[Any]] | None = None,
        names: NameTable | None = None,
    ) -> None:
        self.table = tuple(table)
        #: SQL expressions of the values that `facts` takes, in order.
        self.sources = [column.expression for column in table]
        self.names = NameTable() if names is None else names
        #: Arrays by column, with spare capacity after the slots in use. Not an `AppendBuffer` each: a change of one
        #: entry appends to all of them, one call each.
        self._arrays = {c.name: np.empty(0, dtype=c.dtype) if columns is None else columns[c.name] for c in table}
        self._slots = len(self._arrays["rows"])
        #: Slots with limited validity.
        self.bounded = AppendBuffer.of(_bounded(self._arrays))
        self.dead = self._slots - int(np.count_nonzero(self._arrays["alive"]))
        self.vectors: dict[int, VectorLayer] = {}
        self.postings: PostingsBuffers | None = None
        #: Sidecar that may back the arrays.
        self.file: _core.ArrayFile | None = None

    def __len__(self) -> int:
        return self._slots

    def facts(self, rows: Sequence[tuple[Any, ...]]) -> ColumnArrays:
        """Convert rows read with `sources` to one array per column."""
        return facts_of(self.table, rows, self.names)

    def append(self, facts: ColumnArrays) -> Slots:
        """Append a slot per live entry and return the new slots. Published snapshots do not change."""
        first = self._slots
        slots = first + len(facts["rows"])
        if slots > first:
            added = _bounded(facts)
            if len(added):
                self.bounded.append(added + first)
            for name, array in self._arrays.items():
                if slots > len(array):
                    # Growth by half makes appends amortized O(1); snapshots keep the old array.
                    grown = np.empty(max(slots, len(array) * 3 // 2, 64), dtype=array.dtype)
                    grown[:first] = array[:first]
                    self._arrays[name] = array = grown
                array[first:slots] = facts[name]
            self._slots = slots
        return np.arange(first, slots, dtype=np.int64)

    def kill(self, slots: Slots) -> None:
        """Mark slots as dead: their entries were updated or deleted."""
        if len(slots):
            # A copy, because older snapshots read the old array.
            alive = self._arrays["alive"].copy()
            alive[slots] = False
            self._arrays["alive"] = alive
            self.dead += len(slots)

    def publish(self, generation: int, hidden: int | None = None, writer: str = "") -> Snapshot:
        """Return a snapshot of all slots, without vectors and postings.

        Args:
            hidden: number of slots that are dead or not searchable; None to count them.
            writer: writer of the generation.
        """
        columns: dict[str, NDArray[Any]] = {}
        for name, array in self._arrays.items():
            columns[name] = view = array[: self._slots]
            view.flags.writeable = False
        if hidden is None:
            hidden = self._slots - int(np.count_nonzero(columns["alive"] & columns["searchable"]))
        bounded, names = self.bounded.view(), self.names
        return Snapshot(
            *(generation, MappingProxyType(columns), names.names, names.native, hidden, bounded),
            writer=writer,
            file=self.file,
        )


def _bounded(facts: ColumnArrays) -> Slots:
    slots: Slots = ((facts["valid_from"] != -np.inf) | (facts["valid_until"] != np.inf)).nonzero()[0]
    return slots


def is_behind(codes: _core.Codes) -> bool:
    """Return True if there are lists, and they should absorb the vectors in none."""
    return codes.lists > 0 and codes.unlisted * UNLISTED_PART > len(codes)


class VectorLayer:
    """Unit rows, codes and slots of one space; only the manager appends, under its lock."""

    def __init__(self, space: Space) -> None:
        self.space = space
        #: Rows in a file; `_rows` are later ones.
        self._base: NDArray[np.float32] | _core.FileRows = np.empty((0, space.dimensions), dtype=np.float32)
        self._rows = AppendBuffer(np.float32, space.dimensions)
        self._slots = AppendBuffer(np.int64)
        self._codes = _core.Codes(space.dimensions)
        self._positions = AppendBuffer(np.int32)
        #: Sampling keys of the rows, and the latest sample.
        self._keys = AppendBuffer(np.uint32)
        self._sample: _core.Sample | None = None
        self._placed = 0

    @classmethod
    def of(cls, space: Space, rows: VectorRows, base: _core.FileRows) -> VectorLayer:
        """Start with rows in a file."""
        layer = cls(space)
        layer._base, layer._codes = base, rows.codes
        layer._slots, layer._positions = AppendBuffer.of(rows.slots), AppendBuffer.of(rows.positions)
        layer._keys, layer._sample = AppendBuffer.of(rows.keys), rows.sample
        layer._placed = len(rows.slots)
        return layer

    def replace_by_file(self, rows: VectorRows, base: _core.FileRows) -> None:
        """Replace rows and codes in memory by the same ones in a file."""
        first = len(self._base)
        rest = AppendBuffer(np.float32, self.space.dimensions)
        rest.append(self._rows.view()[len(base) - first :])
        rows.codes.append(rest.view())
        self._base, self._rows, self._codes = base, rest, rows.codes

    @property
    def added(self) -> int:
        """Number of rows in memory only."""
        return len(self._rows)

    @property
    def has_lists(self) -> bool:
        """True if rows are in lists."""
        return self._codes.lists > 0

    @property
    def is_behind(self) -> bool:
        """True if its lists should absorb the rows in none."""
        return is_behind(self._codes)

    def arrange(self, codes: _core.Codes) -> _core.Codes:
        """Replace the codes by those in lists of the first rows; append and return those of all rows."""
        codes.append(self._rows.view()[len(codes) - len(self._base) :])
        self._codes = codes
        return codes

    def append(self, read: SqliteReading, rows: Slots, slots: Slots) -> None:
        """Append the vectors of entries, given the store's rows ``(m,)`` and their slots ``(m,)``."""
        for start in range(0, len(rows), PAGE_ROWS):
            part = slice(start, start + PAGE_ROWS)
            stored_rows = stored.of_rows(read, self.space, rows[part].tolist())
            self._append([row.vector for row in stored_rows], slots[part][[row.at for row in stored_rows]])

    def append_late(self, read: SqliteReading, snapshot: Snapshot, since: int) -> None:
        """Append the vectors written after a generation for entries whose slots had none."""
        if self.space.keyed_by != "text":
            return
        for page in texts.late_vectors(read, self.space, since):
            slots = snapshot.slots_of([row.at for row in page])
            # Slots beyond the positions are new: `append` has added their vectors.
            known = (slots >= 0) & (slots < len(self._positions))
            known[known] = self._positions.view()[slots[known]] < 0
            self._append([row.vector for row, is_new in zip(page, known) if is_new], slots[known])

    def view(self, sampled: Mask, dropped: Slots | None = None) -> VectorRows:
        """Return all rows.

        Args:
            sampled: mask of the snapshot's sampled slots ``(s,)``.
            dropped: slots that left the sample since the last view; None if unknown.
        """
        slots, known, placed = len(sampled), len(self._positions), self._slots.view()[self._placed :]
        numbers = np.arange(self._placed, len(self._slots), dtype=np.int32)
        fresh, is_late = np.full(slots - known, -1, dtype=np.int32), placed < known
        fresh[placed[~is_late] - known] = numbers[~is_late]
        self._positions.append(fresh)
        if is_late.any():
            # A copy, because an older snapshot reads the old array.
            positions = self._positions.view().copy()
            positions[placed[is_late]] = numbers[is_late]
            self._positions = AppendBuffer.of(positions)
        self._placed = len(self._slots)
        rows, row_slots = (self._base, self._rows.view()), self._slots.view()
        keys, sample = self._keys.view(), None
        if self._sample is not None and dropped is not None:
            fresh_rows = slice(self._placed - len(numbers), None)
            at = self._positions.view()[dropped]
            sample = self._sample.kept(keys[fresh_rows][sampled[row_slots[fresh_rows]]], keys[at[at >= 0]])
        self._sample = sample or _core.Sample(rows, keys, row_slots, sampled, self._sample)
        return VectorRows(rows, row_slots, self._codes, self._positions.view(), self._sample, keys)

    def write_first(self, count: int, to: _core.ArrayWriter, name: str) -> None:
        """Write the first rows ``(count, d)`` as a column."""
        base, more = self._base, self._rows.view()[: max(0, count - len(self._base))]
        if isinstance(base, _core.FileRows):
            to.rows(name, base, min(count, len(base)), more)
        else:
            to.column(name, 4, [more.reshape(-1).view(np.uint8)])

    def _append(self, blobs: Sequence[Any], slots: Slots) -> None:
        if len(blobs):
            matrix = np.frombuffer(b"".join(blobs), dtype="<f4").astype(np.float32, copy=False)
            unit = _core.unit_rows(matrix.reshape(len(blobs), self.space.dimensions))
            self._rows.append(unit)
            self._codes.append(unit)
            self._keys.append(_core.row_keys(unit))
            self._slots.append(slots)
