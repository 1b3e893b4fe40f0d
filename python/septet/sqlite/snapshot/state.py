"""State of a manager: its sidecar, its background work, and cached answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from septet import _core
from septet.errors import SeptetError, StoreError
from septet.model.vector import Space
from septet.sqlite.snapshot.checkpoint import restore
from septet.sqlite.snapshot.columns import Buffers, FactColumn
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.store.store import SqliteReading, SqliteStore
from septet.sqlite.tables.vectors import all_spaces
from septet.system.contexts import without_context
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

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
        cls, file: _core.ArrayFile | None, snapshot: Snapshot, spaces: Sequence[Space], unverified: Collection[str] = ()
    ) -> Coverage:
        """Return the coverage of a sidecar of a snapshot."""
        numbers = frozenset(space.space for space in spaces)
        links = snapshot.links is not None
        return cls(file, len(snapshot.rows), _term_slots(snapshot), numbers, frozenset(unverified), links=links)

    def is_outgrown(self, snapshot: Snapshot, buffers: Buffers) -> bool:
        """Return True if a new sidecar should be written.

        Namely if more than a tenth was added, lists of vectors are behind, or parts are missing.
        """
        enough = max(GROWN_SLOTS, self.slots // 10)
        added, behind = 0, False
        for layer in list(buffers.vectors.values()):
            added = max(added, layer.added) if self.file is not None else 0
            behind = behind or layer.is_behind
        grown = max(len(snapshot.rows) - self.slots, _term_slots(snapshot) - self.term_slots, added) > enough
        lacks_links = snapshot.links is not None and not self.links
        return grown or behind or lacks_links or not self.whole or not self.spaces >= snapshot.vectors.keys()


class SidecarState:
    """The sidecar of a manager; changed only under the manager's lock.

    Attributes:
        sidecar: None if arrays are not persisted.
        coverage: None if the arrays are in no sidecar.
        damaged: True if a damaged sidecar was found and removed.
        unwritable: True after a failed write: this process writes no more.
    """

    def __init__(self, sidecar: Sidecar | None) -> None:
        self.sidecar = sidecar
        self.coverage: Coverage | None = None
        self.damaged = False
        self.unwritable = False

    def restore(self, read: SqliteReading, table: Sequence[FactColumn]) -> tuple[Buffers, Snapshot] | None:
        """Open the arrays of a sidecar of this generation or an earlier one; None without a sound one."""
        latest = None if self.sidecar is None or self.damaged else self.sidecar.latest(read)
        if self.sidecar is not None and self.sidecar.damaged and not self.damaged:
            # Its table of contents is damaged.
            self.give_up()
            return None
        if latest is None:
            return None
        stamp, file, _ = latest
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

    @property
    def unverified(self) -> tuple[_core.ArrayFile, frozenset[str]] | None:
        """The sidecar of the arrays, and its unverified columns; None without any."""
        coverage = self.coverage
        if coverage is None or coverage.file is None or not coverage.unverified:
            return None
        return coverage.file, coverage.unverified

    def due(self, snapshot: Snapshot, buffers: Buffers) -> Literal["verify", "save"] | None:
        """Return the due work on the sidecar, if any."""
        coverage = self.coverage
        if coverage is not None and coverage.unverified:
            return "verify"
        return "save" if self.is_outgrown(snapshot, buffers) else None

    def is_outgrown(self, snapshot: Snapshot, buffers: Buffers) -> bool:
        """Return True if a new sidecar can and should be written."""
        if self.sidecar is None or self.sidecar.read_only or self.unwritable or snapshot.postings is None:
            return False
        coverage = self.coverage
        return len(snapshot.rows) >= LEAST_SLOTS if coverage is None else coverage.is_outgrown(snapshot, buffers)


def _term_slots(snapshot: Snapshot) -> int:
    return 0 if snapshot.terms is None else len(snapshot.terms.covered)


#: Does one step of the work and returns True if there is more. Steps are short, so that other tasks and the exit of the
#: process never wait long for the thread.
Task: TypeAlias = Callable[[], bool]


class Schedule:
    """Serializes the work of a manager, in the background or by a waiting caller.

    Attributes:
        turns: lock held by a turn until the turn is released or garbage-collected.
    """

    def __init__(self) -> None:
        self.turns = _core.Lock(handed_on=True)

    @property
    def busy(self) -> bool:
        """True if work is running."""
        return self.turns.held_by_any

    def turn(self) -> Any:
        """Return a new turn; None if work is running."""
        return self.turns.hold(0)

    def wait(self) -> Any:
        """Wait for running work to end; return a new turn."""
        return self.turns.hold()

    def start(self, task: Task, store: SqliteStore, turn: Any) -> None:
        """Hand a task and its turn to the background."""
        # Raised when the interpreter is shutting down.
        with suppress(RuntimeError):
            _executor(os.getpid()).submit(without_context(self._step), task, store, turn)

    def _step(self, task: Task, store: SqliteStore, turn: Any) -> None:
        more = False
        try:
            # The vault is closed or unreadable: the next search reports it.
            with suppress(SeptetError, MemoryError):
                more = not store.closed and task()
        finally:
            if not more:
                turn.release()
        if more:
            self.start(task, store, turn)


@cache
def _executor(_process: int) -> ThreadPoolExecutor:
    """Return the background thread of a process; threads do not survive a fork."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="septet-maintenance")


_Answer = TypeVar("_Answer")


class Answers:
    """Caches answers until the store changes. Thread-safe."""

    def __init__(self) -> None:
        self._cache: tuple[tuple[int, str], dict[object, Any]] = ((-1, ""), {})

    def remembered(self, read: SqliteReading, key: object, ask: Callable[[], _Answer]) -> _Answer:
        """Return the cached answer for a key at this generation; call ``ask`` only on a miss."""
        state, answers = self._cache
        if state != read[1:]:
            answers = {}
            # A single assignment, so that no thread sees answers of another generation.
            self._cache = (read[1:], answers)
        if key not in answers:
            answers[key] = ask()
        answer: _Answer = answers[key]
        return answer
