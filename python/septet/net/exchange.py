"""Exchange: one call with its retries and faults, as a generator without network, clock or thread.

It yields steps (`Send`, `Wait`) and receives their outcome, so `client` runs the same retry rules with threads and with
asyncio.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias, TypeVar

from pydantic_core import from_json

from septet.net.calls import MAX_ANSWER_BYTES, Answer, Call, NetFault, Send
from septet.net.keys import ApiKey, KeyRing

Result = TypeVar("Result")

ATTEMPTS = 3
#: All attempts of a call together take at most this multiple of the timeout of one.
MOST_ATTEMPT_TIMES = 2
FIRST_WAIT_S = 1.0
MAX_WAIT_S = 30.0
#: Waits vary by this share, so that clients rejected together do not retry together.
JITTER = 0.1
#: The call fails if the service requests a longer wait.
MAX_HINTED_WAIT_S = 120.0

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


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for `seconds`."""

    seconds: float


Steps: TypeAlias = Generator["Send | Wait", "Answer | NetFault | None", Result]


@dataclass(frozen=True, slots=True)
class CallContext:
    """State and settings shared by all calls to one service.

    Attributes:
        service: its name in messages.
        authorise: returns the headers that carry a key.
        error_of: returns the error to raise for a fault, with the name of the service.
        clock: monotonic seconds.
        now: seconds since 1970.
        random: a number from 0 to 1.
        attempt_timeout_s: maximum duration of one attempt.
    """

    service: str
    keys: KeyRing
    authorise: Callable[[str], Mapping[str, str]]
    error_of: Callable[[NetFault, str], Exception]
    clock: Callable[[], float]
    now: Callable[[], float]
    random: Callable[[], float]
    attempt_timeout_s: float

    def error(self, fault: NetFault) -> Exception:
        """Return the error to raise for a fault."""
        return self.error_of(fault, self.service)


def exchange(
    call: Call,
    context: CallContext,
    read: Callable[[Answer], Result],
    ends_at: float,
    *,
    once: bool = False,
    max_bytes: int = MAX_ANSWER_BYTES,
) -> Steps[Result]:
    """Return the result of `read` for a call's answer, after at most three attempts.

    Retries rate limits, server errors, broken connections, timeouts and garbled answers, as long as all attempts take
    less than twice the timeout of one. Switches to the next key if one has no quota. All other errors are final.

    Args:
        read: parses an answer; raises a `NetFault` that is passing for a body that a retry may fix.
        ends_at: the deadline, on the context's clock.
        once: retry only after 429 (nothing was accepted), for calls that must not run twice.
        max_bytes: maximum size of the answer.

    Raises:
        Exception: of the context's `error_of`: the service refuses the call, or sent no valid answer in three
            attempts, or in time.
    """
    attempt, spent_s, most_s = 0, 0.0, MOST_ATTEMPT_TIMES * context.attempt_timeout_s
    without_quota: set[ApiKey] = set()
    while True:
        remaining_s = ends_at - context.clock()
        if remaining_s <= 0:
            message = f"{context.service}: no answer within the time allowed"
            raise context.error(NetFault(message, "timeout", passing=True))
        key = context.keys.take()
        timeout_s = min(remaining_s, context.attempt_timeout_s, most_s - spent_s)
        started = context.clock()
        # No local variable holds the key: tracebacks expose them.
        reply = yield Send(
            call, {} if key is None else context.authorise(key.secret.get_secret_value()), timeout_s, max_bytes
        )
        # Cancelling takes time too; do not count it.
        spent_s += min(context.clock() - started, timeout_s)
        outcome = reply or NetFault("was not called", "invalid", passing=True)
        if isinstance(outcome, Answer):
            outcome = fault_of(outcome, context.now()) or outcome
        if isinstance(outcome, Answer):
            try:
                result = read(outcome)
            except NetFault as garbled:
                outcome = garbled.with_traceback(None)
            else:
                context.keys.worked(key)
                return result
        other_key = False
        if outcome.quota and key is not None:
            context.keys.failed(key, outcome.wait_s, spent=True)
            without_quota.add(key)
            if len(without_quota) < len(context.keys) and spent_s < most_s:
                continue
        elif outcome.limited:
            other_key = context.keys.failed(key, outcome.wait_s)
        attempt += 1
        last = attempt == ATTEMPTS or spent_s >= most_s
        if not outcome.passing or last or (once and not outcome.limited):
            raise _final(outcome, context, attempt)
        wait_s = _pause(attempt, None if other_key else outcome.wait_s, context.random())
        if wait_s > MAX_HINTED_WAIT_S or context.clock() + wait_s >= ends_at:
            raise _final(outcome, context, attempt, wait_s)
        yield Wait(wait_s)


def _pause(attempt: int, hint_s: float | None, random: float) -> float:
    """Return the wait after a failed attempt in seconds: the service's hint, else about 1 s, then 2 s."""
    if hint_s is not None:
        # Never shorter than the hint.
        return hint_s * (1.0 + JITTER * random)
    return min(FIRST_WAIT_S * 2.0 ** (attempt - 1), MAX_WAIT_S) * (1.0 + JITTER * (2.0 * random - 1.0))


def _final(fault: NetFault, context: CallContext, attempts: int, wait_s: float | None = None) -> Exception:
    """Return the error of a call after its last attempt, without keys."""
    if fault.kind == "proxy":
        return context.error(fault)
    tail = ""
    if fault.passing:
        tail = f" (attempt {attempts} of {ATTEMPTS}"
        tail += ")" if wait_s is None else f"; the next would be in {wait_s:.0f} s, which is too late)"
    message = context.keys.scrub(f"{context.service} {fault}{tail}")
    return context.error(fault.with_message(message))


def parsed(answer: Answer) -> Any:
    """Return the JSON of an answer; raise a passing `NetFault` for other bodies."""
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
    """Return the fault of an answer, by its status; None for 2xx. ``now``, epoch seconds, is for waits until a date."""
    status = answer.status
    if 200 <= status < 300:
        return None
    try:
        body = from_json(answer.body)
    except ValueError:
        body = None
    message = _message(body) or _plain(answer)
    quota = any(isinstance(code := _error(body).get(name), str) and code in _QUOTA for name in ("code", "type"))
    over_rate = status == 429 and _OVER_RATE.search(message) is not None
    passing = (status in _PASSING or status >= 500) and not over_rate
    advice = answer.headers.get("x-should-retry", "").lower()
    if advice in ("true", "false"):
        passing = advice == "true"
    return NetFault(
        f"answered {status}{f': {message}' if message else ''}{_advice(status, quota, message)}",
        "status",
        status=status if _WRONG_KEY.isdisjoint(_details(body, "reason")) else 401,
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
    # Google's `RetryInfo`, written as `27s`.
    waits = [_number(delay[:-1]) for delay in _details(body, "retryDelay") if delay.endswith("s")]
    return next((wait for wait in waits if wait is not None), None)


def _details(body: Any, name: str) -> list[str]:
    """Return a text field of the details of Google's errors."""
    details = _error(body).get("details")
    details = details if isinstance(details, list) else []
    return [d[name] for d in details if isinstance(d, Mapping) and isinstance(d.get(name), str)]


def _error(body: Any) -> Mapping[str, Any]:
    error = body.get("error") if isinstance(body, Mapping) else None
    return error if isinstance(error, Mapping) else {}


def _number(text: str) -> float | None:
    # float() alone would accept "nan", "inf" and "1_0".
    return float(text) if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) else None
