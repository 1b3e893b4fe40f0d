"""Background work: one task at a time per manager, in short steps on the one background thread of the process."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from septet._core import Lock
from septet.errors import SeptetError
from septet.sqlite.store.store import Store

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["Schedule", "Task"]

#: Does one step of the work and says whether there is more. Steps are short, so that nothing waits long for the thread,
#: not even the exit of the process.
Task: TypeAlias = Callable[[], bool]


class Schedule:
    """Who works for a manager: the background, a caller that waits, or nobody.

    Attributes:
        turns: held by a turn, until it is released or dies.
    """

    def __init__(self) -> None:
        self.turns = Lock(handed_on=True)

    @property
    def busy(self) -> bool:
        """Whether somebody works."""
        return self.turns.held_by_any

    def turn(self) -> Any:
        """Begin to work; None if somebody works already."""
        return self.turns.hold(0)

    def wait(self) -> Any:
        """Wait until nobody works, and begin to."""
        return self.turns.hold()

    def start(self, task: Task, store: Store, turn: Any) -> None:
        """Hand a task and its turn to the background."""
        # When the interpreter is shutting down, nothing more is begun.
        with suppress(RuntimeError):
            _executor(os.getpid()).submit(self._step, task, store, turn)

    def _step(self, task: Task, store: Store, turn: Any) -> None:
        more = False
        try:
            # A vault that was closed or cannot be read: the next search reports it, if it is still so.
            with suppress(SeptetError, MemoryError):
                more = not store.closed and task()
        finally:
            if not more:
                turn.release()
        if more:
            self.start(task, store, turn)


@cache
def _executor(_process: int) -> ThreadPoolExecutor:
    """Return the background thread of a process; threads do not survive a fork."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="septet-maintenance")
