"""The batch APIs of OpenAI, Voyage and Gemini: files, batches, and lines in any order."""

from __future__ import annotations

import json
import random
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import TYPE_CHECKING, Any

from embedding_server.parts import Reply, Request, Route, error, route
from embedding_server.providers import gemini, openai

if TYPE_CHECKING:
    from embedding_server.server import EmbeddingServer

#: Says of a text whether its line fails, and how.
Fails = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a job.

    Attributes:
        state: ``completed``, ``failed``, ``expired``, ``cancelled``, or ``refused``: it is not even taken.
        polls: how often it is still running when it is asked for.
        done: how many of its lines are finished when it ends; None for all.
        fails: texts whose line is an error.
        lost: begin the job, and break the connection off instead of saying so.
        bent: changes the lines before they are given out.
    """

    state: str = "completed"
    polls: int = 1
    done: int | None = None
    fails: Fails = lambda text: None
    lost: bool = False
    bent: Callable[[list[bytes]], list[bytes]] = lambda lines: lines


@dataclass(slots=True)
class _Batch:
    id: str
    provider: str
    name: str
    create: Mapping[str, Any]
    lines: list[dict[str, Any]]
    outcome: Outcome
    headers: Mapping[str, str]
    asked: int = 0


@dataclass(slots=True)
class Batches:
    """What a provider keeps: files and batches. Give `routes` to the server, beside its own.

    Attributes:
        outcomes: of the next jobs, one each; those that follow are completed.
        sent: the texts of every job that was begun, in order.
    """

    outcomes: deque[Outcome] = field(default_factory=deque)
    sent: list[list[str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, _Batch] = field(default_factory=dict)

    @property
    def routes(self) -> list[Route]:
        made = [
            ("POST", r"/v1/files", "openai", self._upload),
            ("POST", r"/v1/batches", "openai", self._create),
            ("GET", r"/v1/batches/([^/?]+)", "openai", self._poll),
            ("GET", r"/v1/batches\?limit=(\d+)(?:&after=(.+))?", "openai", self._list),
            ("GET", r"/v1/files/([^/]+)/content", "openai", self._content),
            ("POST", r"/upload/v1beta/files\?uploadType=multipart", "gemini", self._upload_gemini),
            ("POST", r"/v1beta/models/([^/:]+):asyncBatchEmbedContent", "gemini", self._create_gemini),
            ("GET", r"/v1beta/(batches/\d+)", "gemini", self._poll_gemini),
            ("GET", r"/v1beta/batches\?pageSize=(\d+)(?:&pageToken=(.+))?", "gemini", self._list_gemini),
            ("GET", r"/v1beta/(files/[^:]+):download\?alt=media", "gemini", self._content),
        ]
        return [route(method, pattern, provider)(handler) for method, pattern, provider, handler in made]

    # -- OpenAI and Voyage -------------------------------------------------------------------------------------------

    def _upload(self, server: EmbeddingServer, request: Request, _: re.Match[str]) -> Reply:
        parts = _parts(request, "multipart/form-data")
        purpose, file = (part.get_payload(decode=True) for part in parts)
        names = [part.get_param("name", header="content-disposition") for part in parts]
        assert (names, purpose) == (["purpose", "file"], b"batch")
        id = self._kept("file-in", file)
        return Reply(content={"id": id, "object": "file", "bytes": len(file), "purpose": "batch"})

    def _create(self, server: EmbeddingServer, request: Request, _: re.Match[str]) -> Reply:
        body = request.json()
        provider = "voyage" if "request_params" in body else "openai"
        assert body["endpoint"] == "/v1/embeddings"
        assert body["completion_window"] == ("12h" if provider == "voyage" else "24h")
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        wanted = {"custom_id", "body"} if provider == "voyage" else {"custom_id", "method", "url", "body"}
        assert all(line.keys() == wanted for line in lines)
        made = self._begun(provider, f"batch_{len(self.batches)}", body["metadata"]["job"], body, lines, request)
        if made is None:
            return error(provider, 400, "the batch is not taken")
        return Reply(sending="dropped") if made.outcome.lost else Reply(content=self._shown(server, made))

    def _poll(self, server: EmbeddingServer, request: Request, match: re.Match[str]) -> Reply:
        batch = self.batches.get(match[1])
        if batch is None:
            return error("openai", 404, "No batch found")
        batch.asked += 1
        return Reply(content=self._shown(server, batch))

    def _shown(self, server: EmbeddingServer, batch: _Batch) -> dict[str, Any]:
        shown = {"id": batch.id, "object": "batch", "status": "validating", "metadata": batch.create["metadata"]}
        shown |= dict.fromkeys(("output_file_id", "error_file_id", "errors"))
        if batch.asked <= batch.outcome.polls:
            return shown | ({"status": "in_progress"} if batch.asked else {})
        shown["status"] = batch.outcome.state
        if batch.outcome.state == "failed":
            said = {"code": "invalid_json_line", "line": 3, "message": "This line is not parseable as valid JSON."}
            return shown | {"errors": {"object": "list", "data": [said]}}
        good, bad = [], []
        for number, line in enumerate(_shuffled(batch.lines)):
            answer = self._line(server, batch, line, number)
            fine = answer["response"] and answer["response"]["status_code"] == 200
            (good if fine else bad).append(json.dumps(answer).encode())
        for name, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                shown[name] = self._kept("file-out", b"\n".join(batch.outcome.bent(lines)) + b"\n")
        return shown

    def _line(self, server: EmbeddingServer, batch: _Batch, line: Mapping[str, Any], number: int) -> dict[str, Any]:
        answer = {"id": f"batch_req_{number}", "custom_id": line["custom_id"], "response": None, "error": None}
        if batch.outcome.done is not None and number >= batch.outcome.done:
            said = "This request could not be executed before the completion window expired."
            return answer | {"error": {"code": "batch_expired", "message": said}}
        body = {**batch.create.get("request_params", {}), **line["body"]}
        asked = Request("POST", "/v1/embeddings", batch.headers, json.dumps(body).encode())
        why = batch.outcome.fails(_texts(line)[0])
        reply = error("openai", 400, why) if why else openai.handler(server, asked, _match(openai, asked.path))
        return answer | {"response": {"status_code": reply.status, "request_id": "req", "body": reply.content}}

    def _list(self, server: EmbeddingServer, request: Request, match: re.Match[str]) -> Reply:
        # A page of one, so that the next one is asked for too.
        page, more = _page([one for one in self.batches.values() if one.provider != "gemini"], match[2])
        data = [{"id": one.id, "metadata": one.create["metadata"]} for one in page]
        return Reply(content={"object": "list", "data": data, "has_more": more})

    def _content(self, server: EmbeddingServer, request: Request, match: re.Match[str]) -> Reply:
        found = self.files.get(match[1])
        return error("openai", 404, "No such file") if found is None else Reply(content=found)

    # -- Gemini ------------------------------------------------------------------------------------------------------

    def _upload_gemini(self, server: EmbeddingServer, request: Request, _: re.Match[str]) -> Reply:
        about, file = (part.get_payload(decode=True) for part in _parts(request, "multipart/related"))
        assert json.loads(about)["file"]["mimeType"] == "application/jsonl"
        return Reply(content={"file": {"name": self._kept("files/in", file), "state": "ACTIVE"}})

    def _create_gemini(self, server: EmbeddingServer, request: Request, match: re.Match[str]) -> Reply:
        body = request.json()["batch"]
        lines = [json.loads(line) for line in self.files[body["inputConfig"]["file_name"]].splitlines()]
        assert all(line.keys() == {"key", "request"} for line in lines)
        create = {"model": match[1]}
        made = self._begun("gemini", f"batches/{len(self.batches)}", body["displayName"], create, lines, request)
        if made is None:
            return error("gemini", 400, "the batch is not taken", code="INVALID_ARGUMENT")
        return Reply(sending="dropped") if made.outcome.lost else Reply(content=self._shown_gemini(server, made))

    def _poll_gemini(self, server: EmbeddingServer, request: Request, match: re.Match[str]) -> Reply:
        batch = self.batches.get(match[1])
        if batch is None:
            return error("gemini", 404, "no such batch", code="NOT_FOUND")
        batch.asked += 1
        return Reply(content=self._shown_gemini(server, batch))

    def _shown_gemini(self, server: EmbeddingServer, batch: _Batch) -> dict[str, Any]:
        metadata: dict[str, Any] = {"displayName": batch.name, "state": "BATCH_STATE_PENDING"}
        if batch.asked <= batch.outcome.polls:
            return {"name": batch.id, "metadata": metadata | ({"state": "BATCH_STATE_RUNNING"} if batch.asked else {})}
        state = {"completed": "SUCCEEDED"}.get(batch.outcome.state, batch.outcome.state.upper())
        metadata["state"] = f"BATCH_STATE_{state}"
        if batch.outcome.state == "failed":
            return {"name": batch.id, "done": True, "metadata": metadata, "error": {"code": 3, "message": "bad file"}}
        done = list(_shuffled(batch.lines))[: batch.outcome.done]
        lines = [json.dumps(self._line_gemini(server, batch, line)).encode() for line in done]
        metadata["output"] = {"responsesFile": self._kept("files/out", b"\n".join(batch.outcome.bent(lines)))}
        return {"name": batch.id, "done": True, "metadata": metadata}

    def _line_gemini(self, server: EmbeddingServer, batch: _Batch, line: Mapping[str, Any]) -> dict[str, Any]:
        model = batch.create["model"]
        body = {"model": f"models/{model}", **line["request"]}
        asked = Request("POST", f"/v1beta/models/{model}:embedContent", batch.headers, json.dumps(body).encode())
        why = batch.outcome.fails(_texts(line)[0])
        if why:
            return {"key": line["key"], "error": {"code": 400, "message": why, "status": "INVALID_ARGUMENT"}}
        return {"key": line["key"], "response": gemini.handler(server, asked, _match(gemini, asked.path)).content}

    def _list_gemini(self, server: EmbeddingServer, request: Request, match: re.Match[str]) -> Reply:
        page, more = _page([one for one in self.batches.values() if one.provider == "gemini"], match[2])
        shown = [{"name": one.id, "metadata": {"displayName": one.name}} for one in page]
        return Reply(content={"operations": shown} | ({"nextPageToken": page[-1].id} if more else {}))

    # -- both --------------------------------------------------------------------------------------------------------

    def _begun(
        self,
        provider: str,
        id: str,
        name: str,
        create: Mapping[str, Any],
        lines: list[dict[str, Any]],
        request: Request,
    ) -> _Batch | None:
        outcome = self.outcomes.popleft() if self.outcomes else Outcome()
        if outcome.state == "refused":
            return None
        self.batches[id] = _Batch(id, provider, name, create, lines, outcome, request.headers)
        self.sent.append([text for line in lines for text in _texts(line)])
        return self.batches[id]

    def _kept(self, kind: str, content: bytes) -> str:
        id = f"{kind}{len(self.files)}"
        self.files[id] = content
        return id


def _texts(line: Mapping[str, Any]) -> Sequence[str]:
    if "request" in line:
        return ["".join(part["text"] for part in line["request"]["content"]["parts"])]
    texts = line["body"]["input"]
    return [texts] if isinstance(texts, str) else list(texts)


def _parts(request: Request, kind: str) -> list[Any]:
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n"
    whole = message_from_bytes(head.encode() + request.body)
    assert whole.get_content_type() == kind
    parts = whole.get_payload()
    assert isinstance(parts, list)
    return parts


def _shuffled(lines: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    return random.Random(len(lines)).sample(lines, len(lines))


def _page(found: list[_Batch], after: str | None) -> tuple[list[_Batch], bool]:
    start = next((n + 1 for n, one in enumerate(found) if one.id == after), 0)
    return found[start : start + 1], start + 1 < len(found)


def _match(one: Route, path: str) -> re.Match[str]:
    match = one.pattern.fullmatch(path)
    assert match is not None
    return match
