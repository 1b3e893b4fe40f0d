"""The batch format of each provider: upload a file of requests, then create a batch of it; without a network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, TypeAlias

from pydantic_core import from_json

from septet.embedding.providers.formats import GeminiFormat, OpenAIFormat, ProviderFormat, VoyageFormat, models_url
from septet.embedding.providers.http import HttpEmbedder
from septet.errors import EmbeddingUnavailable
from septet.net.calls import Call, json_call
from septet.net.exchange import as_text, shortened

BatchFormat: TypeAlias = "OpenAIBatchFormat | GeminiBatchFormat"
JobState: TypeAlias = Literal["running", "completed", "failed", "expired", "cancelled"]

#: Longer ids cannot be part of an address.
MAX_ID_CHARS = 1_000

_ENDED: Mapping[str, JobState] = {
    "completed": "completed",
    "succeeded": "completed",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
}


@dataclass(frozen=True, slots=True)
class JobLimits:
    """Maximum texts and input file bytes of one batch job."""

    texts: int
    bytes: int


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A provider's report on a batch job.

    Attributes:
        files: of results and errors; expired and cancelled jobs may have some too.
        cause: the provider's reason for a failure.
    """

    state: JobState
    files: tuple[str, ...] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of one text in a batch job.

    Attributes:
        key: the text's key, as submitted.
        body: the input of the provider's `ProviderFormat.read` for one vector; None for a text that failed.
    """

    key: str
    body: Any = None
    cause: str = ""


OPENAI_JOB, VOYAGE_JOB = JobLimits(50_000, 200_000_000), JobLimits(100_000, 1_000_000_000)
#: A file may have 2 GB; Google states no limit on its requests.
GEMINI_JOB = JobLimits(100_000, 2_000_000_000)


def batch_format_of(embedder: HttpEmbedder) -> BatchFormat | None:
    """Return the batch format of an embedder's provider; None when it has no batch API."""
    provider_format = embedder.format
    if isinstance(provider_format, VoyageFormat):
        return VoyageBatchFormat(provider_format)
    if isinstance(provider_format, GeminiFormat):
        return GeminiBatchFormat(provider_format)
    # Servers that merely speak OpenAI's embedding format have no batch API.
    if isinstance(provider_format, OpenAIFormat) and provider_format.provider == "openai":
        return OpenAIBatchFormat(provider_format)
    return None


@dataclass(frozen=True, slots=True)
class OpenAIBatchFormat:
    """OpenAI's format of ``/v1/files`` and ``/v1/batches``.

    Answers are passed as parsed JSON. Every method that reads one raises `EmbeddingUnavailable` if a required field is
    missing.

    Attributes:
        provider_format: the format of a single request.
        limits: the limits of one job.
        window: the time within which the provider completes a job.
    """

    provider_format: ProviderFormat
    limits: JobLimits = OPENAI_JOB
    window: str = "24h"

    @property
    def base_url(self) -> str:
        """The address of the API, which identifies its jobs."""
        return self.provider_format.url.removesuffix("/embeddings")

    def line(self, key: str, text: str) -> bytes:
        """Write the whole request of one text."""
        body = from_json(self.provider_format.call([text], "document").body)
        return json_line({"custom_id": key, "method": "POST", "url": "/v1/embeddings", "body": body})

    def upload(self, lines: bytes, name: str) -> Call:
        """Write the file as a form."""
        form = 'Content-Disposition: form-data; name="purpose"'
        file = f'Content-Disposition: form-data; name="file"; filename="{name}.jsonl"'
        parts = [(form, b"batch"), (f"{file}\r\nContent-Type: application/jsonl", lines)]
        return multipart("form-data", f"{self.base_url}/files", parts)

    def file_id(self, body: Any) -> str:
        """Read the file's id."""
        return field_of(body, "id", self.provider_format.provider)

    def create(self, file: str, name: str) -> Call:
        """Write the batch, named in its metadata."""
        return json_call(f"{self.base_url}/batches", {**self.settings(file), "metadata": {"job": name}})

    def settings(self, file: str) -> dict[str, Any]:
        """Return the settings of a batch."""
        return {"input_file_id": file, "endpoint": "/v1/embeddings", "completion_window": self.window}

    def job_id(self, body: Any) -> str:
        """Read the batch's id."""
        return field_of(body, "id", self.provider_format.provider)

    def poll(self, job_id: str) -> Call:
        """Write the request for the batch."""
        return Call("GET", f"{self.base_url}/batches/{job_id}")

    def status(self, body: Any) -> JobStatus:
        """Read the state, the files of results and errors, and the errors of the input."""
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


