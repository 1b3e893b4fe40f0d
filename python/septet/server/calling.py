"""Calling: a request of HTTP as a request of an operation, and its answer."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import parse_qsl

import anyio
from pydantic_core import from_json
from starlette.requests import Request as Incoming
from starlette.responses import Response

from septet.server.replies import failed, reply
from septet.server.routing import Found, Refused, Routes
from septet.server.settings import Settings
from septet.service.faults import Fault, fault_of
from septet.service.requests import Request
from septet.service.served import Served

__all__ = ["Caller"]

#: Verbs whose request stands in the query of the address.
_IN_QUERY = frozenset({"GET", "DELETE"})


class Caller:
    """Answers requests by the table of operations."""

    def __init__(self, served: Served, settings: Settings) -> None:
        self._served, self._settings = served, settings
        self._routes = Routes()
        self._log = logging.getLogger("septet.server")

    async def answer(self, incoming: Incoming) -> Response:
        """Return the response to a request, whatever it is."""
        try:
            found = self._routes.find(incoming.method, incoming.scope["raw_path"])
            request = await self._request(incoming, found)
            with anyio.fail_after(self._settings.deadline_s):
                answer = await self._served.call(found.operation, request)
            return reply(answer, found.operation.status)
        except Refused as refused:
            return failed(refused.fault, refused.headers)
        except TimeoutError:
            return failed(Fault("deadline", f"no answer within {self._settings.deadline_s:g} s", 504))
        except Exception as error:  # noqa: BLE001 - told as a fault
            fault = fault_of(error)
            if fault.code == "internal_error":
                self._log.error("a request failed", exc_info=error)
            return failed(fault)

    async def _request(self, incoming: Incoming, found: Found) -> Request:
        model, verb = found.operation.request, incoming.method
        if verb in _IN_QUERY:
            query = incoming.scope["query_string"].decode("latin-1")
            return model.model_validate(dict(parse_qsl(query, keep_blank_values=True)) | found.named)
        body = await self._body(incoming)
        if not found.named:
            return model.model_validate_json(body or b"{}", strict=True)
        given = _object(body)
        if given.keys() & found.named.keys():
            raise Refused(Fault("invalid_request", "the id stands in the path, not in the body", 422))
        return model.model_validate(given | found.named)

    async def _body(self, incoming: Incoming) -> bytes:
        pieces, size = [], 0
        async for piece in incoming.stream():
            size += len(piece)
            if size > self._settings.max_body:
                message = f"the body is larger than {self._settings.max_body:,} bytes"
                raise Refused(Fault("too_large", message, 413), {"Connection": "close"})
            pieces.append(piece)
        return b"".join(pieces)


def _object(body: bytes) -> dict[str, Any]:
    try:
        given = from_json(body or b"{}", allow_inf_nan=False)
    except ValueError as fault:
        raise Refused(Fault("invalid_request", f"the body is no JSON: {fault}", 422)) from None
    if not isinstance(given, dict):
        raise Refused(Fault("invalid_request", "the body is no JSON object", 422))
    return given
