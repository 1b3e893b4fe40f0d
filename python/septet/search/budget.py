"""The token budget: cut the ranked results to those that fit, with a note on the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from septet.model.entry import CHARS_A_TOKEN
from septet.model.results import Hit
from septet.notes import Note
from septet.query.plan import Plan
from septet.ranking.cuts import budgeted
from septet.ranking.pool import json_text


class BudgetCut(NamedTuple):
    """Ranked results cut by a token budget.

    Attributes:
        places: positions of the results that fit, best first.
        left_out: positions of those that do not fit.
        costs: tokens of each ranked result.
        notes: a note if results do not fit.
    """

    places: Sequence[int]
    left_out: Sequence[int]
    costs: Sequence[int]
    notes: Sequence[Note]


def cost_of_scan(hit: Hit) -> int:
    """Return the tokens of a light result: characters / 4 of the texts in `Hit.to_dict`, rounded up."""
    texts = [value for value in hit.to_dict().values() if isinstance(value, str)]
    return math.ceil((sum(map(len, texts)) + len(json_text(hit.tags))) / CHARS_A_TOKEN)


def within_budget(plan: Plan, costs: Sequence[int], scores: Sequence[float]) -> BudgetCut:
    """Cut ranked results by ``max_tokens`` of the plan, given the cost and the score of each."""
    maximum = plan.max_tokens or 0
    places, left_out = budgeted(plan.profile.cuts, costs, scores, maximum)
    spent = sum(costs[place] for place in places)
    if not left_out and spent <= maximum:
        return BudgetCut(places, left_out, costs, ())
    cause = f"max_tokens is {maximum}"
    if spent > maximum:
        cause += f", and the first result alone takes {spent}"
    if left_out:
        missing = sum(costs[place] for place in left_out)
        cause += f": no room for {len(left_out)} of the best {len(costs)} results, which would take {missing} more"
    cure = "raise max_tokens" if plan.mode == "scan" else "raise max_tokens, or ask with mode='scan' and load() fewer"
    return BudgetCut(places, left_out, costs, (Note("over_budget", cause, cure),))
