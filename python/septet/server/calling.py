"""Calling: a request of HTTP as a request of an operation, and its answer."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from pydantic_core import from_json, to_json
from starlette.responses import Response

from septet.server.admission import IN_QUERY
from septet.server.exchange import Exchange
from septet.server.replies import reply
from septet.server.routing import Refused
from septet.server.settings import Settings
from septet.service.faults import Fault
from septet.service.operations import Operation
from septet.service.requests import Request
from septet.service.served import Served

__all__ = ["Caller"]

#: A query of more fields is none of ours.
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
            body: of the request; empty where its fields stand in the query of the address.
            named: fields of its request that the path names.

        Raises:
            Refused: the request cannot be read.
            Exception: as the operation does.
        """
        request = self._request(scope, body, operation, named)
        exchange.query = getattr(request, "query", None)
        answer = await self._served.call(operation, self._within(request))
        timing = exchange.server_timing()
        return reply(answer, operation.status, {"Server-Timing": timing} if timing else None)

    def _request(self, scope: Any, body: bytes, operation: Operation, named: dict[str, str]) -> Request:
        model = operation.request
        if scope["method"] in IN_QUERY:
            return model.model_validate(_fields(scope["query_string"]) | named)
        if not named:
            return model.model_validate_json(body or b"{}", strict=True)
        given = _object(body)
        if given.keys() & named.keys():
            raise Refused(Fault("invalid_request", "the id stands in the path, not in the body", 422))
        return model.model_validate_json(to_json(given | named), strict=True)

    def _within(self, request: Request) -> Request:
        """Return a request that asks for no more time than there is."""
        asked, most = getattr(request, "timeout_s", None), self._settings.deadline_s
        return request if asked is None or asked <= most else request.model_copy(update={"timeout_s": most})


def _fields(query: bytes) -> dict[str, Any]:
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refused(Fault("invalid_request", "the query of the address cannot be read", 400)) from None
    if len(fields := dict(pairs)) < len(pairs):
        raise Refused(Fault("invalid_request", "a field comes twice in the query of the address", 422))
    return fields


def _object(body: bytes) -> dict[str, Any]:
    try:
        given = from_json(body or b"{}", allow_inf_nan=False)
    except ValueError as fault:
        raise Refused(Fault("invalid_request", f"the body is no JSON: {fault}", 422)) from None
    if not isinstance(given, dict):
        raise Refused(Fault("invalid_request", "the body is no JSON object", 422))
    return given
