"""Refusing: the error with which a line that is no message of JSON-RPC is answered, so that nobody waits for ever."""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as types
from pydantic_core import from_json

__all__ = ["refusal", "without_answer"]

#: A number of more digits is none that a message needs; it is not read when the id beside it is looked for.
MOST_DIGITS = 20
#: Characters of a line nested too deeply to be read, of which the outermost object is looked at all the same.
MOST_OUTLINED = 2 * 2**20
#: A text, or brackets of one direction. One that nothing ends is read once: each try takes what is there for good.
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]+|[\]}]+', re.DOTALL)


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
    if ("id" not in asked) if "method" in asked else asked.keys() & {"result", "error"}:
        return None
    return types.JSONRPCError(jsonrpc="2.0", id=_id(asked.get("id")), error=types.ErrorData(code=code, message=message))


def without_answer(line: str) -> bool:
    """Whether a message that was taken for a notification is one: an id that is none makes a request look so."""
    return "id" not in _read(line)


def _read(line: str) -> dict[str, Any]:
    """Return the object of a line, read as far as it can be; empty if it is none."""
    try:
        found = _loaded(line)
    except RecursionError:
        try:
            found = _loaded(_outline(line)) if len(line) <= MOST_OUTLINED else None
        except ValueError:
            return {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _loaded(text: str) -> Any:
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) <= MOST_DIGITS else None)


def _outline(line: str) -> str:
    """Return the outermost object or array of a line, with null in the place of each one inside it."""
    kept, depth, end = list[str](), 0, 0
    for found in _NESTING.finditer(line):
        if found[0][0] == '"':
            continue
        before, opens = depth, found[0][0] in "[{"
        depth += len(found[0]) if opens else -len(found[0])
        if opens and before <= 1 < depth:
            kept.append(line[end : found.start()] + found[0][: 1 - before] + "null")
        elif not opens and depth <= 1 < before:
            end = found.end() + min(depth - 1, 0)
    return "".join(kept) + line[end:] if depth == 0 else ""


def _id(given: Any) -> str | int | None:
    if isinstance(given, str):
        # Half of a character cannot be sent back.
        return given if given == given.encode("utf-8", "ignore").decode() else None
    return given if isinstance(given, int) and not isinstance(given, bool) else None
