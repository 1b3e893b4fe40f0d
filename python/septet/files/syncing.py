"""Sync: the chunks of a vault become those of the files on the disk.

Scan, compare size and time with the table of files, read what differs, compare its hash, make chunks of what changed,
store whole files in each transaction. Nothing of what is pending is kept anywhere: a sync that ends early, in whatever
way, leaves files whose rows differ from the disk, and the next one finds them by that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.errors import StoreError
from septet.files.lease import Lease
from septet.files.matching import adopted, compared, device_at, moved_meanwhile, renamed, surely_gone, why_unknown
from septet.files.mentions import link_mentions, mentioning
from septet.files.planning import Plan, plan_of
from septet.files.preparing import Prepared, Preparer, Task, ahead
from septet.files.reindexing import EmbedAhead, Rebuild, clean
from septet.files.report import SyncReport, Tally
from septet.files.storing import erase_files, in_order, store_plans
from septet.files.tracking import Followed, followed_now, still_followed
from septet.files.turns import Asked
from septet.sqlite.store.store import Store, Writing
from septet.sqlite.tables import files, mentions, staged
from septet.sqlite.tables.files import FileRow
from septet.sqlite.tables.history import Keeping
from septet.watch import log

if TYPE_CHECKING:
    from septet.files.sources import Found, Skipped

__all__ = ["Run", "Seen", "sync_roots"]

#: A transaction ends after so many chunks, so many bytes, or so many seconds of gathering them: FTS5 has little to
#: merge, and other writers wait only briefly. A file is in one transaction whatever its size.
MOST_CHUNKS = 5_000
MOST_BYTES = 32 << 20
MOST_S = 0.5
#: While files are read in another way, the disk is looked at again after so many seconds, and so many times as many as
#: a look takes.
LOOK_S, LOOK_SHARE = 5.0, 20.0
_NO_OTHERS: Mapping[str, int] = {}


def sync_roots(
    store: Store,
    asked: Asked,
    *,
    clock: Callable[[], float],
    written: Callable[[], None],
    embed_ahead: EmbedAhead | None = None,
) -> SyncReport:
    """Sync roots and return what was done; what is wrong with a file or a root is reported, not raised.

    Args:
        clock: epoch seconds, for the vault's own times.
        written: called after each transaction that stored chunks.
        embed_ahead: embeds the texts of chunks that are made in another way, before they take the place of others.

    Raises:
        StoreError: the vault cannot be written, or, when all else is done, has no room to read a root in another way.
    """
    started = time.perf_counter()
    tally, lease = Tally(), Lease(store)
    try:
        if lease.take(asked.late):
            # While others held the lease, how a root is read may have changed.
            for one in followed_now(store, asked.followed):
                Run(store, asked, one, tally, lease, clock, written, embed_ahead).run()
        else:
            tally.complete = False
            tally.problems.append(
                "the vault is being closed"
                if asked.ending()
                else "another process is syncing this vault: sync again when it is done"
            )
    finally:
        lease.release()
    report = tally.report([one.name for one in asked.followed], time.perf_counter() - started)
    log.say("sync", log.INFO if report.count or report.problems else log.DEBUG, "%s: %s", store.path, report)
    if tally.no_room:
        raise StoreError("; ".join(tally.no_room))
    return report


class Seen(NamedTuple):
    """What there is on the disk of a root, what was left out, and why nothing can be said of it as a whole."""

    found: Sequence[Found]
    skipped: Sequence[Skipped]
    why: str | None
    others: Mapping[str, int]


class Run:
    """The sync of one root."""

    def __init__(
        self,
        store: Store,
        asked: Asked,
        followed: Followed,
        tally: Tally,
        lease: Lease,
        clock: Callable[[], float],
        written: Callable[[], None],
        embed_ahead: EmbedAhead | None,
    ) -> None:
        self._store, self._asked, self._of, self._tally, self._lease = store, asked, followed, tally, lease
        self._clock, self._written, self._embed_ahead = clock, written, embed_ahead
        self._prepare = Preparer(followed, clock())
        self._problems: list[str] = []
        #: What makes the chunks in another way, if they are.
        self._rebuild: Rebuild | None = None
        #: Whether the disk was looked at before, and whether all of it was dealt with.
        self._again, self._whole = False, True
        #: Files that other processes brought in, or that there was no time for.
        self._left = 0
        with store.reading() as read:
            self._device = files.device_of(read, followed.number)

    def run(self) -> None:
        """Sync the root."""
        of, wanted = self._of, None if self._asked.paths is None else self._asked.paths.get(self._of.number, ())
        if self._asked.paths is not None and not wanted:
            return
        going_on = self._begin(wanted is None)
        while True:
            looked = time.monotonic()
            seen = self._keep_in_step(wanted)
            if seen.why:
                with self._store.reading() as read:
                    known = len(files.of_root(read, of.number))
                self._problem(f"{of.root.path} {seen.why}: its {known} files stay in the vault; "
                              f"forget_root({of.name!r}) removes them")  # fmt: skip
                self._tally.complete = self._whole = False
                break
            self._again = True
            if not going_on or self._left or not self._read_otherwise(seen.found, time.monotonic() - looked):
                break
        self._tally.add("files_left", self._left)
        self._tally.complete &= self._whole and not self._left
        self._note(whole=self._whole and wanted is None and not self._left)

    def _keep_in_step(self, wanted: Sequence[str] | None) -> Seen:
        """Store what differs from the disk, and return what was seen there."""
        # What is read in another way is read anew beside this.
        anew = self._asked.force and (wanted is not None or not self._of.is_read_otherwise)
        seen = self._look(wanted)
        rows = [] if seen.why else self._known(seen.found, wanted)
        tasks, same, gone = compared(seen.found, seen.skipped, rows, anew=anew)
        first, lost = seen, gone
        if lost or _moving(tasks, rows, seen):
            # What was moved while the folders were read may be in both of two, or in neither: look again.
            seen = self._look(wanted)
            tasks, same, gone = compared(seen.found, seen.skipped, rows, anew=anew)
            moving = _moving(tasks, rows, seen)
            tasks = [task for task in tasks if task.found not in moving]
            self._left += len(moving)
        for one in seen.skipped:
            if one.reason != "unread" or wanted is not None:
                self._say(one.path, one.said)
        if seen.why:
            return seen
        tasks, gone = renamed(tasks, gone)
        gone = surely_gone(gone, lost, first.found, seen.found) if gone else gone
        if not self._again:
            self._tally.add("files_seen", len(seen.found))
            self._tally.add("files_unchanged", len(same))
            self._tally.skip_kinds(seen.others)
            self._begin_identity()
        for row in same:
            if row.problem is not None:
                self._say(row.path, row.problem, taken=True)
        self._erase(gone)
        self._bring(tasks)
        return seen

    def _begin_identity(self) -> None:
        """Note what makes the chunks of a new root, before the first: the next sync may have other options."""
        if not self._of.stored:
            with self._store.bookkeeping() as write:
                if (now := still_followed(write, self._of)) is not None and not now.stored:
                    files.note_identity(write, self._of.number, self._of.identity)

    # -- reading in another way ----------------------------------------------------------------------------------------

    def _begin(self, whole: bool) -> bool:
        """Prepare to read the root in another way, if it is, and say whether that can go on."""
        of = self._of
        if not of.is_read_otherwise:
            with self._store.reading() as read:
                leftovers = staged.target(read, of.number) is not None or staged.any_of(read)
            if leftovers:
                clean(self._store, of.number, self._lease)
            return False
        self._rebuild = Rebuild(
            self._store, of, self._prepare, self._lease, self._tally, self._clock, self._store_batch, self._say,
            self._embed_ahead,
        )  # fmt: skip
        if not whole:
            return False
        no_room = self._rebuild.begin(anew=self._asked.force)
        if no_room is not None:
            self._problem(no_room)
            self._tally.no_room.append(no_room)
            self._whole = False
        return no_room is None

    def _read_otherwise(self, found: Sequence[Found], look_s: float) -> bool:
        """Go on with reading the root in another way for a while, and say whether to look at the disk again."""
        assert self._rebuild is not None
        until = time.monotonic() + max(LOOK_S, LOOK_SHARE * look_s)

        def late() -> bool:
            return time.monotonic() >= until or self._asked.late()

        progress = self._rebuild.step({one.path: one for one in found}, late, self._asked.progress)
        if progress == "done":
            self._written()
            return False
        if progress == "again" and not self._asked.late():
            return True
        self._left += self._rebuild.left
        self._whole = False
        return False

    # -- looking -------------------------------------------------------------------------------------------------------

    def _look(self, wanted: Sequence[str] | None) -> Seen:
        """Look at the disk."""
        from septet.files.sources import found_at, scan, unknown_at

        root, others = self._of.root, _NO_OTHERS
        if wanted is None:
            found, skipped, _, others = scan(root)
        else:
            there = {path: found_at(root, path) for path in wanted}
            found = [one for one in there.values() if one is not None]
            skipped = [left for path, one in there.items() if one is None and (left := unknown_at(root, path))]
        why: str | None = None
        if not found or len(found) < len(wanted or ()):
            why = why_unknown(root.path, None if self._asked.force else self._device)
        whole = next((one for one in skipped if one.reason == "unreadable" and not one.path), None)
        if whole is not None and why is None:
            why = f"cannot be read ({whole.detail})"
        return Seen(found, skipped, why, others)

    def _known(self, found: Sequence[Found], wanted: Sequence[str] | None) -> list[FileRow]:
        """Return the files of the vault; at the first sync those, too, of which an import brought chunks."""
        with self._store.reading() as read:
            if wanted is not None:
                return list(files.at(read, self._of.number, wanted).values())
            rows = files.of_root(read, self._of.number)
        return rows if rows or self._of.stored else adopted(self._store, self._of, found)

    # -- writing -------------------------------------------------------------------------------------------------------

    def _erase(self, gone: Sequence[FileRow]) -> None:
        """Take files that are gone out of the vault, some hundreds in each transaction."""
        for start in range(0, len(gone), 500):
            if self._asked.late():
                self._left += len(gone) - start
                return
            rows = gone[start : start + 500]
            with self._store.writing() as write:
                named = mentioning(write, self._of.number, [row.path for row in rows], [row.file for row in rows])
                erased, chunks = erase_files(write, rows)
                link_mentions(write, self._of.number, sorted(named))
                self._lease.renew(write)
            self._tally.add("files_removed", len(erased))
            self._tally.add("chunks_removed", chunks)

    def _bring(self, tasks: Sequence[Task]) -> None:
        """Read files and store what they hold."""
        prepare = self._prepare
        batch: list[Prepared] = []
        chunks = size = done = 0
        since = time.monotonic()
        for one in ahead(prepare, tasks, self._asked.late):
            done += 1
            batch.append(one)
            chunks += len(one.drafts or ())
            size += one.size
            if chunks >= MOST_CHUNKS or size >= MOST_BYTES or time.monotonic() - since >= MOST_S:
                self._store_batch(batch)
                batch, chunks, size = [], 0, 0
                if self._asked.progress is not None:
                    self._asked.progress(done, len(tasks))
                since = time.monotonic()
                if self._asked.ending():
                    break
        if batch:
            self._store_batch(batch)
            if self._asked.progress is not None:
                self._asked.progress(done, len(tasks))
        self._left += len(tasks) - done

    def _store_batch(self, batch: Sequence[Prepared]) -> None:
        tally, ready = self._tally, [one for one in batch if one.after is not None]
        for one in batch:
            tally.add("bytes", one.size)
            for said in (*([one.reason] if one.reason else []), *one.problems):
                self._say(one.task.found.path, said, taken=one.after is not None)
            tally.add_redacted(one.redacted, one.task.found.path)
        touched = [one for one in ready if one.drafts is None]
        plans = self._plans([one for one in ready if one.drafts is not None])
        if touched:
            if not self._again:
                tally.add("files_unchanged", len(touched))
            self._touch([one.after for one in touched if one.after is not None and one.after != one.task.before])
        if plans:
            self._store_plans(plans)

    def _touch(self, rows: Sequence[FileRow]) -> None:
        """Note the times of files whose bytes are the same."""
        with self._store.bookkeeping() as write:
            files.touch(write, [(row.size, row.mtime_ns, row.synced_at, row.file, row.hash) for row in rows])
            self._lease.renew(write)

    def _plans(self, batch: Sequence[Prepared]) -> list[Plan]:
        with self._store.reading() as read:
            known = [one.task.before.id for one in batch if one.task.before is not None]
            stored = files.chunks_of(read, known) if known else {}
            # Of a session that was read on, what is kept is told by the order of its chunks.
            ordered = {one.after.id: in_order(read, stored.get(one.after.id, ())) for one in batch
                       if one.after is not None and one.stored is not None}  # fmt: skip
        plans = []
        for one in batch:
            number = "" if one.task.before is None else one.task.before.id  # what a new one asks for may be another's
            own = ordered.get(number) or stored.get(number, [])
            if one.stored is not None and (one.stored != len(own) or ordered.get(number) is None):
                # Somebody deleted chunks of a session, or their links: what was kept does not fit any more.
                one = self._prepare(one.task._replace(anew=True))
            if one.after is None or one.drafts is None:
                self._say(one.task.found.path, one.reason)
                continue
            try:
                plan = plan_of(
                    one.task.before, one.after, own[one.keep :], one.drafts, self._of.given(one.after.kind),
                    mtime=one.after.mtime_ns / 1e9, leading=own[: one.keep],
                )  # fmt: skip
            except ValueError as fault:
                # What the fields of an entry cannot hold, such as a title of control characters alone.
                self._say(one.task.found.path, str(fault))
                continue
            plans.append(plan)
        return plans

    def _store_plans(self, plans: Sequence[Plan]) -> None:
        tally, root, before = self._tally, self._of.number, [one.before for one in plans if one.before is not None]
        with self._store.writing() as write:
            if not self._is_as_it_was(write):
                self._left += len(plans)
                return
            named = mentioning(write, root, [row.path for row in before], [row.file for row in before])
            stored = store_plans(write, plans, self._of.name, Keeping("sync", self._clock(), 0))
            now = {number: plan.after.path for plan, number in stored if number}
            named |= mentioning(write, root, now.values(), now) | mentions.of_files(write, now)
            link_mentions(write, root, sorted(named))
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

    def _is_as_it_was(self, write: Writing) -> bool:
        """Say whether what was read still fits the root: this process may have been held up for long."""
        now = still_followed(write, self._of)
        return now is not None and (self._rebuild is not None or now.stored == self._of.identity)

    # -- saying --------------------------------------------------------------------------------------------------------

    def _say(self, path: str, reason: str, *, taken: bool = False) -> None:
        self._tally.skip(path, reason, self._of.name, taken=taken)

    def _problem(self, said: str) -> None:
        self._problems.append(said)
        self._tally.problems.append(said)

    def _note(self, *, whole: bool) -> None:
        """Note how it ended, in the vault."""
        problem = "; ".join(self._problems) or None
        with self._store.bookkeeping() as write:
            if still_followed(write, self._of) is None:
                return
            files.note_root(write, self._of.number, self._clock() if whole else None, problem)
            if whole and (device := device_at(self._of.root.path)) not in (None, self._device):
                files.set_device(write, self._of.number, device)


def _moving(tasks: Iterable[Task], rows: Sequence[FileRow], seen: Seen) -> list[Found]:
    return moved_meanwhile([task.found for task in tasks if task.before is None], rows, seen.found, seen.skipped)
