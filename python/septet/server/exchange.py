"""Exchange: a request and its answer, for the log, the metrics and the timing header; and the forms of answers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from pydantic_core import PydanticSerializationError, to_json
from starlette.responses import Response

from septet.service.faults import CallerFault

if TYPE_CHECKING:
    from septet.watch.events import SearchEvent

#: Logged status of a request whose client disconnected before the answer.
GONE = 499


class Exchange:
    """A request and its answer.

    Attributes:
        method: the verb.
        path: the raw path.
        route: the route, such as ``/v1/entries/{id}``; ``other`` for none.
        client: the address of the client.
        status: of the answer; `GONE` before it.
        sent: number of body bytes sent.
        query: the query of a search; None for other requests.
        searches: the searches that the request ran.
        scope: of its token; see `septet.server.guard`.
    """

    __slots__ = (
        "client",
        "method",
        "path",
        "query",
        "route",
        "scope",
        "searches",
        "sent",
        "started",
        "status",
    )

    def __init__(self, scope: Any) -> None:
        self.started = perf_counter()
        self.method: str = scope["method"]
        self.path: bytes = scope["raw_path"]
        self.client: str = (scope.get("client") or ("",))[0]
        self.route = "other"
        self.status = GONE
        self.sent = 0
        self.query: str | None = None
        self.searches: list[SearchEvent] = []
        self.scope = "read"

    @property
    def took_ms(self) -> float:
        """Milliseconds since the request arrived."""
        return (perf_counter() - self.started) * 1e3

    def timing_headers(self) -> dict[str, str] | None:
        """Return the stages of the searches as a ``Server-Timing`` header; None without searches."""
        stages: dict[str, float] = {}
        for event in self.searches:
            for stage, ms in event.stages.items():
                stages[stage] = stages.get(stage, 0.0) + ms
        timing = ", ".join([f"{stage};dur={ms:.3f}" for stage, ms in stages.items()])
        return {"Server-Timing": timing} if timing else None


class ClientDisconnected(Exception):
    """The client has disconnected."""


class RequestError(Exception):
    """A request to answer with an error.

    Attributes:
        fault: the error.
        headers: further headers of the response.
    """

    def __init__(self, fault: CallerFault, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(fault.message)
        self.fault, self.headers = fault, headers


#: The exchange of this task, or of the thread that works for it.
CURRENT: ContextVar[Exchange | None] = ContextVar("septet_exchange", default=None)


#: Name of the ASGI extension with the connection of a request.
CONNECTION = "septet.connection"


class _Connection(Protocol):
    @property
    def ended(self) -> bool: ...

    @property
    def received(self) -> bool: ...

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


def received(scope: Any) -> bool:
    """Return True if the whole body of a request is here; False if the server does not tell."""
    connection = (scope.get("extensions") or {}).get(CONNECTION)
    return connection is not None and connection.received


def _of(scope: Any) -> _Connection | None:
    connection: _Connection | None = (scope.get("extensions") or {}).get(CONNECTION)
    return connection


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
