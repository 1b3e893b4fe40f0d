"""Batch jobs: large corpora through a provider's batch API, submitted, awaited and collected, across crashes.

A job is recorded in the vault, with its texts claimed in its name, before anything is sent. So neither this process nor
another one sends its texts again while it runs. After a crash, the next run asks the provider what became of it.
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
from septet.embedding.batch.formats import batch_format_of
from septet.embedding.batch.job_input import MAX_RESULT_BYTES, gather
from septet.embedding.batch.results import read_vectors
from septet.embedding.fallback import FallbackEmbedder
from septet.embedding.pipeline import MAX_FAILURES, Pipeline, Progress
from septet.embedding.providers.http import HttpEmbedder
from septet.embedding.report import Tally
from septet.embedding.transport.calls import Call
from septet.embedding.transport.client import Client
from septet.embedding.transport.faults import AnswerTooLarge, Garbled, parsed
from septet.errors import EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.model.results import Note
from septet.sqlite.tables.claims import new_owner
from septet.sqlite.tables.jobs import Job, owner_of
from septet.system.threads import call_uninterrupted

__all__ = ["BatchJobs", "batch_jobs_of"]

#: Jobs that may fail in a row before the remaining texts are embedded one request at a time.
MAX_FAILED_JOBS = 2
#: How long a job's texts stay claimed: longer than any provider keeps a job.
TEXTS_LEASE_S = 3 * 86_400.0
#: How long a process owns its jobs without a sign of life: longer than a file takes to upload or download.
JOBS_LEASE_S = 3_600.0
FIRST_POLL_S = 1.0
#: A larger file of results is not read. Jobs are made for a quarter of it, with a dimension that may be assumed.
MAX_FILE_BYTES = 4 * MAX_RESULT_BYTES
#: Results that are stored at a time.
PAGE = 1_000
#: Pages of the provider's list of jobs that are searched for one name.
MAX_LIST_PAGES = 20
#: The provider knows no such job, or no such method.
UNKNOWN = frozenset({404, 405, 410})


def batch_jobs_of(pipeline: Pipeline, *, poll_s: float, at_once: int, max_texts: int) -> BatchJobs | None:
    """Return the batch jobs of a pipeline's embedder, or of the first one in a fallback chain.

    Returns:
        None when it has no batch API.
    """
    embedder = pipeline.embedder
    if isinstance(embedder, FallbackEmbedder):
        embedder = embedder.embedders[0]
    if not isinstance(embedder, HttpEmbedder):
        return None
    batch_format = batch_format_of(embedder)
    return None if batch_format is None else BatchJobs(pipeline, embedder, batch_format, poll_s, at_once, max_texts)


@dataclass(slots=True)
class _Run:
    """The state of one run.

    Attributes:
        owner: in whose name jobs are owned.
        report_progress: called after each step.
        open: the jobs that are running, by number.
        after: the hash up to which texts have been submitted.
        tried: texts that no further job of this run takes.
        failed_jobs: jobs that failed in a row.
        failed_calls: calls that failed in a row.
        disabled: whether no more jobs are submitted.
    """

    tally: Tally
    client: Client
    owner: str
    report_progress: Callable[[], None]
    open: dict[int, Job] = field(default_factory=dict)
    after: str = ""
    tried: set[str] = field(default_factory=set)
    failed_jobs: int = 0
    failed_calls: int = 0
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class BatchJobs:
    """Embeds the missing texts of a vault by batch jobs. The pipeline embeds afterwards what jobs leave out.

    Attributes:
        poll_s: the longest wait between two polls; the first ones are shorter.
        at_once: jobs that are awaited at the same time.
        max_texts: of one job, unless the provider allows fewer.
    """

    pipeline: Pipeline
    embedder: HttpEmbedder
    batch_format: BatchFormat
    poll_s: float
    at_once: int
    max_texts: int

    def run(self, tally: Tally, progress: Progress | None, *, wait: bool) -> None:
        """Collect earlier jobs, submit what is missing as new ones, and wait for all of them.

        Args:
            progress: called with the number of texts processed and the number of all.
            wait: until every job has ended; if False, submit everything, collect what has ended, and leave the
                remaining jobs to the next run.

        Raises:
            StoreError: the vault cannot be read or written.
        """
        total = self.pipeline.prepare(tally, begin=True)

        def report_progress() -> None:
            if progress is not None:
                progress(tally.done, max(total, tally.done))

        run = _Run(tally, self.embedder.file_client(), new_owner(), report_progress)
        try:
            self._resume(run)
            self._work(run, wait)
        finally:
            run.client.close()
            with self.pipeline.store.bookkeeping() as write:
                write.tables.jobs.let_go(write, run.owner)

    def _work(self, run: _Run, wait: bool) -> None:
        wait_s = FIRST_POLL_S / 2
        while run.tally.stopped_by is None:
            ended = [job for job in list(run.open.values()) if self._collect(run, job)]
            submitted = self._submit_all(run, wait)
            if not run.open or not wait or run.tally.stopped_by is not None:
                return
            wait_s = min(FIRST_POLL_S if ended or submitted else 2 * wait_s, self.poll_s)
            run.client.pause(wait_s)

    # -- submitting --------------------------------------------------------------------------------------------------

    def _submit_all(self, run: _Run, wait: bool) -> bool:
        """Submit jobs until enough are open or no texts are left, and say whether any was submitted."""
        before = len(run.open)
        while not run.disabled and run.tally.stopped_by is None and (not wait or len(run.open) < self.at_once):
            if not self._submit(run):
                break
        return len(run.open) > before

    def _submit(self, run: _Run) -> bool:
        """Submit the next job and say whether there were texts for one."""
        pipeline = self.pipeline
        found = gather(
            pipeline,
            self.embedder,
            self.batch_format,
            run.tally,
            after=run.after,
            skip=run.tried,
            max_texts=self.max_texts,
        )
        run.after = found.after
        if not found.texts:
            return False
        name = f"septet-{uuid.uuid4().hex}"
        with pipeline.store.bookkeeping() as write:
            now = pipeline.clock()
            address = self.batch_format.base_url
            job = write.tables.jobs.make(write, pipeline.model, address, name, run.owner, now, now + JOBS_LEASE_S)
            owner = owner_of(job)
            claimed = write.tables.claims.claim(
                write, pipeline.model, owner, list(found.texts), now, now + TEXTS_LEASE_S
            )
            missing = write.tables.texts.lacking(write, pipeline.space(write, run.tally), claimed)
            write.tables.claims.settle(write, pipeline.model, sorted(set(claimed).difference(missing)))
        batch = [(key, found.texts[key]) for key in missing]
        uncached = pipeline.fill_from_cache(run.tally, batch) if batch else ()
        run.report_progress()
        if not uncached or run.tally.stopped_by is not None:
            self._drop(job)
            return True
        content = b"".join(found.lines[key] for key, _ in uncached)
        call_uninterrupted(lambda: self._send(run, Job(job, name, None), content))
        return True

    def _send(self, run: _Run, job: Job, content: bytes) -> None:
        """Upload the input of a job and create it; a job that cannot be created has failed."""
        run.tally.requests += 1
        try:
            file = self.batch_format.file_id(self._ask(run, self.batch_format.upload(content, job.name)))
            job_id = self._create(run, file, job.name)
        except _Unsure as fault:
            # Its texts stay claimed, and the next run looks for it.
            run.tally.stopped_by = _unreachable(str(fault))
            return
        except EmbeddingError as fault:
            if isinstance(fault, EmbeddingRefused) and fault.status == 404:
                run.disabled = True
                run.tally.remarks.append(_no_batch_api(str(fault)))
                self._drop(job.job)
                return
            self._fail(run, job, f"was not accepted: {fault}")
            return
        self._opened(run, job, job_id)

    def _create(self, run: _Run, file: str, name: str) -> str:
        """Create a job, once, and return its id; when the answer is lost, look for the job before giving up.

        Raises:
            _Unsure: looking for it failed too.
        """
        try:
            return self.batch_format.job_id(self._ask(run, self.batch_format.create(file, name), once=True))
        except EmbeddingUnavailable as fault:
            try:
                found = self._find(run, name)
            except EmbeddingUnavailable as second:
                raise _Unsure(str(second)) from fault
            if found is None:
                raise
            return found

    def _opened(self, run: _Run, job: Job, job_id: str) -> None:
        with self.pipeline.store.bookkeeping() as write:
            write.tables.jobs.submitted(write, job.job, job_id)
        run.open[job.job] = job._replace(batch=job_id)

    # -- after a crash -----------------------------------------------------------------------------------------------

    def _resume(self, run: _Run) -> None:
        """Take over the jobs that no process owns; a job whose id was not stored is looked for by its name."""
        with self.pipeline.store.bookkeeping() as write:
            now = self.pipeline.clock()
            address = self.batch_format.base_url
            found = write.tables.jobs.take(write, self.pipeline.model, address, run.owner, now, now + JOBS_LEASE_S)
        for job in found:
            if job.batch is not None:
                run.open[job.job] = job
                continue
            try:
                job_id = self._find(run, job.name)
            except EmbeddingError as fault:
                run.tally.stopped_by = _unreachable(str(fault))
                return
            if job_id is None:
                self._drop(job.job)
            else:
                self._opened(run, job, job_id)

    def _find(self, run: _Run, name: str) -> str | None:
        """Return the provider's id of the job with a name; None when there is none, or jobs cannot be listed."""
        after = ""
        for _ in range(MAX_LIST_PAGES):
            try:
                ids, after = self.batch_format.listed_jobs(self._ask(run, self.batch_format.list_jobs(after)))
            except EmbeddingRefused as fault:
                if fault.status not in UNKNOWN:
                    raise
                return None
            if name in ids or not after:
                return ids.get(name)
        return None

    # -- collecting --------------------------------------------------------------------------------------------------

    def _collect(self, run: _Run, job: Job) -> bool:
        """Poll a job, store its results when it has ended, and say whether it has."""
        if run.tally.stopped_by is not None or job.batch is None:
            return False
        with self.pipeline.store.bookkeeping() as write:
            write.tables.jobs.renew(write, run.owner, self.pipeline.clock() + JOBS_LEASE_S + self.poll_s)
        try:
            status = self.batch_format.status(self._ask(run, self.batch_format.poll(job.batch)))
            if status.state == "running":
                run.failed_calls = 0
                return False
            stored, cause = self._store_results(run, job, status)
        except EmbeddingRefused as fault:
            # What is too large will be so at every run.
            if fault.status not in UNKNOWN and not isinstance(fault, AnswerTooLarge):
                run.tally.stopped_by = _unreachable(str(fault))
                return False
            self._fail(run, job, f"was lost: {fault}")
            return True
        except EmbeddingUnavailable as fault:
            run.failed_calls += 1
            if run.failed_calls >= MAX_FAILURES:
                run.tally.stopped_by = _unreachable(str(fault))
            return False
        run.failed_calls = 0
        self._end(run, job, status, stored, run.client.context.keys.scrub(status.cause or cause))
        return True

    def _store_results(self, run: _Run, job: Job, status: JobStatus) -> tuple[int, str]:
        """Store a job's vectors; return how many of its texts have one, and why the first other one failed."""
        with self.pipeline.store.reading() as read:
            claimed = read.tables.jobs.keys(read, job.job)
        # Vectors stored before a crash are not stored again, and are no failures either.
        stored = 0
        cause = ""
        for file in status.files:
            dimensions = self.pipeline.embedder.dimensions or run.tally.dimensions
            content = run.client.send(self.batch_format.download(file), max_bytes=MAX_FILE_BYTES).body
            results = read_vectors(content, self.batch_format, self.embedder.format, dimensions)
            while page := list(islice(results, PAGE)):
                vectors = {key: result for key, result in page if not isinstance(result, str)}
                cause = cause or next((result for _, result in page if isinstance(result, str)), "")
                stored += len(vectors)
                self._store(run, claimed, vectors)
                run.report_progress()
        return stored, cause

    def _store(self, run: _Run, claimed: set[str], vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Store vectors of the vault's texts; a text deleted since keeps its vector, in case it comes back."""
        if not vectors:
            return
        run.tally.dimensions = len(next(iter(vectors.values())))
        with self.pipeline.store.reading() as read:
            space = self.pipeline.space(read, run.tally)
            missing = read.tables.texts.lacking(read, space, list(vectors))
            known = read.tables.texts.of_keys(read, missing, memories=self.pipeline.memories)
        live = [(key, known[key]) for key in missing if key in known]
        deleted = [key for key in missing if key not in known and key in claimed]
        if live:
            self.pipeline.store_answer(run.tally, live, np.stack([vectors[key] for key, _ in live]))
        if deleted:
            self.pipeline.store_vectors(run.tally, deleted, np.stack([vectors[key] for key in deleted]))
            run.tally.embedded += len(deleted)

    # -- ending ------------------------------------------------------------------------------------------------------

    def _end(self, run: _Run, job: Job, status: JobStatus, stored: int, cause: str) -> None:
        """End a job: without a single vector it has failed, and texts without a vector are free again."""
        if not stored:
            self._fail(run, job, f"{status.state}{f': {cause}' if cause else ', without a vector'}")
            return
        run.failed_jobs = 0
        left_out = self._forget(run, job)
        if left_out:
            said = f"a batch job ({status.state}) left out {left_out} of its texts{f': {cause}' if cause else ''}"
            run.tally.remarks.append(Note("job_incomplete", said, "they are embedded request by request"))

    def _fail(self, run: _Run, job: Job, cause: str) -> None:
        """Count a job without results; after two in a row no more are submitted."""
        run.failed_jobs += 1
        cure = "its texts are embedded request by request"
        run.tally.remarks.append(Note("job_failed", f"a batch job of {self.embedder.provider} {cause}", cure))
        if run.failed_jobs >= MAX_FAILED_JOBS and not run.disabled:
            run.disabled = True
            said = f"{run.failed_jobs} batch jobs in a row failed: the remaining texts are embedded request by request"
            run.tally.remarks.append(Note("batches_given_up", said, "the next run tries batch jobs again"))
        self._forget(run, job)

    def _forget(self, run: _Run, job: Job) -> int:
        """Forget a job that has ended, and return how many of its texts have no vector; this run skips them."""
        with self.pipeline.store.reading() as read:
            left_out = read.tables.jobs.keys(read, job.job)
        run.tried |= left_out
        self._drop(job.job)
        run.open.pop(job.job, None)
        return len(left_out)

    def _drop(self, job: int) -> None:
        with self.pipeline.store.bookkeeping() as write:
            write.tables.jobs.drop(write, job)

    def _ask(self, run: _Run, call: Call, *, once: bool = False) -> Any:
        """Send a call and return the JSON of its answer."""
        try:
            return parsed(run.client.send(call, once=once))
        except Garbled as fault:
            provider = self.embedder.provider
            said = run.client.context.keys.scrub(f"{provider} sent {fault}")
            raise EmbeddingUnavailable(said, provider=provider) from None


class _Unsure(Exception):
    """It is unknown whether a job was created."""


def _unreachable(cause: str) -> Note:
    return Note("jobs_unreachable", cause, "the jobs go on there: embed(batch=True) collects them later")


def _no_batch_api(cause: str) -> Note:
    said = f"there is no batch API, so texts are embedded request by request: {cause}"
    return Note("no_batch_api", said, "leave out batch=True")
