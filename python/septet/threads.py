"""Work on a thread of its own, with its result or its error handed back."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from itertools import islice
from typing import TypeVar

from septet.errors import EmbeddingUnavailable

__all__ = ["call_on_thread", "call_uninterrupted", "call_within", "made_ahead"]

Result = TypeVar("Result")
Item = TypeVar("Item")

THREAD_NAME = "septet-worker"


def call_on_thread(work: Callable[[], Result], name: str = THREAD_NAME) -> Future[Result]:
    """Run `work` on a new daemon thread and return the future of its result.

    The thread sees the caller's context variables. The program's exit does not wait for it.

    Raises:
        RuntimeError: no thread can be started.
    """
    thread, future = _prepared(work, name)
    thread.start()
    return future


def made_ahead(
    make: Callable[[Item], Result], items: Iterable[Item], threads: int, *, discard: Callable[[Result], object]
) -> Iterator[Result]:
    """Yield what is made of each item, in order; threads make that of the next items while the caller goes on.

    Args:
        threads: how many make things at a time; with 1, the caller's thread makes each when it is wanted.
        discard: called with what was made and is not wanted any more, after an error or an interrupt.

    Raises:
        Exception: what making raised.
    """
    if threads == 1:
        yield from map(make, items)
        return
    coming, rest = deque[Future[Result]](), iter(items)

    def go_on(count: int) -> None:
        coming.extend(call_on_thread(partial(make, item)) for item in islice(rest, count))

    try:
        go_on(threads)
        while coming:
            made = coming.popleft().result()
            go_on(1)
            yield made
    finally:
        for future in coming:
            future.add_done_callback(lambda done: None if done.exception() else discard(done.result()))


def call_within(timeout_s: float, work: Callable[[], Result], provider: str) -> Result:
    """Return the result of `work`, or give up after `timeout_s`.

    Host name lookups ignore every timeout, so the work runs on a thread. A late result is dropped.

    Raises:
        EmbeddingUnavailable: the time is over. Errors of `work` are raised unchanged.
    """
    future = call_on_thread(work)
    if not wait([future], timeout_s).done:
        raise EmbeddingUnavailable(f"{provider}: no answer within {timeout_s:g} s", provider=provider)
    return future.result()


def call_uninterrupted(work: Callable[[], Result]) -> Result:
    """Return the result of `work`, delaying a keyboard interrupt until it is done; a second one is raised at once.

    Interrupts reach only the main thread, so there the work runs on another one.

    Raises:
        KeyboardInterrupt: after the work, or at once for a second interrupt. Errors of `work` are raised unchanged.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    thread, future = _prepared(work, THREAD_NAME)
    try:
        thread.start()
        wait([future])
    except BaseException:
        # An interrupt, or what a signal handler raises; a thread that could not start is not waited for.
        if thread.is_alive():
            wait([future])
        raise
    return future.result()


def _prepared(work: Callable[[], Result], name: str) -> tuple[threading.Thread, Future[Result]]:
    future: Future[Result] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised again where the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    context = contextvars.copy_context()
    return threading.Thread(target=context.run, args=(run,), name=name, daemon=True), future
