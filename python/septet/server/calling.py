"""Calling: HTTP requests as requests of operations, and their answers."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from pydantic_core import from_json, to_json
from starlette.responses import Response

from septet.server.admission import IN_QUERY
from septet.server.exchange import Exchange
from septet.server.replies import reply
from septet.server.routing import RequestError
from septet.server.settings import Settings
from septet.service.faults import CallerFault
from septet.service.operations import Operation
from septet.service.requests import WireRequest
from septet.service.served import Served

#: Maximum number of query parameters.
MOST_FIELDS = 64


class Caller:
    """Answers requests by the table of operations."""

    def __init__(self, served: Served, settings: Settings) -> None:
        self._served, self._settings = served, settings

    async def answer(
        self, scope: Any, body: bytes, operation: Operation, named: dict[str, str], exchange: Exchange
    ) -> Response:
        """Return the answer of an operation.

        Args:
            body: the body; empty if the fields are in the query string.
            named: fields from the path.

        Raises:
            RequestError: the request is invalid.
            Exception: as the operation.
        """
        request = self._request(scope, body, operation, named)
        exchange.query = getattr(request, "query", None)
        answer = await self._served.call(operation, self._limited(request))
        timing = exchange.server_timing()
        return reply(answer, operation.status, {"Server-Timing": timing} if timing else None)

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

    def _limited(self, request: WireRequest) -> WireRequest:
        """Return the request with its ``timeout_s`` limited to the deadline."""
        timeout_s, most = getattr(request, "timeout_s", None), self._settings.deadline_s
        return request if timeout_s is None or timeout_s <= most else request.model_copy(update={"timeout_s": most})


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
