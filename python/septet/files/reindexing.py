"""Chunks made in another way: beside those that answer, file by file, until one transaction puts them in their place.

The identity of a root names what its chunks are made by. When it changes, files are read again and their chunks are
staged, in small transactions. Searches answer from the chunks of before; files that change meanwhile are stored at
once, made in the new way, and marked as done. When nothing is left, the switch. A sync that ends early, in whatever
way, leaves what it has staged to the next.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from septet.files.lease import Lease
from septet.files.mentions import link_mentions
from septet.files.planning import Plan, plan_rows, rows_of_drafts
from septet.files.preparing import Prepared, Preparer, Task, ahead
from septet.files.report import Tally
from septet.files.storing import in_order, store_plans
from septet.files.tracking import Followed, still_followed
from septet.sqlite.store.store import Reading, Store, Writing
from septet.sqlite.tables import entries, files, indexing, mentions, staged, vectors
from septet.sqlite.tables.entries import EntryRow
from septet.sqlite.tables.files import FileRow
from septet.sqlite.tables.history import Keeping
from septet.sqlite.tables.mentions import Mentioned
from septet.sqlite.tables.staged import Staged

if TYPE_CHECKING:
    from septet.embedding.report import Tally as Embedded
    from septet.files.sources import Found

__all__ = ["EmbedAhead", "Progress", "Rebuild", "Unused", "clean"]

#: A transaction ends after so many chunks, or so many seconds of gathering them.
MOST_CHUNKS = 2_000
MOST_S = 0.5
#: So many chunks are in memory at once during the switch.
SWITCHED_CHUNKS = 5_000
#: A file that is another one each time it is read stays as it is after so many attempts.
MOST_ATTEMPTS = 3
#: So many bytes are needed for each byte of the files: for the staged copy, and for the switch with its log; and so
#: many times the vectors, which are in the log too.
STAGED_BYTES, SWITCHED_BYTES, VECTORS = 3, 12, 2
#: While the chunks of a root are of more than one identity, because files changed during a rebuild: none equals it.
MIXED = "mixed"

#: Embeds staged texts until it is told to stop; None where it does not. Called with that, and texts to leave out.
EmbedAhead: TypeAlias = "Callable[[Callable[[], bool], set[str]], Embedded | None]"
#: ``again``: there is more to do, when the files have been looked at again; ``left``: another sync has to go on.
Progress: TypeAlias = Literal["done", "again", "left"]


class Unused(Exception):
    """What was staged does not belong to what is being made any more."""


class Rebuild:
    """The chunks of one root, made in another way than those that answer.

    Args:
        bring: stores files that changed since they were compared, in the new way.
        say: reports what is wrong with a file.
    """

    def __init__(
        self,
        store: Store,
        followed: Followed,
        prepare: Preparer,
        lease: Lease,
        tally: Tally,
        clock: Callable[[], float],
        bring: Callable[[Sequence[Prepared]], None],
        say: Callable[..., None],
        embed_ahead: EmbedAhead | None,
    ) -> None:
        self._store, self._of, self._prepare, self._lease, self._tally = store, followed, prepare, lease, tally
        self._clock, self._bring, self._say, self._embed_ahead = clock, bring, say, embed_ahead
        #: Files that cannot be read, or that hold what cannot be stored: they stay as they are.
        self._hopeless: set[int] = set()
        self._brought: Counter[int] = Counter()
        self._refused: set[str] = set()
        #: How many files the last step left.
        self.left = 0

    def begin(self, *, anew: bool) -> str | None:
        """Begin, or go on with what was begun; return what keeps it from that.

        Args:
            anew: leave nothing of what was staged before.
        """
        of = self._of
        with self._store.reading() as read:
            known = staged.target(read, of.number)
        goes_on = known is not None and known.identity == of.identity and not anew
        if not goes_on:
            clean(self._store, of.number, self._lease)
        if (no_room := self._no_room()) is not None:
            return no_room
        if not goes_on:
            with self._store.bookkeeping() as write:
                staged.begin(write, of.number, staged.Target(of.identity, self._clock()))
                self._lease.renew(write)
        return None

    def mark(self, write: Writing, rows: Sequence[FileRow]) -> None:
        """Note that files were stored in the new way, in the transaction that does so."""
        files.note_identity(write, self._of.number, MIXED)
        if self._is_current(write):
            made = [Staged(row.file, row.hash, json.dumps({"path": row.path, "here": True}), ()) for row in rows]
            staged.put(write, made, [()] * len(made))

    def step(
        self, found: Mapping[str, Found], late: Callable[[], bool], progress: Callable[[int, int | None], object] | None
    ) -> Progress:
        """Stage files, embed their texts, and switch when nothing is left.

        Args:
            found: the files that are there, by path.
            late: says that it is time to return, unless the switch is under way.
            progress: called with the number of files staged and that of all.
        """
        try:
            if not self._stage(found, late, progress) or not self._embed(late):
                return "again"
            return "done" if self._switch() else "again"
        except Unused:
            return "left"

    # -- staging -------------------------------------------------------------------------------------------------------

    def _stage(
        self, found: Mapping[str, Found], late: Callable[[], bool], progress: Callable[[int, int | None], object] | None
    ) -> bool:
        """Stage files until all are, and say whether they are."""
        with self._store.reading() as read:
            lacking, every = self._lacking(read), files.count_files(read, self._of.number)
        self._hopeless |= {row.file for row in lacking if row.path not in found}
        tasks = [Task(found[row.path], row, True) for row in lacking if row.path in found]
        batch: list[Prepared] = []
        chunks, since, done = 0, time.monotonic(), 0
        for one in ahead(self._prepare, tasks, late):
            batch.append(one)
            chunks += len(one.drafts or ())
            if chunks >= MOST_CHUNKS or time.monotonic() - since >= MOST_S:
                done += self._store_staged(batch)
                if progress is not None:
                    progress(every - len(tasks) + done, every)
                batch, chunks, since = [], 0, time.monotonic()
        done += self._store_staged(batch)
        self.left = len(tasks) - done
        return not self.left

    def _lacking(self, read: Reading | Writing) -> list[FileRow]:
        """Return the files of which nothing is staged, or something of other bytes."""
        there = staged.files(read, self._of.number)
        rows = files.of_root(read, self._of.number)
        return [row for row in rows if there.get(row.file) != (row.hash, row.path) and row.file not in self._hopeless]

    def _store_staged(self, batch: Sequence[Prepared]) -> int:
        """Stage what was read, and return how many files are done with."""
        tally, changed, ready, hashes = self._tally, [], [], []
        for one in batch:
            before = one.task.before
            assert before is not None
            if one.after is not None and one.after.hash != before.hash:
                self._brought[before.file] += 1
                if self._brought[before.file] > MOST_ATTEMPTS:
                    self._hopeless.add(before.file)
                changed.append(one)
                continue
            tally.add("bytes", one.size)
            tally.add_redacted(one.redacted, before.path)
            for said in (*([one.reason] if one.reason else []), *one.problems):
                self._say(before.path, said, taken=one.after is not None)
            try:
                made, texts = _staged_of(one, self._of.given(before.kind))
            except ValueError as fault:
                # What the fields of an entry cannot hold, such as a title of control characters alone.
                self._say(before.path, str(fault))
                made, texts = None, []
            if made is None:
                self._hopeless.add(before.file)
            else:
                ready.append(made)
                hashes.append(texts)
        if ready:
            with self._store.bookkeeping() as write:
                if not self._is_current(write):
                    raise Unused
                staged.put(write, ready, hashes)
                self._lease.renew(write)
            tally.add("files_staged", len(ready))
        if changed:
            self._bring(changed)
        return len(batch)

    # -- embedding -----------------------------------------------------------------------------------------------------

    def _embed(self, late: Callable[[], bool]) -> bool:
        """Have staged texts embedded, and say whether all are that can be."""
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
            # Where nothing is embedded, or the provider is away, the chunks get their vectors when they are entries.
            self._embed_ahead = None
            return True
        self._refused |= tally.failed
        return not ended

    # -- switching -----------------------------------------------------------------------------------------------------

    def _switch(self) -> bool:
        """Put what is staged in the place of what answers, in one transaction; False if there is more to stage."""
        of, counts = self._of, _Counts()
        many = self._many_leave()
        with self._store.writing() as write:
            if not self._is_current(write):
                raise Unused
            if self._lacking(write):
                return False
            rows, there = files.of_root(write, of.number), staged.files(write, of.number)
            fits = {row.file for row in rows if there.get(row.file) == (row.hash, row.path)}
            keeping = Keeping("sync", self._clock(), 0)
            if many:
                write = indexing.emptied(write)
            for plans in _batches(_plans(write, sorted(fits))):
                for plan, number in store_plans(write, plans, of.name, keeping):
                    assert number
                    counts.add(plan)
            for some in _slices(sorted(mentions.of_files(write, (row.file for row in rows))), SWITCHED_CHUNKS):
                link_mentions(write, of.number, some)
            if many:
                indexing.fill(write)
            # Those that could not be read now are read when they can be.
            files.unknown(write, [row.file for row in rows if row.file not in fits])
            files.note_identity(write, of.number, of.identity)
            staged.end(write, of.number)
            self._lease.renew(write)
        counts.into(self._tally)
        self._tally.reindexed.append(of.name)
        clean(self._store, of.number, self._lease)
        return True

    def _many_leave(self) -> bool:
        """Say whether more texts leave the vault than stay, as far as new ones tell."""
        with self._store.reading() as read:
            new, made = staged.count_new(read, self._of.number), staged.count(read, self._of.number)
            own, every = files.count_chunks(read, self._of.number), entries.count(read)
        gone = own * new // max(1, made)
        return gone > every - gone

    def _is_current(self, write: Writing) -> bool:
        """Say whether what is being made is still what another process, or another call, wants made."""
        known = staged.target(write, self._of.number)
        same = known is not None and known.identity == self._of.identity
        return same and still_followed(write, self._of) is not None

    # -- room ----------------------------------------------------------------------------------------------------------

    def _no_room(self) -> str | None:
        """Return what to say if the disk has no room for what is to be staged, and for the switch."""
        if self._store.in_memory:
            return None
        with self._store.reading() as read:
            lacking = sum(row.size for row in self._lacking(read))
            every = sum(row.size for row in files.of_root(read, self._of.number))
            each = sum(4 * space.dimensions for space in vectors.all_spaces(read))
            wanted = STAGED_BYTES * lacking + SWITCHED_BYTES * every
            wanted += VECTORS * each * files.count_chunks(read, self._of.number)
        try:
            free = shutil.disk_usage(os.path.dirname(self._store.file)).free
        except OSError:
            return None
        if free >= wanted:
            return None
        return (
            f"{self._of.root.path} is to be read in another way, for which {os.path.dirname(self._store.file)} has too "
            f"little room: about {wanted / 1e6:,.0f} MB are needed, {free / 1e6:,.0f} MB are free; its chunks stay as "
            f"they are. Make room{'' if self._of.stored == MIXED else ', or sync it with the options of before'}"
        )


class _Counts:
    """What a switch did, told when it is done."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, plan: Plan) -> None:
        """Count what became of a file."""
        changes = {
            "files_changed": 1,
            "chunks_added": len(plan.added),
            "chunks_changed": len(plan.changed),
            "chunks_moved": len(plan.moved),
            "chunks_removed": len(plan.removed),
            "chunks_kept": plan.kept,
        }
        for name, number in changes.items():
            self._counts[name] = self._counts.get(name, 0) + number

    def into(self, tally: Tally) -> None:
        """Add everything to the counts of a sync."""
        for name, number in self._counts.items():
            tally.add(name, number)


