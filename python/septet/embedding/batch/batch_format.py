"""BatchFormat: writes the requests of a provider's batch API and reads its answers, without a network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, Protocol, TypeAlias

from septet.errors import EmbeddingUnavailable
from septet.net.answers import as_text, shortened
from septet.net.calls import Call

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


class BatchFormat(Protocol):
    """One provider's batch API. Answers are passed as parsed JSON.

    Every method that reads an answer raises `EmbeddingUnavailable` when a required field is missing.
    """

    @property
    def limits(self) -> JobLimits:
        """The limits of one job."""

    @property
    def base_url(self) -> str:
        """The address of the API, which identifies its jobs."""

    def line(self, key: str, text: str) -> bytes:
        """Write the input line of a text, newline included."""

    def upload(self, lines: bytes, name: str) -> Call:
        """Write the call that uploads a file of input lines."""

    def file_id(self, body: Any) -> str:
        """Read the id of an uploaded file."""

    def create(self, file: str, name: str) -> Call:
        """Write the call that creates a job with a name."""

    def job_id(self, body: Any) -> str:
        """Read the id of a created job."""

    def poll(self, job_id: str) -> Call:
        """Write the call that asks for a job's status."""

    def status(self, body: Any) -> JobStatus:
        """Read a job's status."""

    def download(self, file: str) -> Call:
        """Write the call that downloads a file of results."""

    def read(self, line: Any) -> JobResult | None:
        """Read one line of a file of results; None when it names no text."""

    def list_jobs(self, after: str) -> Call:
        """Write the call that lists jobs, from the start when `after` is empty."""

    def listed_jobs(self, body: Any) -> tuple[Mapping[str, str], str]:
        """Read the ids of jobs by name, and the start of the next page; empty on the last page."""


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
    return Call(
        "POST", url, body + f"--{boundary}--\r\n".encode(), {"content-type": f"multipart/{kind}; boundary={boundary}"}
    )
