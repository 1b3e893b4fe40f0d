"""State of the sidecar of a manager's arrays: its coverage, and known damage."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from septet import _core
from septet.errors import StoreError
from septet.model.vector import Space
from septet.sqlite.snapshot.checkpoint import restore
from septet.sqlite.snapshot.columns import Buffers, FactColumn
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables.vectors import all_spaces

#: A new sidecar is written after more added slots than this, and more than a tenth of those in the old one.
GROWN_SLOTS = 1_024
#: A store with fewer slots gets no sidecar in the background: building its arrays is as fast as opening them.
LEAST_SLOTS = 2_000

#: Errors that a file with arbitrary contents may cause.
FAULTS = (
    *(OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError),
    *(MemoryError, RecursionError, StoreError),
)


class Coverage(NamedTuple):
    """Extent of the arrays in a sidecar.

    Attributes:
        file: None if the arrays are in memory, and another process wrote an equal sidecar.
        slots: number of slots, except of token counts.
        term_slots: number of slots with token counts.
        spaces: spaces with vectors.
        unverified: columns with unverified checksums.
        whole: True if no column is missing.
        links: True if it contains the links.
    """

    file: _core.ArrayFile | None
    slots: int
    term_slots: int
    spaces: frozenset[int]
    unverified: frozenset[str]
    whole: bool = True
    links: bool = False

    @classmethod
    def of(
        cls,
        file: _core.ArrayFile | None,
        snapshot: Snapshot,
        spaces: Sequence[Space],
        unverified: Collection[str] = (),
    ) -> Coverage:
        """Return the coverage of a sidecar of a snapshot."""
        numbers = frozenset(space.space for space in spaces)
        links = snapshot.links is not None
        return cls(file, len(snapshot.rows), _term_slots(snapshot), numbers, frozenset(unverified), links=links)

    def is_outgrown(self, snapshot: Snapshot, buffers: Buffers) -> bool:
        """Return True if a new sidecar should be written: more than a tenth was added, or parts are missing."""
        enough = max(GROWN_SLOTS, self.slots // 10)
        added = 0 if self.file is None else max((layer.added for layer in buffers.vectors.values()), default=0)
        grown = max(len(snapshot.rows) - self.slots, _term_slots(snapshot) - self.term_slots, added) > enough
        lacks_links = snapshot.links is not None and not self.links
        return grown or lacks_links or not self.whole or not self.spaces >= snapshot.vectors.keys()


class SidecarState:
    """The sidecar of a manager; changed only under the manager's lock.

    Attributes:
        sidecar: None if arrays are not persisted.
        coverage: None if the arrays are in no sidecar.
        damaged: True if a damaged sidecar was found and removed.
        unwritable: error that prevents writing.
    """

    def __init__(self, sidecar: Sidecar | None) -> None:
        self.sidecar = sidecar
        self.coverage: Coverage | None = None
        self.damaged = False
        self.unwritable: OSError | ValueError | None = None

    def restore(self, read: SqliteReading, table: Sequence[FactColumn]) -> tuple[Buffers, Snapshot] | None:
        """Open the arrays of a sidecar of this generation or an earlier one; None without a sound one."""
        latest = None if self.sidecar is None or self.damaged else self.sidecar.latest(read)
        if self.sidecar is not None and self.sidecar.damaged and not self.damaged:
            # Its table of contents is damaged.
            self.give_up()
            return None
        if latest is None:
            return None
        stamp, file = latest
        known = {space._replace(entries=0) for space in all_spaces(read)}
        spaces = [space for space in stamp.spaces if space in known]
        try:
            if not file.is_sealed:
                file.verify()
            buffers, snapshot = restore(file, stamp.generation, spaces, table, read)
        except FAULTS:
            # The table of contents is intact, but the rest is damaged, unreadable, or references unknown rows. No
            # content of the file may fail the search.
            self.give_up()
            return None
        snapshot = replace(snapshot, writer=stamp.writer)
        complete = {column.name for column in table if column.saved} <= set(file.names())
        self.coverage = Coverage.of(file, snapshot, spaces, file.names())._replace(whole=complete)
        return buffers, snapshot

    def give_up(self) -> None:
        """Remove a damaged sidecar, and use none from now on."""
        self.coverage, self.damaged = None, True
        if self.sidecar is not None:
            self.sidecar.drop()

    def fail(self, fault: OSError | ValueError) -> None:
        """Write no sidecar from now on."""
        self.unwritable = fault

    @property
    def unverified(self) -> tuple[_core.ArrayFile, frozenset[str]] | None:
        """The sidecar of the arrays, and its unverified columns; None without any."""
        coverage = self.coverage
        return (
            (coverage.file, coverage.unverified)
            if coverage is not None and coverage.file and coverage.unverified
            else None
        )

    def due(self, snapshot: Snapshot, buffers: Buffers) -> Literal["verify", "save"] | None:
        """Return the due work on the sidecar, if any."""
        coverage = self.coverage
        if coverage is not None and coverage.unverified:
            return "verify"
        return "save" if self.is_outgrown(snapshot, buffers) else None

    def is_outgrown(self, snapshot: Snapshot, buffers: Buffers) -> bool:
        """Return True if a new sidecar can and should be written."""
        if self.sidecar is None or self.sidecar.read_only or self.unwritable is not None or snapshot.postings is None:
            return False
        coverage = self.coverage
        return len(snapshot.rows) >= LEAST_SLOTS if coverage is None else coverage.is_outgrown(snapshot, buffers)


def _term_slots(snapshot: Snapshot) -> int:
    return 0 if snapshot.terms is None else len(snapshot.terms.covered)
