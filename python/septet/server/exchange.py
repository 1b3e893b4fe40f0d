"""Exchange: what is known of one request and its answer, for the log, the figures and the header of timings."""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from septet.watch.events import SearchEvent

__all__ = ["CURRENT", "GONE", "Exchange"]

#: The status in the log of a request whose client did not wait; nothing was sent.
GONE = 499


class Exchange:
    """A request and its answer.

    Attributes:
        method: the verb.
        path: as it was sent.
        route: which route it is, as ``/v1/entries/{id}``; ``other`` for what is none.
        client: the address of the other end.
        status: of the answer; `GONE` until there is one.
        sent: bytes of the body of the answer.
        query: what was searched for; None if nothing was.
        searches: the searches that it made.
        scope: of the token that it brought; see `septet.server.scopes`.
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
        """Milliseconds since the request came."""
        return (perf_counter() - self.started) * 1e3

    def server_timing(self) -> str:
        """Return the stages of its searches as the value of a header ``Server-Timing``; empty without any."""
        stages: dict[str, float] = {}
        for event in self.searches:
            for stage, ms in event.stages.items():
                stages[stage] = stages.get(stage, 0.0) + ms
        return ", ".join(f"{stage};dur={ms:.3f}" for stage, ms in stages.items())


#: The exchange that this task, or the thread that works for it, belongs to.
CURRENT: ContextVar[Exchange | None] = ContextVar("septet_exchange", default=None)
