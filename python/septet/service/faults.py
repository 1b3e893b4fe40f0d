"""Errors as every face over a wire says them: a code, a message, an HTTP status."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import ValidationError

from septet.errors import (
    BatchError,
    Closed,
    EmbeddingError,
    EntryNotFound,
    ReadOnly,
    SeptetError,
    StoreBusy,
    StoreError,
    Unauthorized,
    printable,
)

__all__ = ["Fault", "fault_of"]

#: The status of an error by its class, the most special first; what is not here was a mistake of the caller: 422.
_STATUS: tuple[tuple[type[SeptetError], int], ...] = (
    (EntryNotFound, 404),
    (ReadOnly, 403),
    (StoreBusy, 503),
    (Closed, 503),
    # A server behind this one refused its token: 401 would be about the token of who asks.
    (Unauthorized, 502),
    (StoreError, 500),
    (EmbeddingError, 502),
)
#: So many mistakes of one request are named.
MOST_NAMED = 5


class Fault(NamedTuple):
    """An error for the other end.

    Attributes:
        code: what to test for: that of a `SeptetError`, or ``invalid_request``, ``internal_error`` and those of a face.
        message: what was found, what was wanted, what to do.
        status: the HTTP status.
        details: more by name, JSON-ready.
    """

    code: str
    message: str
    status: int
    details: dict[str, Any] = {}  # noqa: RUF012 - never changed

    def to_dict(self) -> dict[str, Any]:
        """Return what a face sends: ``{"error": {"code", "message", "details"}}``."""
        return {"error": {"code": self.code, "message": self.message, "details": dict(self.details)}}


def fault_of(error: BaseException) -> Fault:
    """Return an error as the other end is told it; nothing of an error that nobody foresaw."""
    if isinstance(error, ValidationError):
        return _invalid(error)
    if isinstance(error, SeptetError):
        status = next((status for kind, status in _STATUS if isinstance(error, kind)), 422)
        details = {"written": error.written, "index": error.index} if isinstance(error, BatchError) else {}
        return Fault(error.code, str(error), status, details)
    return Fault("internal_error", "the server failed; its log says why", 500)


def _invalid(error: ValidationError) -> Fault:
    mistakes = [
        {"field": ".".join(map(str, one["loc"])), "message": printable(one["msg"])}
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    named = "; ".join(f"{one['field'] or 'the request'}: {one['message']}" for one in mistakes[:MOST_NAMED])
    more = f"; and {len(mistakes) - MOST_NAMED} more" if len(mistakes) > MOST_NAMED else ""
    return Fault("invalid_request", printable(named + more), 422, {"mistakes": mistakes[:MOST_NAMED]})
