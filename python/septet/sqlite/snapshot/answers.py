"""Cache of query results, valid for one generation of a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from septet.sqlite.store.store import SqliteReading

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
