"""Dry run of a sync: its report, without writing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from septet.files.matching import adopted
from septet.files.planning import FilePlan
from septet.files.preparing import Task
from septet.files.report import SyncReport, SyncTally
from septet.files.syncing import Run
from septet.files.tracking import Followed
from septet.files.turns import Lease, SyncRequest
from septet.sqlite.store.store import SqliteStore
from septet.sqlite.tables import files
from septet.sqlite.tables.files import FileRow

if TYPE_CHECKING:
    from septet.files.sources import RootFile


def rehearse_roots(store: SqliteStore, request: SyncRequest, *, clock: Callable[[], float]) -> SyncReport:
    """Return the report of a sync without writing.

    Files are read, chunked and compared as in a sync; chunks are neither stored nor embedded.

    Raises:
        StoreError: the vault cannot be read.
    """
    started = time.perf_counter()
    tally = SyncTally()
    for followed in request.followed:
        _Rehearsal(store, request, followed, tally, clock).run()
    return tally.report([followed.name for followed in request.followed], time.perf_counter() - started, dry_run=True)


class _Rehearsal(Run):
    """The sync of one root that counts its writes instead of making them."""

    def __init__(
        self, store: SqliteStore, request: SyncRequest, followed: Followed, tally: SyncTally, clock: Callable[[], float]
    ) -> None:
        # Without taking the lease: other processes may sync at the same time.
        super().__init__(store, request, followed, tally, Lease(store), clock, lambda: None, None)
        #: Paths of changed files, which a rebuild need not count again.
        self._changed: set[str] = set()

    def _begin(self, whole: bool) -> bool:
        return whole and self._of.is_read_otherwise

    def _begin_identity(self) -> None:
        pass

    def _known(self, present: Sequence[RootFile], paths: Sequence[str] | None) -> list[FileRow]:
        with self._store.reading() as read:
            if paths is not None:
                return list(files.at(read, self._of.number, paths).values())
            rows = files.of_root(read, self._of.number)
        return rows if rows or self._of.stored else adopted(self._store, self._of, present, dry_run=True)

    def _erase(self, missing: Sequence[FileRow]) -> None:
        with self._store.reading() as read:
            chunks = files.chunks_of(read, [row.id for row in missing])
        self._tally.add("files_removed", len(missing))
        self._tally.add("chunks_removed", sum(map(len, chunks.values())))

    def _touch(self, rows: Sequence[FileRow]) -> None:
        pass

    def _store_plans(self, plans: Sequence[FilePlan]) -> None:
        for plan in plans:
            self._tally.add_plan(plan)
            self._changed.add(plan.after.path)

    def _read_otherwise(self, present: Sequence[RootFile], look_s: float) -> bool:
        there: Mapping[str, RootFile] = {file.path: file for file in present}
        with self._store.reading() as read:
            rows = files.of_root(read, self._of.number)
        tasks = [
            Task(there[row.path], row, rebuild=True)
            for row in rows
            if row.path in there and row.path not in self._changed
        ]
        self._read_and_store(tasks)
        self._tally.add("files_staged", len(tasks) - self._left)
        self._whole = not self._left
        if self._whole:
            self._tally.reindexed.append(self._of.name)
        return False

    def _note(self, *, whole: bool) -> None:
        pass
