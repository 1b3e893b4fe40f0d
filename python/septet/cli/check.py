"""What one check of `septet doctor` found, and how it is mended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Check"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    Attributes:
        state: ``none`` if there is nothing to check.
        facts: what ``said`` says, for programs.
        exit_code: the exit code of the command if this check fails.
        cure: what `septet doctor --fix` would do; empty if there is nothing to do, or nothing that it can.
        mend: does it, and says what was done.
    """

    name: str
    state: Literal["ok", "fault", "none"]
    said: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    exit_code: int = 0
    cure: str = ""
    mend: Callable[[], str] | None = None
