"""Batch jobs: large corpora through a provider's batch API, submitted, awaited and collected, across crashes.

A job is recorded in the vault, with its texts claimed in its name, before anything is sent, so no process sends them
again while it runs. After a crash, the next run looks for the job at the provider.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.embedding.batch.formats import BatchFormat, JobStatus, batch_format_of
from septet.embedding.batch.job_files import MAX_RESULT_BYTES, gather, read_vectors
from septet.embedding.embedder import AnswerTooLarge
from septet.embedding.fallback import FallbackEmbedder
from septet.embedding.pipeline import MAX_FAILURES, Pipeline, Progress
from septet.embedding.providers.http import HttpEmbedder
from septet.embedding.report import Tally
from septet.errors import EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.net.calls import Call, NetFault
from septet.net.client import ServiceClient
from septet.net.exchange import parsed
from septet.notes import Note
from septet.store.owners import new_owner, owner_of
from septet.store.rows import Job
from septet.system.threads import call_uninterrupted

#: After this many failed jobs in a row, the remaining texts are embedded request by request.
MAX_FAILED_JOBS = 2
#: The lease of a job's texts: longer than any provider keeps a job.
TEXTS_LEASE_S = 3 * 86_400.0
#: The lease of a process on its jobs: longer than the upload or download of a file.
JOBS_LEASE_S = 3_600.0
FIRST_POLL_S = 1.0
#: Maximum file of results. Jobs are sized for a quarter of it, because the dimension may be a guess.
MAX_FILE_BYTES = 4 * MAX_RESULT_BYTES
#: Results per transaction.
PAGE = 1_000
#: Maximum pages of the provider's list of jobs to search for a name.
MAX_LIST_PAGES = 20
#: Statuses of an unknown job or method.
UNKNOWN = frozenset({404, 405, 410})


def batch_jobs_of(
    pipeline: Pipeline, tally: Tally, progress: Progress | None, *, poll_s: float, at_once: int, max_texts: int
) -> BatchJobs | None:
    """Return the batch jobs of a pipeline's embedder, or of the first in a fallback chain; None without a batch API."""
    embedder = pipeline.embedder
    if isinstance(embedder, FallbackEmbedder):
        embedder = embedder.embedders[0]
    if not isinstance(embedder, HttpEmbedder) or (batch_format := batch_format_of(embedder)) is None:
        return None
    client = embedder.file_client()
    return BatchJobs(pipeline, embedder, batch_format, client, tally, progress, poll_s, at_once, max_texts)


