"""Work on threads, with results and errors returned to the caller."""

from __future__ import annotations

import contextvars
import threading
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")
Item = TypeVar("Item")

THREAD_NAME = "septet-worker"
#: Maximum queued items beyond one per thread: each may hold files open.
MOST_WAITING = 4
#: Seconds after which an idle thread ends; the caller then works alone.
IDLE_S = 1.0


def call_on_thread(work: Callable[[], Result], name: str = THREAD_NAME) -> Future[Result]:
    """Run `work` on a new daemon thread, with the caller's context variables; return the future of its result.

    Interpreter exit does not wait for the thread. Raises `RuntimeError` if none can be started.
    """
    thread, future = _prepared(work, name)
    thread.start()
    return future


def worked_ahead(
    work: Callable[[Item], object], items: Iterable[Item], threads: int, *, discard: Callable[[Item], object]
) -> Generator[Item, None, None]:
    """Yield each item after `work` on it, in order; threads work ahead on the next items.

    The caller works too until its next item is done, so the total is `threads`. An interrupt of the caller leaks no
    thread and no item: nothing here holds a lock that Python code takes.

    Args:
        work: must clean up after itself if it raises.
        items: read by the caller's thread, a few ahead.
        threads: number of threads, including the caller's.
        discard: called with each unused item after an error or an interrupt.

    Raises:
        Exception: the error of `work` or `items`, at the position of its item.
    """
    if threads == 1:
        for item in items:
            work(item)
            yield item
        return
    queue, rest = _WorkQueue(work, discard, threads - 1), iter(items)
    coming: deque[_Task[Item]] = deque()
    most = threads + min(threads, MOST_WAITING)
    try:
        queue.feed(rest, coming, most)
        for _ in range(min(threads, len(coming)) - 1):
            # `threading.Thread.start` waits on a lock that an interrupt may leave locked forever.
            start_new_thread(contextvars.copy_context().run, (queue.serve,))
        while coming:
            task = coming[0]
            while task.ready.locked() and queue.work_on_next():
                pass
            task.ready.acquire()
            coming.popleft()
            if task.fault is not None:
                try:
                    raise task.fault
                finally:
                    # Break the cycle: the error's traceback references this frame, and the task references the error.
                    del task
            queue.feed(rest, coming, most)
            yield task.item
    finally:
        queue.close(coming)


class _Task(Generic[Item]):
    """An item and the state of its work."""

    __slots__ = ("_discards", "fault", "item", "ready", "unwanted")

    def __init__(self, item: Item, discard: Callable[[Item], object]) -> None:
        self.item = item
        #: The error of the work, or of reading the item.
        self.fault: BaseException | None = None
        #: True if the caller will not use the item.
        self.unwanted = False
        #: Held until the work is done.
        self.ready = threading.Lock()
        self.ready.acquire()
        self._discards = [discard]

    def discard(self) -> None:
        """Discard the item, at most once."""
        with suppress(IndexError):
            self._discards.pop()(self.item)


class _WorkQueue(Generic[Item]):
    """A queue of items for threads."""

    def __init__(self, work: Callable[[Item], object], discard: Callable[[Item], object], workers: int) -> None:
        self._work, self._discard, self._workers = work, discard, workers
        #: None ends a worker.
        self._waiting: SimpleQueue[_Task[Item] | None] = SimpleQueue()
        self._ended = False

    def feed(self, items: Iterator[Item], coming: deque[_Task[Any]], most: int) -> None:
        """Read items until ``most`` are queued or in work."""
        while len(coming) < most and not self._ended:
            try:
                task = _Task(next(items), self._discard)
            except StopIteration:
                self._end()
            except Exception as fault:  # noqa: BLE001 - raised where the item would have come
                failed: _Task[Any] = _Task(None, lambda _: None)
                failed.fault = fault
                failed.ready.release()
                coming.append(failed)
                self._end()
            else:
                coming.append(task)
                self._waiting.put(task)

    def serve(self) -> None:
        """Work on items until the queue ends or stays empty for `IDLE_S`."""
        # Ending early is safe: the caller works on items that no thread takes.
        with suppress(Empty):
            while (task := self._waiting.get(timeout=IDLE_S)) is not None:
                try:
                    self._work(task.item)
                except BaseException as fault:  # noqa: BLE001 - raised again where the item is wanted
                    task.fault = fault
                task.ready.release()
                if task.unwanted:
                    task.discard()
                # Not to be held while waiting.
                del task

    def work_on_next(self) -> bool:
        """Work on the next queued item; return False if there is none."""
        try:
            task = self._waiting.get_nowait()
        except Empty:
            return False
        if task is None:
            self._waiting.put(None)
            return False
        try:
            self._work(task.item)
        except Exception as fault:  # noqa: BLE001 - raised again where the item is wanted
            task.fault = fault
        except BaseException:
            task.discard()
            raise
        finally:
            task.ready.release()
            # See `worked_ahead`.
            del task
        return True

    def close(self, coming: deque[_Task[Any]]) -> None:
        """Discard unused items: at once, or after the thread that works on one has finished."""
        for task in coming:
            task.unwanted = True
        with suppress(Empty):
            while True:
                if (waiting := self._waiting.get_nowait()) is not None:
                    waiting.discard()
        self._end()
        for task in coming:
            if not task.ready.locked():
                task.discard()
        coming.clear()

    def _end(self) -> None:
        self._ended = True
        for _ in range(self._workers):
            self._waiting.put(None)


def call_within(timeout_s: float, work: Callable[[], Result], timeout: Exception) -> Result:
    """Return the result of `work`, or raise ``timeout`` after `timeout_s`; a late result is dropped.

    Host name lookups ignore every timeout, so the work runs on a thread. Its errors are raised unchanged.
    """
    future = call_on_thread(work)
    if not wait([future], timeout_s).done:
        raise timeout
    return future.result()


def call_uninterrupted(work: Callable[[], Result]) -> Result:
    """Return the result of `work`, delaying a keyboard interrupt until it is done; a second one is raised at once.

    Interrupts reach only the main thread, so the work runs on another thread if called there.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    thread, future = _prepared(work, THREAD_NAME)
    try:
        thread.start()
        wait([future])
    except BaseException:
        # An interrupt, or an exception of a signal handler; do not wait for a thread that failed to start.
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
    finally:
        # Break the cycle: the error's traceback references this frame, and the future references the error.
        del future, work
