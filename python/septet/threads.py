"""Work on a thread of its own, with its result or its error handed back."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from typing import Generic, TypeVar

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

    The caller makes things too while what it wants next is under way, so that no more threads work than `threads`.

    Args:
        items: the next one is taken by whichever thread is free, one thread at a time.
        threads: how many make things, the caller's one of them.
        discard: called with what was made and is not wanted any more, after an error or an interrupt.

    Raises:
        Exception: what making raised, or `items`.
    """
    if threads == 1:
        yield from map(make, items)
        return
    work = _Ahead(make, iter(items), threads)
    try:
        for _ in range(threads - 1):
            call_on_thread(work.run)
        while (future := work.next()) is not None:
            yield future.result()
    finally:
        for future in work.stop():
            future.add_done_callback(lambda done: None if done.exception() else discard(done.result()))


class _Ahead(Generic[Item, Result]):
    """Items that several threads turn into futures, in order, a few ahead of the caller."""

    def __init__(self, make: Callable[[Item], Result], items: Iterator[Item], threads: int) -> None:
        self._make, self._items, self._threads = make, items, threads
        self._lock, self._room = threading.Lock(), threading.Semaphore(2 * threads)
        self._coming: deque[Future[Result]] = deque()
        self._ended = False

    def run(self) -> None:
        """Make things until none are left, waiting while enough are ahead."""
        while self._room.acquire() and self._make_one():
            pass

    def next(self) -> Future[Result] | None:
        """Return the future of the next thing, which is done; None behind the last."""
        while not (self._coming and self._coming[0].done()):
            if not self._room.acquire(blocking=False) or (made := self._make_one()) is None:
                break
            if isinstance(fault := made.exception(), BaseException) and not isinstance(fault, Exception):
                # An interrupt of the caller does not wait for what comes before.
                raise fault
        if not self._coming:
            return None
        future = self._coming[0]
        # Waits, and leaves the future to `stop` if that is interrupted.
        future.exception()
        self._coming.popleft()
        self._room.release()
        return future

    def stop(self) -> list[Future[Result]]:
        """Take no more items, let waiting threads go, and return what was not handed out."""
        with self._lock:
            self._end()
            return list(self._coming)

    def _end(self) -> None:
        self._ended = True
        self._room.release(self._threads)

    def _make_one(self) -> Future[Result] | None:
        """Make the next thing and return its future; None if none is left."""
        future: Future[Result] = Future()
        with self._lock:
            if self._ended:
                return None
            try:
                item = next(self._items)
            except StopIteration:
                self._end()
                return None
            except BaseException as fault:  # noqa: BLE001 - raised again where the result is awaited
                self._end()
                future.set_exception(fault)
            self._coming.append(future)
        if not future.done():
            _fulfil(future, partial(self._make, item))
        return future


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

    context, run = contextvars.copy_context(), partial(_fulfil, future, work)
    return threading.Thread(target=context.run, args=(run,), name=name, daemon=True), future


def _fulfil(future: Future[Result], work: Callable[[], Result]) -> None:
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - raised again where the result is awaited
        future.set_exception(error)
    else:
        future.set_result(result)
