"""Breaking off: an answer that ends in the middle, in a way that no client takes for its end."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["CONNECTION", "break_off", "broken_off"]

#: The name of the extension of ASGI by which a server hands out the connection of a request.
CONNECTION = "septet.connection"


class _Connection(Protocol):
    @property
    def ended(self) -> bool: ...

    def abort(self) -> None: ...


def break_off(scope: Any) -> bool:
    """End the connection of a request at once; return False where the server does not know how."""
    connection = _of(scope)
    if connection is None:
        return False
    connection.abort()
    return True


def broken_off(scope: Any) -> bool:
    """Whether the connection of a request has ended; False where the server does not tell."""
    connection = _of(scope)
    return connection is not None and connection.ended


def _of(scope: Any) -> _Connection | None:
    found: _Connection | None = (scope.get("extensions") or {}).get(CONNECTION)
    return found
