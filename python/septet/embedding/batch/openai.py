"""OpenAI's batch API: a file of requests, and a batch of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from septet.embedding.batch.batch_format import JobLimits, JobLine, JobState, JobStatus, field_of, json_line, multipart
from septet.embedding.providers.provider_format import ProviderFormat
from septet.embedding.transport.calls import Call, json_call

__all__ = ["OpenAIBatches"]

OPENAI_FILE = JobLimits(50_000, 200_000_000)
_ENDED: Mapping[str, JobState] = {
    "completed": "completed",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
}


@dataclass(frozen=True, slots=True)
class OpenAIBatches:
    """The format of ``/v1/files`` and ``/v1/batches``.

    Attributes:
        wire: how one request is written and read.
        url: where `wire` asks for embeddings.
    """

    wire: ProviderFormat
    url: str
    limits: JobLimits = OPENAI_FILE
    window: str = "24h"

    @property
    def place(self) -> str:
        """The address below which files and batches lie."""
        return self.url.removesuffix("/embeddings")

    def line(self, key: str, text: str) -> bytes:
        """Write a whole request for one text."""
        body = from_json(self.wire.call([text], "document").body)
        return json_line({"custom_id": key, "method": "POST", "url": "/v1/embeddings", "body": body})

    def upload(self, lines: bytes, name: str) -> Call:
        """Write the form."""
        form = 'Content-Disposition: form-data; name="purpose"'
        file = (
            f'Content-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\nContent-Type: application/jsonl'
        )
        return multipart("form-data", f"{self.place}/files", [(form, b"batch"), (file, lines)])

    def uploaded(self, body: Any) -> str:
        """Return the file's id."""
        return field_of(body, "id", self.wire.provider)

    def create(self, file: str, name: str) -> Call:
        """Write the batch, with its name in the metadata."""
        return json_call(f"{self.place}/batches", {**self.about(file), "metadata": {"job": name}})

    def about(self, file: str) -> dict[str, Any]:
        """Return what a batch of a file is to be."""
        return {"input_file_id": file, "endpoint": "/v1/embeddings", "completion_window": self.window}

    def created(self, body: Any) -> str:
        """Return the batch's id."""
        return field_of(body, "id", self.wire.provider)

    def poll(self, batch: str) -> Call:
        """Ask for the batch."""
        return Call("GET", f"{self.place}/batches/{batch}")

    def status(self, body: Any) -> JobStatus:
        """Read the state, the files of results and of errors, and what was wrong with the input."""
        state = _ENDED.get(field_of(body, "status", self.wire.provider), "running")
        files = tuple(body[name] for name in ("output_file_id", "error_file_id") if isinstance(body.get(name), str))
        errors = body.get("errors")
        listed = errors.get("data") if isinstance(errors, Mapping) else None
        said = [str(e.get("message", "")) for e in listed or () if isinstance(e, Mapping)]
        return JobStatus(state, files, "; ".join(said[:3]))

    def content(self, file: str) -> Call:
        """Ask for what is in the file."""
        return Call("GET", f"{self.place}/files/{file}/content")

    def read(self, line: Any) -> JobLine | None:
        """Read a line of results or of errors; both have one shape."""
        key = line.get("custom_id") if isinstance(line, Mapping) else None
        if not isinstance(key, str):
            return None
        response, error = line.get("response"), line.get("error")
        body = response.get("body") if isinstance(response, Mapping) else None
        if not error and isinstance(response, Mapping) and response.get("status_code") == 200:
            return JobLine(key, body)
        inner = body.get("error", body.get("detail")) if isinstance(body, Mapping) else None
        said = error or inner or "no answer"
        return JobLine(key, cause=str(said.get("message", said) if isinstance(said, Mapping) else said))

    def listing(self, after: str) -> Call:
        """Ask for a hundred batches, the newest first."""
        return Call("GET", f"{self.place}/batches?limit=100{f'&after={after}' if after else ''}")

    def listed(self, body: Any) -> tuple[Mapping[str, str], str]:
        """Read the names from the metadata."""
        data = body.get("data") if isinstance(body, Mapping) else None
        batches = [one for one in data or () if isinstance(one, Mapping) and isinstance(one.get("id"), str)]
        names = {(one.get("metadata") or {}).get("job"): one["id"] for one in batches}
        more = bool(batches) and bool(body.get("has_more"))
        return {str(name): id for name, id in names.items() if name}, batches[-1]["id"] if more else ""
