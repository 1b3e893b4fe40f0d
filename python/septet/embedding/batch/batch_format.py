"""BatchFormat: how a provider's batch API is spoken, without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, Protocol, TypeAlias

from septet.embedding.transport.calls import Call
from septet.errors import EmbeddingUnavailable

__all__ = ["BatchFormat", "JobLimits", "JobLine", "JobState", "JobStatus", "field_of", "json_line", "multipart"]

JobState: TypeAlias = Literal["running", "completed", "failed", "expired", "cancelled"]


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What one job may hold: texts, and bytes of its file."""

    texts: int
    bytes: int


@dataclass(frozen=True, slots=True)
class JobStatus:
    """What a provider says of a job.

    Attributes:
        files: what it has brought, errors included; jobs that expired or were cancelled may have brought something.
        cause: why it failed, in the provider's words.
    """

    state: JobState
    files: tuple[str, ...] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True)
class JobLine:
    """One line of what a job has brought.

    Attributes:
        key: the text's, as it was sent.
        body: what the provider's own wire reads one vector from; None for a text that failed.
        cause: why it failed.
    """

    key: str
    body: Any = None
    cause: str = ""


class BatchFormat(Protocol):
    """One provider's batch API: how calls are written and answers, as parsed JSON, are read.

    Whatever reads raises `EmbeddingUnavailable` for an answer that lacks what it must have.
    """

    @property
    def limits(self) -> JobLimits:
        """What one job may hold."""

    @property
    def place(self) -> str:
        """The address; a job is not known at another one."""

    def line(self, key: str, text: str) -> bytes:
        """Write the line of a text, its end included."""

    def upload(self, lines: bytes, name: str) -> Call:
        """Write the call that stores a file of lines."""

    def uploaded(self, body: Any) -> str:
        """Return the id of a file that was stored."""

    def create(self, file: str, name: str) -> Call:
        """Write the call that begins a job of a given name."""

    def created(self, body: Any) -> str:
        """Return the id of a job that was begun."""

    def poll(self, batch: str) -> Call:
        """Write the call that asks for a job's status."""

    def status(self, body: Any) -> JobStatus:
        """Read a job's status."""

    def content(self, file: str) -> Call:
        """Write the call that fetches a file."""

    def read(self, line: Any) -> JobLine | None:
        """Read one line of a file; None for one that names no text."""

    def listing(self, after: str) -> Call:
        """Write the call that lists jobs, from the first when `after` is empty."""

    def listed(self, body: Any) -> tuple[Mapping[str, str], str]:
        """Return the ids of listed jobs by their names, and what the next list comes after; empty at the end."""


def field_of(body: Any, name: str, provider: str) -> str:
    """Return a field of an answer that must be there, as text."""
    found = body.get(name) if isinstance(body, Mapping) else None
    if not isinstance(found, str) or not found:
        raise EmbeddingUnavailable(f"{provider} sent an answer without {name!r} about a batch job", provider=provider)
    return found


def json_line(value: Mapping[str, Any]) -> bytes:
    """Write a line of JSON. Lone surrogates, which UTF-8 cannot carry, become question marks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def multipart(kind: str, url: str, parts: list[tuple[str, bytes]]) -> Call:
    """Write a POST of several parts, each with its headers.

    Args:
        kind: ``form-data`` or ``related``.
    """
    digest = sha256()
    for _, content in parts:
        digest.update(content)
    # Made from what it separates: no text can hold a digest of itself.
    boundary = f"septet-{digest.hexdigest()[:40]}"
    body = b"".join(f"--{boundary}\r\n{headers}\r\n\r\n".encode() + content + b"\r\n" for headers, content in parts)
    return Call(
        "POST", url, body + f"--{boundary}--\r\n".encode(), {"content-type": f"multipart/{kind}; boundary={boundary}"}
    )
