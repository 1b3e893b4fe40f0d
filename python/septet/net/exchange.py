"""Exchange: one call with its retries, as a generator without network, clock or thread.

It yields steps (`Send`, `Wait`) and receives their outcome, so `client` runs the same retry rules with threads and with
asyncio.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from septet.net.answers import fault_of
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
    attempt, spent_s = 0, 0.0
    without_quota: set[ApiKey] = set()
    while True:
        remaining_s = ends_at - context.clock()
        if remaining_s <= 0:
            message = f"{context.service}: no answer within the time allowed"
            raise context.error(NetFault(message, "timeout", passing=True))
        key = context.keys.take()
        # No local variable holds the key: tracebacks expose them.
        timeout_s = min(remaining_s, context.attempt_timeout_s, _most_s(context) - spent_s)
        started = context.clock()
        reply = yield Send(call, _key_headers(context, key), timeout_s, max_bytes)
        # Cancelling takes time too; do not count it.
        spent_s += min(context.clock() - started, timeout_s)
        outcome = _judge(reply, context.now())
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
            if len(without_quota) < len(context.keys) and spent_s < _most_s(context):
                continue
        elif outcome.limited:
            other_key = context.keys.failed(key, outcome.wait_s)
        attempt += 1
        last = attempt == ATTEMPTS or spent_s >= _most_s(context)
        if not outcome.passing or last or (once and not outcome.limited):
            raise _final(outcome, context, attempt)
        wait_s = _pause(attempt, None if other_key else outcome.wait_s, context.random())
        if wait_s > MAX_HINTED_WAIT_S or context.clock() + wait_s >= ends_at:
            raise _final(outcome, context, attempt, wait_s)
        yield Wait(wait_s)


def _most_s(context: CallContext) -> float:
    return MOST_ATTEMPT_TIMES * context.attempt_timeout_s


def _key_headers(context: CallContext, key: ApiKey | None) -> Mapping[str, str]:
    return {} if key is None else context.authorise(key.secret.get_secret_value())


def _judge(reply: Answer | NetFault | None, now: float) -> Answer | NetFault:
    """Return an answer with a 2xx status, or the fault of the attempt."""
    if not isinstance(reply, Answer):
        return reply or NetFault("was not called", "invalid", passing=True)
    return fault_of(reply, now) or reply


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
