"""Scopes: what a token lets its bearer ask; each scope includes those before it."""

from __future__ import annotations

from typing import Any

from septet.errors import QueryError
from septet.server.routing import Refused
from septet.server.settings import SCOPES
from septet.service.faults import Fault
from septet.service.operations import Operation

__all__ = ["expect_scope", "scope_of", "tokens_in"]

_OF_ROUTES = {"/v1/bulk": "write", "/mcp": "write", "/metrics": "admin", "/v1/slow_searches": "admin"}


def tokens_in(text: str, source: str) -> dict[str, str]:
    """Return the scopes of tokens by token: a token alone may do all; more stand one a line, ``SCOPE TOKEN``.

    Args:
        source: where the text stands, for errors.

    Raises:
        QueryError: a line is none of these, or a token comes twice.
    """
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and not (len(lines[0]) == 2 and lines[0][0] in SCOPES):
        return {text.strip(): "admin"}
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        # The line itself is not told, as it holds a token.
        if len(line) != 2 or line[0] not in SCOPES:
            known = ", ".join(SCOPES)
            raise QueryError(f"token {number} in {source}: wanted SCOPE TOKEN on a line, with a scope of {known}")
        if line[1] in found:
            raise QueryError(f"token {number} in {source} came before: one token has one scope")
        found[line[1]] = line[0]
    return found


def scope_of(route: str, target: Any) -> str:
    """Return the scope that a route wants."""
    if route in _OF_ROUTES:
        return _OF_ROUTES[route]
    return "write" if isinstance(target, Operation) and target.effect != "reads" else "read"


def expect_scope(held: str, wanted: str, what: str) -> None:
    """Let pass who has a scope.

    Raises:
        Refused: the token is of a lower one (403).
    """
    if SCOPES.index(held) < SCOPES.index(wanted):
        message = f"this token has the scope {held}: {what} wants one with the scope {wanted}"
        headers = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{wanted}"'}
        raise Refused(Fault("scope_not_allowed", message, 403, {"scope": held, "wanted": wanted}), headers)
