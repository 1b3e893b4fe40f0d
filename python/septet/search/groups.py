"""Groups: results of one parent as one result, its best part first."""

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

__all__ = ["Grouped", "grouped", "nested"]


class Grouped(NamedTuple):
    """The candidates of the best groups.

    Attributes:
        best: first the best of each group, then all others, best first.
        keys: the group of each, the id of its parent or its own.
        enough: there are as many groups as were wanted, or it is known that there are no more.
    """

    best: Sequence[Placed]
    keys: Sequence[str]
    enough: bool


def grouped(
    search: FederatedSearch,
    query: int,
    placed: Sequence[Placed],
    memories: Sequence[tuple[int, Candidate]],
    most: int | None,
    total: int,
) -> Grouped:
    """Return the best candidates by group.

    Args:
        placed: every candidate that may be returned, best first.
        memories: those with a fixed score, which have negative positions.
        most: the most groups; None for all.
        total: how many candidates were ranked.
    """
    groups = _groups(search, placed, memories)
    wanted = [*dict.fromkeys(groups)]
    # A candidate under the least score says that all further ones are.
    full = any(len(answer.recalled[query].pool) >= search.plans[query].taken() for answer in search.answers)
    # Where a limit only cuts, one below what a search decides looks for no fewer.
    least = most if most is None else max(most, search.plans[query].places or 0)
    enough = least is None or len(wanted) >= least or not full or len(placed) < total
    kept = frozenset(wanted[:most])
    seen: set[str] = set()
    heads: list[int] = []
    others: list[int] = []
    for at, key in enumerate(groups):
        if key in kept:
            (others if key in seen else heads).append(at)
            seen.add(key)
    order = [*heads, *others]
    return Grouped([placed[at] for at in order], [groups[at] for at in order], enough)


def nested(hits: Sequence[Hit], keys: Sequence[str]) -> tuple[Hit, ...]:
    """Return one hit for each group, its best, with the others as its parts; groups by their best scores."""
    groups: dict[str, list[Hit]] = {}
    for hit, key in zip(hits, keys):
        groups.setdefault(key, []).append(hit)
    # Where a token budget left out the best of a group, the next one is its best.
    ordered = sorted(groups.values(), key=lambda group: -group[0].score)
    return tuple(group[0] if len(group) == 1 else replace(group[0], parts=tuple(group[1:])) for group in ordered)


def _groups(search: FederatedSearch, placed: Sequence[Placed], memories: Sequence[tuple[int, Candidate]]) -> list[str]:
    """Return the group of each candidate."""
    rows: dict[int, list[int]] = {}
    for at, tier, row, *_ in placed:
        if at >= 0:
            rows.setdefault(tier, []).append(row)
    known: dict[int, Mapping[int, str]] = {}
    for answer in search.answers:
        if wanted := rows.get(answer.place):
            asked = search.or_degrade(answer.place, partial(answer.session.groups, wanted), [""] * len(wanted))
            known[answer.place] = dict(zip(wanted, asked))
    return [
        # A tier that does not say has groups of one.
        (known[tier][row] or f"{tier}:{row}") if at >= 0 else memories[-at - 1][1].parent or memories[-at - 1][1].id
        for at, tier, row, *_ in placed
    ]
