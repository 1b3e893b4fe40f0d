"""A dry run of a sync: what it would do, as its report, while nothing is written."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from septet.files.lease import Lease
from septet.files.matching import adopted
from septet.files.planning import Plan
from septet.files.preparing import Task
from septet.files.report import SyncReport, Tally
from septet.files.syncing import Run
from septet.files.tracking import Followed
from septet.files.turns import Asked
from septet.sqlite.store.store import Store
from septet.sqlite.tables import files
from septet.sqlite.tables.files import FileRow

if TYPE_CHECKING:
    from septet.files.sources import Found

__all__ = ["rehearse_roots"]


def rehearse_roots(store: Store, asked: Asked, *, clock: Callable[[], float]) -> SyncReport:
    """Return what a sync of roots would do, were it to begin now.

    Files are read, cut and compared as a sync does it; chunks are neither stored nor embedded.

    Raises:
        StoreError: the vault cannot be read.
    """
    started = time.perf_counter()
    tally = Tally()
    for one in asked.followed:
        _Rehearsal(store, asked, one, tally, clock).run()
    return tally.report([one.name for one in asked.followed], time.perf_counter() - started, dry_run=True)


class _Rehearsal(Run):
    """The sync of one root, of which every step that writes is only counted."""

    def __init__(
        self, store: Store, asked: Asked, followed: Followed, tally: Tally, clock: Callable[[], float]
    ) -> None:
        # The lease is not taken: others may sync meanwhile.
        super().__init__(store, asked, followed, tally, Lease(store), clock, lambda: None, None)
        #: Paths of files that are read as they changed, and so need not be read in another way.
        self._brought: set[str] = set()

    def _begin(self, whole: bool) -> bool:
        return whole and self._of.is_read_otherwise

    def _begin_identity(self) -> None:
        pass

    def _known(self, found: Sequence[Found], wanted: Sequence[str] | None) -> list[FileRow]:
        with self._store.reading() as read:
            if wanted is not None:
                return list(files.at(read, self._of.number, wanted).values())
            rows = files.of_root(read, self._of.number)
        return rows if rows or self._of.stored else adopted(self._store, self._of, found, dry_run=True)

    def _erase(self, gone: Sequence[FileRow]) -> None:
        with self._store.reading() as read:
            chunks = files.chunks_of(read, [row.id for row in gone])
        self._tally.add("files_removed", len(gone))
        self._tally.add("chunks_removed", sum(map(len, chunks.values())))

    def _touch(self, rows: Sequence[FileRow]) -> None:
        pass

    def _store_plans(self, plans: Sequence[Plan]) -> None:
        for plan in plans:
            self._tally.add_plan(plan)
            self._brought.add(plan.after.path)

    def _read_otherwise(self, found: Sequence[Found], look_s: float) -> bool:
        there: Mapping[str, Found] = {one.path: one for one in found}
        with self._store.reading() as read:
            rows = files.of_root(read, self._of.number)
        tasks = [
            Task(there[row.path], row, anew=True) for row in rows if row.path in there and row.path not in self._brought
        ]
        self._bring(tasks)
        self._tally.add("files_staged", len(tasks) - self._left)
        self._whole = not self._left
        if self._whole:
            self._tally.reindexed.append(self._of.name)
        return False

    def _note(self, *, whole: bool) -> None:
        pass
