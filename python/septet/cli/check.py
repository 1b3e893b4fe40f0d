"""The result of a check of `septet doctor`, with its repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    Attributes:
        state: ``none`` if there is nothing to check.
        summary: the result, for people.
        facts: the same for programs.
        exit_code: exit code of the command if this check fails.
        cure: the repair of `septet doctor --fix`, for people; empty without one.
        mend: runs the repair and returns a summary of it.
    """

    name: str
    state: Literal["ok", "fault", "none"]
    summary: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    exit_code: int = 0
    cure: str = ""
    mend: Callable[[], str] | None = None
