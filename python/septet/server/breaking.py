"""Breaking off: an answer that ends in the middle, in a way that no client takes for its end."""

from __future__ import annotations

from typing import Any

__all__ = ["BREAK_OFF", "break_off"]

#: The name of the extension of ASGI by which a server ends a connection at once.
BREAK_OFF = "septet.break_off"


def break_off(scope: Any) -> bool:
    """End the connection of a request at once; return False where the server does not know how."""
    known = scope.get("extensions") or {}
    if BREAK_OFF not in known:
        return False
    known[BREAK_OFF]()
    return True
