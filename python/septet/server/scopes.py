"""Scopes: the permissions of a token; each scope includes the previous ones."""

from __future__ import annotations

from typing import Any

from septet.errors import QueryError
from septet.server.routing import RequestError
from septet.server.settings import SCOPES
from septet.service.faults import CallerFault
from septet.service.operations import Operation

_ROUTE_SCOPES = {"/v1/bulk": "write", "/mcp": "write", "/metrics": "admin", "/v1/slow_searches": "admin"}


def tokens_in(text: str, source: str) -> dict[str, str]:
    """Return scopes by token. A single token has all scopes; several are lines of ``SCOPE TOKEN``.

    Args:
        source: the source of the text, for errors.

    Raises:
        QueryError: a line is malformed, or a token is duplicate.
    """
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and not (len(lines[0]) == 2 and lines[0][0] in SCOPES):
        return {text.strip(): "admin"}
    scopes: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        # The message omits the line: it contains a token.
        if len(line) != 2 or line[0] not in SCOPES:
            known = ", ".join(SCOPES)
            raise QueryError(f"token {number} in {source}: wanted SCOPE TOKEN on a line, with a scope of {known}")
        scope, token = line
        if token in scopes:
            raise QueryError(f"token {number} in {source} is a duplicate: a token has one scope")
        scopes[token] = scope
    return scopes


def scope_of(route: str, target: Any) -> str:
    """Return the scope that a route requires."""
    if route in _ROUTE_SCOPES:
        return _ROUTE_SCOPES[route]
    return "write" if isinstance(target, Operation) and target.effect != "reads" else "read"


def expect_scope(scope: str, required: str, action: str) -> None:
    """Check the scope of a token.

    Raises:
        RequestError: the scope is too low (403).
    """
    if SCOPES.index(scope) < SCOPES.index(required):
        message = f"this token has the scope {scope}: {action} requires the scope {required}"
        headers = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{required}"'}
        raise RequestError(
            CallerFault("scope_not_allowed", message, 403, {"scope": scope, "wanted": required}), headers
        )
