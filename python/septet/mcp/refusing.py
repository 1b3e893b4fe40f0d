"""Error responses to lines that are no JSON-RPC message, so that clients do not wait forever."""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as types
from pydantic_core import from_json

#: Maximum digits of an integer; longer ones are read as null.
MOST_DIGITS = 20
#: Maximum characters of a too deeply nested line whose outermost object is still searched for an id.
MOST_OUTLINED = 2 * 2**20
#: A string, or a run of brackets of one direction. Matches an unterminated string once, in linear time.
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]+|[\]}]+', re.DOTALL)


def refusal(line: str) -> types.JSONRPCError | None:
    """Return the error response for a line that is no message, with the id of the request or null.

    None for an empty line, a notification or a response: they expect no answer.
    """
    if not line.strip():
        return None
    code, message = types.INVALID_REQUEST, "the line is no request of JSON-RPC 2.0"
    try:
        from_json(line)
    except ValueError as fault:
        code, message = types.PARSE_ERROR, f"the line is no JSON: {fault}"
    item = _read(line)
    if ("id" not in item) if "method" in item else item.keys() & {"result", "error"}:
        return None
    return types.JSONRPCError(jsonrpc="2.0", id=_id(item.get("id")), error=types.ErrorData(code=code, message=message))


def without_answer(line: str) -> bool:
    """Return True if a line has no id. The SDK takes requests with an invalid id for notifications."""
    return "id" not in _read(line)


def _read(line: str) -> dict[str, Any]:
    """Return the JSON object of a line, of its outermost level if nested too deeply; empty if it is none."""
    try:
        value = _loaded(line)
    except RecursionError:
        try:
            value = _loaded(_outline(line)) if len(line) <= MOST_OUTLINED else None
        except ValueError:
            return {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _loaded(text: str) -> Any:
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) <= MOST_DIGITS else None)


def _outline(line: str) -> str:
    """Return the outermost object or array of a line, with nested ones replaced by null."""
    parts, depth, end = list[str](), 0, 0
    for match in _NESTING.finditer(line):
        if match[0][0] == '"':
            continue
        before, opens = depth, match[0][0] in "[{"
        depth += len(match[0]) if opens else -len(match[0])
        if opens and before <= 1 < depth:
            parts.append(line[end : match.start()] + match[0][: 1 - before] + "null")
        elif not opens and depth <= 1 < before:
            end = match.end() + min(depth - 1, 0)
    return "".join(parts) + line[end:] if depth == 0 else ""


def _id(value: Any) -> str | int | None:
    if isinstance(value, str):
        # A lone surrogate cannot be encoded.
        return value if value == value.encode("utf-8", "ignore").decode() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
