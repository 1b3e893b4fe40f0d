"""The pipeline: gives every text of a store its vector, batch by batch, and pays for none twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.embedding.cache import EmbeddingCache, Made
from septet.embedding.embedder import Embedder, space_name
from septet.embedding.report import EmbedReport, Tally
from septet.embedding.rows import BadVector
from septet.embedding.threads import call_uninterrupted
from septet.errors import EmbeddingError, EmbeddingRefused, EmbeddingUnavailable, SeptetError, StoreBusy
from septet.results import Note
from septet.storage.forks import background
from septet.storage.store import Reading, Store, Writing
from septet.storage.tables import claims, jobs, texts
from septet.storage.tables.vectors import Space

__all__ = ["CALL_S", "MOST_UNANSWERED", "Pipeline", "Progress", "Work"]

BATCH_TEXTS = 100
#: Batches that may fail one after the other before a run ends: a network that is down answers none of a thousand.
MOST_UNANSWERED = 5
#: A claim lasts longer than any call, and a call no longer than its claim.
LEASE_S = 300.0
CALL_S = 270.0
#: How often a write of what was paid for is tried, each time for as long as the store waits for its lock.
WRITE_ATTEMPTS = 6
#: Refusals that may be about one text of many: too long, or not understood.
ABOUT_A_TEXT = frozenset({400, 413, 422})
PRUNED_ROWS = 1_000

#: Texts with their hashes.
Work: TypeAlias = "Sequence[tuple[str, str]]"
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class Pipeline:
    """Fills the space of an embedder with the vectors that the texts of a store lack.

    Attributes:
        per_model: keep the vectors of other models when this one's are complete.
        clock: epoch seconds, for claims; other processes must mean the same by it.
    """

    store: Store
    embedder: Embedder
    cache: EmbeddingCache | None = None
    per_model: bool = False
    batch_texts: int = BATCH_TEXTS
    clock: Callable[[], float] = time.time

    @property
    def model(self) -> str:
        """The name of the space."""
        return space_name(self.embedder)

    def begun(self) -> bool:
        """Say whether the store's vectors are this model's, or will be: nobody else's answer searches instead."""
        with self.store.reading() as read:
            others = False
            for space, state, held in texts.text_spaces(read):
                same = space.model == self.model and self.embedder.dimensions in (None, space.dimensions)
                if state != "left" and same:
                    return True
                others = others or (state == "active" and held)
            return not others

    def run(
        self,
        *,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = lambda: False,
        skip: Collection[str] = (),
        owner: str | None = None,
        begin: bool = True,
        tally: Tally | None = None,
    ) -> tuple[EmbedReport, Tally]:
        """Embed what is missing until nothing is, the provider refuses, or five batches in a row have failed.

        Every answer is stored before the next question is asked. An interrupt is raised when the answer that is on its
        way has been stored; a second one at once.

        Args:
            progress: called after each batch with the texts dealt with and those to be dealt with.
            stopped: asked before each batch whether to end.
            skip: texts by hash that are not tried.
            owner: in whose name texts are claimed; a new one if None.
            begin: fill the space even if it was left for another model's; False goes on with what was begun.
            tally: what was done before, which the report counts too; when it is over, nothing is embedded.

        Raises:
            StoreError: the store cannot be read or written.
        """
        tally, owner = tally or Tally(), owner or claims.new_owner()
        total = self.prepare(tally, begin=begin)
        try:
            for batch in self._batches(tally, owner, stopped, skip) if tally.over is None else ():
                self._fill(tally, batch)
                if progress is not None:
                    progress(tally.done, max(total, tally.done))
                if tally.over is not None:
                    break
        finally:
            # Whoever comes next need not wait for the lease to end.
            self.give_up(owner)
        self._complete(tally, len(tally.refused.union(skip)))
        return self._report(tally), tally

    def prepare(self, tally: Tally, *, begin: bool) -> int:
        """Make the vault ready to be filled and return how many texts there are to deal with, those done included."""
        with background, self.store.bookkeeping() as write:
            texts.add_index(write)
            claims.drop_dead(write)
            space = self.space(write, tally)
            if space is not None and begin:
                texts.begin(write, space)
            return tally.done + texts.count_missing(write, space)

    def give_up(self, owner: str) -> None:
        """Free what an owner has claimed, if the store still takes writes."""
        with suppress(SeptetError), background, self.store.bookkeeping() as write:
            claims.release(write, owner)

    def space(self, read: Reading | Writing, tally: Tally) -> Space | None:
        """Return the space that is filled, as far as its dimension is known; None when it does not exist yet."""
        return texts.find_space(read, self.model, self.embedder.dimensions or tally.dimensions)

    def _batches(
        self, tally: Tally, owner: str, stopped: Callable[[], bool], skip: Collection[str]
    ) -> Iterator[list[tuple[str, str]]]:
        """Yield claimed batches, pass after pass over the hashes until one finds nothing."""
        size = max(1, min(self.batch_texts, self.embedder.batch_size))
        after, found = "", False
        while not stopped():
            with self.store.reading() as read:
                page = texts.missing(read, self.space(read, tally), after=after, limit=size)
                taken = claims.claimed(read, self.model, owner, [key for key, _ in page], self.clock())
            if not page:
                if not found:
                    return
                # What was written meanwhile may lie before the place where this pass is.
                after, found = "", False
                continue
            after = page[-1][0]
            wanted = [key for key, _ in page if not (key in taken or key in tally.failed or key in skip)]
            mine = set(self._claimed(tally, owner, wanted) if wanted else ())
            if mine:
                found = True
                yield [(key, text) for key, text in page if key in mine]

    def _claimed(self, tally: Tally, owner: str, keys: Sequence[str]) -> list[str]:
        with background, self.store.bookkeeping() as write:
            now = self.clock()
            mine = claims.claim(write, self.model, owner, keys, now, now + LEASE_S)
            # Another process may have stored their vectors and given up its claim since they were read.
            return texts.lacking(write, self.space(write, tally), mine)

    def _fill(self, tally: Tally, batch: Work) -> None:
        rest = self.from_cache(tally, batch)
        if rest and tally.over is None:
            self._ask(tally, rest)
        if tally.unanswered >= MOST_UNANSWERED:
            cause = f"{tally.unanswered} batches in a row failed"
            tally.over = Note("gave_up", cause, "the next run tries again")

    def from_cache(self, tally: Tally, batch: Work) -> Work:
        """Store the vectors that the cache has and return the texts that it has not."""
        if self.cache is None:
            return batch
        dimensions = self.embedder.dimensions or tally.dimensions
        if dimensions is None:
            # One text tells which of the cache's vectors are of this kind.
            self._ask(tally, batch[:1])
            batch, dimensions = batch[1:], tally.dimensions
            if dimensions is None or tally.over is not None:
                return batch
        known = self.cache.get(self._made(), dimensions, [text for _, text in batch])
        hits = [(key, known[text]) for key, text in batch if text in known]
        if hits:
            self.keep(tally, [key for key, _ in hits], np.stack([row for _, row in hits]))
            tally.cached += len(hits)
        return [(key, text) for key, text in batch if text not in known]

    def _ask(self, tally: Tally, batch: Work) -> None:
        """Have a batch embedded and store the answer; a batch that fails for one text's sake is halved."""
        tally.requests += 1
        try:
            call_uninterrupted(lambda: self._answered(tally, batch))
            tally.unanswered = 0
        except EmbeddingRefused as fault:
            rest = self._partly(tally, batch, fault)
            if fault.status not in ABOUT_A_TEXT:
                tally.fail([key for key, _ in rest], "batch_failed", str(fault), "the next run tries again")
                tally.over = Note("provider_refuses", str(fault), "check the key, the quota and the model")
            else:
                self._ask_halves(tally, rest, fault)
        except BadVector as fault:
            tally.unanswered = 0
            self._ask_halves(tally, self._partly(tally, batch, fault), fault)
        except EmbeddingError as fault:
            rest = self._partly(tally, batch, fault)
            tally.fail([key for key, _ in rest], "batch_failed", str(fault), "the next run tries again")
            tally.unanswered += 1
            tally.wants_retry = True

    def _ask_halves(self, tally: Tally, batch: Work, fault: EmbeddingError) -> None:
        """Try the halves of a batch that failed for one text's sake; a single text has failed for good."""
        if len(batch) <= 1:
            self._refused(tally, batch, fault)
            return
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            if tally.over is None:
                self._ask(tally, half)

    def _refused(self, tally: Tally, batch: Work, fault: EmbeddingError) -> None:
        bad = isinstance(fault, BadVector)
        code, cure = ("bad_vector", "change the text or the model") if bad else ("text_refused", "shorten or change it")
        tally.fail([key for key, _ in batch], code, str(fault), cure)
        tally.refused.update(key for key, _ in batch)
        if not tally.embedded and len(tally.refused) >= MOST_UNANSWERED:
            tally.over = Note("provider_refuses", str(fault), "check the model and its options")

    def _partly(self, tally: Tally, batch: Work, fault: EmbeddingError) -> Work:
        """Store what came in before a call failed and return the rest of its batch."""
        rows: NDArray[np.float32] | None = getattr(fault, "rows", None)
        if rows is None or not len(rows):
            return batch
        self.accept(tally, batch[: len(rows)], rows)
        return batch[len(rows) :]

    def _answered(self, tally: Tally, batch: Work) -> None:
        provider = self.embedder.provider
        try:
            answer = self.embedder.embed([text for _, text in batch], "document", timeout_s=CALL_S)
            rows = np.asarray(answer, dtype=np.float32)
        except EmbeddingError:
            raise
        except Exception as fault:
            # Someone else's code; the run goes on, and says so.
            said = f"{provider} raised {type(fault).__name__}: {fault}"
            raise EmbeddingUnavailable(said, provider=provider) from fault
        if rows.ndim != 2 or len(rows) != len(batch) or not rows.shape[1]:
            raise EmbeddingUnavailable(f"{provider} gave shape {rows.shape} for {len(batch)} texts", provider=provider)
        known = self.embedder.dimensions or tally.dimensions
        if known is not None and known != rows.shape[1]:
            raise EmbeddingUnavailable(f"{provider} gave {rows.shape[1]} dimensions, not {known}", provider=provider)
        self.accept(tally, batch, rows)

    def accept(self, tally: Tally, batch: Work, rows: NDArray[np.float32]) -> None:
        """Store an answer, all but vectors without a direction."""
        tally.dimensions = rows.shape[1]
        sound: NDArray[np.bool_] = np.isfinite(rows).all(axis=1) & np.any(rows, axis=1)
        good = [pair for pair, ok in zip(batch, sound.tolist()) if ok]
        if good:
            kept = rows[sound]
            try:
                self.keep(tally, [key for key, _ in good], kept)
            finally:
                if self.cache is not None:
                    self.cache.put(self._made(), {text: row for (_, text), row in zip(good, kept)})
            tally.embedded += len(good)
        bad = [key for (key, _), ok in zip(batch, sound.tolist()) if not ok]
        if bad:
            cause = "the vector is all zero, or holds NaN or infinity"
            tally.fail(bad, "bad_vector", cause, "change the text or the model")
            tally.refused.update(bad)

    def keep(self, tally: Tally, keys: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Commit the vectors of texts at once: they are paid for. A space that was left meanwhile takes none."""
        for attempt in range(WRITE_ATTEMPTS):
            try:
                with background, self.store.writing() as write:
                    space = texts.make_space(write, self.model, rows.shape[1], self.clock())
                    if texts.is_left(write, space):
                        cause = f"the vault has changed to another model than {self.model} meanwhile"
                        tally.over = Note("other_model", cause, "call embed() again to change it back")
                    else:
                        texts.put(write, space, keys, rows)
                    claims.settle(write, self.model, keys)
                return
            except StoreBusy:
                if attempt + 1 == WRITE_ATTEMPTS:
                    raise

    def _complete(self, tally: Tally, hopeless: int) -> None:
        """Let the space answer when it lacks no more texts than are hopeless, and remove those that it replaces."""
        with self.store.reading() as read:
            space = self.space(read, tally)
            everything = texts.text_spaces(read)
            filling = any(t.state == "filling" for t in everything if space is not None and t.space == space)
            ready = filling and texts.count_missing(read, space) <= hopeless
        if space is not None and ready:
            with background, self.store.writing() as write:
                texts.move(write, space, "active")
                for other in texts.text_spaces(write):
                    if other.state == "active" and other.space != space and not self.per_model:
                        texts.move(write, other.space, "left")
        if not self.per_model:
            self._prune()

    def _prune(self) -> None:
        """Remove what left spaces hold, a little at a time, so that nobody waits long for the lock."""
        with self.store.reading() as read:
            spaces = texts.left_spaces(read)
        for space in spaces:
            gone = PRUNED_ROWS
            while gone == PRUNED_ROWS:
                with background, self.store.writing() as write:
                    gone = texts.empty(write, space, PRUNED_ROWS)

    def _report(self, tally: Tally) -> EmbedReport:
        with self.store.reading() as read:
            space = self.space(read, tally)
            missing = texts.count_missing(read, space)
            in_jobs = jobs.count_texts(read, self.model)
        notes = tally.notes()
        if in_jobs:
            notes.append(Note("in_jobs", f"{in_jobs} texts are in batch jobs", "embed(batch=True) collects them"))
        elsewhere = missing - len(tally.failed) - in_jobs
        if elsewhere > 0 and tally.over is None:
            cause = f"{elsewhere} texts are being embedded by another process, or were just written"
            notes.append(Note("not_all", cause, "the next run takes what is left"))
        return EmbedReport(
            model=self.model,
            dimensions=self.embedder.dimensions if space is None else space.dimensions,
            embedded=tally.embedded,
            cached=tally.cached,
            failed=len(tally.failed),
            missing=missing,
            requests=tally.requests,
            notes=(*notes, *(() if self.cache is None else self.cache.notes)),
        )

    def _made(self) -> Made:
        return Made(self.embedder.provider, self.embedder.model, "document")
