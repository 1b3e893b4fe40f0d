"""Gemini's batch API: upload a file of requests, then create an asynchronous batch of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from septet.embedding.batch.batch_format import (
    JobLimits,
    JobResult,
    JobStatus,
    cause_of,
    field_of,
    job_state,
    json_line,
    list_of,
    mapping_of,
    multipart,
    named_jobs,
)
from septet.embedding.providers.gemini import GeminiFormat, models_url
from septet.net.answers import as_text
from septet.net.calls import Call, json_call

#: A file may have 2 GB; Google states no limit on its requests.
GEMINI_JOB = JobLimits(100_000, 2_000_000_000)


@dataclass(frozen=True, slots=True)
class GeminiBatchFormat:
    """The format of ``asyncBatchEmbedContent``. The creation answers 404 if the model or address has no batch API."""

    provider_format: GeminiFormat
    limits: JobLimits = GEMINI_JOB

    @property
    def base_url(self) -> str:
        """The address before ``/v1beta``."""
        return self.provider_format.base_url.rstrip("/").removesuffix("/v1beta")

    def line(self, key: str, text: str) -> bytes:
        """Write the request of one text, without the model, which the batch specifies."""
        request = self.provider_format.request(text, "document")
        del request["model"]
        return json_line({"key": key, "request": request})

    def upload(self, lines: bytes, name: str) -> Call:
        """Write the file after a part that describes it."""
        description = json_line({"file": {"displayName": name, "mimeType": "application/jsonl"}})
        return multipart(
            "related",
            f"{self.base_url}/upload/v1beta/files?uploadType=multipart",
            [
                ("Content-Type: application/json; charset=utf-8", description.strip()),
                ("Content-Type: application/jsonl", lines),
            ],
        )

    def file_id(self, body: Any) -> str:
        """Read the file's name, such as ``files/1``.

        Raises:
            EmbeddingUnavailable: the answer lacks it.
        """
        return field_of(mapping_of(body).get("file"), "name", self.provider_format.provider)

    def create(self, file: str, name: str) -> Call:
        """Write the batch."""
        url = models_url(self.provider_format.base_url, self.provider_format.model, "asyncBatchEmbedContent")
        return json_call(url, {"batch": {"displayName": name, "inputConfig": {"file_name": file}}})

    def job_id(self, body: Any) -> str:
        """Read the batch's name, such as ``batches/1``.

        Raises:
            EmbeddingUnavailable: the answer lacks it.
        """
        return field_of(body, "name", self.provider_format.provider)

    def poll(self, job_id: str) -> Call:
        """Write the request for the batch."""
        return Call("GET", f"{self.base_url}/v1beta/{job_id}")

    def status(self, body: Any) -> JobStatus:
        """Read the state, written as ``BATCH_STATE_SUCCEEDED``, and the file of results."""
        metadata = mapping_of(mapping_of(body).get("metadata"))
        state = job_state(as_text(metadata.get("state")).rpartition("STATE_")[2])
        error = mapping_of(body).get("error")
        if error and state == "running":
            # An operation with an error has ended, whatever its state.
            state = "failed"
        outputs = [metadata.get("output"), mapping_of(body).get("response")]
        files = [mapping_of(output).get("responsesFile") for output in outputs]
        cause = cause_of(error.get("message")) if isinstance(error, Mapping) else ""
        return JobStatus(state, tuple(dict.fromkeys(file for file in files if isinstance(file, str))), cause)

    def download(self, file: str) -> Call:
        """Write the request for the file's content."""
        return Call("GET", f"{self.base_url}/v1beta/{file}:download?alt=media")

    def read(self, line: Any) -> JobResult | None:
        """Read a line into the shape of the answer to a request for one text."""
        key = line.get("key") if isinstance(line, Mapping) else None
        if not isinstance(key, str):
            return None
        response, error = line.get("response"), line.get("error")
        if not error and isinstance(response, Mapping) and response.get("embedding"):
            return JobResult(key, {"embeddings": [response["embedding"]]})
        return JobResult(key, cause=cause_of(error) or "no answer")

    def list_jobs(self, after: str) -> Call:
        """Write the request for a hundred batches."""
        return Call("GET", f"{self.base_url}/v1beta/batches?pageSize=100{f'&pageToken={after}' if after else ''}")

    def listed_jobs(self, body: Any) -> tuple[Mapping[str, str], str]:
        """Read the names in the operations' metadata."""
        jobs = [mapping_of(job) for job in list_of(mapping_of(body).get("operations"))]
        after = mapping_of(body).get("nextPageToken")
        names = named_jobs((mapping_of(job.get("metadata")).get("displayName"), job.get("name")) for job in jobs)
        return names, after if isinstance(after, str) else ""
