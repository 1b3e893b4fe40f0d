"""Pages: results after an offset; pages neither overlap nor leave gaps.

More candidates may change the order of the best. Therefore places are decided in *stages*: stage 0 reads the
candidates of a search without an offset and decides its results (or the first `SearchPlan.places` if the profile has
any, so that they do not depend on the limit); stage s reads 4^s times as many and decides the places up to 4^s times
as many that no earlier stage decided. A place is the same on every page; the first page equals the search without an
offset.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from septet.query.plan import MOST, SearchPlan
from septet.ranking.score import RankedCandidate
from septet.search.federated import FederatedSearch, FixedMemory, PageRange

#: Growth of candidates and of decided places per stage.
GROWTH = 4


def turned_to(
    page: PageRange,
    best: Sequence[RankedCandidate],
    keys: Sequence[str] | None,
    memories: Sequence[FixedMemory],
) -> tuple[Sequence[RankedCandidate], Sequence[str] | None]:
    """Return the results of a page and their groups (see `septet.search.run.RankedQuery`)."""
    places: dict[Hashable, list[int]] = {}
    for place, name in enumerate(names_of(best, keys, memories)):
        places.setdefault(name, []).append(place)
    decided = frozenset(page.decided)
    sequence = [*page.decided, *(name for name in places if name not in decided)]
    groups = [places[name] for name in sequence[page.first : page.last] if name in places]
    # The first of each group, then the others.
    positions = [group[0] for group in groups] + [place for group in groups for place in group[1:]]
    return [best[place] for place in positions], None if keys is None else [keys[place] for place in positions]


def search_page(
    plan: SearchPlan,
    search_stage: Callable[[SearchPlan, PageRange], FederatedSearch],
    names: Callable[[FederatedSearch], Sequence[Hashable]],
) -> FederatedSearch:
    """Return the search of the stage that decides the results of a plan with an offset; sets its ``page``.

    Args:
        search_stage: searches the tiers for a stage.
        names: ranks the candidates and returns `names_of` the page.
    """
    size, end = plan.places or plan.most_hits, plan.offset + plan.most_hits
    decided: tuple[Hashable, ...] = ()
    started = None
    while True:
        stage = PageRange(decided, len(decided), size)
        search = search_stage(plan, stage)
        search.page, search.started = stage, search.started if started is None else started
        started = search.started
        # Once every leg is exhausted, later stages find the same candidates.
        if end <= size or _is_all(search) or plan.candidates >= MOST:
            search.page = PageRange(decided, plan.offset, end)
            return search
        try:
            more = tuple(dict.fromkeys(names(search)))
        except BaseException:
            search.close()
            raise
        decided += more
        if len(decided) < size:
            # The cuts leave no results for later places.
            search.page = PageRange(decided, plan.offset, len(decided))
            return search
        search.close()
        size *= GROWTH
        plan = plan._replace(candidates=min(GROWTH * plan.candidates, MOST))


def _is_all(search: FederatedSearch) -> bool:
    candidates = search.plan.taken()
    return not any(len(answer.candidates[0].pool) >= candidates for answer in search.answers)


def names_of(
    best: Sequence[RankedCandidate], keys: Sequence[str] | None, memories: Sequence[FixedMemory]
) -> Sequence[Hashable]:
    """Return a name for each result that is the same in all stages: its group, or its tier and row."""
    if keys is not None:
        return keys
    fixed = [(memory.tier, memory.entry.row) for memory in memories]
    return [
        (candidate.tier, candidate.row) if candidate.position >= 0 else fixed[-candidate.position - 1]
        for candidate in best
    ]
