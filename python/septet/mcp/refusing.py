"""Refusing: the error with which a line that is no message of JSON-RPC is answered, so that nobody waits for ever."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
from pydantic_core import from_json

__all__ = ["refusal", "without_answer"]

#: A number of more digits is none that a message needs; it is not read when the id beside it is looked for.
MOST_DIGITS = 20


def refusal(line: str) -> types.JSONRPCError | None:
    """Return the error for a line that is no message.

    Its id is that of the request, as far as that can be told; null otherwise. None where nobody waits for an answer: an
    empty line, a notification, an answer.
    """
    if not line.strip():
        return None
    code, message = types.INVALID_REQUEST, "the line is no request of JSON-RPC 2.0"
    try:
        from_json(line)
    except ValueError as fault:
        code, message = types.PARSE_ERROR, f"the line is no JSON: {fault}"
    asked = _read(line)
    if ("method" in asked and "id" not in asked) or asked.keys() & {"result", "error"}:
        return None
    return types.JSONRPCError(jsonrpc="2.0", id=_id(asked.get("id")), error=types.ErrorData(code=code, message=message))


def without_answer(line: str) -> bool:
    """Whether a message that was taken for a notification is one: an id that is none makes a request look so."""
    return "id" not in _read(line)


def _read(line: str) -> dict[str, Any]:
    """Return the object of a line, read as far as it can be; empty if it is none."""
    try:
        found = json.loads(line, parse_int=lambda digits: int(digits) if len(digits) <= MOST_DIGITS else None)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _id(given: Any) -> str | int | None:
    if isinstance(given, str):
        # Half of a character cannot be sent back.
        return given if given == given.encode("utf-8", "ignore").decode() else None
    return given if isinstance(given, int) and not isinstance(given, bool) else None
