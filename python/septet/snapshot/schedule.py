"""Background work: one task at a time per manager, in short steps on the one background thread of the process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from septet.errors import SeptetError
from septet.storage.store import Store

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["Schedule", "Task"]

PAUSE_S = 0.01

#: Does one step of the work and says whether there is more. Steps are short, so that nothing waits long for the thread,
#: not even the exit of the process.
Task: TypeAlias = Callable[[], bool]


class Schedule:
    """Who works for a manager: the background, a caller that waits, or nobody.

    Attributes:
        busy: whether somebody does.
    """

    def __init__(self) -> None:
        self.busy = False
        self._lock = threading.Lock()

    def try_acquire(self) -> bool:
        """Begin to work, unless somebody works already, and say whether that succeeded."""
        with self._lock:
            if self.busy:
                return False
            self.busy = True
            return True

    def acquire(self) -> None:
        """Wait until nobody works, and begin to."""
        while not self.try_acquire():
            time.sleep(PAUSE_S)

    def release(self) -> None:
        """Stop working."""
        self.busy = False

    def start(self, task: Task, store: Store) -> None:
        """Hand a task to the background; whoever calls has acquired, and the end of the task releases."""
        try:
            _executor(os.getpid()).submit(self._step, task, store)
        except RuntimeError:
            # The interpreter is shutting down.
            self.release()

    def _step(self, task: Task, store: Store) -> None:
        try:
            more = not store.closed and task()
        except (SeptetError, MemoryError):
            # The vault was closed or cannot be read: the next search reports it, if it is still so.
            more = False
        except BaseException:
            self.release()
            raise
        if more:
            self.start(task, store)
        else:
            self.release()


@cache
def _executor(_process: int) -> ThreadPoolExecutor:
    """Return the background thread of a process; threads do not survive a fork."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="septet-maintenance")
