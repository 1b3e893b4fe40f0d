"""OpenTelemetry spans for searches, writes and embedding, without any text of a query or an entry.

Attribute names follow the semantic conventions for databases (stable) and for generative AI; all others begin with
``septet.``. The span kind is internal, as the conventions require for an in-process database.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from septet.errors import SeptetError
from septet.inputs.arguments import shown

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from septet.watch.events import SearchEvent, WriteEvent


def tracer_of(telemetry: bool | None, path: str, error: type[SeptetError]) -> Tracer | None:
    """Return the tracer; None without spans.

    Args:
        telemetry: None traces if the program has set a tracer provider, True always, False never.
        path: path of the vault; empty for a federation.

    Raises:
        error: ``telemetry`` is neither True, False nor None, or OpenTelemetry is not installed.
    """
    if telemetry is None:
        # A traced program imports the API and sets a provider before it opens a vault.
        trace = sys.modules.get("opentelemetry.trace")
        if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return None
        return Tracer(path)
    if type(telemetry) is not bool:
        raise error(f"telemetry is {shown(telemetry)}: wanted True, False or None")
    if not telemetry:
        return None
    try:
        return Tracer(path)
    except ImportError:
        raise error("telemetry=True needs the OpenTelemetry API: pip install 'septet[otel]'") from None


class Tracer:
    """Starts the spans of a vault or a federation; `OpenSpan.end` ends them."""

    def __init__(self, path: str) -> None:
        from opentelemetry import context, trace

        self._context, self._trace = context, trace
        self._tracer = trace.get_tracer("septet")
        self._fixed = {"db.system.name": "septet"} | ({"db.namespace": path} if path else {})

    def begin(self, name: str, **attributes: str) -> OpenSpan:
        """Start a span and make it the current one; ``__`` in a name stands for a dot."""
        fixed = {**self._fixed, **{key.replace("__", "."): value for key, value in attributes.items()}}
        span = self._tracer.start_span(name, kind=self._trace.SpanKind.INTERNAL, attributes=fixed)
        token = self._context.attach(self._trace.set_span_in_context(span))
        return OpenSpan(span, lambda: self._context.detach(token), self._trace.Status(self._trace.StatusCode.ERROR))

    def embed(self) -> OpenSpan:
        """Start the span of embedding a query or a batch run."""
        return self.begin("septet.embed", gen_ai__operation__name="embeddings")


class OpenSpan:
    """A started span."""

    def __init__(self, span: Span, leave: Any, failed: Any) -> None:
        self._span, self._leave, self._failed = span, leave, failed

    def end(self, event: SearchEvent | WriteEvent) -> None:
        """End the span of a search or a write with the attributes of its event."""
        if not self._span.is_recording():
            self.close()
            return
        values = event.to_dict()
        fields: dict[str, Any] = {"septet.generation": values["generation"]}
        if "hits" in values:
            stages = {f"septet.stage.{name}_ms": took for name, took in values["stages"].items()}
            fields |= {"db.response.returned_rows": values["hits"], "septet.candidates": values["candidates"], **stages}
            fields |= {"septet.profile": values["profile"], "septet.notes": values["notes"]}
            if values["queries"] > 1:
                fields["db.operation.batch.size"] = values["queries"]
        else:
            fields["septet.count"] = values["count"]
        self.close(event.error, fields)

    def close(self, fault: BaseException | None = None, attributes: dict[str, Any] | None = None) -> None:
        """End the span; of an error it records only the class, as the message may repeat a query."""
        self._span.set_attributes(attributes or {})
        if fault is not None:
            self._span.set_attribute("error.type", type(fault).__name__)
            self._span.set_status(self._failed)
        self._leave()
        self._span.end()
