"""Threads that do what a loop waits for, so many at most, whatever is cancelled."""

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

__all__ = ["MOST_WORKERS", "Workers", "workers_of"]

Result = TypeVar("Result")
Item = TypeVar("Item")

#: More threads than this only wait for each other.
MOST_WORKERS = 256
#: So many without a number of the caller's: a search computes, so threads beyond the cores gain little.
DEFAULT_MOST = 8
#: How long closing waits for work that runs.
CLOSE_WAIT_S = 10.0
#: What is iterated over comes from its thread in pieces of so many.
CHUNK = 256


def workers_of(max_workers: int | None) -> Workers:
    """Return threads of their own.

    Raises:
        StoreError: ``max_workers`` is no whole number from 1 to 256, nor None.
    """
    if max_workers is None:
        return Workers(min(DEFAULT_MOST, (os.cpu_count() or 1) + 2))
    return Workers(whole(max_workers, "max_workers", StoreError, 1, MOST_WORKERS))


class Workers:
    """At most so many threads, none of which is started before it is needed; loops of several threads may share them.

    Work begins in the order in which it was asked for. What is cancelled before it begins is dropped; what has begun
    goes on to its end, and keeps its thread until then, so that there are never more.

    Args:
        most: threads.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.closing: Future[None] | None = None
        self._renew()
        renew_in_children(self)

    def _renew(self) -> None:
        self._executor = ThreadPoolExecutor(self.most, thread_name_prefix="septet-async")
        #: What no thread has begun. To pop it is to claim it: of a thread, `close` and a cancellation, one does.
        self._waiting: dict[Future[Any], Callable[[], Any]] = {}
        self._running: set[Future[Any]] = set()

    def after_fork(self) -> None:
        """Begin with other threads in a forked child: the parent's are not there."""
        self._renew()

    async def run(self, work: Callable[..., Result], *args: Any, **named: Any) -> Result:
        """Return what ``work`` returns, called on a thread, with the caller's context variables.

        Raises:
            Closed: `close` was called before a thread began. Errors of ``work`` are raised unchanged.
        """
        return await _ended_or_cancelled(self.submit(partial(work, *args, **named)))

    async def iterate(self, make: Callable[[], Iterator[Item]]) -> Any:
        """Yield what an iterator gives; it is made, asked and closed on threads, a piece at a time."""
        found: Iterator[Item] = await self.run(make)
        asked: Future[list[Item]] | None = None
        try:
            while True:
                asked = self.submit(lambda: list(islice(found, CHUNK)))
                if not (piece := await _ended_or_cancelled(asked)):
                    break
                for item in piece:
                    yield item
        finally:
            runs, asked = asked if asked is not None and not asked.done() else None, None
            close = getattr(found, "close", None)
            if close is not None and runs is not None:
                # Cancelled while a thread asks: that thread closes it, as no other may.
                runs.add_done_callback(lambda _: close())
            elif close is not None:
                with suppress(Closed):
                    await self.run(close)

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Have a thread do the work, and return the future of its result.

        Raises:
            Closed: `close` was called.
        """
        if self.closing is not None:
            raise _closed()
        future: Future[Result] = Future()
        self._waiting[future] = partial(copy_context().run, work)
        # A future that is cancelled lets go of its work at once, not when a thread comes to it.
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
        """Drop what no thread has begun, wait for the rest, within bounds, and then do ``finish``, on another thread.

        Returns:
            The future of that, the same one when called again.
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
        work = self._claimed(future)
        if work is None:
            return
        self._running.add(future)
        try:
            result = work()
        except BaseException as fault:  # noqa: BLE001 - raised again where the result is awaited
            self._running.discard(future)
            future.set_exception(fault)
        else:
            self._running.discard(future)
            future.set_result(result)
        finally:
            # As in `ended`.
            del future, work

    def _claimed(self, future: Future[Any]) -> Callable[[], Any] | None:
        work = self._waiting.pop(future, None)
        return work if work is not None and future.set_running_or_notify_cancel() else None

    def _forget(self, future: Future[Any]) -> None:
        self._waiting.pop(future, None)


async def ended(future: Future[Result]) -> Result:
    """Return the result of a future of threads, when it has one; to cancel this leaves the future alone."""
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    def tell(_: Future[Result]) -> None:
        # Of a loop that ended meanwhile nobody waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(wake)

    future.add_done_callback(tell)
    try:
        await woken
        return future.result()
    finally:
        # The traceback of an error holds this frame, and the future holds the error.
        del future


async def _ended_or_cancelled(future: Future[Result]) -> Result:
    """Return the result of a future of threads; to cancel this cancels the future too, unless a thread has begun."""
    try:
        return await ended(future)
    except BaseException:
        future.cancel()
        raise
    finally:
        # As in `ended`.
        del future


def _closed() -> Closed:
    return Closed("the vault was closed: open it again")
