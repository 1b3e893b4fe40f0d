"""Spans of OpenTelemetry for searches, writes and embedding. They hold no text of a query or an entry.

Names of attributes are those of the semantic conventions for databases (stable) and for generative AI; what they have
no name for begins with ``septet.``. The kind is internal, as the conventions say of a database inside the process.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from septet.errors import SeptetError

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from septet.watch.events import SearchEvent, WriteEvent

__all__ = ["OpenSpan", "Tracer", "tracer_of"]


def tracer_of(telemetry: bool | None, path: str, error: type[SeptetError]) -> Tracer | None:
    """Return what makes spans; None if there are to be none.

    Args:
        telemetry: None for spans if the program has set a tracer provider; True for spans in any case.
        path: the vault's; empty for a federation.

    Raises:
        error: ``telemetry`` is neither True, False nor None, or OpenTelemetry is not installed.
    """
    if telemetry is None:
        # A program that traces has loaded the API and set a provider before it opens a vault.
        trace = sys.modules.get("opentelemetry.trace")
        if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return None
        return Tracer(path)
    if type(telemetry) is not bool:
        raise error("telemetry is neither True, False nor None: wanted one of them")
    if not telemetry:
        return None
    try:
        return Tracer(path)
    except ImportError:
        said = "telemetry=True needs the API of OpenTelemetry, which is not installed: pip install 'septet[otel]'"
        raise error(said) from None


class Tracer:
    """Begins spans of a vault or a federation; they end by `OpenSpan.end`."""

    def __init__(self, path: str) -> None:
        from opentelemetry import context, trace

        self._context, self._trace = context, trace
        self._tracer = trace.get_tracer("septet")
        self._fixed = {"db.system.name": "septet"} | ({"db.namespace": path} if path else {})

    def begin(self, name: str, **attributes: str) -> OpenSpan:
        """Begin a span, inside which the caller goes on."""
        fixed = {**self._fixed, **{key.replace("__", "."): value for key, value in attributes.items()}}
        span = self._tracer.start_span(name, kind=self._trace.SpanKind.INTERNAL, attributes=fixed)
        token = self._context.attach(self._trace.set_span_in_context(span))
        return OpenSpan(span, lambda: self._context.detach(token), self._trace.Status(self._trace.StatusCode.ERROR))

    def search(self, method: str) -> OpenSpan:
        """Begin the span of a search."""
        return self.begin("septet.search", db__operation__name=method)

    def write(self, method: str) -> OpenSpan:
        """Begin the span of a write."""
        return self.begin("septet.write", db__operation__name=method)

    def embed(self) -> OpenSpan:
        """Begin the span of embedding: a query's, or a run's."""
        return self.begin("septet.embed", gen_ai__operation__name="embeddings")


class OpenSpan:
    """A span that has begun."""

    def __init__(self, span: Span, leave: Any, failed: Any) -> None:
        self._span, self._leave, self._failed = span, leave, failed

    def end(self, event: SearchEvent | WriteEvent) -> None:
        """End the span of a search or a write with what it did."""
        if not self._span.is_recording():
            self.close()
            return
        values = event.to_dict()
        said: dict[str, Any] = {"septet.generation": values["generation"]}
        if "hits" in values:
            stages = {f"septet.stage.{name}_ms": took for name, took in values["stages"].items()}
            said |= {"db.response.returned_rows": values["hits"], "septet.candidates": values["candidates"], **stages}
            said |= {"septet.profile": values["profile"], "septet.notes": values["notes"]}
            if values["queries"] > 1:
                said["db.operation.batch.size"] = values["queries"]
        else:
            said["septet.count"] = values["count"]
        self.close(event.error, said)

    def close(self, fault: BaseException | None = None, attributes: dict[str, Any] | None = None) -> None:
        """End the span; of an error it tells the class, as its words may repeat a query."""
        self._span.set_attributes(attributes or {})
        if fault is not None:
            self._span.set_attribute("error.type", type(fault).__name__)
            self._span.set_status(self._failed)
        self._leave()
        self._span.end()
