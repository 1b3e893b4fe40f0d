"""Work on a thread of its own, with its result or its error handed back."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

from septet.errors import EmbeddingUnavailable

__all__ = ["call_on_thread", "call_uninterrupted", "call_within", "in_threads"]

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


def in_threads(work: Callable[[Item], None], items: Iterable[Item], threads: int) -> None:
    """Do the work for each item on so many threads; the first error, or an interrupt, leaves the rest undone.

    Raises:
        Exception: what the work raised.
    """
    if threads == 1:
        for item in items:
            work(item)
        return
    waiting: SimpleQueue[Item] = SimpleQueue()
    for item in items:
        waiting.put(item)

    def drain() -> None:
        try:
            while True:
                work(waiting.get_nowait())
        except Empty:
            return

    futures = [call_on_thread(drain) for _ in range(min(threads, waiting.qsize()))]
    try:
        for future in futures:
            future.result()
    finally:
        # After an error the other threads find nothing more to do.
        with suppress(Empty):
            while True:
                waiting.get_nowait()


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
