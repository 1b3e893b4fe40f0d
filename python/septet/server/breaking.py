"""Aborts answers in progress, so that no client takes a partial one for complete."""

from __future__ import annotations

from typing import Any, Protocol

#: Name of the ASGI extension with the connection of a request.
CONNECTION = "septet.connection"


class _Connection(Protocol):
    @property
    def ended(self) -> bool: ...

    def abort(self) -> None: ...


def break_off(scope: Any) -> bool:
    """Abort the connection of a request; return False if the server does not support it."""
    connection = _of(scope)
    if connection is None:
        return False
    connection.abort()
    return True


def broken_off(scope: Any) -> bool:
    """Return True if the connection of a request has ended; False if the server does not support it."""
    connection = _of(scope)
    return connection is not None and connection.ended


def _of(scope: Any) -> _Connection | None:
    connection: _Connection | None = (scope.get("extensions") or {}).get(CONNECTION)
    return connection
