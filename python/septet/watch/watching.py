"""Calls that are watched: timed, and told to hooks, loggers and spans when they are over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from septet.model.results import Results
from septet.notes import DEGRADING, Note, NoteCode
from septet.watch import log
from septet.watch.events import SearchEvent, SearchMethod, WriteEvent
from septet.watch.stages import SLOW_MS, STAGES, Stages

if TYPE_CHECKING:
    from septet.watch.hooks import Watch

__all__ = ["searched", "tell_results", "written"]

#: A write of so many rows, or of so many milliseconds, is more than a detail.
MANY_ROWS, LONG_MS = 1_000, 1_000.0
#: What goes on being so is said again after so many seconds.
AGAIN_S = 3_600.0
#: Beside what makes answers less: what concerns the vault and not the query.
OF_VAULT: frozenset[NoteCode] = frozenset(
    {"index_mismatch", "network_folder", "sidecar_damaged", "synchronised_folder", "cache_unusable"}
)
#: The words of a provider, and of an error of the caller's, may repeat the query.
OF_OTHERS: frozenset[NoteCode] = frozenset({"embedding_refused", "embedding_unavailable", "reranker_failed"})
#: What concerns one query alone.
OF_QUERY: frozenset[NoteCode] = frozenset({"query_cut", "vector_mismatch"})

#: The vaults and federations that a method of theirs writes to, in this thread or task: what it calls is part of it.
_WRITING: ContextVar[tuple[object, ...]] = ContextVar("septet_writing", default=())


def searched(
    owner: Any, method: SearchMethod, call: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """Return what a search returns, and tell of it."""
    watch: Watch | None = owner._watch
    stages = Stages(single=method != "search_many")
    before = STAGES.set(stages)
    started = time.perf_counter()
    found, fault = None, None
    span = None if watch is None or watch.tracer is None else watch.tracer.search(method)
    try:
        found = call(owner, *args, **options)
    except Exception as error:
        fault = error
        raise
    finally:
        STAGES.reset(before)
        event = _search_event(method, args, options, found, fault, stages, (time.perf_counter() - started) * 1e3)
        if span is not None:
            span.end(event)
        _log_search(owner, event, found)
        if watch is not None and watch.on_search is not None:
            _tell(owner, watch, watch.on_search, event)
    return found


def written(owner: Any, method: str, call: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Return what a write returns, and tell of it."""
    if any(one is owner for one in _WRITING.get()):
        return call(owner, *args, **options)
    watch: Watch | None = owner._watch
    before = _WRITING.set((*_WRITING.get(), owner))
    started = time.perf_counter()
    made, fault = None, None
    span = None if watch is None or watch.tracer is None else watch.tracer.write(method)
    try:
        made = call(owner, *args, **options)
    except Exception as error:
        fault = error
        raise
    finally:
        _WRITING.reset(before)
        store = getattr(owner, "_store", None)
        event = WriteEvent(
            method=method,
            count=0 if fault is not None or options.get("dry_run") else _count(made),
            took_ms=(time.perf_counter() - started) * 1e3,
            generation=0 if store is None else store.last_generation,
            error=fault,
        )
        if span is not None:
            span.end(event)
        _log_write(owner, event)
        if watch is not None and watch.on_write is not None:
            _tell(owner, watch, watch.on_write, event)
    return made


def _tell(owner: Any, watch: Watch, hook: Callable[[Any], object], event: SearchEvent | WriteEvent) -> None:
    """Call a hook; what it searches and writes itself is told to nobody, or it would be called for ever."""
    searching, writing = STAGES.set(Stages()), _WRITING.set((*_WRITING.get(), owner))
    try:
        watch.tell(hook, event)
    finally:
        STAGES.reset(searching)
        _WRITING.reset(writing)


