"""What a store was asked at one generation, and what it answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from septet.sqlite.store.store import Reading

__all__ = ["Answers"]

_Answer = TypeVar("_Answer")


class Answers:
    """Remembers answers as long as the store stays the same. Threads may share it."""

    def __init__(self) -> None:
        self._found: tuple[tuple[int, str], dict[object, Any]] = ((-1, ""), {})

    def remembered(self, read: Reading, key: object, ask: Callable[[], _Answer]) -> _Answer:
        """Return the answer to a question about the store at this generation; ask only the first time."""
        state, answers = self._found
        if state != read[1:]:
            answers = {}
            # One assignment, so that no thread sees answers of another generation.
            self._found = (read[1:], answers)
        if key not in answers:
            answers[key] = ask()
        found: _Answer = answers[key]
        return found
