"""Decorator that reports a class's searches and writes to hooks, loggers and spans."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from septet.watch import log
from septet.watch.hooks import STAGES

_Kind = TypeVar("_Kind", bound=type)

#: Search methods except `search`, the hottest, which checks for watchers itself.
SEARCHES = frozenset({"recall", "search_many", "similar", "explain"})
#: Write methods.
WRITES = frozenset(
    (
        "add add_many update update_many rename supersede reinstate remember forget delete purge "
        "link link_many unlink feedback import_ sync forget_root redact"
    ).split()
)


def watched(kind: _Kind) -> _Kind:
    """Wrap the search and write methods of a class so that they are reported."""
    for name in SEARCHES:
        if hasattr(kind, name):
            setattr(kind, name, _search(name, getattr(kind, name)))
    for name in WRITES:
        if hasattr(kind, name):
            setattr(kind, name, _write(name, getattr(kind, name)))
    if (embed := getattr(kind, "embed", None)) is not None:
        setattr(kind, "embed", _embed(embed))  # noqa: B010 - not every class has it
    return kind


def _search(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        if (self._watch is None and not log.searches_heard(log.DEBUG)) or STAGES.get() is not None:
            return method(self, *args, **options)
        from septet.watch.watching import searched

        return searched(self, name, method, args, options)  # type: ignore[arg-type]

    return call


def _write(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        if self._watch is None and not log.writes_heard(log.INFO):
            return method(self, *args, **options)
        from septet.watch.watching import written

        return written(self, name, method, args, options)

    return call


def _embed(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        if self._watch is None or self._watch.tracer is None:
            return method(self, *args, **options)
        span, fault, fields = self._watch.tracer.embed(), None, {}
        try:
            report = method(self, *args, **options)
            fields = {"gen_ai.request.model": report.model, "septet.missing": report.missing}
            fields |= {f"septet.{name}": getattr(report, name) for name in ("embedded", "cached", "failed", "requests")}
        except Exception as error:
            fault = error
            raise
        finally:
            span.close(fault, fields)
        return report

    return call
