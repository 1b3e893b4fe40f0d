"""A bounded thread pool for event loops, which stays bounded under cancellation."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from septet.errors import Closed, StoreError
from septet.inputs.arguments import whole
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

Result = TypeVar("Result")
Item = TypeVar("Item")

#: More threads than this only wait for each other.
MOST_WORKERS = 256
#: Maximum default number of threads: searches are CPU-bound, so threads beyond the cores gain little.
DEFAULT_MOST = 8
#: Maximum wait of `close` for running work, in seconds.
CLOSE_WAIT_S = 10.0
#: Items per round trip to the thread of an iteration.
CHUNK = 256


def workers_of(max_workers: int | None) -> Workers:
    """Create a thread pool.

    Raises:
        StoreError: ``max_workers`` is neither a whole number from 1 to 256 nor None.
    """
    if max_workers is None:
        return Workers(min(DEFAULT_MOST, (os.cpu_count() or 1) + 2))
    return Workers(whole(max_workers, "max_workers", StoreError, 1, MOST_WORKERS))


class Workers:
    """A pool of threads, started on demand; event loops of several threads may share it.

    Work starts in the order of submission. Queued work is dropped on cancellation; running work goes on to its end and
    keeps its thread until then, so the number of threads never grows.

    Args:
        most: maximum number of threads.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.closing: Future[None] | None = None
        self._renew()
        renew_in_children(self)

    def _renew(self) -> None:
        self._executor = ThreadPoolExecutor(self.most, thread_name_prefix="septet-async")
        #: Queued work. Popping claims it, so only one of a thread, `close` and a cancellation gets it.
        self._waiting: dict[Future[Any], Callable[[], Any]] = {}
        self._running: set[Future[Any]] = set()

    def after_fork(self) -> None:
        """Create new threads in a forked child, which does not inherit the parent's."""
        self._renew()

    async def run(self, work: Callable[..., Result], *args: Any, **named: Any) -> Result:
        """Call ``work`` on a thread with the caller's context variables, and return its result.

        Raises:
            Closed: `close` was called before the work started. Errors of ``work`` are raised unchanged.
        """
        return await ended_or_cancelled(self.submit(partial(work, *args, **named)))

    async def iterate(self, make: Callable[[], Iterator[Item]]) -> Any:
        """Yield the items of an iterator, which is created, advanced and closed on threads, chunk by chunk."""
        source: Iterator[Item] = await self.run(make)
        pending: Future[list[Item]] | None = None
        try:
            while True:
                pending = self.submit(lambda: list(islice(source, CHUNK)))
                if not (chunk := await ended_or_cancelled(pending)):
                    break
                for item in chunk:
                    yield item
        finally:
            running, pending = pending if pending is not None and not pending.done() else None, None
            close = getattr(source, "close", None)
            if close is not None and running is not None:
                # Cancelled while a thread advances the iterator: only that thread may close it.
                running.add_done_callback(lambda _: close())
            elif close is not None:
                with suppress(Closed):
                    await self.run(close)

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Queue the work for a thread, and return the future of its result.

        Raises:
            Closed: `close` was called.
        """
        if self.closing is not None:
            raise _closed()
        future: Future[Result] = Future()
        self._waiting[future] = partial(copy_context().run, work)
        # A cancelled future releases its work at once, not when a thread reaches it.
        future.add_done_callback(self._forget)
        try:
            self._executor.submit(self._serve, future)
        except BaseException as fault:
            self._waiting.pop(future, None)
            if self.closing is not None:
                raise _closed() from fault
            raise
        return future

    def close(self, finish: Callable[[], None]) -> Future[None]:
        """Drop queued work, wait for running work (at most `CLOSE_WAIT_S`), then call ``finish``, on another thread.

        Returns:
            The future of the close, the same on every call.
        """
        if self.closing is None:
            self.closing = call_on_thread(partial(self._close, finish), "septet-async-close")
        return self.closing

    def _close(self, finish: Callable[[], None]) -> None:
        for future in list(self._waiting):
            if self._claimed(future) is not None:
                future.set_exception(_closed())
        wait(list(self._running), CLOSE_WAIT_S)
        self._executor.shutdown(wait=False)
        finish()

    def _serve(self, future: Future[Any]) -> None:
        # Before it is claimed, so that `close` finds it at one place or the other.
        self._running.add(future)
        work = self._claimed(future)
        if work is None:
            self._running.discard(future)
            return
        try:
            result = work()
        except BaseException as fault:  # noqa: BLE001 - raised again where the result is awaited
            self._running.discard(future)
            future.set_exception(fault)
        else:
            self._running.discard(future)
            future.set_result(result)
        finally:
            # See `ended`.
            del future, work

    def _claimed(self, future: Future[Any]) -> Callable[[], Any] | None:
        work = self._waiting.pop(future, None)
        return work if work is not None and future.set_running_or_notify_cancel() else None

    def _forget(self, future: Future[Any]) -> None:
        self._waiting.pop(future, None)


def woken_by(future: Future[Any]) -> asyncio.Future[None]:
    """Return a future of the running loop that is done once a thread's future is."""
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    def notify(_: Future[Any]) -> None:
        # The event loop may have closed; then nothing awaits the result.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(wake)

    future.add_done_callback(notify)
    return woken


async def ended(future: Future[Result]) -> Result:
    """Await the result of a thread's future; cancelling the await does not cancel the future."""
    try:
        await woken_by(future)
        return future.result()
    finally:
        # Break the cycle: the error's traceback references this frame, and the future references the error.
        del future


async def ended_or_cancelled(future: Future[Result]) -> Result:
    """Await the result of a thread's future; cancelling the await cancels the future too, unless it is running."""
    try:
        return await ended(future)
    except BaseException:
        future.cancel()
        raise
    finally:
        # See `ended`.
        del future


def _closed() -> Closed:
    return Closed("the vault was closed: open it again")
