"""Gemini's batch API: an uploaded file, and a model's asynchronous batch of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from septet.embedding.batch.batch_format import JobLimits, JobLine, JobState, JobStatus, field_of, json_line, multipart
from septet.embedding.providers.gemini import GeminiFormat, models_url
from septet.embedding.transport.calls import Call, json_call

__all__ = ["GeminiJobs"]

#: A file may have 2 GB; the number of requests in it has no stated bound.
GEMINI_FILE = JobLimits(100_000, 2_000_000_000)
_ENDED: Mapping[str, JobState] = {
    "SUCCEEDED": "completed",
    "FAILED": "failed",
    "EXPIRED": "expired",
    "CANCELLED": "cancelled",
}


@dataclass(frozen=True, slots=True)
class GeminiJobs:
    """The format of ``asyncBatchEmbedContent``. A 404 at the beginning says that the model or address has none."""

    wire: GeminiFormat
    limits: JobLimits = GEMINI_FILE

    @property
    def place(self) -> str:
        """The address before ``/v1beta``."""
        return self.wire.base_url.rstrip("/").removesuffix("/v1beta")

    def line(self, key: str, text: str) -> bytes:
        """Write the request of one text; the batch names the model."""
        request = self.wire.request(text, "document")
        del request["model"]
        return json_line({"key": key, "request": request})

    def upload(self, lines: bytes, name: str) -> Call:
        """Write a part that describes the file, and the file."""
        about = json_line({"file": {"displayName": name, "mimeType": "application/jsonl"}})
        return multipart(
            "related",
            f"{self.place}/upload/v1beta/files?uploadType=multipart",
            [
                ("Content-Type: application/json; charset=utf-8", about.strip()),
                ("Content-Type: application/jsonl", lines),
            ],
        )

    def uploaded(self, body: Any) -> str:
        """Return the file's name, as ``files/1``."""
        return field_of(body.get("file") if isinstance(body, Mapping) else None, "name", self.wire.provider)

    def create(self, file: str, name: str) -> Call:
        """Write the batch."""
        url = models_url(self.wire.base_url, self.wire.model, "asyncBatchEmbedContent")
        return json_call(url, {"batch": {"displayName": name, "inputConfig": {"file_name": file}}})

    def created(self, body: Any) -> str:
        """Return the batch's name, as ``batches/1``."""
        return field_of(body, "name", self.wire.provider)

    def poll(self, batch: str) -> Call:
        """Ask for the batch."""
        return Call("GET", f"{self.place}/v1beta/{batch}")

    def status(self, body: Any) -> JobStatus:
        """Read the state, which is ``BATCH_STATE_`` and a word, and the file of results."""
        metadata = body.get("metadata") if isinstance(body, Mapping) else None
        if not isinstance(metadata, Mapping):
            metadata = {}
        state = _ENDED.get(str(metadata.get("state", "")).rpartition("STATE_")[2], "running")
        error = body.get("error") if isinstance(body, Mapping) else None
        if error:
            # An operation that ends in an error has no state worth waiting for.
            state = "failed" if state == "running" else state
        found = [metadata.get("output"), body.get("response") if isinstance(body, Mapping) else None]
        files = [one.get("responsesFile") for one in found if isinstance(one, Mapping)]
        said = str(error.get("message", "")) if isinstance(error, Mapping) else ""
        return JobStatus(state, tuple(dict.fromkeys(file for file in files if isinstance(file, str))), said)

    def content(self, file: str) -> Call:
        """Ask for what is in the file."""
        return Call("GET", f"{self.place}/v1beta/{file}:download?alt=media")

    def read(self, line: Any) -> JobLine | None:
        """Read a line, a vector or an error, as the answer to a call for one text."""
        key = line.get("key") if isinstance(line, Mapping) else None
        if not isinstance(key, str):
            return None
        response, error = line.get("response"), line.get("error")
        if not error and isinstance(response, Mapping) and response.get("embedding"):
            return JobLine(key, {"embeddings": [response["embedding"]]})
        said = error.get("message", error) if isinstance(error, Mapping) else error
        return JobLine(key, cause=str(said or "no answer"))

    def listing(self, after: str) -> Call:
        """Ask for a hundred batches."""
        return Call("GET", f"{self.place}/v1beta/batches?pageSize=100{f'&pageToken={after}' if after else ''}")

    def listed(self, body: Any) -> tuple[Mapping[str, str], str]:
        """Read the names from the operations' metadata."""
        if not isinstance(body, Mapping):
            return {}, ""
        found = [one for one in body.get("operations") or () if isinstance(one, Mapping)]
        names = {(one.get("metadata") or {}).get("displayName"): one.get("name") for one in found}
        return {str(name): str(id) for name, id in names.items() if name and id}, str(body.get("nextPageToken") or "")
