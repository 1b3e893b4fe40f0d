"""The token budget: which of the ranked results are returned, and what there is to say of the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from septet.model.entry import CHARS_A_TOKEN
from septet.model.results import Hit, Note
from septet.query.plan import Plan
from septet.ranking.cuts import budgeted
from septet.ranking.pool import json_text

__all__ = ["Budgeted", "cost_of_scan", "within_budget"]


class Budgeted(NamedTuple):
    """What a token budget leaves.

    Attributes:
        places: those of the ranked results that are returned, best first.
        left_out: those that there is no room for.
        costs: what each ranked result takes, in tokens.
        notes: what was left out.
    """

    places: Sequence[int]
    left_out: Sequence[int]
    costs: Sequence[int]
    notes: Sequence[Note]


def cost_of_scan(hit: Hit) -> int:
    """Return what a light result costs: characters / 4 of the texts in `Hit.to_dict`, rounded up."""
    texts = [value for value in hit.to_dict().values() if isinstance(value, str)]
    return math.ceil((sum(map(len, texts)) + len(json_text(hit.tags))) / CHARS_A_TOKEN)


def within_budget(plan: Plan, costs: Sequence[int], scores: Sequence[float]) -> Budgeted:
    """Cut ranked results, given the cost and the score of each, by the budget of a plan, which has one."""
    most = plan.max_tokens or 0
    kept, left_out = budgeted(plan.profile.cuts, costs, scores, most)
    spent = sum(costs[place] for place in kept)
    if not left_out and spent <= most:
        return Budgeted(kept, left_out, costs, ())
    named = f"max_tokens is {most}"
    if spent > most:
        named += f", and the first result alone takes {spent}"
    if left_out:
        wanted = sum(costs[place] for place in left_out)
        named += f": no room for {len(left_out)} of the best {len(costs)} results, which would take {wanted} more"
    cure = "raise max_tokens" if plan.mode == "scan" else "raise max_tokens, or ask with mode='scan' and load() fewer"
    return Budgeted(kept, left_out, costs, (Note("over_budget", named, cure),))
