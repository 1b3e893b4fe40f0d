"""Tools: agent tools, called by name over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, Field
from starlette.responses import Response

from septet.server.exchange import Exchange
from septet.server.replies import reply
from septet.server.scopes import expect_scope
from septet.service.faults import fault_of
from septet.service.requests import WireRequest
from septet.service.served import Served
from septet.service.tools import Tool, call_tool, tools_of


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
        exchange.query = _query(request.arguments)
        known = {name: tool for documented in (True, False) for name, tool in _named(documented)}
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
        timing = exchange.server_timing()
        data = {"success": True, "is_error": False, "result": answer.answer, "text": answer.text}
        return reply(data, 200, {"Server-Timing": timing} if timing else None)


def _named(documented: bool) -> Iterable[tuple[str, Tool]]:
    return tools_of(writable=True, documented_names=documented).items()


def _query(arguments: Mapping[str, Any]) -> str | None:
    query = arguments.get("query")
    return query if isinstance(query, str) else None
