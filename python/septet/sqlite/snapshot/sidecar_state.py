"""What is known of the sidecar behind a manager's arrays: what it covers, and whether it is sound."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from septet import _core
from septet.errors import StoreError
from septet.model.spaces import Space
from septet.sqlite.snapshot.buffers import Buffers
from septet.sqlite.snapshot.checkpoint import restore
from septet.sqlite.snapshot.columns import Column
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.store.store import Reading
from septet.sqlite.tables.vectors import all_spaces

__all__ = ["GROWN_SLOTS", "LEAST_SLOTS", "Coverage", "SidecarState"]

#: A new sidecar is written when more slots than this were added, and more than a tenth of what the old one covers.
GROWN_SLOTS = 1_024
#: A store with fewer slots gets no sidecar in the background: building its arrays is as fast as opening them.
LEAST_SLOTS = 2_000


#: What may come of a file in which a stranger wrote anything.
FAULTS = (
    *(OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError),
    *(MemoryError, RecursionError, StoreError),
)


class Coverage(NamedTuple):
    """How much of the arrays a sidecar holds.

    Attributes:
        file: None when the arrays in memory are in no file: another process wrote an equal one.
        slots: of all arrays but the token counts.
        term_slots: slots whose token counts it holds.
        spaces: whose vectors it holds.
        unverified: the columns whose checksums were not compared yet.
        whole: whether it holds every column that a sidecar should.
        links: whether it holds the links.
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
        """Describe a sidecar that holds a snapshot."""
        numbers = frozenset(space.space for space in spaces)
        links = snapshot.links is not None
        return cls(file, len(snapshot.rows), _term_slots(snapshot), numbers, frozenset(unverified), links=links)

    def is_outgrown(self, snapshot: Snapshot, buffers: Buffers) -> bool:
        """Say whether so much was added, more than a tenth, that a new sidecar is worth writing."""
        enough = max(GROWN_SLOTS, self.slots // 10)
        added = 0 if self.file is None else max((layer.added for layer in buffers.vectors.values()), default=0)
        grown = max(len(snapshot.rows) - self.slots, _term_slots(snapshot) - self.term_slots, added) > enough
        lacks_links = snapshot.links is not None and not self.links
        return grown or lacks_links or not self.whole or not self.spaces >= snapshot.vectors.keys()


class SidecarState:
    """The sidecar of a manager; every change is made under the manager's lock.

    Attributes:
        sidecar: None when arrays stay in memory.
        coverage: None when the arrays came from no sidecar and went into none.
        damaged: a sidecar was found to be damaged, and was removed.
        unwritable: why no sidecar can be written.
    """

    def __init__(self, sidecar: Sidecar | None) -> None:
        self.sidecar = sidecar
        self.coverage: Coverage | None = None
        self.damaged = False
        self.unwritable: OSError | ValueError | None = None

    def restore(self, read: Reading, table: Sequence[Column]) -> tuple[Buffers, Snapshot] | None:
        """Open the arrays of a sidecar, of this generation or an earlier one; None without one that is sound."""
        found = None if self.sidecar is None or self.damaged else self.sidecar.latest(read)
        if self.sidecar is not None and self.sidecar.damaged and not self.damaged:
            # One whose table of contents is damaged is removed like any other.
            self.give_up()
            return None
        if found is None:
            return None
        stamp, file = found
        known = {space._replace(entries=0) for space in all_spaces(read)}
        spaces = [space for space in stamp.spaces if space in known]
        try:
            if not file.is_sealed:
                file.verify()
            buffers, snapshot = restore(file, stamp.generation, spaces, table, read)
        except FAULTS:
            # Its table of contents was whole, so this was a sidecar; now it is damaged, cannot be read, or names rows
            # that the store does not have. Whatever a stranger wrote into it, it is no fault of the search.
            self.give_up()
            return None
        snapshot = replace(snapshot, writer=stamp.writer)
        whole = {column.name for column in table if column.saved} <= set(file.names())
        self.coverage = Coverage.of(file, snapshot, spaces, file.names())._replace(whole=whole)
        return buffers, snapshot

    def give_up(self) -> None:
        """Remove a sidecar that is damaged, and use none from now on."""
        self.coverage, self.damaged = None, True
        if self.sidecar is not None:
            self.sidecar.drop()

    def fail(self, fault: OSError | ValueError) -> None:
        """Write no sidecar from now on."""
        self.unwritable = fault

    @property
    def unverified(self) -> tuple[_core.ArrayFile, frozenset[str]] | None:
        """The sidecar behind the arrays, and its columns whose checksums were not compared yet; None without any."""
        known = self.coverage
        return (known.file, known.unverified) if known is not None and known.file and known.unverified else None

    def due(self, snapshot: Snapshot, buffers: Buffers) -> Literal["verify", "save"] | None:
        """Return what should be done with the sidecar, if anything."""
        known = self.coverage
        if known is not None and known.unverified:
            return "verify"
        return "save" if self.is_outgrown(snapshot, buffers) else None

    def is_outgrown(self, snapshot: Snapshot, buffers: Buffers) -> bool:
        """Say whether a sidecar can be written, and is worth it."""
        if self.sidecar is None or self.sidecar.read_only or self.unwritable is not None or snapshot.postings is None:
            return False
        known = self.coverage
        return len(snapshot.rows) >= LEAST_SLOTS if known is None else known.is_outgrown(snapshot, buffers)


def _term_slots(snapshot: Snapshot) -> int:
    return 0 if snapshot.terms is None else len(snapshot.terms.covered)
