"""Replies: responses of strict JSON, and of a `CallerFault`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticSerializationError, to_json
from starlette.responses import Response

from septet.service.faults import CallerFault

JSON = "application/json"


def encoded(value: Any) -> bytes:
    """Return a value as strict JSON: NaN and infinities become null, lone surrogates ``?``."""
    try:
        return to_json(value, inf_nan_mode="null")
    except (PydanticSerializationError, ValueError, UnicodeError):
        return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":")).encode()


def reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a value as JSON."""
    return Response(encoded(value), status, headers, JSON)


def failed(fault: CallerFault, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response of an error."""
    return reply(fault.to_dict(), fault.status, headers)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_plain(str(name)): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
