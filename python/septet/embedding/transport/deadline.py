"""Deadline: an answer in time, or none."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

from septet.errors import EmbeddingUnavailable

__all__ = ["within"]

Result = TypeVar("Result")


def within(timeout_s: float, work: Callable[[], Result], provider: str) -> Result:
    """Return what `work` returns, or raise when `timeout_s` is over.

    The work is done on a thread of its own, because looking up a host's address knows no timeout. A thread that comes
    too late ends by itself, its result is dropped, and the exit of the program does not wait for it.

    Raises:
        EmbeddingUnavailable: no result in time. Whatever `work` raises is raised as it is.
    """
    results: list[Result] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            errors.append(error)
        finally:
            done.set()

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="septet-embedding", daemon=True).start()
    if not done.wait(timeout_s):
        raise EmbeddingUnavailable(f"{provider}: no answer within {timeout_s:g} s", provider=provider)
    if errors:
        raise errors[0]
    return results[0]
