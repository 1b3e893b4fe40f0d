"""Exchange: a request and its answer, for the log, the metrics and the timing header."""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any

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
        scope: of its token; see `septet.server.scopes`.
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

    def server_timing(self) -> str:
        """Return the stages of the searches as a ``Server-Timing`` header; empty without searches."""
        stages: dict[str, float] = {}
        for event in self.searches:
            for stage, ms in event.stages.items():
                stages[stage] = stages.get(stage, 0.0) + ms
        return ", ".join(f"{stage};dur={ms:.3f}" for stage, ms in stages.items())


#: The exchange of this task, or of the thread that works for it.
CURRENT: ContextVar[Exchange | None] = ContextVar("septet_exchange", default=None)
