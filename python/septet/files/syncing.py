"""Sync: update the chunks of a vault to the files on the disk.

Scan, compare sizes and times with the table of files, read the files that differ, compare hashes, chunk the changed
ones and store whole files per transaction. After an interrupted sync the rows of pending files still differ from the
disk, so the next sync finds them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from septet.errors import StoreError
from septet.files.matching import adopted, compared, moved_meanwhile, renamed, why_unknown
from septet.files.planning import FilePlan, plan_rows
from septet.files.preparing import PreparedFile, Preparer, Task, ahead, batches
from septet.files.reindexing import EmbedAhead, Rebuild, clean
from septet.files.report import SyncReport, SyncTally
from septet.files.storing import erase_files, in_order, link_mentions, mentioning, store_plans
from septet.files.tracking import Followed, followed_of, still_followed
from septet.files.turns import Lease, SyncRequest
from septet.sqlite.store.store import SqliteStore, SqliteWriting
from septet.sqlite.tables import files, mentions, staged
from septet.sqlite.tables.files import FileRow
from septet.store.rows import Keeping
from septet.watch import log

if TYPE_CHECKING:
    from septet.files.sources import RootFile, Skipped

#: Maximum chunks per transaction: FTS5 has little to merge, and other writers wait only briefly.
MOST_CHUNKS = 5_000
#: During a rebuild the disk is scanned again after this many seconds, or this many times the duration of a scan.
LOOK_S, LOOK_SHARE = 5.0, 20.0
_NO_OTHERS: Mapping[str, int] = {}


def sync_roots(
    store: SqliteStore,
    request: SyncRequest,
    *,
    clock: Callable[[], float],
    written: Callable[[], None],
    embed_ahead: EmbedAhead | None = None,
) -> SyncReport:
    """Sync roots and return the report; problems of files and roots are reported, not raised.

    Args:
        clock: current time, epoch seconds.
        written: called after each transaction that stored chunks.
        embed_ahead: embeds the texts of rebuilt chunks before they replace the old ones.

    Raises:
        StoreError: the vault cannot be written, or has no room to rebuild a root (raised at the end).
    """
    started = time.perf_counter()
    tally, lease, followed = SyncTally(), Lease(store), request.followed
    try:
        if lease.take(request.late):
            with store.reading() as read:
                # A root may have been changed, forgotten or recreated during the wait.
                followed = [followed_of(row) for row in files.roots(read)]
            if request.place is not None:
                followed = [root for root in followed if root.root.path == request.place]
            for root in followed:
                Run(store, request, root, tally, lease, clock, written, embed_ahead).run()
        else:
            tally.complete = False
            tally.problems.append(
                "the vault is being closed"
                if request.ending()
                else "another process is syncing this vault: sync again when it is done"
            )
    finally:
        lease.release()
    report = tally.report([root.name for root in followed], time.perf_counter() - started)
    log.say("sync", log.INFO if report.count or report.problems else log.DEBUG, "%s: %s", store.path, report)
    if tally.no_room:
        raise StoreError("; ".join(tally.no_room))
    return report


class DiskState(NamedTuple):
    """The files of a root on the disk, the skipped ones, and why the root cannot be compared, if it cannot."""

    files: Sequence[RootFile]
    skipped: Sequence[Skipped]
    why: str | None
    others: Mapping[str, int]


class Run:
    """The sync of one root."""

    dry_run = False

    def __init__(
        self,
        store: SqliteStore,
        request: SyncRequest,
        followed: Followed,
        tally: SyncTally,
        lease: Lease,
        clock: Callable[[], float],
        written: Callable[[], None],
        embed_ahead: EmbedAhead | None,
    ) -> None:
        self._store, self._request, self._of, self._tally, self._lease = store, request, followed, tally, lease
        self._clock, self._written, self._embed_ahead = clock, written, embed_ahead
        self._prepare = Preparer(followed, clock())
        self._problems: list[str] = []
        #: The rebuild of the root's chunks, if its options changed.
        self._rebuild: Rebuild | None = None
        #: True after the first scan, and while no file was missed.
        self._again, self._whole = False, True
        #: Number of files changed by other processes, or not reached in time.
        self._left = 0
        with store.reading() as read:
            self._device = files.device_of(read, followed.number)
            self._has_leftovers = staged.target(read, followed.number) is not None or staged.any_of(read)

    def run(self) -> None:
        """Sync the root."""
        of, paths = self._of, None if self._request.paths is None else self._request.paths.get(self._of.number, ())
        if self._request.paths is not None and not paths:
            return
        going_on = self._begin(paths is None)
        while True:
            looked = time.monotonic()
            seen = self._update(paths)
            if seen.why:
                with self._store.reading() as read:
                    known = len(files.of_root(read, of.number))
                self._problem(f"{of.root.path} {seen.why}: its {known} files stay in the vault; "
                              f"forget_root({of.name!r}) removes them")  # fmt: skip
                self._tally.complete = self._whole = False
                break
            self._again = True
            if not going_on or self._left or not self._read_otherwise(seen.files, time.monotonic() - looked):
                break
        self._tally.add("files_left", self._left)
        self._tally.complete &= self._whole and not self._left
        self._note(whole=self._whole and paths is None and not self._left)

    def _update(self, paths: Sequence[str] | None) -> DiskState:
        """Store the differences from the disk, and return the scan."""
        # A rebuild reads all files by itself.
        reread = self._request.force and (paths is not None or not self._of.is_read_otherwise)
        seen = self._look(paths)
        rows = [] if seen.why else self._known(seen.files, paths)
        tasks, same, missing = compared(seen.files, seen.skipped, rows, reread=reread)
        first_scan, missing_first = seen, missing
        if missing_first or (tasks and _moving(tasks, rows, seen)):
            # A file moved during the scan may be listed twice or not at all: scan again.
            seen = self._look(paths)
            tasks, same, missing = compared(seen.files, seen.skipped, rows, reread=reread)
            moving = _moving(tasks, rows, seen)
            tasks = [task for task in tasks if task.file not in moving]
            self._left += len(moving)
        for entry in seen.skipped:
            if entry.reason != "unread" or paths is not None:
                self._skip(entry.path, entry.text)
        if seen.why:
            return seen
        if tasks:
            tasks, missing = renamed(tasks, missing)
        if missing:
            # Only files that both scans miss, and that cannot be a file seen only by the first scan.
            twice, present = {row.file for row in missing_first}, {file.path for file in seen.files}
            passing = {file.size for file in first_scan.files if file.path not in present}
            missing = [row for row in missing if row.file in twice and row.size not in passing]
        if not self._again:
            self._tally.add("files_seen", len(seen.files))
            self._tally.add("files_unchanged", len(same))
            if seen.others:
                self._tally.skip_kinds(seen.others)
            self._begin_identity()
        for row in same:
            if row.problem is not None:
                self._skip(row.path, row.problem, taken=True)
        if missing:
            self._erase(missing)
        if tasks:
            self._read_and_store(tasks)
        return seen

    def _begin_identity(self) -> None:
        """Store the identity of a new root before its first chunk: the next sync may have other options."""
        if not self._of.stored:
            with self._store.bookkeeping() as write:
                if (now := still_followed(write, self._of)) is not None and not now.stored:
                    files.note_identity(write, self._of.number, self._of.identity)

    # -- rebuilding ----------------------------------------------------------------------------------------------------

    def _begin(self, whole: bool) -> bool:
        """Prepare a rebuild of the root if its options changed; return True if it can proceed."""
        of = self._of
        if not of.is_read_otherwise:
            if self._has_leftovers:
                clean(self._store, of.number, self._lease)
            return False
        self._rebuild = Rebuild(
            self._store, of, self._prepare, self._lease, self._tally, self._clock, self._store_batch, self._skip,
            self._embed_ahead,
        )  # fmt: skip
        if not whole:
            return False
        no_room = self._rebuild.begin(restart=self._request.force)
        if no_room is not None:
            self._problem(no_room)
            self._tally.no_room.append(no_room)
            self._whole = False
        return no_room is None

    def _read_otherwise(self, present: Sequence[RootFile], look_s: float) -> bool:
        """Continue the rebuild for a while; return True if the disk must be scanned again."""
        assert self._rebuild is not None
        until = time.monotonic() + max(LOOK_S, LOOK_SHARE * look_s)

        def late() -> bool:
            return time.monotonic() >= until or self._request.late()

        progress = self._rebuild.step({file.path: file for file in present}, late, self._request.progress)
        if progress == "done":
            self._written()
            return False
        if progress == "again" and not self._request.late():
            return True
        self._left += self._rebuild.left
        self._whole = False
        return False

    # -- looking -------------------------------------------------------------------------------------------------------

    def _look(self, paths: Sequence[str] | None) -> DiskState:
        """Scan the disk."""
        from septet.files.sources import file_at, scan, unknown_at

        root, others = self._of.root, _NO_OTHERS
        if paths is None:
            present, skipped, _, others = scan(root)
        else:
            by_path = {path: file_at(root, path) for path in paths}
            present = [entry for entry in by_path.values() if entry is not None]
            absent = [path for path, entry in by_path.items() if entry is None]
            skipped = [reason for path in absent if (reason := unknown_at(root, path))]
        why: str | None = None
        if not present or len(present) < len(paths or ()):
            why = why_unknown(root.path, None if self._request.force else self._device)
        whole = next((entry for entry in skipped if entry.reason == "unreadable" and not entry.path), None)
        if whole is not None and why is None:
            why = f"cannot be read ({whole.detail})"
        return DiskState(present, skipped, why, others)

    def _known(self, present: Sequence[RootFile], paths: Sequence[str] | None) -> list[FileRow]:
        """Return the files of the vault; at the first sync also files of imported chunks."""
        with self._store.reading() as read:
            if paths is not None:
                return list(files.at(read, self._of.number, paths).values())
            rows = files.of_root(read, self._of.number)
        return rows if rows or self._of.stored else adopted(self._store, self._of, present, dry_run=self.dry_run)

    # -- writing -------------------------------------------------------------------------------------------------------

    def _erase(self, missing: Sequence[FileRow]) -> None:
        """Remove deleted files from the vault, some hundreds per transaction."""
        for start in range(0, len(missing), 500):
            if self._request.late():
                self._left += len(missing) - start
                return
            rows = missing[start : start + 500]
            with self._store.writing() as write:
                named = mentioning(write, self._of.number, [row.path for row in rows], [row.file for row in rows])
                erased, chunks = erase_files(write, rows)
                link_mentions(write, self._of.number, sorted(named))
                self._lease.renew(write)
            self._tally.add("files_removed", len(erased))
            self._tally.add("chunks_removed", chunks)

    def _read_and_store(self, tasks: Sequence[Task]) -> None:
        """Read files and store their chunks."""
        done = 0
        for batch in batches(ahead(self._prepare, tasks, self._request.late), MOST_CHUNKS):
            self._store_batch(batch)
            done += len(batch)
            if self._request.progress is not None:
                self._request.progress(done, len(tasks))
            if self._request.ending():
                break
        self._left += len(tasks) - done

    def _store_batch(self, batch: Sequence[PreparedFile]) -> None:
        tally, ready = self._tally, [file for file in batch if file.after is not None]
        for file in batch:
            tally.add("bytes", file.size)
            for reason in (*([file.reason] if file.reason else []), *file.problems):
                self._skip(file.task.file.path, reason, taken=file.after is not None)
            tally.add_redacted(file.redacted, file.task.file.path)
        touched = [file for file in ready if file.rows is None]
        plans = self._plans([file for file in ready if file.rows is not None])
        if touched:
            if not self._again:
                tally.add("files_unchanged", len(touched))
            self._touch([file.after for file in touched if file.after is not None and file.after != file.task.before])
        if plans:
            self._store_plans(plans)

    def _touch(self, rows: Sequence[FileRow]) -> None:
        """Store the new times of files with unchanged bytes."""
        with self._store.bookkeeping() as write:
            files.touch(write, [(row.size, row.mtime_ns, row.synced_at, row.file, row.hash) for row in rows])
            self._lease.renew(write)

    def _plans(self, batch: Sequence[PreparedFile]) -> list[FilePlan]:
        with self._store.reading() as read:
            known_ids = [file.task.before.id for file in batch if file.task.before is not None]
            stored = files.chunks_of(read, known_ids) if known_ids else {}
            # Appending to a session requires the order of its chunks.
            ordered = {file.after.id: in_order(read, stored.get(file.after.id, ())) for file in batch
                       if file.after is not None and file.stored is not None}  # fmt: skip
        plans = []
        for file in batch:
            file_id = "" if file.task.before is None else file.task.before.id  # the id of a new file may be another's
            chunks = ordered.get(file_id) or stored.get(file_id, [])
            if file.stored is not None and (file.stored != len(chunks) or ordered.get(file_id) is None):
                # Chunks of the session, or their links, were deleted: read it from the start.
                file = self._prepare(file.task._replace(rebuild=True))
            if file.after is None or file.rows is None:
                self._skip(file.task.file.path, file.reason)
                continue
            plans.append(plan_rows(
                file.task.before, file.after, chunks[file.keep :], file.rows, file.mentions,
                mtime=file.after.mtime_ns / 1e9, leading=chunks[: file.keep],
            ))  # fmt: skip
        return plans

    def _store_plans(self, plans: Sequence[FilePlan]) -> None:
        tally, root, before = self._tally, self._of.number, [plan.before for plan in plans if plan.before is not None]
        with self._store.writing() as write:
            if not self._is_current(write):
                self._left += len(plans)
                return
            mentioning_chunks = mentioning(write, root, [row.path for row in before], [row.file for row in before])
            stored = store_plans(write, plans, self._of.name, Keeping("sync", self._clock(), 0))
            now = {number: plan.after.path for plan, number in stored if number}
            mentioning_chunks |= mentioning(write, root, now.values(), now) | mentions.of_files(write, now)
            link_mentions(write, root, sorted(mentioning_chunks))
            if self._rebuild is not None:
                self._rebuild.mark(write, [p.after._replace(file=number) for p, number in stored if number])
            self._lease.renew(write)
        for plan, number in stored:
            if number:
                tally.add_plan(plan)
            else:
                self._left += 1
        if any(plan.added or plan.changed for plan in plans):
            self._written()

    def _is_current(self, write: SqliteWriting) -> bool:
        """Return True if the root's options are unchanged: this process may have been suspended for long."""
        now = still_followed(write, self._of)
        return now is not None and (self._rebuild is not None or now.stored == self._of.identity)

    # -- reporting -----------------------------------------------------------------------------------------------------

    def _skip(self, path: str, reason: str, *, taken: bool = False) -> None:
        self._tally.skip(path, reason, self._of.name, taken=taken)

    def _problem(self, text: str) -> None:
        self._problems.append(text)
        self._tally.problems.append(text)

    def _note(self, *, whole: bool) -> None:
        """Store the outcome in the vault."""
        problem = "; ".join(self._problems) or None
        with self._store.bookkeeping() as write:
            if still_followed(write, self._of) is None:
                return
            files.note_root(write, self._of.number, self._clock() if whole else None, problem)
            # The root may have been deleted since the scan.
            with suppress(OSError):
                if whole and (device := os.stat(self._of.root.path).st_dev) != self._device:
                    files.set_device(write, self._of.number, device)


def _moving(tasks: Iterable[Task], rows: Sequence[FileRow], seen: DiskState) -> list[RootFile]:
    return moved_meanwhile([task.file for task in tasks if task.before is None], rows, seen.files, seen.skipped)
