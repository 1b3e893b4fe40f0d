"""Calling: HTTP requests as requests of operations, of agent tools and of MCP, and their answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl

from pydantic import AliasChoices, Field
from pydantic_core import from_json, to_json
from starlette.responses import Response
from starlette.types import ASGIApp, Message

from septet.client import shapes
from septet.client.routes import OperationRoute
from septet.errors import EntryNotFound
from septet.model.fields import Severity
from septet.profiles import BUILTIN
from septet.query.options import Leg, Mode
from septet.server.bodies import IN_QUERY
from septet.server.exchange import Exchange, RequestError, reply
from septet.server.guard import expect_scope
from septet.server.settings import Settings
from septet.service.faults import CallerFault, fault_of
from septet.service.operations import OPERATIONS, Operation, operation
from septet.service.requests import MOST_RESULTS, IdRequest, Query, WireRequest
from septet.service.running import Serving, arguments_of, set_fields
from septet.service.served import Served
from septet.service.tools import call_tool, tools_of

#: Maximum number of query parameters.
MOST_FIELDS = 64


class Caller:
    """Answers requests by the table of operations."""

    def __init__(self, served: Served, settings: Settings) -> None:
        self._served, self._settings = served, settings

    def begin(
        self, scope: Any, body: bytes, operation: Operation, named: dict[str, str], exchange: Exchange
    ) -> Future[Response]:
        """Begin an operation on a thread, which encodes the answer too; ``named`` are the fields from the path."""
        request = self._request(scope, body, operation, named)
        exchange.query = getattr(request, "query", None)
        timeout_s, most = getattr(request, "timeout_s", None), self._settings.deadline_s
        if timeout_s is not None and timeout_s > most:
            request = request.model_copy(update={"timeout_s": most})
        return self._served.begin(operation, request, partial(_encoded, operation, exchange))

    def _request(self, scope: Any, body: bytes, operation: Operation, named: dict[str, str]) -> WireRequest:
        model = operation.request
        if scope["method"] in IN_QUERY:
            return model.model_validate(_fields(scope["query_string"]) | named)
        if not named:
            return model.model_validate_json(body or b"{}", strict=True)
        fields = _object(body)
        if fields.keys() & named.keys():
            raise RequestError(CallerFault("invalid_request", "the id belongs in the path, not in the body", 422))
        return model.model_validate_json(to_json(fields | named), strict=True)


def _encoded(operation: Operation, exchange: Exchange, answer: dict[str, Any]) -> Response:
    if operation.answer is shapes.StatusAnswer and exchange.scope == "read":
        # The page shows no action that the server refuses to this token.
        answer = {**answer, "writable": False}
    # A suggestion stores nothing.
    status = 200 if operation.answer is shapes.AddedAnswer and "verdict" in answer else operation.status
    return reply(answer, status, exchange.timing_headers())


def _fields(query: bytes) -> dict[str, Any]:
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise RequestError(CallerFault("invalid_request", "the query string is invalid", 400)) from None
    if len(fields := dict(pairs)) < len(pairs):
        raise RequestError(CallerFault("invalid_request", "duplicate field in the query string", 422))
    return fields


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = from_json(body or b"{}", allow_inf_nan=False)
    except ValueError as fault:
        raise RequestError(CallerFault("invalid_request", f"the body is invalid JSON: {fault}", 422)) from None
    if not isinstance(value, dict):
        raise RequestError(CallerFault("invalid_request", "the body must be a JSON object", 422))
    return value


class ToolCall(WireRequest):
    """A tool call: name and arguments."""

    name: Annotated[str, Field(description="As MCP lists it: search, load, remember, …")]
    arguments: Annotated[
        dict[str, Any], Field(default_factory=dict, validation_alias=AliasChoices("arguments", "args"))
    ]


class Tools:
    """Answers tool calls in the form of the documented dashboard: ``success``, ``is_error``, ``result``."""

    def __init__(self, served: Served) -> None:
        self._served = served

    async def call(self, scope: Any, body: bytes, exchange: Exchange) -> Response:
        """Return the answer of a tool; a failure has the same form, and the status of its error.

        Raises:
            pydantic.ValidationError: the body is no tool call.
        """
        request = ToolCall.model_validate_json(body or b"{}", strict=True)
        query = request.arguments.get("query")
        exchange.query = query if isinstance(query, str) else None
        known = tools_of(writable=True, documented_names=True) | tools_of(writable=True)
        if request.name in known and known[request.name].effect != "reads":
            expect_scope(exchange.scope, "write", f"the tool {request.name}")
        try:
            answer = await call_tool(self._served, request.name, request.arguments)
        except Exception as error:
            fault = fault_of(error)
            if fault.code == "internal_error":
                logging.getLogger("septet.server").error("the tool %s failed", request.name, exc_info=error)
            failed = {"success": False, "is_error": True, "result": fault.message, **fault.to_dict()}
            return reply(failed, fault.status)
        data = {"success": True, "is_error": False, "result": answer.answer, "text": answer.text}
        return reply(data, 200, exchange.timing_headers())


class MountedMcp:
    """The MCP server of a memory as a handler, guarded and bounded like the other routes."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._app: ASGIApp | None = None
        self._ready = asyncio.Event()
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def answer(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        """Return the complete answer to an MCP message; an error if the extra is missing (501) or the server stops."""
        if find_spec("mcp") is None:
            raise RequestError(CallerFault("not_installed", "MCP needs the extra: pip install 'septet[mcp]'", 501))
        if self._task is None:
            # A single task must enter and leave the application, as its task groups require.
            self._task = asyncio.ensure_future(self._run())
        await self._ready.wait()
        if self._app is None:
            await self._task
            raise RequestError(CallerFault("stopping", "the server is stopping", 503), {"Connection": "close"})
        return await _collected(self._app, scope, body)

    def end(self) -> None:
        """Stop the application."""
        self._ended.set()

    async def _run(self) -> None:
        try:
            # Importing it is slow, so not on the loop.
            module = await asyncio.get_running_loop().run_in_executor(None, import_module, "septet.mcp.protocol")
            mounted = module.mcp_app(self._served)
            async with mounted.running():
                self._app = mounted.app
                self._ready.set()
                with suppress(asyncio.CancelledError):
                    await self._ended.wait()
        finally:
            self._app = None
            self._ready.set()


async def _collected(app: ASGIApp, scope: Any, body: bytes) -> Response:
    """Return the answer of an application as one response."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    data = bytearray()
    response = Response()

    async def receive() -> Message:
        if not messages:
            # The wait is cancelled when the client disconnects.
            await asyncio.Event().wait()
        return messages.pop()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            response.status_code = message["status"]
            response.raw_headers = [header for header in message["headers"] if header[0].lower() != b"content-length"]
        else:
            data.extend(message.get("body", b""))

    await app(scope, receive, send)
    response.body = bytes(data)
    response.raw_headers.append((b"content-length", str(len(data)).encode()))
    return response


# -- operations of HTTP only: search and list by GET, delete one entry by DELETE ---------------------------------------

_FILTERS = ("kind", "type", "domain", "severity", "source")


class ListRequest(WireRequest):
    """A page of entries, by simple filters; /v1/list supports all."""

    kind: str | None = None
    type: str | None = None
    domain: str | None = None
    severity: str | None = None
    source: str | None = None
    tag: str | None = None
    order_by: str = "created_at"
    direction: Literal["asc", "desc"] = "asc"
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 100
    after: Annotated[str | None, Field(description="`next` of the previous page.")] = None


class SearchByAddressRequest(WireRequest):
    """A search by query string; POST /v1/search has every option."""

    q: Query
    limit: Annotated[int | None, Field(ge=1, le=MOST_RESULTS)] = None
    offset: Annotated[int, Field(ge=0)] = 0
    mode: Mode = "full"
    legs: Leg | None = None
    profile: Annotated[Literal[tuple(BUILTIN)] | None, Field(description="A built-in profile.")] = None  # type: ignore[valid-type]
    kind: str | None = None
    type: str | None = None
    domain: str | None = None
    severity: Severity | None = None
    tag: Annotated[str | None, Field(description="Only entries with this tag.")] = None
    min_score: float | None = None
    include_memories: bool = False
    include_expired: bool = False


def _list_entries(served: Serving, request: Any) -> dict[str, Any]:
    where = {name: value for name in _FILTERS if (value := getattr(request, name)) is not None}
    if request.tag is not None:
        where["tags"] = request.tag
    order = (request.order_by, request.direction)
    return served.blocking.entries(where or None, order_by=order, limit=request.limit, after=request.after).to_dict()


def _search(served: Serving, request: Any) -> dict[str, Any]:
    options = set_fields(request, "q", "kind", "type", "severity", "tag")
    if request.kind is not None:
        options["kinds"] = [request.kind]
    fields = {"type": request.type, "severity": request.severity, "tags": request.tag}
    options["where"] = {name: value for name, value in fields.items() if value is not None} or None
    return served.searched.search(request.q, **options).to_dict()


def _delete_entry(served: Serving, request: Any) -> dict[str, Any]:
    count = served.blocking.delete(request.id, **arguments_of(request, "id"))
    if not count:
        raise EntryNotFound(f"there is no entry {request.id!r}")
    return {"count": count}


#: All operations by name: the table, and those of HTTP only.
HTTP_OPERATIONS: Mapping[str, Operation] = {
    **OPERATIONS,
    "search_by_address": operation(
        "search_by_address",
        "Search with the common options, as query parameters.",
        SearchByAddressRequest,
        _search,
        OperationRoute("GET", "/v1/search", shapes.ResultsAnswer),
    ),
    "list_entries": operation(
        "list_entries",
        "List entries, page by page.",
        ListRequest,
        _list_entries,
        OperationRoute("GET", "/v1/entries", shapes.PageAnswer),
    ),
    "delete_entry": operation(
        "delete_entry",
        "Delete one entry.",
        IdRequest,
        _delete_entry,
        OperationRoute("DELETE", "/v1/entries/{id}", shapes.CountAnswer, "changes"),
    ),
}
