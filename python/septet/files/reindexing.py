"""Rebuild the chunks of a root: stage new ones file by file, then replace the old ones in one transaction.

When the identity of a root (its reading options) changes, its files are read again and their chunks are staged in small
transactions. Searches use the old chunks; files that change during the rebuild are stored directly with the new
options. After the last file, one transaction switches. An interrupted sync leaves its staged chunks to the next.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from septet.files.planning import FilePlan, plan_rows
from septet.files.preparing import PreparedFile, Preparer, Task, ahead, batches
from septet.files.report import CHANGES, SyncTally
from septet.files.storing import in_order, link_mentions, store_plans
from septet.files.tracking import Followed, still_followed
from septet.files.turns import Lease
from septet.sqlite.store.store import SqliteReading, SqliteStore, SqliteWriting
from septet.sqlite.tables import entries, files, indexing, mentions, staged, vectors
from septet.sqlite.tables.files import FileRow
from septet.sqlite.tables.mentions import Mentioned
from septet.sqlite.tables.staged import Staged
from septet.store.rows import EntryRow, Keeping

if TYPE_CHECKING:
    from septet.embedding.report import Tally as Embedded
    from septet.files.sources import RootFile

#: Maximum chunks per transaction.
MOST_CHUNKS = 2_000
#: Maximum chunks in memory during the switch.
SWITCHED_CHUNKS = 5_000
#: Maximum attempts for a file that changes at each read.
MOST_ATTEMPTS = 3
#: Bytes of disk space per byte of the files, for the staged copy and for the switch with its WAL, and multiples of the
#: size of the vectors, which are in the WAL too.
STAGED_BYTES, SWITCHED_BYTES, VECTORS = 3, 12, 2
#: Identity of a root whose chunks have several, because files changed during a rebuild; it equals no other.
MIXED = "mixed"

#: Embeds staged texts; returns None without an embedder. Called with a stop function and texts to skip.
EmbedAhead: TypeAlias = "Callable[[Callable[[], bool], set[str]], Embedded | None]"


class StaleStaging(Exception):
    """The staged chunks belong to another rebuild."""


class Rebuild:
    """The rebuild of one root.

    Args:
        bring: stores files changed since the scan, with the new options.
        say: reports a problem of a file.
    """

    def __init__(
        self,
        store: SqliteStore,
        followed: Followed,
        prepare: Preparer,
        lease: Lease,
        tally: SyncTally,
        clock: Callable[[], float],
        bring: Callable[[Sequence[PreparedFile]], None],
        say: Callable[..., None],
        embed_ahead: EmbedAhead | None,
    ) -> None:
        self._store, self._of, self._prepare, self._lease, self._tally = store, followed, prepare, lease, tally
        self._clock, self._bring, self._say, self._embed_ahead = clock, bring, say, embed_ahead
        #: Files that cannot be read or stored: their old chunks stay.
        self._hopeless: set[int] = set()
        self._brought: Counter[int] = Counter()
        self._refused: set[str] = set()
        #: Number of files left by the last step.
        self.left = 0

    def begin(self, *, restart: bool) -> str | None:
        """Begin or resume the rebuild; return a problem or None.

        Args:
            restart: discard what is already staged.
        """
        of = self._of
        with self._store.reading() as read:
            known = staged.target(read, of.number)
        goes_on = known is not None and known.identity == of.identity and not restart
        if not goes_on:
            clean(self._store, of.number, self._lease)
        if (no_room := self._no_room()) is not None:
            return no_room
        if not goes_on:
            with self._store.bookkeeping() as write:
                staged.begin(write, of.number, staged.Target(of.identity, self._clock()))
                self._lease.renew(write)
        return None

    def mark(self, write: SqliteWriting, rows: Sequence[FileRow]) -> None:
        """Mark files as stored with the new options, in the transaction that stores them."""
        files.note_identity(write, self._of.number, MIXED)
        if self._is_current(write):
            marks = [Staged(row.file, row.hash, json.dumps({"path": row.path, "here": True}), ()) for row in rows]
            staged.put(write, marks, [()] * len(marks))

    def step(
        self,
        on_disk: Mapping[str, RootFile],
        late: Callable[[], bool],
        progress: Callable[[int, int | None], object] | None,
    ) -> Literal["done", "again", "left"]:
        """Stage files, embed their texts, and switch after the last one.

        Args:
            on_disk: files on the disk, by path.
            late: returns True if it is time to return; the switch is not interrupted.
            progress: called with the number of staged files and the total.

        Returns:
            ``again`` if there is more to do after the next scan, ``left`` if another sync must continue.
        """
        try:
            if not self._stage(on_disk, late, progress) or not self._embed(late):
                return "again"
            return "done" if self._switch() else "again"
        except StaleStaging:
            return "left"

    # -- staging -------------------------------------------------------------------------------------------------------

    def _stage(
        self,
        on_disk: Mapping[str, RootFile],
        late: Callable[[], bool],
        progress: Callable[[int, int | None], object] | None,
    ) -> bool:
        """Stage files; return True if all are staged."""
        with self._store.reading() as read:
            lacking, every = self._lacking(read), files.count_files(read, self._of.number)
        self._hopeless |= {row.file for row in lacking if row.path not in on_disk}
        tasks = [Task(on_disk[row.path], row, True) for row in lacking if row.path in on_disk]
        done = 0
        for batch in batches(ahead(self._prepare, tasks, late), MOST_CHUNKS):
            self._store_staged(batch)
            done += len(batch)
            if progress is not None:
                progress(every - len(tasks) + done, every)
        self.left = len(tasks) - done
        return not self.left

    def _lacking(self, read: SqliteReading | SqliteWriting) -> list[FileRow]:
        """Return the files that are not staged, or staged with other bytes."""
        ready = staged.files(read, self._of.number)
        rows = files.of_root(read, self._of.number)
        return [row for row in rows if ready.get(row.file) != (row.hash, row.path) and row.file not in self._hopeless]

    def _store_staged(self, batch: Sequence[PreparedFile]) -> None:
        """Stage prepared files."""
        tally, changed, ready, hashes = self._tally, [], [], []
        for file in batch:
            before = file.task.before
            assert before is not None
            if file.after is not None and file.after.hash != before.hash:
                self._brought[before.file] += 1
                if self._brought[before.file] > MOST_ATTEMPTS:
                    self._hopeless.add(before.file)
                changed.append(file)
                continue
            tally.add("bytes", file.size)
            tally.add_redacted(file.redacted, before.path)
            for reason in (*([file.reason] if file.reason else []), *file.problems):
                self._say(before.path, reason, taken=file.after is not None)
            staged_file, texts = _staged_of(file)
            if staged_file is None:
                self._hopeless.add(before.file)
            else:
                ready.append(staged_file)
                hashes.append(texts)
        if ready:
            with self._store.bookkeeping() as write:
                if not self._is_current(write):
                    raise StaleStaging
                staged.put(write, ready, hashes)
                self._lease.renew(write)
            tally.add("files_staged", len(ready))
        if changed:
            self._bring(changed)

    # -- embedding -----------------------------------------------------------------------------------------------------

    def _embed(self, late: Callable[[], bool]) -> bool:
        """Embed staged texts; return True if all possible ones are embedded."""
        if self._embed_ahead is None:
            return True
        ended = False

        def stopped() -> bool:
            nonlocal ended
            with self._store.bookkeeping() as write:
                self._lease.renew(write)
            ended = late()
            return ended

        tally = self._embed_ahead(stopped, self._refused)
        if tally is None or tally.stopped_by is not None:
            # Without an embedder or provider, the chunks get their vectors after the switch.
            self._embed_ahead = None
            return True
        self._refused |= tally.failed
        return not ended

    # -- switching -----------------------------------------------------------------------------------------------------

    def _switch(self) -> bool:
        """Replace the old chunks by the staged ones in one transaction; return False if more must be staged."""
        of, counts = self._of, Counter[str]()
        with self._store.reading() as read:
            new, total = staged.count_new(read, of.number), staged.count(read, of.number)
            chunks, entry_count = files.count_chunks(read, of.number), entries.count(read)
        # True if the switch removes more texts than remain, estimated from the staged ones.
        many = 2 * (chunks * new // max(1, total)) > entry_count
        with self._store.writing() as write:
            if not self._is_current(write):
                raise StaleStaging
            if self._lacking(write):
                return False
            rows, staged_files = files.of_root(write, of.number), staged.files(write, of.number)
            fits = {row.file for row in rows if staged_files.get(row.file) == (row.hash, row.path)}
            keeping = Keeping("sync", self._clock(), 0)
            if many:
                write = indexing.emptied(write)
            for plans in _batches(_plans(write, sorted(fits))):
                for plan, number in store_plans(write, plans, of.name, keeping):
                    assert number
                    counts.update(files_changed=1, chunks_kept=plan.kept)
                    counts.update({f"chunks_{name}": len(getattr(plan, name)) for name in CHANGES})
            for some in _slices(sorted(mentions.of_files(write, (row.file for row in rows))), SWITCHED_CHUNKS):
                link_mentions(write, of.number, some)
            if many:
                indexing.fill(write)
            # Read the missing files again at the next sync.
            files.unknown(write, [row.file for row in rows if row.file not in fits])
            files.note_identity(write, of.number, of.identity)
            staged.end(write, of.number)
            self._lease.renew(write)
        # Only after the commit.
        for name, count in counts.items():
            self._tally.add(name, count)
        self._tally.reindexed.append(of.name)
        clean(self._store, of.number, self._lease)
        return True

    def _is_current(self, write: SqliteWriting) -> bool:
        """Return True if the target of the rebuild was not changed by another process or call."""
        known = staged.target(write, self._of.number)
        same = known is not None and known.identity == self._of.identity
        return same and still_followed(write, self._of) is not None

    # -- room ----------------------------------------------------------------------------------------------------------

    def _no_room(self) -> str | None:
        """Return a problem if the disk has no room for staging and the switch, otherwise None."""
        if self._store.in_memory:
            return None
        with self._store.reading() as read:
            lacking = sum(row.size for row in self._lacking(read))
            every = sum(row.size for row in files.of_root(read, self._of.number))
            each = sum(4 * space.dimensions for space in vectors.all_spaces(read))
            needed = STAGED_BYTES * lacking + SWITCHED_BYTES * every
            needed += VECTORS * each * files.count_chunks(read, self._of.number)
        try:
            free = shutil.disk_usage(os.path.dirname(self._store.file)).free
        except OSError:
            return None
        if free >= needed:
            return None
        remedy = "Make room" if self._of.stored == MIXED else "Make room, or sync it with its previous options"
        return (
            f"{self._of.root.path} must be rebuilt with its new options, for which "
            f"{os.path.dirname(self._store.file)} has too little room: about {needed / 1e6:,.0f} MB are needed, "
            f"{free / 1e6:,.0f} MB are free; its chunks stay as they are. {remedy}"
        )


def clean(store: SqliteStore, root: int, lease: Lease) -> None:
    """Remove the staged chunks of a root in small transactions."""
    while True:
        with store.bookkeeping() as write:
            dropped = staged.drop(write, root)
            lease.renew(write)
        if dropped < staged.DROPPED_ROWS:
            return


def _staged_of(file: PreparedFile) -> tuple[Staged | None, list[str]]:
    """Return the staged row of a file and the hashes of its texts; None if it could not be read."""
    after = file.after
    if after is None or file.rows is None:
        return None, []
    facts = {"path": after.path, "mtime": after.mtime_ns / 1e9, "state": after.state, "problem": after.problem}
    chunks = []
    for row, named in zip(file.rows, file.mentions):
        of_row = [[mention.target, mention.anchor, mention.type] for mention in named]
        chunks.append(json.dumps({**row._asdict(), "mentions": of_row}, ensure_ascii=False))
    stored = Staged(after.file, after.hash, json.dumps(facts, ensure_ascii=False), tuple(chunks))
    return stored, [row.text_hash for row in file.rows]


def _plans(write: SqliteWriting, numbers: Sequence[int]) -> Iterator[FilePlan]:
    """Yield the plans that replace old chunks by staged ones; marked files are already done."""
    for some in _slices(numbers, 200):
        rows = files.rows_of(write, some)
        stored = files.chunks_of(write, [row.id for row in rows.values()])
        for staged_file in staged.read(write, some):
            facts = json.loads(staged_file.facts)
            if facts.get("here"):
                continue
            before = rows[staged_file.file]
            after = before._replace(state=facts["state"], problem=facts["problem"])
            parsed = [json.loads(text) for text in staged_file.chunks]
            named = [[Mentioned("", *mention) for mention in fields.pop("mentions")] for fields in parsed]
            news = [EntryRow(**fields) for fields in parsed]
            current = stored.get(before.id, [])
            ordered = in_order(write, current)
            plan = plan_rows(before, after, current if ordered is None else ordered, news, named, mtime=facts["mtime"])
            yield plan if ordered is not None else plan._replace(fresh=True)


def _batches(plans: Iterable[FilePlan]) -> Iterator[list[FilePlan]]:
    """Yield plans in batches of some thousand chunks."""
    batch, chunks = [], 0
    for plan in plans:
        batch.append(plan)
        chunks += len(plan.ids) + len(plan.removed)
        if chunks >= SWITCHED_CHUNKS:
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch


def _slices(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))
