"""Credits: the price of Tavily, the rule for using it, and a thread-safe budget."""

from __future__ import annotations

from typing import Literal, TypeAlias

from septet._core import Lock
from septet.errors import QueryError
from septet.inputs.arguments import whole
from septet.system.forks import renew_in_children

#: The outcome of a request to Tavily.
Outcome: TypeAlias = Literal["off", "budget_exhausted", "call"]
#: At this many credits or fewer a note warns.
LOW_CREDITS = 20
#: Maximum credits of a budget.
MOST_CREDITS = 1_000_000


def tavily_outcome(
    *,
    enabled: bool,
    on_empty: bool,
    on_weak: bool,
    local_empty: bool,
    quality: float,
    threshold: float,
    budget_remaining: int,
) -> Outcome:
    """Return the decision to call Tavily after the other corpora.

    Args:
        on_empty: call it if they have no hits.
        on_weak: call it if the evidence is weak.
        local_empty: True if they have no hits.
        quality: of the evidence, 0 to 1.
        threshold: below it, evidence is weak.
        budget_remaining: remaining credits.
    """
    if not (enabled and ((on_empty and local_empty) or (on_weak and quality < threshold))):
        return "off"
    return "call" if budget_remaining > 0 else "budget_exhausted"


def credits_of(search_depth: str) -> int:
    """Return the price of a call: 2 credits for the depth ``advanced``, 1 for any other."""
    return 2 if search_depth == "advanced" else 1


class CreditBudget:
    """A limited number of credits. Safe to share between threads and corpora.

    A forked child starts with the remaining credits, and counts separately from then on.

    Args:
        credits: the number of credits, 0 to 1,000,000.

    Raises:
        QueryError: the number is out of range.
    """

    def __init__(self, credits: int) -> None:
        self._left = whole(credits, "credits", QueryError, 0, MOST_CREDITS)
        self.after_fork()
        renew_in_children(self)

    def __repr__(self) -> str:
        return f"CreditBudget({self._left} left)"

    def after_fork(self) -> None:
        """Reset the lock in a forked child."""
        self._lock = Lock()

    @property
    def left(self) -> int:
        """Remaining credits."""
        return self._left

    def spend(self, credits: int) -> int | None:
        """Take credits before a call, and return the rest; None, without taking any, if too few remain."""
        with self._lock.hold():
            if credits > self._left:
                return None
            self._left -= credits
            return self._left
