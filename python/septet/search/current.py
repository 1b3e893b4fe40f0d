"""The order of results about a conversation: a newer message that changes a fact stands before the older one."""

from __future__ import annotations

from collections.abc import Sequence

from septet.query.newest import MOST_TEXTS, asked_kinds, newest_first
from septet.query.plan import SearchPlan
from septet.ranking.pool import Candidate, role_of, values_by_role


def current_order(plan: SearchPlan, whole: Sequence[Candidate]) -> list[int] | None:
    """Return the positions of the results in their new order; None if the order stays.

    Messages of the role that counts most are compared; see `septet.query.newest`.

    Args:
        whole: the results, best first.
    """
    if len(whole) < 2 or (kinds := asked_kinds(plan.query.text)) is None:
        return None
    roles = values_by_role(plan.profile.facts.roles)
    most = max(roles.values(), default=0.0)
    texts, times = [], []
    for candidate in whole[:MOST_TEXTS]:
        counts = not roles.get(role_of(candidate.attrs_json), most) < most
        texts.append((candidate.description or candidate.title) if counts else "")
        times.append(candidate.created_at if candidate.valid_from is None else candidate.valid_from)
    order = newest_first(plan.query.text, kinds, texts, times)
    return None if order == sorted(order) else [*order, *range(len(order), len(whole))]