def tell_results(owner: Any, results: Results) -> None:
    """Log what a search that nobody watches has to say: that it was slow, or less than it could be."""
    listener = log.logger("search")
    if listener is None:
        return
    if results.took_ms > SLOW_MS and listener.isEnabledFor(log.INFO):
        listener.info("%s: a slow search, %d hits in %.0f ms", _name(owner), len(results.hits), results.took_ms)
    for note in results.notes:
        if note.code in OF_QUERY or not (note.code in DEGRADING or note.code in OF_VAULT):
            continue
        now, told = time.monotonic(), owner.__dict__.setdefault("_told", {})
        key = (note.code, note.tier)
        if now - told.get(key, -AGAIN_S) >= AGAIN_S and listener.isEnabledFor(log.WARNING):
            told[key] = now
            listener.warning("%s: %s", _name(owner), _said(note))


def _said(note: Note) -> str:
    """Return a note as a line that repeats no query."""
    if note.code not in OF_OTHERS:
        return str(note)
    return f"{note.code} [{note.tier}]" if note.tier else note.code


def _search_event(
    method: SearchMethod,
    args: Sequence[Any],
    options: Mapping[str, Any],
    found: Any,
    fault: Exception | None,
    stages: Stages,
    took_ms: float,
) -> SearchEvent:
    given = next((value for value in (*args, *(options.get(n) for n in _QUERIES)) if value is not None), "")
    all_results = [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, Results)]
    texts = given if isinstance(given, (list, tuple)) else [given]
    text = texts[0] if texts and isinstance(texts[0], str) else ""
    first = all_results[0] if all_results else None
    return SearchEvent(
        method=method,
        query=text,
        query_chars=len(text),
        queries=len(all_results) if method == "search_many" else 1,
        took_ms=took_ms,
        stages=stages.ms,
        candidates=sum(tier.candidates for one in all_results for tier in one.tiers),
        hits=sum(len(one.hits) for one in all_results),
        generation=first.tiers[0].generation if first is not None and first.tiers else 0,
        profile="" if first is None else first.profile,
        notes=tuple(dict.fromkeys(note for one in all_results for note in one.notes)),
        error=fault,
    )


#: The parameters that say what is searched for.
_QUERIES = ("query", "queries", "id", "text")


def _log_search(owner: Any, event: SearchEvent, found: Any) -> None:
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, Results) and (one.notes or one.took_ms > SLOW_MS):
            tell_results(owner, one)
    listener = log.logger("search")
    if listener is None or not listener.isEnabledFor(log.DEBUG):
        return
    stages = ", ".join(f"{name} {ms:.2f}" for name, ms in event.stages.items())
    failed = "" if event.error is None else f", {type(event.error).__name__}"
    listener.debug(
        "%s: %s of %d characters, %d hits of %d candidates in %.2f ms (%s)%s",
        *(_name(owner), event.method, event.query_chars, event.hits, event.candidates, event.took_ms, stages, failed),
    )


def _log_write(owner: Any, event: WriteEvent) -> None:
    listener = log.logger("write")
    level = log.INFO if event.count >= MANY_ROWS or event.took_ms >= LONG_MS else log.DEBUG
    if listener is None or not listener.isEnabledFor(level):
        return
    if event.error is not None:
        fault = type(event.error).__name__
        listener.log(level, "%s: %s raised %s after %.2f ms", _name(owner), event.method, fault, event.took_ms)
        return
    wrote = event.count, event.generation, event.took_ms
    listener.log(level, "%s: %s wrote %d, generation %d, in %.2f ms", _name(owner), event.method, *wrote)


def _name(owner: Any) -> str:
    return cast("str", getattr(owner, "path", "federation"))


def _count(made: object) -> int:
    """Return how many rows a write says it wrote."""
    if isinstance(made, int):
        return int(made)
    if isinstance(made, (list, tuple)) and not hasattr(made, "_fields"):
        return len(made)
    for name in ("entries", "changed", "count"):
        if isinstance(one := getattr(made, name, None), int):
            return one
    return 1