@dataclass(frozen=True, slots=True)
class VoyageBatchFormat(OpenAIBatchFormat):
    """Voyage's format: as OpenAI's, but a batch states the model and its options once."""

    limits: JobLimits = VOYAGE_JOB
    window: str = "12h"

    def line(self, key: str, text: str) -> bytes:
        """Write the text only."""
        return json_line({"custom_id": key, "body": {"input": [text]}})

    def settings(self, file: str) -> dict[str, Any]:
        """Return the settings of a batch, including the options that its lines omit."""
        params = from_json(self.provider_format.call([], "document").body)
        del params["input"]
        # A bare super() fails here: a dataclass with slots is a new class.
        return {**OpenAIBatchFormat.settings(self, file), "request_params": params}


@dataclass(frozen=True, slots=True)
class GeminiBatchFormat:
    """Gemini's format of ``asyncBatchEmbedContent``; creating a batch answers 404 if the model or address has none."""

    provider_format: GeminiFormat
    limits: JobLimits = GEMINI_JOB

    @property
    def base_url(self) -> str:
        """The address before ``/v1beta``."""
        return self.provider_format.url.rstrip("/").removesuffix("/v1beta")

    def line(self, key: str, text: str) -> bytes:
        """Write the request of one text, without the model, which the batch specifies."""
        request = self.provider_format.request(text, "document")
        del request["model"]
        return json_line({"key": key, "request": request})

    def upload(self, lines: bytes, name: str) -> Call:
        """Write the file after a part that describes it."""
        description = json_line({"file": {"displayName": name, "mimeType": "application/jsonl"}})
        parts = [
            ("Content-Type: application/json; charset=utf-8", description.strip()),
            ("Content-Type: application/jsonl", lines),
        ]
        return multipart("related", f"{self.base_url}/upload/v1beta/files?uploadType=multipart", parts)

    def file_id(self, body: Any) -> str:
        """Read the file's name, such as ``files/1``."""
        return field_of(mapping_of(body).get("file"), "name", self.provider_format.provider)

    def create(self, file: str, name: str) -> Call:
        """Write the batch."""
        url = models_url(self.provider_format.url, self.provider_format.model, "asyncBatchEmbedContent")
        return json_call(url, {"batch": {"displayName": name, "inputConfig": {"file_name": file}}})

    def job_id(self, body: Any) -> str:
        """Read the batch's name, such as ``batches/1``."""
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


def field_of(body: Any, name: str, provider: str) -> str:
    """Return a required text field of an answer.

    Raises:
        EmbeddingUnavailable: the field is missing, empty or no text.
    """
    value = body.get(name) if isinstance(body, Mapping) else None
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID_CHARS:
        raise EmbeddingUnavailable(f"{provider} sent an answer without {name!r} about a batch job", provider=provider)
    return value


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: Any) -> list[Any]:
    """Return a JSON array, or an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def cause_of(error: Any) -> str:
    """Return the message of an error object, or the error itself."""
    return shortened(as_text(error.get("message", error) if isinstance(error, Mapping) else error))


def named_jobs(jobs: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    """Return ids by name, skipping jobs without either."""
    return {name: id for name, id in jobs if isinstance(name, str) and isinstance(id, str) and name and id}


def job_state(word: str) -> JobState:
    """Map a provider's status to a state; an unknown one counts as running."""
    return _ENDED.get(word.lower(), "running")


def json_line(value: Mapping[str, Any]) -> bytes:
    """Write a line of JSON. Lone surrogates, which UTF-8 cannot encode, become question marks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def multipart(kind: str, url: str, parts: list[tuple[str, bytes]]) -> Call:
    """Write a multipart POST.

    Args:
        kind: ``form-data`` or ``related``.
        parts: headers and content of each part.
    """
    digest = sha256()
    for _, content in parts:
        digest.update(content)
    # A digest of the parts: no part can contain it.
    boundary = f"septet-{digest.hexdigest()[:40]}"
    body = b"".join(f"--{boundary}\r\n{headers}\r\n\r\n".encode() + content + b"\r\n" for headers, content in parts)
    body += f"--{boundary}--\r\n".encode()
    return Call("POST", url, body, {"content-type": f"multipart/{kind}; boundary={boundary}"})
