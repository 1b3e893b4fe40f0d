"""OpenAI's batch API: upload a file of requests, then create a batch of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

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
from septet.embedding.providers.provider_format import ProviderFormat
from septet.net.calls import Call, json_call

OPENAI_JOB = JobLimits(50_000, 200_000_000)


@dataclass(frozen=True, slots=True)
class OpenAIBatchFormat:
    """The format of ``/v1/files`` and ``/v1/batches``.

    Attributes:
        provider_format: the format of a single request.
        url: the address of single requests.
        window: the time within which the provider completes a job.
    """

    provider_format: ProviderFormat
    url: str
    limits: JobLimits = OPENAI_JOB
    window: str = "24h"

    @property
    def base_url(self) -> str:
        """The address of the API."""
        return self.url.removesuffix("/embeddings")

    def line(self, key: str, text: str) -> bytes:
        """Write the whole request of one text."""
        body = from_json(self.provider_format.call([text], "document").body)
        return json_line({"custom_id": key, "method": "POST", "url": "/v1/embeddings", "body": body})

    def upload(self, lines: bytes, name: str) -> Call:
        """Write the file as a form."""
        form = 'Content-Disposition: form-data; name="purpose"'
        file = (
            f'Content-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\nContent-Type: application/jsonl'
        )
        return multipart("form-data", f"{self.base_url}/files", [(form, b"batch"), (file, lines)])

    def file_id(self, body: Any) -> str:
        """Read the file's id.

        Raises:
            EmbeddingUnavailable: the answer lacks it.
        """
        return field_of(body, "id", self.provider_format.provider)

    def create(self, file: str, name: str) -> Call:
        """Write the batch, named in its metadata."""
        return json_call(f"{self.base_url}/batches", {**self.settings(file), "metadata": {"job": name}})

    def settings(self, file: str) -> dict[str, Any]:
        """Return the settings of a batch."""
        return {"input_file_id": file, "endpoint": "/v1/embeddings", "completion_window": self.window}

    def job_id(self, body: Any) -> str:
        """Read the batch's id.

        Raises:
            EmbeddingUnavailable: the answer lacks it.
        """
        return field_of(body, "id", self.provider_format.provider)

    def poll(self, job_id: str) -> Call:
        """Write the request for the batch."""
        return Call("GET", f"{self.base_url}/batches/{job_id}")

    def status(self, body: Any) -> JobStatus:
        """Read the state, the files of results and errors, and the errors of the input.

        Raises:
            EmbeddingUnavailable: the answer lacks the state.
        """
        state = job_state(field_of(body, "status", self.provider_format.provider))
        files = tuple(body[name] for name in ("output_file_id", "error_file_id") if isinstance(body.get(name), str))
        errors = body.get("errors")
        causes = [cause_of(mapping_of(error).get("message")) for error in list_of(mapping_of(errors).get("data"))[:3]]
        return JobStatus(state, files, "; ".join(filter(None, causes)))

    def download(self, file: str) -> Call:
        """Write the request for the file's content."""
        return Call("GET", f"{self.base_url}/files/{file}/content")

    def read(self, line: Any) -> JobResult | None:
        """Read a line of results or of errors; both have the same shape."""
        key = line.get("custom_id") if isinstance(line, Mapping) else None
        if not isinstance(key, str):
            return None
        response, error = line.get("response"), line.get("error")
        body = response.get("body") if isinstance(response, Mapping) else None
        if not error and isinstance(response, Mapping) and response.get("status_code") == 200:
            return JobResult(key, body)
        inner = body.get("error", body.get("detail")) if isinstance(body, Mapping) else None
        return JobResult(key, cause=cause_of(error or inner) or "no answer")

    def list_jobs(self, after: str) -> Call:
        """Write the request for a hundred batches, newest first."""
        return Call("GET", f"{self.base_url}/batches?limit=100{f'&after={after}' if after else ''}")

    def listed_jobs(self, body: Any) -> tuple[Mapping[str, str], str]:
        """Read the names in the metadata."""
        jobs = [mapping_of(job) for job in list_of(mapping_of(body).get("data"))]
        last = jobs[-1].get("id") if jobs and body.get("has_more") else ""
        names = named_jobs((mapping_of(job.get("metadata")).get("job"), job.get("id")) for job in jobs)
        return names, last if isinstance(last, str) else ""
