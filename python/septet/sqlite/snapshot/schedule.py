"""State of a manager: background work, in short steps on the single thread of the process, and cached answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from septet._core import Lock
from septet.errors import SeptetError
from septet.sqlite.store.store import SqliteReading, SqliteStore

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


#: Does one step of the work and returns True if there is more. Steps are short, so that other tasks and the exit of the
#: process never wait long for the thread.
Task: TypeAlias = Callable[[], bool]


class Schedule:
    """Serializes the work of a manager, in the background or by a waiting caller.

    Attributes:
        turns: lock held by a turn until the turn is released or garbage-collected.
    """

    def __init__(self) -> None:
        self.turns = Lock(handed_on=True)

    @property
    def busy(self) -> bool:
        """True if work is running."""
        return self.turns.held_by_any

    def turn(self) -> Any:
        """Return a new turn; None if work is running."""
        return self.turns.hold(0)

    def wait(self) -> Any:
        """Wait for running work to end; return a new turn."""
        return self.turns.hold()

    def start(self, task: Task, store: SqliteStore, turn: Any) -> None:
        """Hand a task and its turn to the background."""
        # Raised when the interpreter is shutting down.
        with suppress(RuntimeError):
            _executor(os.getpid()).submit(self._step, task, store, turn)

    def _step(self, task: Task, store: SqliteStore, turn: Any) -> None:
        more = False
        try:
            # The vault is closed or unreadable: the next search reports it.
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


_Answer = TypeVar("_Answer")


class Answers:
    """Caches answers until the store changes. Thread-safe."""

    def __init__(self) -> None:
        self._cache: tuple[tuple[int, str], dict[object, Any]] = ((-1, ""), {})

    def remembered(self, read: SqliteReading, key: object, ask: Callable[[], _Answer]) -> _Answer:
        """Return the cached answer for a key at this generation; call ``ask`` only on a miss."""
        state, answers = self._cache
        if state != read[1:]:
            answers = {}
            # A single assignment, so that no thread sees answers of another generation.
            self._cache = (read[1:], answers)
        if key not in answers:
            answers[key] = ask()
        answer: _Answer = answers[key]
        return answer
