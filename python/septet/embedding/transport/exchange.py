"""Exchange: one call with its retries, as a generator without network, clock or thread.

It yields steps (`Send`, `Wait`) and receives their outcome, so `client` runs the same retry rules with threads and with
asyncio.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from septet.embedding.transport.calls import MAX_ANSWER_BYTES, Answer, Call, TransportError
from septet.embedding.transport.faults import AnswerTooLarge, Fault, Garbled, InputTooLong, fault_of
from septet.embedding.transport.keys import ApiKey, KeyRing
from septet.errors import EmbeddingError, EmbeddingRefused, EmbeddingUnavailable

Result = TypeVar("Result")

ATTEMPTS = 3
#: All attempts of a call together take at most this multiple of the timeout of one.
MOST_ATTEMPT_TIMES = 2
FIRST_WAIT_S = 1.0
MAX_WAIT_S = 30.0
#: Waits vary by this share, so that clients rejected together do not retry together.
JITTER = 0.1
#: The call fails if the provider requests a longer wait.
MAX_HINTED_WAIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Send:
    """Send a call with the headers of its key; accept at most `max_bytes`, within `timeout_s`."""

    call: Call
    key_headers: Mapping[str, str]
    timeout_s: float
    max_bytes: int

    def __repr__(self) -> str:
        return f"Send({self.call.method} {self.call.url})"


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for `seconds`."""

    seconds: float


Steps: TypeAlias = Generator["Send | Wait", "Answer | TransportError | None", Result]


@dataclass(frozen=True, slots=True)
class CallContext:
    """State and settings shared by all calls to one provider.

    Attributes:
        authorise: returns the headers that carry a key.
        clock: monotonic seconds.
        now: seconds since 1970.
        random: a number from 0 to 1.
        attempt_timeout_s: maximum duration of one attempt.
    """

    provider: str
    keys: KeyRing
    authorise: Callable[[str], Mapping[str, str]]
    clock: Callable[[], float]
    now: Callable[[], float]
    random: Callable[[], float]
    attempt_timeout_s: float


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
        read: parses an answer; raises `Garbled` for a body that a retry may fix.
        ends_at: the deadline, on the context's clock.
        once: retry only after 429 (nothing was accepted), for calls that must not run twice.
        max_bytes: maximum size of the answer.

    Raises:
        EmbeddingRefused: the provider refuses the call. `InputTooLong` if a smaller one may pass, `AnswerTooLarge` if
            the answer exceeds `max_bytes`.
        EmbeddingUnavailable: no answer in three attempts, or in time.
    """
    attempt, spent_s = 0, 0.0
    without_quota: set[ApiKey] = set()
    while True:
        remaining_s = ends_at - context.clock()
        if remaining_s <= 0:
            raise _timeout_error(context)
        key = context.keys.take()
        # No local variable holds the key: tracebacks expose them.
        timeout_s = min(remaining_s, context.attempt_timeout_s, _most_s(context) - spent_s)
        started = context.clock()
        reply = yield Send(call, _key_headers(context, key), timeout_s, max_bytes)
        # Cancelling takes time too; do not count it.
        spent_s += min(context.clock() - started, timeout_s)
        outcome = _judge(reply, context, read)
        if not isinstance(outcome, Fault):
            context.keys.worked(key)
            return outcome.value
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
            raise _error(outcome, context, attempt)
        wait_s = _pause(attempt, None if other_key else outcome.wait_s, context.random())
        if wait_s > MAX_HINTED_WAIT_S or context.clock() + wait_s >= ends_at:
            raise _error(outcome, context, attempt, wait_s)
        yield Wait(wait_s)


def _most_s(context: CallContext) -> float:
    return MOST_ATTEMPT_TIMES * context.attempt_timeout_s


def _key_headers(context: CallContext, key: ApiKey | None) -> Mapping[str, str]:
    return {} if key is None else context.authorise(key.secret.get_secret_value())


@dataclass(frozen=True, slots=True)
class _Success(Generic[Result]):
    value: Result


def _judge(
    reply: Answer | TransportError | None, context: CallContext, read: Callable[[Answer], Result]
) -> _Success[Result] | Fault:
    if not isinstance(reply, Answer):
        too_large = reply is not None and reply.too_large
        return Fault(reply.cause if reply else "was not called", passing=not too_large, too_large=too_large)
    fault = fault_of(reply, context.now())
    if fault is not None:
        return fault
    try:
        return _Success(read(reply))
    except Garbled as garbled:
        return Fault(f"sent {garbled}", status=reply.status, passing=True)


def _pause(attempt: int, hint_s: float | None, random: float) -> float:
    """Return the wait after a failed attempt in seconds: the provider's hint, else about 1 s, then 2 s."""
    if hint_s is not None:
        # Never shorter than the hint.
        return hint_s * (1.0 + JITTER * random)
    return min(FIRST_WAIT_S * 2.0 ** (attempt - 1), MAX_WAIT_S) * (1.0 + JITTER * (2.0 * random - 1.0))


def _timeout_error(context: CallContext) -> EmbeddingUnavailable:
    return EmbeddingUnavailable(f"{context.provider}: no answer within the time allowed", provider=context.provider)


def _error(fault: Fault, context: CallContext, attempts: int, wait_s: float | None = None) -> EmbeddingError:
    tail = ""
    if fault.passing:
        tail = f" (attempt {attempts} of {ATTEMPTS}"
        tail += ")" if wait_s is None else f"; the next would be in {wait_s:.0f} s, which is too late)"
    message = context.keys.scrub(f"{context.provider} {fault.message}{tail}")
    if fault.passing:
        return EmbeddingUnavailable(message, provider=context.provider, status=fault.status)
    kind = InputTooLong if fault.too_long else AnswerTooLarge if fault.too_large else EmbeddingRefused
    return kind(message, provider=context.provider, status=fault.status)
