"""Errors as sent over the wire: a code, a message, an HTTP status."""

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

#: HTTP status by error class, most specific first; all others are mistakes of the caller: 422.
_STATUS: tuple[tuple[type[SeptetError], int], ...] = (
    (EntryNotFound, 404),
    (ReadOnly, 403),
    (StoreBusy, 503),
    (Closed, 503),
    # A remote server refused our token; a 401 would be about the token of the caller.
    (Unauthorized, 502),
    (StoreError, 500),
    (EmbeddingError, 502),
)
#: Maximum number of errors listed per request.
MOST_NAMED = 5


class CallerFault(NamedTuple):
    """An error for the caller.

    Attributes:
        code: for programs: that of a `SeptetError`, ``invalid_request``, ``internal_error``, or one of the interface.
        message: what was seen, what was expected, what to do.
        status: the HTTP status.
        details: further values by name, JSON-ready.
    """

    code: str
    message: str
    status: int
    details: dict[str, Any] = {}  # noqa: RUF012 - never changed

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON body: ``{"error": {"code", "message", "details"}}``."""
        return {"error": {"code": self.code, "message": self.message, "details": dict(self.details)}}


def fault_of(error: BaseException) -> CallerFault:
    """Return an error for the caller; nothing of an unexpected exception."""
    if isinstance(error, ValidationError):
        return _invalid(error)
    if isinstance(error, SeptetError):
        status = next((status for kind, status in _STATUS if isinstance(error, kind)), 422)
        details = {"written": error.written, "index": error.index} if isinstance(error, BatchError) else {}
        return CallerFault(error.code, str(error), status, details)
    return CallerFault("internal_error", "the server failed; see its log", 500)


def _invalid(error: ValidationError) -> CallerFault:
    errors = [
        {"field": ".".join(map(str, error_["loc"])), "message": printable(error_["msg"])}
        for error_ in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    named = "; ".join(f"{error_['field'] or 'the request'}: {error_['message']}" for error_ in errors[:MOST_NAMED])
    more = f"; and {len(errors) - MOST_NAMED} more" if len(errors) > MOST_NAMED else ""
    return CallerFault("invalid_request", printable(named + more), 422, {"mistakes": errors[:MOST_NAMED]})
