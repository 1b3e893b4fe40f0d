"""Run watched calls: time them and report them to hooks, loggers and spans."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, cast

from septet.model.results import Results
from septet.notes import DEGRADING, Note, NoteCode
from septet.watch import log
from septet.watch.events import SearchEvent, SearchMethod, WriteEvent
from septet.watch.hooks import SLOW_MS, STAGES, Stages, Watch

#: Minimum rows, or milliseconds, of a write that is logged at INFO instead of DEBUG.
MANY_ROWS, LONG_MS = 1_000, 1_000.0
#: Seconds before a persisting condition is logged again.
AGAIN_S = 3_600.0
#: Notes about the vault, logged beside those that degrade results.
OF_VAULT: frozenset[NoteCode] = frozenset(
    {"index_mismatch", "network_folder", "sidecar_damaged", "synchronised_folder", "cache_unusable"}
)
#: Notes that quote a provider or the caller's code, and so may repeat the query.
OF_OTHERS: frozenset[NoteCode] = frozenset({"embedding_refused", "embedding_unavailable", "reranker_failed"})
#: Notes about a single query.
OF_QUERY: frozenset[NoteCode] = frozenset({"query_cut", "vector_mismatch"})

#: Owners with a write in progress in this thread or task: nested writes are part of it.
_WRITING: ContextVar[tuple[object, ...]] = ContextVar("septet_writing", default=())


def searched(
    owner: Any, method: SearchMethod, call: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """Run a search and report it."""
    watch: Watch | None = owner._watch
    stages = Stages(single=method != "search_many")
    before = STAGES.set(stages)
    started = time.perf_counter()
    results, fault = None, None
    tracer = None if watch is None else watch.tracer
    span = None if tracer is None else tracer.begin("septet.search", db__operation__name=method)
    try:
        results = call(owner, *args, **options)
    except Exception as error:
        fault = error
        raise
    finally:
        STAGES.reset(before)
        event = _search_event(method, args, options, results, fault, stages, (time.perf_counter() - started) * 1e3)
        if span is not None:
            span.end(event)
        _log_search(owner, event, results)
        if watch is not None and watch.on_search is not None:
            _tell(owner, watch, watch.on_search, event)
    return results


def written(owner: Any, method: str, call: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Run a write and report it."""
    if any(writer is owner for writer in _WRITING.get()):
        return call(owner, *args, **options)
    watch: Watch | None = owner._watch
    before = _WRITING.set((*_WRITING.get(), owner))
    started = time.perf_counter()
    result, fault = None, None
    tracer = None if watch is None else watch.tracer
    span = None if tracer is None else tracer.begin("septet.write", db__operation__name=method)
    try:
        result = call(owner, *args, **options)
    except Exception as error:
        fault = error
        raise
    finally:
        _WRITING.reset(before)
        store = getattr(owner, "_store", None)
        event = WriteEvent(
            method=method,
            count=0 if fault is not None or options.get("dry_run") else _count(result),
            took_ms=(time.perf_counter() - started) * 1e3,
            generation=0 if store is None else store.last_generation,
            error=fault,
        )
        if span is not None:
            span.end(event)
        _log_write(owner, event)
        if watch is not None and watch.on_write is not None:
            _tell(owner, watch, watch.on_write, event)
    return result


def _tell(owner: Any, watch: Watch, hook: Callable[[Any], object], event: SearchEvent | WriteEvent) -> None:
    """Call a hook; its own searches and writes are not reported, or it would recurse for ever."""
    searching, writing = STAGES.set(Stages()), _WRITING.set((*_WRITING.get(), owner))
    try:
        watch.tell(hook, event)
    finally:
        STAGES.reset(searching)
        _WRITING.reset(writing)


def tell_results(owner: Any, results: Results) -> None:
    """Log a slow or degraded search."""
    is_slow, now, logged = results.took_ms > SLOW_MS, time.monotonic(), owner.__dict__.setdefault("_logged", {})

    def is_due(note: Note) -> bool:
        is_logged = note.code not in OF_QUERY and (note.code in DEGRADING or note.code in OF_VAULT)
        return is_logged and now - logged.get((note.code, note.tier), -AGAIN_S) >= AGAIN_S

    # Before the logger is looked up: a degraded vault has the same notes in every search.
    due = [*filter(is_due, results.notes)]
    if not (is_slow or due) or (listener := log.logger("search")) is None:
        return
    if is_slow and listener.isEnabledFor(log.INFO):
        listener.info("%s: slow search, %d hits in %.0f ms", _name(owner), len(results.hits), results.took_ms)
    for note in due:
        if is_due(note) and listener.isEnabledFor(log.WARNING):
            logged[note.code, note.tier] = now
            # A line without query text.
            code = f"{note.code} [{note.tier}]" if note.tier else note.code
            listener.warning("%s: %s", _name(owner), code if note.code in OF_OTHERS else note)


def _search_event(
    method: SearchMethod,
    args: Sequence[Any],
    options: Mapping[str, Any],
    outcome: Any,
    fault: Exception | None,
    stages: Stages,
    took_ms: float,
) -> SearchEvent:
    value = next((argument for argument in (*args, *(options.get(n) for n in _QUERIES)) if argument is not None), "")
    items = outcome if isinstance(outcome, list) else [outcome]
    all_results = [results for results in items if isinstance(results, Results)]
    texts = value if isinstance(value, (list, tuple)) else [value]
    text = texts[0] if texts and isinstance(texts[0], str) else ""
    first = all_results[0] if all_results else None
    return SearchEvent(
        method=method,
        query=text,
        query_chars=len(text),
        queries=len(all_results) if method == "search_many" else 1,
        took_ms=took_ms,
        stages=stages.ms,
        candidates=sum(tier.candidates for results in all_results for tier in results.tiers),
        hits=sum(len(results.hits) for results in all_results),
        generation=first.tiers[0].generation if first is not None and first.tiers else 0,
        profile="" if first is None else first.profile,
        notes=tuple(dict.fromkeys(note for results in all_results for note in results.notes)),
        error=fault,
    )


#: Parameters that hold the query.
_QUERIES = ("query", "queries", "id", "text")


def _log_search(owner: Any, event: SearchEvent, outcome: Any) -> None:
    for results in outcome if isinstance(outcome, list) else [outcome]:
        if isinstance(results, Results) and (results.notes or results.took_ms > SLOW_MS):
            tell_results(owner, results)
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


def _count(result: object) -> int:
    """Return the number of rows that a write reports."""
    if isinstance(result, int):
        return int(result)
    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields"):
        return len(result)
    for name in ("entries", "changed", "count"):
        if isinstance(count := getattr(result, name, None), int):
            return count
    return 1
