"""Groups: merge the results of one parent into one result, best part first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from septet.model.results import Hit
from septet.ranking.score import Placed
from septet.search.federated import FederatedSearch

if TYPE_CHECKING:
    from septet.ranking.pool import Candidate


class GroupedResults(NamedTuple):
    """The candidates of the best groups.

    Attributes:
        best: the best of each group, then all others, best first.
        keys: group of each, the id of its parent or its own.
        enough: True if more candidates would not yield more of the requested groups.
    """

    best: Sequence[Placed]
    keys: Sequence[str]
    enough: bool


def grouped(
    search: FederatedSearch,
    query: int,
    placed: Sequence[Placed],
    memories: Sequence[tuple[int, Candidate]],
    limit: int | None,
    total: int,
) -> GroupedResults:
    """Return the best candidates by group.

    Args:
        placed: candidates above the minimum score, best first.
        memories: candidates of fixed score, which have negative positions.
        limit: maximum groups; None for all.
        total: number of ranked candidates.
    """
    groups = _groups(search, placed, memories)
    ordered = [*dict.fromkeys(groups)]
    # One candidate below the minimum score means that all further ones are below it.
    full = any(len(answer.recalled[query].pool) >= search.plans[query].taken() for answer in search.answers)
    # A profile with `places` decides that many whatever the limit, so that results do not depend on it.
    minimum = limit if limit is None else max(limit, search.plans[query].places or 0)
    enough = minimum is None or len(ordered) >= minimum or not full or len(placed) < total
    returned = frozenset(ordered[:limit])
    seen: set[str] = set()
    heads: list[int] = []
    others: list[int] = []
    for at, key in enumerate(groups):
        if key in returned:
            (others if key in seen else heads).append(at)
            seen.add(key)
    order = [*heads, *others]
    return GroupedResults([placed[at] for at in order], [groups[at] for at in order], enough)


def nested(hits: Sequence[Hit], keys: Sequence[str]) -> tuple[Hit, ...]:
    """Return the best hit of each group with the others as its parts; groups by their best scores."""
    groups: dict[str, list[Hit]] = {}
    for hit, key in zip(hits, keys):
        groups.setdefault(key, []).append(hit)
    # The token budget may have dropped the best of a group.
    ordered = sorted(groups.values(), key=lambda group: -group[0].score)
    return tuple(group[0] if len(group) == 1 else replace(group[0], parts=tuple(group[1:])) for group in ordered)


def _groups(search: FederatedSearch, placed: Sequence[Placed], memories: Sequence[tuple[int, Candidate]]) -> list[str]:
    """Return the group of each candidate."""
    rows: dict[int, list[int]] = {}
    for at, tier, row, *_ in placed:
        if at >= 0:
            rows.setdefault(tier, []).append(row)
    parents: dict[int, Mapping[int, str]] = {}
    for answer in search.answers:
        if tier_rows := rows.get(answer.place):
            keys = search.or_degrade(answer.place, partial(answer.session.groups, tier_rows), [""] * len(tier_rows))
            parents[answer.place] = dict(zip(tier_rows, keys))
    return [
        # A tier that failed has groups of one.
        (parents[tier][row] or f"{tier}:{row}") if at >= 0 else memories[-at - 1][1].parent or memories[-at - 1][1].id
        for at, tier, row, *_ in placed
    ]
