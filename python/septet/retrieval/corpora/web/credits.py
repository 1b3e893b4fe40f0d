"""Credits: what Tavily costs, when it is asked, and a budget that several threads cannot overdraw."""

from __future__ import annotations

from typing import Literal, TypeAlias

from septet._core import Lock
from septet.errors import QueryError
from septet.inputs.arguments import whole
from septet.system.forks import renew_in_children

__all__ = ["LOW_CREDITS", "CreditBudget", "Outcome", "credits_of", "tavily_outcome"]

#: What comes of a question to Tavily.
Outcome: TypeAlias = Literal["off", "budget_exhausted", "call"]
#: From so many credits on, it is said that they become few.
LOW_CREDITS = 20
#: So many credits a budget may have.
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
    """Return whether Tavily is asked after the other corpora answered.

    Args:
        on_empty: ask when they found nothing.
        on_weak: ask when the evidence is weak.
        local_empty: they found nothing.
        quality: of the evidence, 0 to 1.
        threshold: below it, evidence is weak.
        budget_remaining: credits that are left.
    """
    if not (enabled and ((on_empty and local_empty) or (on_weak and quality < threshold))):
        return "off"
    return "call" if budget_remaining > 0 else "budget_exhausted"


def credits_of(search_depth: str) -> int:
    """Return what a call costs: 2 credits for the depth ``advanced``, 1 for any other."""
    return 2 if search_depth == "advanced" else 1


class CreditBudget:
    """Credits that can be spent once. Safe to share between threads, and between corpora.

    A forked child goes on with what was left at the fork, and counts for itself from then on.

    Args:
        credits: how many there are, 0 to 1,000,000.

    Raises:
        QueryError: it is no such number.
    """

    def __init__(self, credits: int) -> None:
        self._left = whole(credits, "credits", QueryError, 0, MOST_CREDITS)
        self.after_fork()
        renew_in_children(self)

    def __repr__(self) -> str:
        return f"CreditBudget({self._left} left)"

    def after_fork(self) -> None:
        """Renew the lock."""
        self._lock = Lock()

    @property
    def left(self) -> int:
        """How many credits are left."""
        return self._left

    def spend(self, credits: int) -> int | None:
        """Take credits before a call, and return how many are left then; None, and nothing is taken, if too few are."""
        with self._lock.hold():
            if credits > self._left:
                return None
            self._left -= credits
            return self._left
