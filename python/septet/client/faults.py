"""Errors of a server as the errors that a vault raises, by their code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from septet import errors
from septet.errors import BatchError, EntryError, QueryError, SeptetError, Unauthorized, Unreachable, printable
from septet.inputs.arguments import shown

__all__ = ["error_of"]

#: The errors by what a server calls them.
_KINDS: Mapping[str, type[SeptetError]] = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SeptetError)
}
#: What a server says of requests that it does not understand, or does not take.
_MISTAKES = frozenset({"invalid_request", "too_large", "too_slow", "unsupported_encoding"})
#: So many characters of a message are shown.
MOST_CHARS = 2_000


def error_of(status: int, body: object, where: str, *, reads: bool, masked: Callable[[str], str]) -> SeptetError:
    """Return the error of an answer.

    Args:
        status: the HTTP status, none of success.
        body: the JSON that came; anything where none did.
        where: the server, as messages call it.
        reads: whether the call was to read, so that a mistake in it is that of a query.
        masked: hides the token in what the server says.
    """
    told = body.get("error") if isinstance(body, Mapping) else None
    code, said = (told.get("code"), told.get("message")) if isinstance(told, Mapping) else (None, None)
    kind = _KINDS.get(code) if isinstance(code, str) else None
    message = masked(printable(said if isinstance(said, str) else "")[:MOST_CHARS]).strip()
    if status == 401 or (status == 403 and kind is None):
        # Also of a proxy before the server, whatever it says.
        what = "wants another token" if status == 401 else "does not let you do this"
        return Unauthorized(f"{where} {what}: {message or f'it says {status}'}")
    if not isinstance(code, str):
        return Unreachable(f"{where} answers {status}, and not as septet does: is the address right?", status=status)
    message = message or f"it says {masked(shown(code))}"
    if code in _MISTAKES:
        return (QueryError if reads else EntryError)(message)
    if kind is None or kind is SeptetError:
        return Unreachable(f"{where}: {message}", status=status)
    if kind is BatchError:
        return _batch_error(message, told.get("details") if isinstance(told, Mapping) else None)
    return kind(message)


def _batch_error(message: str, details: Any) -> BatchError:
    given = details if isinstance(details, Mapping) else {}
    written, index = (value if isinstance(value := given.get(name), int) else 0 for name in ("written", "index"))
    return BatchError(message, written=written, index=index)
