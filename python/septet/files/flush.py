"""The memory flush before an agent's context is compacted: a pure rule, and the prompt."""

from __future__ import annotations

from math import floor
from typing import NamedTuple

from septet.errors import QueryError
from septet.inputs.arguments import exact, flag, real, shown, utf8, whole

#: The largest count of tokens, bytes or rounds.
MOST = 2**53
#: Maximum share of a window reserved for the answer, and maximum share of the rest reserved for the flush.
MOST_RESERVED, MOST_SOFT = 0.25, 0.5
MOST_PATH_CHARS = 4_096

_PROMPT = """\
The conversation is near the limit of its context and will soon be shortened; what is only here will then be gone.
Append what is worth keeping to {path}, and create the file if there is none. Change nothing that stands in it.
Worth keeping: decisions with their reasons, facts about people and systems, preferences, promises, open questions.
Not worth keeping: what is in files already, guesses, and secrets such as passwords or keys.
Write short Markdown: a heading for each subject, a bullet for each fact, to be understood without all this.
If nothing is worth keeping, write nothing. In either case answer with {nothing} alone, which nobody is shown.
"""


class FlushLimits(NamedTuple):
    """The limits of a context window, in tokens.

    Attributes:
        reserve: reserved for the model's answer and its tools.
        soft: reserved for the flush itself.
        threshold: tokens of a context from which it should be flushed; 0 means never.
    """

    reserve: int
    soft: int
    threshold: int


def flush_limits(
    context_window: float = 200_000, *, reserve: float = 20_000, soft: float = 4_000, capped: bool = True
) -> FlushLimits:
    """Return the limits of a context window; fractions are dropped.

    Args:
        context_window: the model's context window in tokens; 0 counts as 1.
        reserve: tokens reserved for the answer.
        soft: tokens reserved for the flush.
        capped: cap ``reserve`` at a quarter of the window, and ``soft`` at half of the rest. Without caps, windows not
            larger than the sum of both are never flushed.

    Raises:
        QueryError: a number is negative, not finite, or above 2**53.
    """
    window = max(1, _tokens(context_window, "context_window"))
    reserved, last = _tokens(reserve, "reserve"), _tokens(soft, "soft")
    flag(capped, "capped", QueryError)
    if capped:
        reserved = min(reserved, floor(window * MOST_RESERVED))
        last = min(last, floor((window - reserved) * MOST_SOFT))
    return FlushLimits(reserved, last, max(0, window - reserved - last))


def should_flush(
    total_tokens: float | None,
    context_window: float = 200_000,
    *,
    reserve: float = 20_000,
    soft: float = 4_000,
    capped: bool = True,
    coming_tokens: float = 0,
    fresh: bool = True,
    transcript_bytes: int | None = None,
    most_bytes: int | None = 2_097_152,
    compactions: int = 0,
    flushed_at: int | None = None,
    failures: int = 0,
    most_failures: int | None = 3,
) -> bool:
    """Return True if the agent should flush its knowledge now; see `flush_prompt`.

    True if the context has reached ``context_window - reserve - soft`` tokens, or the transcript ``most_bytes``, and it
    was not flushed since the last compaction. Store ``flushed_at=compactions`` only after a successful flush.

    Args:
        total_tokens: tokens of the context as last counted; None, NaN, 0 or less if unknown.
        context_window: the model's context window in tokens; see `flush_limits`, also for `reserve`, `soft` and
            `capped`.
        coming_tokens: tokens that the next call adds: the last answer, if it is not counted yet, and the next prompt.
        fresh: True if `total_tokens` counts the current context. An old count is ignored: the context may have been
            compacted since.
        transcript_bytes: the size of the conversation's file; None if unknown.
        most_bytes: flush from this size on, regardless of tokens; None for no limit.
        compactions: number of compactions of the context.
        flushed_at: value of `compactions` at the last successful flush; None if there was none.
        failures: consecutive failed flushes since the last compaction.
        most_failures: maximum failures before the next compaction; None for no limit.

    Raises:
        QueryError: an argument is not a number, or out of range.
    """
    threshold = flush_limits(context_window, reserve=reserve, soft=soft, capped=capped).threshold
    counted, coming = _counted(total_tokens), _tokens(coming_tokens, "coming_tokens")
    flag(fresh, "fresh", QueryError)
    size = 0 if transcript_bytes is None else whole(transcript_bytes, "transcript_bytes", QueryError, 0, MOST)
    large = most_bytes is not None and size >= whole(most_bytes, "most_bytes", QueryError, 1, MOST)
    rounds = whole(compactions, "compactions", QueryError, 0, MOST)
    failed = whole(failures, "failures", QueryError, 0, MOST)
    done = flushed_at is not None and whole(flushed_at, "flushed_at", QueryError, 0, MOST) == rounds
    hopeless = most_failures is not None and failed >= whole(most_failures, "most_failures", QueryError, 1, MOST)
    full = fresh and counted > 0 and 0 < threshold <= counted + coming
    return (full or large) and not (done or hopeless)


def flush_prompt(path: str, *, nothing: str = "DONE") -> str:
    """Return the prompt to send to the agent if `should_flush` returns True.

    Args:
        path: the file to append to, such as ``memory/2026-11-23.md``.
        nothing: the answer that is not shown to the user.

    Raises:
        QueryError: an argument is empty, not text, or longer than 4,096 characters.
    """
    for name, value in (("path", path), ("nothing", nothing)):
        if not utf8(value, name, QueryError, MOST_PATH_CHARS).strip():
            raise QueryError(f"{name} is empty: wanted text")
    return _PROMPT.format(path=exact(path), nothing=exact(nothing))


def _tokens(value: float, name: str) -> int:
    return floor(real(value, name, QueryError, 0, MOST))


def _counted(value: float | None) -> float:
    number = exact(value)
    # NaN is not above 0 either.
    if number is None or (isinstance(number, (int, float)) and not isinstance(number, bool) and not number > 0):
        return 0.0
    try:
        return real(number, "total_tokens", QueryError, 0, MOST)
    except QueryError:
        wanted = "wanted a number of tokens, or None if it is unknown"
        raise QueryError(f"total_tokens is {shown(value)}: {wanted}") from None
