"""Pipeline: embeds the texts of a store in batches, each text once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.embedding.batching import Batching, Pace
from septet.embedding.cache import EmbeddingCache, namespace_of
from septet.embedding.embedder import (
    MULTILINGUAL,
    Embedder,
    batch_tokens_of,
    fault_in,
    pooling_of,
    space_name,
    unknown_script_of,
)
from septet.embedding.handover import forget_long, hand_over, prune
from septet.embedding.report import EmbedReport, Tally
from septet.embedding.rows import BadVector, float32_of, numbers_of
from septet.errors import EmbeddingError, EmbeddingRefused, EmbeddingUnavailable, SeptetError, StoreBusy
from septet.model.vector import Space
from septet.notes import Note
from septet.store.owners import new_owner
from septet.store.protocol import Reading, Store, Writing
from septet.system.threads import call_uninterrupted

#: A run ends after this many failed batches in a row: the network is probably down.
MAX_FAILURES = 5
#: A run ends after this time in failed batches in a row: a slow provider costs minutes each.
MAX_LOST_S = 60.0
#: A claim is longer than any call.
CLAIM_S = 300.0
CALL_TIMEOUT_S = 270.0
#: Attempts to write vectors, which are paid for; each waits for the store's lock.
WRITE_ATTEMPTS = 6
#: Statuses that may be caused by a single text: it is too long, or malformed.
TEXT_STATUSES = frozenset({400, 413, 422})

#: Pairs of hash and text.
HashedTexts: TypeAlias = "Sequence[tuple[str, str]]"
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class Pipeline:
    """Fills the space of an embedder with the missing vectors of a store's texts.

    Attributes:
        per_model: keep the vectors of other models after this model's are complete.
        memories: embed the texts of memories too.
        clock: epoch seconds, for claims; processes that share a vault must agree on it.
        mates: all models of the pipeline's chain; their vectors are never removed.
        leads: True for the first model of the chain: its space replaces those of other models.
        spares: skip texts with a vector of a mate.
    """

    store: Store
    embedder: Embedder
    cache: EmbeddingCache | None = None
    per_model: bool = False
    memories: bool = True
    batching: Batching = field(default_factory=Batching)
    clock: Callable[[], float] = time.time
    mates: frozenset[str] = frozenset()
    leads: bool = True
    spares: bool = False
    _pace: Pace = field(default_factory=Pace, init=False, repr=False, compare=False)
    #: Owners with unreleased claims, for example after a full disk.
    _unreleased: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def model(self) -> str:
        """The name of the space."""
        return space_name(self.embedder)

    @property
    def of_embedder(self) -> Batching:
        """The bounds of the embedder's batches."""
        return self.batching.within(self.embedder.batch_size, batch_tokens_of(self.embedder))

    def begun(self) -> bool:
        """Return True if the store uses this model, or no model yet; False while another model's vectors answer."""
        with self.store.reading() as read:
            others = False
            for space, state, has_vectors in read.tables.texts.text_spaces(read):
                same = space.model == self.model and self.embedder.dimensions in (None, space.dimensions)
                if state != "left" and (same or space.model in self.mates.difference([self.model])):
                    return True
                others = others or (state == "active" and has_vectors)
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
        batch_s: float | None = None,
    ) -> tuple[EmbedReport, Tally]:
        """Embed missing texts until none remains, the provider refuses, or five batches in a row have failed.

        Every answer is stored before the next request is sent. A keyboard interrupt is raised after the pending answer
        is stored; a second one immediately.

        Args:
            progress: called after each batch with the numbers of processed texts and of all texts.
            stopped: called before each batch; True ends the run.
            skip: hashes of texts to skip.
            owner: the owner of the claims; a new one if None.
            begin: fill the space even if the store has changed to another model; False only continues a fill.
            tally: counters of earlier work, included in the report; if it has stopped, nothing is embedded.
            batch_s: maximum computing time of a batch, estimated; None for no maximum.
        """
        tally, owner = tally or Tally(), owner or new_owner()
        total = self.prepare(tally, begin=begin)
        if progress is not None and tally.done:
            progress(tally.done, max(total, tally.done))
        try:
            for batch in self._batches(tally, owner, stopped, skip, batch_s) if tally.stopped_by is None else ():
                self.fill(tally, batch)
                if progress is not None:
                    progress(tally.done, max(total, tally.done))
                if tally.stopped_by is not None:
                    break
        finally:
            # Otherwise the next run would wait until the claims expire.
            self.release(owner)
        self._complete(tally, len(tally.refused.union(skip)))
        return self._report(tally), tally

    def prepare(self, tally: Tally, *, begin: bool) -> int:
        """Prepare the store for filling and return the number of texts to process, those in `tally` included."""
        forget_long(self.store, self.embedder, tally.known_dimensions(self.embedder.dimensions))
        with self.store.bookkeeping() as write:
            write.tables.texts.add_index(write)
            write.tables.claims.drop_dead(write)
            for owner in list(self._unreleased):
                write.tables.claims.release(write, owner)
            space = self.space(write, tally)
            if space is not None and begin:
                write.tables.texts.begin(write, space)
            return tally.done + self.count_missing(write, space)

    def count_missing(self, read: Reading | Writing, space: Space | None) -> int:
        """Return the number of texts that this pipeline has yet to embed."""
        return read.tables.texts.count_missing(read, space, memories=self.memories, beside=self.beside(read))

    def beside(self, read: Reading | Writing) -> list[Space]:
        """Return the spaces whose texts are skipped."""
        if not self.spares:
            return []
        others = self.mates.difference([self.model])
        return [t.space for t in read.tables.texts.text_spaces(read) if t.space.model in others and t.state != "left"]

    def release(self, owner: str) -> None:
        """Release an owner's claims; if the store is not writable, the next run releases them."""
        self._unreleased.add(owner)
        with suppress(SeptetError):
            with self.store.bookkeeping() as write:
                write.tables.claims.release(write, owner)
            self._unreleased.discard(owner)

    def space(self, read: Reading | Writing, tally: Tally) -> Space | None:
        """Return the space to fill; None if it does not exist yet, or its dimension is unknown."""
        return read.tables.texts.find_space(read, self.model, tally.known_dimensions(self.embedder.dimensions))

    def _batches(
        self, tally: Tally, owner: str, stopped: Callable[[], bool], skip: Collection[str], batch_s: float | None
    ) -> Iterator[list[tuple[str, str]]]:
        """Yield claimed batches, in passes over the hashes, until a pass claims nothing."""
        after, any_claimed = "", False
        while not stopped():
            with self.store.reading() as read:
                page = self.next_batch(read, tally, after, batch_s)
                claimed = read.tables.claims.claimed(read, self.model, owner, [key for key, _ in page], self.clock())
            if not page:
                if not any_claimed:
                    return
                # Texts written since may sort before the position of this pass.
                after, any_claimed = "", False
                continue
            after = page[-1][0]
            free = [key for key, _ in page if not (key in claimed or key in tally.failed or key in skip)]
            own_keys = set(self.claim(tally, owner, free) if free else ())
            if own_keys:
                any_claimed = True
                yield [(key, text) for key, text in page if key in own_keys]

    def next_batch(
        self, read: Reading, tally: Tally, after: str, batch_s: float | None = None
    ) -> list[tuple[str, str]]:
        """Return the missing texts of one batch, those with hashes beyond `after`, claimed or not."""
        batching, space = self.of_embedder, self.space(read, tally)
        page = read.tables.texts.missing(
            read,
            space,
            memories=self.memories,
            beside=self.beside(read),
            after=after,
            limit=self._pace.most(batching.texts, batch_s),
        )
        # The next batch contains the remaining texts.
        return page[: batching.first([text for _, text in page])]

    def claim(self, tally: Tally, owner: str, keys: Sequence[str]) -> list[str]:
        """Claim texts by hash. Return the claimed hashes without a vector."""
        with self.store.bookkeeping() as write:
            now = self.clock()
            claimed = write.tables.claims.claim(write, self.model, owner, keys, now, now + CLAIM_S)
            # Another process may have embedded them and released its claim since the read.
            return write.tables.texts.lacking(write, self.space(write, tally), claimed)

    def fill(self, tally: Tally, batch: HashedTexts) -> None:
        """Store the vectors of claimed texts, from the cache or the provider."""
        uncached = self.fill_from_cache(tally, batch)
        if uncached and tally.stopped_by is None:
            self._request(tally, uncached)
        if tally.failures >= MAX_FAILURES or tally.lost_s >= MAX_LOST_S:
            tally.stopped_by = Note("gave_up", f"{tally.failures} batches in a row failed", "the next run tries again")

    def fill_from_cache(self, tally: Tally, batch: HashedTexts) -> HashedTexts:
        """Store cached vectors. Return the texts without one."""
        if self.cache is None:
            return batch
        if (dimensions := tally.known_dimensions(self.embedder.dimensions)) is None:
            # The cache is read by dimension; embed one text to learn it.
            self._request(tally, batch[:1])
            batch, dimensions = batch[1:], tally.dimensions
            if dimensions is None or tally.stopped_by is not None:
                return batch
        known = self.cache.get(namespace_of(self.embedder, "document"), dimensions, [text for _, text in batch])
        hits = [(key, known[text]) for key, text in batch if text in known]
        if hits:
            self.store_vectors(tally, [key for key, _ in hits], np.stack([row for _, row in hits]))
            tally.cached += len(hits)
        return [(key, text) for key, text in batch if text not in known]

    def _request(self, tally: Tally, batch: HashedTexts) -> None:
        """Embed a batch and store its vectors; halve a batch that fails because of one text."""
        tally.requests += 1
        started = time.monotonic()
        try:
            call_uninterrupted(lambda: self._embed(tally, batch))
            tally.failures, tally.lost_s = 0, 0.0
        except EmbeddingRefused as fault:
            remaining = self._store_partial(tally, batch, fault)
            if fault.status not in TEXT_STATUSES:
                tally.fail([key for key, _ in remaining], "batch_failed", str(fault), "the next run tries again")
                tally.stopped_by = Note("provider_refuses", str(fault), "check the key, the quota and the model")
            else:
                self._request_halves(tally, remaining, fault)
        except BadVector as fault:
            tally.failures, tally.lost_s = 0, 0.0
            self._request_halves(tally, self._store_partial(tally, batch, fault), fault)
        except EmbeddingError as fault:
            remaining = self._store_partial(tally, batch, fault)
            tally.fail([key for key, _ in remaining], "batch_failed", str(fault), "the next run tries again")
            tally.failures += 1
            tally.lost_s += time.monotonic() - started
            tally.wants_retry = True

    def _request_halves(self, tally: Tally, batch: HashedTexts, fault: EmbeddingError) -> None:
        """Embed the halves of a batch that failed because of one text; record a single text as refused."""
        if len(batch) > 1:
            middle = len(batch) // 2
            for half in (batch[:middle], batch[middle:]):
                if tally.stopped_by is None:
                    self._request(tally, half)
            return
        keys = [key for key, _ in batch]
        if isinstance(fault, BadVector):
            tally.fail(keys, "bad_vector", str(fault), "change the text or the model")
        else:
            tally.fail(keys, "text_refused", str(fault), "shorten or change the text")
        tally.refused.update(keys)
        if not tally.embedded and len(tally.refused) >= MAX_FAILURES:
            tally.stopped_by = Note("provider_refuses", str(fault), "check the model and its options")

    def _store_partial(self, tally: Tally, batch: HashedTexts, fault: EmbeddingError) -> HashedTexts:
        """Store the vectors received before a call failed. Return the remaining texts."""
        rows: NDArray[np.float32] | None = getattr(fault, "rows", None)
        if rows is None or not len(rows):
            return batch
        self.store_answer(tally, batch[: len(rows)], rows)
        return batch[len(rows) :]

    def _embed(self, tally: Tally, batch: HashedTexts) -> None:
        provider = self.embedder.provider
        try:
            with self._pace.timed(len(batch), provider):
                answer = self.embedder.embed([text for _, text in batch], "document", timeout_s=CALL_TIMEOUT_S)
            rows = float32_of(numbers_of(answer, len(batch), provider))
        except EmbeddingError:
            raise
        except BaseException as fault:
            # Foreign code may raise anything: the run continues and reports the error.
            raise fault_in(f"{provider} raised", fault, provider) from fault
        known = tally.known_dimensions(self.embedder.dimensions)
        if known is not None and known != rows.shape[1]:
            message = f"{provider} returned {rows.shape[1]} dimensions, not {known}"
            raise EmbeddingUnavailable(message, provider=provider)
        self.store_answer(tally, batch, rows)

    def store_answer(self, tally: Tally, batch: HashedTexts, rows: NDArray[np.float32]) -> None:
        """Store the vectors of a batch; record texts whose vectors have no direction as failed."""
        tally.dimensions = rows.shape[1]
        valid: NDArray[np.bool_] = np.isfinite(rows).all(axis=1) & np.any(rows, axis=1)
        good = [pair for pair, ok in zip(batch, valid.tolist()) if ok]
        if good:
            good_rows = rows[valid]
            try:
                self.store_vectors(tally, [key for key, _ in good], good_rows)
            finally:
                if self.cache is not None:
                    vectors = {text: row for (_, text), row in zip(good, good_rows)}
                    self.cache.put(namespace_of(self.embedder, "document"), vectors)
            tally.embedded += len(good)
            for script in filter(None, (unknown_script_of(self.embedder, text) for _, text in good)):
                tally.causes["unknown_script", f"in {script}, for which {self.model} was not made", MULTILINGUAL] += 1
        bad = [key for (key, _), ok in zip(batch, valid.tolist()) if not ok]
        if bad:
            cause = "the vector is all zero, or contains NaN or infinity"
            tally.fail(bad, "bad_vector", cause, "change the text or the model")
            tally.refused.update(bad)

    def store_vectors(self, tally: Tally, keys: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Commit vectors at once, because they are paid for; discard those of an abandoned space."""
        for attempt in range(WRITE_ATTEMPTS):
            try:
                with self.store.writing() as write:
                    pooling = pooling_of(self.embedder)
                    pooling_name = None if pooling is None else pooling.name
                    space = write.tables.texts.make_space(write, self.model, rows.shape[1], self.clock(), pooling_name)
                    if write.tables.texts.is_left(write, space):
                        cause = f"the vault has changed from {self.model} to another model during the run"
                        tally.stopped_by = Note("other_model", cause, "call embed() again to change it back")
                    else:
                        write.tables.texts.put(write, space, keys, rows)
                    write.tables.claims.settle(write, self.model, keys)
                return
            except StoreBusy:
                if attempt + 1 == WRITE_ATTEMPTS:
                    raise

    def _complete(self, tally: Tally, hopeless: int) -> None:
        """Activate the space if it lacks only hopeless texts, and remove the spaces that it replaces."""
        with self.store.reading() as read:
            space = self.space(read, tally)
        # A space that skips texts is never complete.
        if space is not None and not self.spares:
            rules = {"memories": self.memories, "per_model": self.per_model, "leads": self.leads}
            hand_over(self.store, space, hopeless, mates=self.mates, **rules)
        if not self.per_model:
            prune(self.store)

    def _report(self, tally: Tally) -> EmbedReport:
        with self.store.reading() as read:
            space = self.space(read, tally)
            missing = self.count_missing(read, space)
            in_jobs = read.tables.jobs.count_texts(read, self.model)
        notes = [*tally.notes(), *job_notes(in_jobs)]
        elsewhere = missing - len(tally.failed) - in_jobs
        if elsewhere > 0 and tally.stopped_by is None:
            cause = f"{elsewhere} texts were just written, or another process is embedding them"
            notes.append(Note("not_all", cause, "the next run embeds the remaining ones"))
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


def job_notes(texts: int) -> list[Note]:
    """Return a note about texts in batch jobs, if there are any."""
    return [Note("in_jobs", f"{texts} texts are in batch jobs", "embed(batch=True) collects them")] if texts else []
