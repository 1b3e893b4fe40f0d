"""Jobs: large corpora through providers' batch APIs, submitted, awaited and collected, across crashes.

A job is noted in the vault, with its texts claimed in its name, before anything is sent; so neither this process nor
another sends them again while it runs. Who comes after a crash asks the provider what became of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.embedding.batch.batch_format import BatchFormat, JobStatus
from septet.embedding.batch.formats import batch_format
from septet.embedding.batch.lines import vectors
from septet.embedding.fallback import FallbackEmbedder
from septet.embedding.pipeline import MOST_UNANSWERED, Pipeline, Progress
from septet.embedding.providers.http import HttpEmbedder
from septet.embedding.report import Tally
from septet.embedding.threads import call_uninterrupted
from septet.embedding.transport.calls import Call
from septet.embedding.transport.client import Client
from septet.embedding.transport.faults import Garbled, parsed
from septet.errors import EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.results import Note
from septet.storage.forks import background
from septet.storage.tables import claims, jobs, texts
from septet.storage.tables.jobs import Job

__all__ = ["Jobs", "jobs_of"]

#: Jobs that may fail one after the other before texts go one request at a time again.
MOST_FAILED = 2
#: Texts stay claimed for a job for longer than any provider keeps one.
TEXTS_LEASE_S = 3 * 86_400.0
#: A process looks after its jobs for so long without a sign of life; longer than a file takes to come or go.
LEASE_S = 3_600.0
FIRST_POLL_S = 1.0
#: A file that is sent, and one that comes back, are held in memory.
MOST_SENT_BYTES = 100_000_000
MOST_RECEIVED_BYTES = 256_000_000
#: A file of results larger than this is not read: four times what a job is made for, as dimensions may be unknown.
MAX_FILE_BYTES = 4 * MOST_RECEIVED_BYTES
#: What a number of a vector takes in JSON, at most about, and in base64.
NUMBER_BYTES, PACKED_BYTES = 24, 6
LINE_BYTES = 512
PAGE = 1_000
LISTS = 20
#: What is said of a job, or of a way to ask, that is not there.
UNKNOWN = frozenset({404, 405, 410})


def jobs_of(pipeline: Pipeline, *, poll_s: float, at_once: int, most_texts: int) -> Jobs | None:
    """Return the jobs of a pipeline's embedder, of the first one in a chain; None when it has no batch API."""
    one = pipeline.embedder.embedders[0] if isinstance(pipeline.embedder, FallbackEmbedder) else pipeline.embedder
    wire = batch_format(one) if isinstance(one, HttpEmbedder) else None
    if wire is None or not isinstance(one, HttpEmbedder):
        return None
    return Jobs(pipeline, one, wire, poll_s, at_once, most_texts)


@dataclass(slots=True)
class _Run:
    """What one run is at: its jobs that are open, how far it has looked for texts, which were tried, what failed."""

    tally: Tally
    client: Client
    owner: str
    told: Callable[[], None]
    open: dict[int, Job] = field(default_factory=dict)
    after: str = ""
    tried: set[str] = field(default_factory=set)
    failures: int = 0
    unanswered: int = 0
    off: bool = False