def clean(store: Store, root: int, lease: Lease) -> None:
    """Remove what is staged of a root, in small transactions."""
    while True:
        with store.bookkeeping() as write:
            gone = staged.drop(write, root)
            lease.renew(write)
        if gone < staged.DROPPED_ROWS:
            return


def _staged_of(one: Prepared, given: Mapping[str, Any]) -> tuple[Staged | None, list[str]]:
    """Return a file as it is staged, with the hashes of its texts; None if it could not be read.

    Raises:
        EntryError: a field cannot be stored.
    """
    after = one.after
    if after is None or one.drafts is None:
        return None, []
    mtime = one.task.found.mtime_ns / 1e9
    rows = rows_of_drafts(one.drafts, given, after, mtime)
    facts = {"path": after.path, "mtime": mtime, "state": after.state, "problem": after.problem}
    chunks = []
    for row, draft in zip(rows, one.drafts):
        named = [[said.target, said.anchor, said.type] for said in draft.mentions]
        chunks.append(json.dumps({**row._asdict(), "mentions": named}, ensure_ascii=False))
    return Staged(after.file, after.hash, json.dumps(facts, ensure_ascii=False), tuple(chunks)), [
        row.text_hash for row in rows
    ]


def _plans(write: Writing, numbers: Sequence[int]) -> Iterator[Plan]:
    """Yield how the chunks of staged files take the place of those that are there; marked files have theirs."""
    for some in _slices(numbers, 200):
        rows = files.rows_of(write, some)
        stored = files.chunks_of(write, [row.id for row in rows.values()])
        for one in staged.read(write, some):
            facts = json.loads(one.facts)
            if facts.get("here"):
                continue
            before = rows[one.file]
            after = before._replace(state=facts["state"], problem=facts["problem"])
            made = [json.loads(text) for text in one.chunks]
            named = [[Mentioned("", *said) for said in fields.pop("mentions")] for fields in made]
            news = [EntryRow(**fields) for fields in made]
            own = stored.get(before.id, [])
            ordered = in_order(write, own)
            plan = plan_rows(before, after, own if ordered is None else ordered, news, named, mtime=facts["mtime"])
            yield plan if ordered is not None else plan._replace(fresh=True)


def _batches(plans: Iterable[Plan]) -> Iterator[list[Plan]]:
    """Yield plans in lists of some thousand chunks."""
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
