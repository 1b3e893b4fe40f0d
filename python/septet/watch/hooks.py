"""Hooks of a vault or a federation, and the timing of the stages of a watched search."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any

from septet.errors import SeptetError
from septet.inputs.arguments import called
from septet.watch import log

if TYPE_CHECKING:
    from septet.watch.events import SearchEvent, WriteEvent
    from septet.watch.spans import Tracer

#: Searches slower than this, in milliseconds, are logged.
SLOW_MS = 1_000.0


class Watch:
    """The hooks and the tracer of a vault or a federation; ``tracer`` is None without spans."""

    def __init__(
        self,
        on_search: Callable[[SearchEvent], object] | None,
        on_write: Callable[[WriteEvent], object] | None,
        tracer: Tracer | None,
    ) -> None:
        self.on_search, self.on_write, self.tracer = on_search, on_write, tracer
        self._failed: set[int] = set()

    def tell(self, hook: Callable[[Any], object], event: object) -> None:
        """Call a hook; an exception is logged the first time and then ignored."""
        try:
            hook(event)
        except Exception as fault:  # noqa: BLE001 - the caller's code may raise anything
            if id(hook) in self._failed:
                return
            self._failed.add(id(hook))
            listener = log.logger("hooks")
            if listener is not None:
                # The exception's message may repeat a query.
                names = (getattr(hook, "__qualname__", type(hook).__name__), type(fault).__name__)
                listener.error("hook %s raised %s; the search or write went on, later errors are not logged", *names)
                listener.debug("exception of the hook", exc_info=fault)


def watch_of(
    on_search: Callable[[SearchEvent], object] | None,
    on_write: Callable[[WriteEvent], object] | None,
    telemetry: bool | None,
    error: type[SeptetError],
    path: str = "",
) -> Watch | None:
    """Return the hooks and the tracer; None without any.

    Args:
        telemetry: as for `septet.watch.spans.tracer_of`.
        path: path of the vault; empty for a federation.

    Raises:
        error: a hook is not a plain function, or ``telemetry`` is not available.
    """
    called(on_search, "on_search", error)
    called(on_write, "on_write", error)
    tracer = None
    if telemetry is not None or "opentelemetry.trace" in sys.modules:
        from septet.watch.spans import tracer_of

        tracer = tracer_of(telemetry, path, error)
    return None if on_search is None and on_write is None and tracer is None else Watch(on_search, on_write, tracer)


def listen(owner: Any, on_search: Callable[[SearchEvent], object], on_write: Callable[[WriteEvent], object]) -> None:
    """Add hooks to an open vault or federation."""
    before: Watch | None = owner._watch
    if before is None:
        owner._watch = Watch(on_search, on_write, None)
        return
    searching = on_search if before.on_search is None else _each(before, before.on_search, on_search)
    writing = on_write if before.on_write is None else _each(before, before.on_write, on_write)
    owner._watch = Watch(searching, writing, before.tracer)


def _each(watch: Watch, old: Callable[[Any], object], new: Callable[[Any], object]) -> Callable[[Any], object]:
    def tell(event: Any) -> None:
        watch.tell(old, event)
        new(event)

    return tell


class Stages:
    """The duration of each stage of a search.

    Attributes:
        ms: milliseconds by stage, in order of first appearance; repeated stages are summed.
        single: False for several queries, whose stages overlap in threads.
    """

    __slots__ = ("_at", "ms", "single")

    def __init__(self, *, single: bool = True) -> None:
        self.ms: dict[str, float] = {}
        self.single = single
        self._at = perf_counter()

    def mark(self, stage: str) -> None:
        """Add the time since the last mark to the stage that ends now."""
        now = perf_counter()
        self.ms[stage] = self.ms.get(stage, 0.0) + (now - self._at) * 1e3
        self._at = now


#: Stages of the search running in this thread or task; None if it is not watched.
STAGES: ContextVar[Stages | None] = ContextVar("septet_stages", default=None)