@dataclass(slots=True)
class BatchJobs:
    """A run that embeds the missing texts of a vault by batch jobs. The pipeline embeds the remaining texts afterwards.

    Attributes:
        progress: called with the numbers of processed texts and of all texts.
        poll_s: maximum wait between two polls; the first waits are shorter.
        at_once: maximum running jobs.
        max_texts: of one job; the provider may allow fewer.
        owner: the name under which this run owns jobs.
        open: running jobs by number.
        after: the hash of the last text submitted.
        tried: texts that later jobs of this run skip.
        failed_jobs: jobs that failed in a row.
        failed_calls: calls that failed in a row.
        disabled: True if no more jobs are submitted.
    """

    pipeline: Pipeline
    embedder: HttpEmbedder
    batch_format: BatchFormat
    client: ServiceClient
    tally: Tally
    progress: Progress | None
    poll_s: float
    at_once: int
    max_texts: int
    owner: str = field(default_factory=new_owner)
    total: int = 0
    open: dict[int, Job] = field(default_factory=dict)
    after: str = ""
    tried: set[str] = field(default_factory=set)
    failed_jobs: int = 0
    failed_calls: int = 0
    disabled: bool = False

    def run(self, *, wait: bool) -> None:
        """Collect earlier jobs, submit the missing texts as new ones, and wait for all of them.

        Args:
            wait: for every job to end; if False, submit everything, collect the ended jobs, and leave the others to
                the next run.
        """
        self.total = self.pipeline.prepare(self.tally, begin=True)
        try:
            self._resume()
            self._work(wait)
        finally:
            self.client.close()
            with self.pipeline.store.bookkeeping() as write:
                write.tables.jobs.let_go(write, self.owner)

    def _report_progress(self) -> None:
        if self.progress is not None:
            self.progress(self.tally.done, max(self.total, self.tally.done))

    def _work(self, wait: bool) -> None:
        wait_s = FIRST_POLL_S / 2
        while self.tally.stopped_by is None:
            ended = [job for job in list(self.open.values()) if self._collect(job)]
            before = len(self.open)
            while not self.disabled and self.tally.stopped_by is None and (not wait or len(self.open) < self.at_once):
                if not self._submit():
                    break
            if not self.open or not wait or self.tally.stopped_by is not None:
                return
            wait_s = min(FIRST_POLL_S if ended or len(self.open) > before else 2 * wait_s, self.poll_s)
            self.client.pause(wait_s)

    # -- submitting --------------------------------------------------------------------------------------------------

    def _submit(self) -> bool:
        """Submit the next job. Return False if no texts remain."""
        pipeline = self.pipeline
        after, skip, most = self.after, self.tried, self.max_texts
        job_input = gather(
            pipeline, self.embedder, self.batch_format, self.tally, after=after, skip=skip, max_texts=most
        )
        self.after = job_input.after
        if not job_input.texts:
            return False
        name = f"septet-{uuid.uuid4().hex}"
        with pipeline.store.bookkeeping() as write:
            now = pipeline.clock()
            address = self.batch_format.base_url
            job = write.tables.jobs.make(write, pipeline.model, address, name, self.owner, now, now + JOBS_LEASE_S)
            owner = owner_of(job)
            keys, until = list(job_input.texts), now + TEXTS_LEASE_S
            claimed = write.tables.claims.claim(write, pipeline.model, owner, keys, now, until)
            missing = write.tables.texts.lacking(write, pipeline.space(write, self.tally), claimed)
            write.tables.claims.settle(write, pipeline.model, sorted(set(claimed).difference(missing)))
        pending = [(key, job_input.texts[key]) for key in missing]
        uncached = pipeline.fill_from_cache(self.tally, pending) if pending else ()
        self._report_progress()
        if not uncached or self.tally.stopped_by is not None:
            self._drop(job)
            return True
        content = b"".join(job_input.lines[key] for key, _ in uncached)
        call_uninterrupted(lambda: self._send(Job(job, name, None), content))
        return True

    def _send(self, job: Job, content: bytes) -> None:
        """Upload the input of a job and create it; a job that cannot be created has failed."""
        self.tally.requests += 1
        try:
            file = self.batch_format.file_id(self._ask(self.batch_format.upload(content, job.name)))
            job_id = self._create(file, job.name)
        except _Unsure as fault:
            # The job's texts stay claimed, and the next run looks for it.
            self.tally.stopped_by = _unreachable(str(fault))
            return
        except EmbeddingError as fault:
            if isinstance(fault, EmbeddingRefused) and fault.status == 404:
                self.disabled = True
                cause = f"the provider has no batch API; texts are embedded request by request: {fault}"
                self.tally.remarks.append(Note("no_batch_api", cause, "leave out batch=True"))
                self._drop(job.job)
                return
            self._fail(job, f"was rejected: {fault}")
            return
        self._record_id(job, job_id)

    def _create(self, file: str, name: str) -> str:
        """Create a job without retries and return its id; if the answer is lost, look the job up by name.

        Raises:
            _Unsure: the lookup failed too.
        """
        try:
            return self.batch_format.job_id(self._ask(self.batch_format.create(file, name), once=True))
        except EmbeddingUnavailable as fault:
            try:
                job_id = self._find(name)
            except EmbeddingUnavailable as second:
                raise _Unsure(str(second)) from fault
            if job_id is None:
                raise
            return job_id

    def _record_id(self, job: Job, job_id: str) -> None:
        with self.pipeline.store.bookkeeping() as write:
            write.tables.jobs.submitted(write, job.job, job_id)
        self.open[job.job] = job._replace(batch=job_id)

    # -- after a crash -----------------------------------------------------------------------------------------------

    def _resume(self) -> None:
        """Take over the jobs that no process owns; look up a job without a stored id by its name."""
        with self.pipeline.store.bookkeeping() as write:
            now = self.pipeline.clock()
            address = self.batch_format.base_url
            jobs = write.tables.jobs.take(write, self.pipeline.model, address, self.owner, now, now + JOBS_LEASE_S)
        for job in jobs:
            if job.batch is not None:
                self.open[job.job] = job
                continue
            try:
                job_id = self._find(job.name)
            except EmbeddingError as fault:
                self.tally.stopped_by = _unreachable(str(fault))
                return
            if job_id is None:
                self._drop(job.job)
            else:
                self._record_id(job, job_id)

    def _find(self, name: str) -> str | None:
        """Return the provider's id of a job by its name; None if there is none, or jobs cannot be listed."""
        after = ""
        for _ in range(MAX_LIST_PAGES):
            try:
                ids, after = self.batch_format.listed_jobs(self._ask(self.batch_format.list_jobs(after)))
            except EmbeddingRefused as fault:
                if fault.status not in UNKNOWN:
                    raise
                return None
            if name in ids or not after:
                return ids.get(name)
        return None

    # -- collecting --------------------------------------------------------------------------------------------------

    def _collect(self, job: Job) -> bool:
        """Poll a job and store its results if it has ended. Return True if it has."""
        if self.tally.stopped_by is not None or job.batch is None:
            return False
        with self.pipeline.store.bookkeeping() as write:
            write.tables.jobs.renew(write, self.owner, self.pipeline.clock() + JOBS_LEASE_S + self.poll_s)
        try:
            status = self.batch_format.status(self._ask(self.batch_format.poll(job.batch)))
            if status.state == "running":
                self.failed_calls = 0
                return False
            stored, cause = self._store_results(job, status)
        except EmbeddingRefused as fault:
            # An answer that is too large will be too large again.
            if fault.status not in UNKNOWN and not isinstance(fault, AnswerTooLarge):
                self.tally.stopped_by = _unreachable(str(fault))
                return False
            self._fail(job, f"was lost: {fault}")
            return True
        except EmbeddingUnavailable as fault:
            self.failed_calls += 1
            if self.failed_calls >= MAX_FAILURES:
                self.tally.stopped_by = _unreachable(str(fault))
            return False
        self.failed_calls = 0
        self._end(job, status, stored, self.client.context.keys.scrub(status.cause or cause))
        return True

    def _store_results(self, job: Job, status: JobStatus) -> tuple[int, str]:
        """Store a job's vectors. Return their number and the cause of the first failure."""
        with self.pipeline.store.reading() as read:
            claimed = read.tables.jobs.keys(read, job.job)
        # Vectors that were stored before a crash are skipped, and are no failures.
        stored = 0
        cause = ""
        for file in status.files:
            dimensions = self.pipeline.embedder.dimensions or self.tally.dimensions
            content = self.client.send(self.batch_format.download(file), max_bytes=MAX_FILE_BYTES).body
            results = read_vectors(content, self.batch_format, self.embedder.format, dimensions)
            while page := list(islice(results, PAGE)):
                vectors = {key: result for key, result in page if not isinstance(result, str)}
                cause = cause or next((result for _, result in page if isinstance(result, str)), "")
                stored += len(vectors)
                self._store(claimed, vectors)
                self._report_progress()
        return stored, cause

    def _store(self, claimed: set[str], vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Store vectors of the vault's texts, also of texts deleted since: they may be added again."""
        if not vectors:
            return
        self.tally.dimensions = len(next(iter(vectors.values())))
        with self.pipeline.store.reading() as read:
            space = self.pipeline.space(read, self.tally)
            missing = read.tables.texts.lacking(read, space, list(vectors))
            known = read.tables.texts.of_keys(read, missing, memories=self.pipeline.memories)
        live = [(key, known[key]) for key in missing if key in known]
        deleted = [key for key in missing if key not in known and key in claimed]
        if live:
            self.pipeline.store_answer(self.tally, live, np.stack([vectors[key] for key, _ in live]))
        if deleted:
            self.pipeline.store_vectors(self.tally, deleted, np.stack([vectors[key] for key in deleted]))
            self.tally.embedded += len(deleted)

    # -- ending ------------------------------------------------------------------------------------------------------

    def _end(self, job: Job, status: JobStatus, stored: int, cause: str) -> None:
        """End a job and free its texts without a vector; a job without any vector has failed."""
        if not stored:
            self._fail(job, f"{status.state}{f': {cause}' if cause else ' without a vector'}")
            return
        self.failed_jobs = 0
        missing = self._forget(job)
        if missing:
            reason = f"a batch job ({status.state}) returned no vector for {missing} of its texts"
            remedy = "they are embedded request by request"
            self.tally.remarks.append(Note("job_incomplete", f"{reason}{f': {cause}' if cause else ''}", remedy))

    def _fail(self, job: Job, cause: str) -> None:
        """Count a job without results; disable jobs after two in a row."""
        self.failed_jobs += 1
        remedy = "its texts are embedded request by request"
        self.tally.remarks.append(Note("job_failed", f"a batch job of {self.embedder.provider} {cause}", remedy))
        if self.failed_jobs >= MAX_FAILED_JOBS and not self.disabled:
            self.disabled = True
            reason = f"{self.failed_jobs} batch jobs in a row failed"
            reason += ": the remaining texts are embedded request by request"
            self.tally.remarks.append(Note("batches_given_up", reason, "the next run tries batch jobs again"))
        self._forget(job)

    def _forget(self, job: Job) -> int:
        """Drop a job that has ended. Return the number of its texts without a vector; this run skips them."""
        with self.pipeline.store.reading() as read:
            missing = read.tables.jobs.keys(read, job.job)
        self.tried |= missing
        self._drop(job.job)
        self.open.pop(job.job, None)
        return len(missing)

    def _drop(self, job: int) -> None:
        with self.pipeline.store.bookkeeping() as write:
            write.tables.jobs.drop(write, job)

    def _ask(self, call: Call, *, once: bool = False) -> Any:
        """Send a call and return the JSON of its answer."""
        try:
            return parsed(self.client.send(call, once=once))
        except NetFault as fault:
            provider = self.embedder.provider
            message = self.client.context.keys.scrub(f"{provider} {fault}")
            raise EmbeddingUnavailable(message, provider=provider) from None


class _Unsure(Exception):
    """The answer to a job's creation was lost, and so was its lookup."""


def _unreachable(cause: str) -> Note:
    cure = "the jobs keep running at the provider: embed(batch=True) collects them later"
    return Note("jobs_unreachable", cause, cure)
