"""Pages: the results after the first ones, so that no page repeats or leaves out what another one has.

More candidates may change the order of the best. So places are decided in *stages*: stage 0 takes the candidates of a
search without an offset and decides its results (or the first `Plan.places`, where the profile has any, so that they
depend on no limit), stage s takes 4^s times as many and decides all places up to 4^s times as many that no earlier
stage decided. Each leg has taken enough for the last place of a stage, a place is the same whichever page asks for it,
and the first page is the search without an offset.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from septet.query.plan import MOST, Plan
from septet.ranking.score import Placed
from septet.search.federated import FederatedSearch, Page

if TYPE_CHECKING:
    from septet.ranking.pool import Candidate

__all__ = ["names_of", "recalled_page", "turned_to"]

#: Each stage takes so many times the candidates of the one before, and decides so many times the places.
GROWTH = 4


def turned_to(
    page: Page, best: Sequence[Placed], keys: Sequence[str] | None, memories: Sequence[tuple[int, Candidate]]
) -> tuple[Sequence[Placed], Sequence[str] | None]:
    """Return the part of the best of a ranking that a page has, and their groups (see `septet.search.run.Ranked`)."""
    places: dict[Hashable, list[int]] = {}
    for place, name in enumerate(names_of(best, keys, memories)):
        places.setdefault(name, []).append(place)
    known = frozenset(page.decided)
    sequence = [*page.decided, *(name for name in places if name not in known)]
    wanted = [places[name] for name in sequence[page.first : page.last] if name in places]
    # The first of each group, then the others.
    at = [some[0] for some in wanted] + [place for some in wanted for place in some[1:]]
    return [best[place] for place in at], None if keys is None else [keys[place] for place in at]


def recalled_page(
    plan: Plan,
    recalled: Callable[[Plan, Page], FederatedSearch],
    names: Callable[[FederatedSearch], Sequence[Hashable]],
) -> FederatedSearch:
    """Return the search of the stage that decides the results of a plan with an offset; its ``page`` says which.

    Args:
        recalled: searches the tiers for all that a stage decides.
        names: ranks what was found, and returns `names_of` the page.
    """
    size, wanted = plan.places or plan.most_hits, (plan.offset, plan.offset + plan.most_hits)
    decided: tuple[Hashable, ...] = ()
    started = None
    while True:
        stage = Page(decided, len(decided), size)
        search = recalled(plan, stage)
        search.page, search.started = stage, search.started if started is None else started
        started = search.started
        # Where every leg gave all that it has, later stages would find the same.
        if wanted[1] <= size or _is_all(search) or plan.candidates >= MOST:
            search.page = Page(decided, *wanted)
            return search
        try:
            more = tuple(dict.fromkeys(names(search)))
        except BaseException:
            search.close()
            raise
        decided += more
        if len(decided) < size:
            # Cuts left none for later places.
            search.page = Page(decided, wanted[0], len(decided))
            return search
        search.close()
        size *= GROWTH
        plan = plan._replace(candidates=min(GROWTH * plan.candidates, MOST))


def _is_all(search: FederatedSearch) -> bool:
    candidates = search.plan.taken()
    return not any(len(answer.recalled[0].pool) >= candidates for answer in search.answers)


def names_of(
    best: Sequence[Placed], keys: Sequence[str] | None, memories: Sequence[tuple[int, Candidate]]
) -> Sequence[Hashable]:
    """Return what tells results apart, in any stage: their groups, or their tiers and rows."""
    if keys is not None:
        return keys
    return [placed[1:3] if placed[0] >= 0 else _of_memory(*memories[-placed[0] - 1]) for placed in best]


def _of_memory(tier: int, memory: Candidate) -> Hashable:
    return tier, memory.row
