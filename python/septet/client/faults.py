"""Errors of a server as the errors of a vault, by code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from septet import errors
from septet.errors import BatchError, EntryError, QueryError, SeptetError, Unauthorized, Unreachable, printable
from septet.inputs.arguments import shown

#: Error classes by code.
_KINDS: Mapping[str, type[SeptetError]] = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SeptetError)
}
#: Codes for requests that a server rejects before running them.
_MISTAKES = frozenset({"invalid_request", "too_large", "too_slow", "unsupported_encoding"})
#: Maximum number of characters of a message.
MOST_CHARS = 2_000


def error_of(status: int, body: object, where: str, *, reads: bool, masked: Callable[[str], str]) -> SeptetError:
    """Return the error of an answer.

    Args:
        status: the HTTP status, not 2xx.
        body: the JSON of the answer; any other value without JSON.
        where: the name of the server in messages.
        reads: True if the call reads: a rejected request is a `QueryError` then.
        masked: hides the token in a text.
    """
    error = body.get("error") if isinstance(body, Mapping) else None
    code, text = (error.get("code"), error.get("message")) if isinstance(error, Mapping) else (None, None)
    kind = _KINDS.get(code) if isinstance(code, str) else None
    message = masked(printable(text if isinstance(text, str) else "")[:MOST_CHARS]).strip()
    if status == 401 or (status == 403 and kind is None):
        # A proxy before the server may answer so, with any body.
        refusal = "refuses the token" if status == 401 else "forbids this call"
        return Unauthorized(f"{where} {refusal}: {message or f'status {status}'}")
    if not isinstance(code, str):
        return Unreachable(
            f"{where} answered {status}, which is not a Septet response: check the address", status=status
        )
    message = message or f"error {masked(shown(code))}"
    if code in _MISTAKES:
        return (QueryError if reads else EntryError)(message)
    if kind is None or kind is SeptetError:
        return Unreachable(f"{where}: {message}", status=status)
    if kind is BatchError:
        return _batch_error(message, error.get("details") if isinstance(error, Mapping) else None)
    return kind(message)


def _batch_error(message: str, details: Any) -> BatchError:
    counts = details if isinstance(details, Mapping) else {}
    written, index = (value if isinstance(value := counts.get(name), int) else 0 for name in ("written", "index"))
    return BatchError(message, written=written, index=index)
