"""Reads answers: their JSON, and the faults of error statuses, classified for retries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from pydantic_core import from_json

from septet.net.calls import Answer, NetFault

_PASSING = frozenset({408, 409, 429})
_QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
#: Gemini's reasons for a wrong key: its status is 400, as for a malformed text.
_WRONG_KEY = frozenset({"API_KEY_INVALID", "API_KEY_EXPIRED"})
_TOO_LONG = re.compile(
    r"context length|input length|too (?:long|large|many)|max(?:imum)? allowed|at most \d|batch size"
    r"|tokens per|exceeds? the (?:context|maximum|limit)",
    re.IGNORECASE,
)
#: A rate limit that no wait lifts: the request alone exceeds the tokens per minute.
_OVER_RATE = re.compile(r"request too large|must be reduced", re.IGNORECASE)
_MAX_SHOWN = 300


def parsed(answer: Answer) -> Any:
    """Return the JSON of an answer.

    Raises:
        NetFault: the body is not JSON.
    """
    try:
        return from_json(answer.body)
    except ValueError:
        pass
    kind = answer.headers.get("content-type", "no content type").split(";")[0]
    if "html" in kind or answer.body.lstrip()[:1] == b"<":
        raise garbled(answer, f"a page of {kind} instead of JSON: check the address (baseUrl)")
    raise garbled(answer, f"{len(answer.body)} bytes of {kind} that are not JSON, or are truncated")


def garbled(answer: Answer, content: str) -> NetFault:
    """Return the fault of an answer whose body contradicts its status."""
    return NetFault(f"sent {content}", "garbled", status=answer.status, passing=True)


def fault_of(answer: Answer, now: float) -> NetFault | None:
    """Return the fault of an answer, by its status; None for 2xx.

    Args:
        now: seconds since 1970, for waits expressed as a date.
    """
    status = answer.status
    if 200 <= status < 300:
        return None
    body = _body(answer)
    message = _message(body) or _plain(answer)
    quota = bool(_QUOTA & set(_codes(body)))
    over_rate = status == 429 and _OVER_RATE.search(message) is not None
    passing = (status in _PASSING or status >= 500) and not over_rate
    advice = answer.headers.get("x-should-retry", "").lower()
    if advice in ("true", "false"):
        passing = advice == "true"
    return NetFault(
        f"answered {status}{f': {message}' if message else ''}{_advice(status, quota, message)}",
        "status",
        status=status if _WRONG_KEY.isdisjoint(_reasons(body)) else 401,
        passing=passing and not quota,
        quota=quota,
        limited=status == 429 and not over_rate,
        too_long=over_rate or status == 413 or (status in (400, 422) and _TOO_LONG.search(message) is not None),
        wait_s=_wait_s(answer.headers, body, now),
    )


def _advice(status: int, quota: bool, message: str) -> str:
    if quota:
        return " (no quota left: check the plan of this key)"
    if status in (401, 403, 498) or "api key" in message.lower():
        return " (check the key)"
    if status == 404:
        return " (check the model and the address, baseUrl)"
    if 300 <= status < 400:
        return " (redirects are not followed: set baseUrl to the final URL)"
    return ""


def _body(answer: Answer) -> Any:
    try:
        return from_json(answer.body)
    except ValueError:
        return None


def _message(body: Any) -> str:
    """Return the message of an error body, under error.message, error, detail or message."""
    if isinstance(body, list) and body:
        body = body[0]
    error = body
    if isinstance(body, Mapping):
        error = next((body[name] for name in ("error", "detail", "message") if body.get(name)), body)
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("status") or ""
    return shortened(as_text(error))


def as_text(value: Any) -> str:
    """Return a value of an answer as text; empty for an integer with too many digits to print."""
    try:
        return value if isinstance(value, str) else "" if value is None else str(value)
    except ValueError:
        return ""


def _plain(answer: Answer) -> str:
    """Return the start of a plain-text body; empty for HTML and JSON."""
    text = answer.body[:2000].decode("utf-8", "replace").strip()
    return "" if text[:1] in ("", "<", "{", "[") else shortened(text)


def shortened(text: str) -> str:
    """Return a text on one line, cut to 300 characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_SHOWN else flat[: _MAX_SHOWN - 1] + "…"


def _codes(body: Any) -> Iterator[str]:
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        yield from (value for value in (error.get("code"), error.get("type")) if isinstance(value, str))


def _wait_s(headers: Mapping[str, str], body: Any, now: float) -> float | None:
    """Return the seconds to wait, from the most precise hint."""
    exact = _number(headers.get("retry-after-ms", ""))
    if exact is not None:
        return exact / 1000.0
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is not None:
        return seconds
    if text:
        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - now)
        except (TypeError, ValueError, OverflowError):
            pass
    return next(_retry_info(body), None)


def _details(body: Any) -> list[Mapping[str, Any]]:
    """Return the details of Google's errors."""
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    return [detail for detail in details if isinstance(detail, Mapping)] if isinstance(details, list) else []


def _reasons(body: Any) -> Iterator[str]:
    """Yield the reasons in ``google.rpc.ErrorInfo`` details."""
    yield from (detail["reason"] for detail in _details(body) if isinstance(detail.get("reason"), str))


def _retry_info(body: Any) -> Iterator[float]:
    """Yield the waits in ``google.rpc.RetryInfo`` details, written as ``27s``."""
    for detail in _details(body):
        delay = detail.get("retryDelay")
        seconds = _number(delay[:-1]) if isinstance(delay, str) and delay.endswith("s") else None
        if seconds is not None:
            yield seconds


def _number(text: str) -> float | None:
    # float() alone would accept "nan", "inf" and "1_0".
    return float(text) if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) else None