@dataclass(frozen=True, slots=True)
class Jobs:
    """Embeds what a vault lacks by jobs. What jobs do not bring, the pipeline embeds afterwards.

    Attributes:
        poll_s: the longest wait between two questions; the first are shorter.
        at_once: jobs that are awaited at a time.
        most_texts: of one job, unless the provider takes fewer.
    """

    pipeline: Pipeline
    embedder: HttpEmbedder
    wire: BatchFormat
    poll_s: float
    at_once: int
    most_texts: int

    def run(self, tally: Tally, progress: Progress | None, *, wait: bool) -> None:
        """Collect the jobs that lie at the provider, submit what is missing as new ones, and wait for all.

        Args:
            progress: called with the texts dealt with and those to be dealt with.
            wait: until every job is over; if False, submit everything, collect what is done, and leave the rest to
                the next run.

        Raises:
            StoreError: the vault cannot be read or written.
        """
        total = self.pipeline.prepare(tally, begin=True)

        def told() -> None:
            if progress is not None:
                progress(tally.done, max(total, tally.done))

        run = _Run(tally, self.embedder.file_client(), claims.new_owner(), told)
        try:
            self._resume(run)
            self._work(run, wait)
        finally:
            run.client.close()
            with background, self.pipeline.store.bookkeeping() as write:
                jobs.let_go(write, run.owner)

    def _work(self, run: _Run, wait: bool) -> None:
        wait_s = FIRST_POLL_S / 2
        while run.tally.over is None:
            ended = [job for job in list(run.open.values()) if self._collected(run, job)]
            began = self._filled(run, wait)
            if not run.open or not wait or run.tally.over is not None:
                return
            wait_s = min(FIRST_POLL_S if ended or began else 2 * wait_s, self.poll_s)
            run.client.pause(wait_s)

    def _filled(self, run: _Run, wait: bool) -> bool:
        """Submit jobs until there are as many as may be, or no more texts, and say whether one was begun."""
        before = len(run.open)
        while not run.off and run.tally.over is None and (not wait or len(run.open) < self.at_once):
            if not self._submit(run):
                break
        return len(run.open) > before

    # -- submitting --------------------------------------------------------------------------------------------------

    def _submit(self, run: _Run) -> bool:
        """Submit the next job and say whether there were texts for one."""
        lines, work = self._gathered(run)
        if not work:
            return False
        name = f"septet-{uuid.uuid4().hex}"
        pipeline = self.pipeline
        with background, pipeline.store.bookkeeping() as write:
            now = pipeline.clock()
            job = jobs.make(write, pipeline.model, self.wire.place, name, run.owner, now, now + LEASE_S)
            owner = jobs.owner_of(job)
            mine = claims.claim(write, pipeline.model, owner, list(work), now, now + TEXTS_LEASE_S)
            wanted = texts.lacking(write, pipeline.space(write, run.tally), mine)
            claims.settle(write, pipeline.model, sorted(set(mine).difference(wanted)))
        rest = pipeline.from_cache(run.tally, [(key, work[key]) for key in wanted]) if wanted else ()
        run.told()
        if not rest or run.tally.over is not None:
            self._drop(job)
            return True
        content = b"".join(lines[key] for key, _ in rest)
        call_uninterrupted(lambda: self._send(run, Job(job, name, None), content))
        return True

    def _gathered(self, run: _Run) -> tuple[dict[str, bytes], dict[str, str]]:
        """Return lines and texts, by hash, that make one job; texts that go in pieces are left to the pipeline."""
        pipeline, size = self.pipeline, 0
        lines: dict[str, bytes] = {}
        work: dict[str, str] = {}
        most_bytes = min(self.wire.limits.bytes, MOST_SENT_BYTES)
        while len(work) < self._most():
            with pipeline.store.reading() as read:
                page = texts.missing(read, pipeline.space(read, run.tally), after=run.after, limit=PAGE)
                taken = claims.claimed(read, pipeline.model, "", [key for key, _ in page], pipeline.clock())
            if not page:
                break
            for key, text in page:
                whole = None if key in taken or key in run.tried else self.embedder.whole(text, "document")
                line = b"" if whole is None else self.wire.line(key, whole)
                if work and (size + len(line) > most_bytes or len(work) == self._most()):
                    return lines, work
                run.after = key
                if line and len(line) <= most_bytes:
                    lines[key], work[key], size = line, text, size + len(line)
        return lines, work

    def _most(self) -> int:
        """Return the most texts of a job, so that its answer can be held in memory."""
        number = PACKED_BYTES if getattr(self.embedder.format, "packed", False) else NUMBER_BYTES
        each = LINE_BYTES + number * (self.pipeline.embedder.dimensions or 1024)
        return max(1, min(self.most_texts, self.wire.limits.texts, MOST_RECEIVED_BYTES // each))

    def _send(self, run: _Run, job: Job, content: bytes) -> None:
        """Upload and begin a job; one that does not get there has failed."""
        run.tally.requests += 1
        try:
            file = self.wire.uploaded(self._asked(run, self.wire.upload(content, job.name)))
            batch = self._begun(run, file, job.name)
        except _Unsure as fault:
            # Its texts stay claimed, and the next run asks whether it was begun.
            run.tally.over = _unreachable(str(fault))
            return
        except EmbeddingError as fault:
            if isinstance(fault, EmbeddingRefused) and fault.status == 404:
                run.off = True
                run.tally.remarks.append(_no_batches(str(fault)))
                self._drop(job.job)
                return
            self._failed(run, job, f"not taken: {fault}")
            return
        self._keep(run, job, batch)

    def _begun(self, run: _Run, file: str, name: str) -> str:
        """Begin a job once: when the answer is lost, it is looked for before it counts as not taken.

        Raises:
            _Unsure: it cannot be looked for either.
        """
        try:
            return self.wire.created(self._asked(run, self.wire.create(file, name), once=True))
        except EmbeddingUnavailable as fault:
            try:
                found = self._found(run, name)
            except EmbeddingUnavailable as second:
                raise _Unsure(str(second)) from fault
            if found is None:
                raise
            return found

    def _keep(self, run: _Run, job: Job, batch: str) -> None:
        with background, self.pipeline.store.bookkeeping() as write:
            jobs.submitted(write, job.job, batch)
        run.open[job.job] = job._replace(batch=batch)

    # -- after a crash -----------------------------------------------------------------------------------------------

    def _resume(self, run: _Run) -> None:
        """Take over the jobs that nobody looks after; one whose id was not stored is looked for by its name."""
        with background, self.pipeline.store.bookkeeping() as write:
            now = self.pipeline.clock()
            found = jobs.take(write, self.pipeline.model, self.wire.place, run.owner, now, now + LEASE_S)
        for job in found:
            if job.batch is not None:
                run.open[job.job] = job
                continue
            try:
                batch = self._found(run, job.name)
            except EmbeddingError as fault:
                run.tally.over = _unreachable(str(fault))
                return
            if batch is None:
                self._drop(job.job)
            else:
                self._keep(run, job, batch)

    def _found(self, run: _Run, name: str) -> str | None:
        """Return the provider's id of a job that was given a name; None when it has none such, or lists none."""
        after = ""
        for _ in range(LISTS):
            try:
                names, after = self.wire.listed(self._asked(run, self.wire.listing(after)))
            except EmbeddingRefused as fault:
                if fault.status not in UNKNOWN:
                    raise
                return None
            if name in names or not after:
                return names.get(name)
        return None

    # -- collecting --------------------------------------------------------------------------------------------------

    def _collected(self, run: _Run, job: Job) -> bool:
        """Ask for a job, store what it has brought when it is over, and say whether it is."""
        if run.tally.over is not None or job.batch is None:
            return False
        with background, self.pipeline.store.bookkeeping() as write:
            jobs.renew(write, run.owner, self.pipeline.clock() + LEASE_S + self.poll_s)
        try:
            status = self.wire.status(self._asked(run, self.wire.poll(job.batch)))
            if status.state == "running":
                run.unanswered = 0
                return False
            stored, causes = self._stored(run, job, status)
        except EmbeddingRefused as fault:
            if fault.status not in UNKNOWN:
                run.tally.over = _unreachable(str(fault))
                return False
            self._failed(run, job, f"lost: {fault}")
            return True
        except EmbeddingUnavailable as fault:
            run.unanswered += 1
            if run.unanswered >= MOST_UNANSWERED:
                run.tally.over = _unreachable(str(fault))
            return False
        run.unanswered = 0
        self._judge(run, job, status, stored, causes)
        return True

    def _judge(self, run: _Run, job: Job, status: JobStatus, stored: int, causes: Mapping[str, str]) -> None:
        """End a job: one that brought nothing has failed, and texts without a vector are free again."""
        why = status.cause or next(iter(causes.values()), "")
        if not stored:
            self._failed(run, job, f"{status.state}{f': {why}' if why else ', without a vector'}")
            return
        run.failures = 0
        left = self._end(run, job)
        if left:
            said = f"a batch job ({status.state}) left out {left} of its texts{f': {why}' if why else ''}"
            run.tally.remarks.append(Note("job_incomplete", said, "they are embedded request by request"))

    def _stored(self, run: _Run, job: Job, status: JobStatus) -> tuple[int, dict[str, str]]:
        """Store the vectors that a job has brought; return how many of its texts have one, and why others failed."""
        with self.pipeline.store.reading() as read:
            mine = jobs.keys(read, job.job)
        # What was stored before a crash is not stored again, and is no failure either.
        stored = 0
        causes: dict[str, str] = {}
        for file in status.files:
            known = self.pipeline.embedder.dimensions or run.tally.dimensions
            found = vectors(
                run.client.send(self.wire.content(file), max_bytes=MAX_FILE_BYTES).body,
                self.wire,
                self.embedder.format,
                known,
            )
            while page := list(islice(found, PAGE)):
                rows = {key: row for key, row in page if not isinstance(row, str)}
                causes |= {key: why for key, why in page if isinstance(why, str)}
                stored += len(rows)
                self._accept(run, mine, rows)
                run.told()
        return stored, causes

    def _accept(self, run: _Run, mine: set[str], rows: Mapping[str, NDArray[np.float32]]) -> None:
        """Store vectors of the vault's texts; one that is gone since the job began keeps its own and may come back."""
        if not rows:
            return
        run.tally.dimensions = len(next(iter(rows.values())))
        with self.pipeline.store.reading() as read:
            space = self.pipeline.space(read, run.tally)
            wanted = texts.lacking(read, space, list(rows))
            known = texts.of_keys(read, wanted)
        live = [(key, known[key]) for key in wanted if key in known]
        gone = [key for key in wanted if key not in known and key in mine]
        if live:
            self.pipeline.accept(run.tally, live, np.stack([rows[key] for key, _ in live]))
        if gone:
            self.pipeline.keep(run.tally, gone, np.stack([rows[key] for key in gone]))
            run.tally.embedded += len(gone)

    # -- ends --------------------------------------------------------------------------------------------------------

    def _failed(self, run: _Run, job: Job, why: str) -> None:
        """Count a job that brought nothing; after two in a row no more are submitted."""
        run.failures += 1
        cure = "its texts are embedded request by request"
        run.tally.remarks.append(Note("job_failed", f"a batch job of {self.embedder.provider} {why}", cure))
        if run.failures >= MOST_FAILED and not run.off:
            run.off = True
            said = f"{run.failures} batch jobs in a row failed: the rest is embedded request by request"
            run.tally.remarks.append(Note("batches_given_up", said, "the next run tries batch jobs again"))
        self._end(run, job)

    def _end(self, run: _Run, job: Job) -> int:
        """Forget a job that is over, and return how many of its texts no job of this run takes again."""
        with self.pipeline.store.reading() as read:
            left = jobs.keys(read, job.job)
        run.tried |= left
        self._drop(job.job)
        run.open.pop(job.job, None)
        return len(left)

    def _drop(self, job: int) -> None:
        with background, self.pipeline.store.bookkeeping() as write:
            jobs.drop(write, job)

    def _asked(self, run: _Run, call: Call, *, once: bool = False) -> Any:
        """Return the JSON of an answer."""
        try:
            return parsed(run.client.send(call, once=once))
        except Garbled as fault:
            provider = self.embedder.provider
            raise EmbeddingUnavailable(f"{provider} sent {fault}", provider=provider) from None


class _Unsure(Exception):
    """Nobody knows whether a job was begun."""


def _unreachable(said: str) -> Note:
    return Note("jobs_unreachable", said, "the jobs go on there: embed(batch=True) collects them later")


def _no_batches(said: str) -> Note:
    cause = f"there is no batch API, so texts are embedded request by request: {said}"
    return Note("no_batch_api", cause, "leave batch=True out")
