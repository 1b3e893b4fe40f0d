"""What every kind of tier says in the same words of the place of an entry in a leg of a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.model.explanation import LegReport

if TYPE_CHECKING:
    from septet.query.parse import TextQuery
    from septet.query.plan import Plan

__all__ = ["answering_step", "matched", "memory_place", "nothing_compared"]


def answering_step(query: TextQuery, step: int | None) -> str:
    """Say which step of the cascade has an answer, None for none."""
    if step is None:
        return "no step of the cascade has an answer"
    name, every, words = query.steps[step]
    wanted = "any word" if not every else "all words" if step == 0 else " and ".join(query.terms[at] for at in words)
    return f"the step that answers, {name!r}, asks for {wanted}"


def matched(terms: Sequence[str], held: Sequence[str], words: Sequence[str], by_parts: float) -> str:
    """Return which terms of a query an entry holds: as words of its own, or in parts of its words and names alone.

    Args:
        words: those of the held terms that are words of its own.
        by_parts: what parts of words and names add to its BM25.
    """
    if not held:
        return f"holds none of {', '.join(terms)}"
    parts = [term for term in held if term not in words]
    of_words = [f"matches {', '.join(words)}"] if words else []
    of_parts = [f"{'in parts' if words else 'matches parts'} of words and names: {', '.join(parts)}"] if parts else []
    of_score = [f"{by_parts:.4f} of the score by parts"] if by_parts > 0.0 else []
    return "; ".join(of_words + of_parts + of_score)


def memory_place(plan: Plan, rows: Sequence[int], row: int, *, passes: bool) -> LegReport:
    """Return the place of a memory among the rows of those that match, best first, where they have a fixed score."""
    rank = rows.index(row) + 1 if row in rows and passes else None
    detail = "memories have a fixed score" if rank else f"holds none of {', '.join(dict.fromkeys(plan.query.terms))}"
    return LegReport("memories", rank is not None, rank, len(rows), plan.candidates, None, detail)


def nothing_compared(plan: Plan, mismatch: object) -> LegReport:
    """Return what is said where no vectors are compared, given why the vectors that there are do not fit, if any."""
    cause = "the vault holds no vectors" if mismatch is None else str(mismatch)
    return LegReport("vector", False, None, 0, plan.candidates, None, cause)
