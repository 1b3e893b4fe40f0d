"""The entries around one: those that links lead to in two steps, as many as a person can look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from septet.errors import EntryNotFound

if TYPE_CHECKING:
    from septet.service.running import Memory
    from septet.sqlite.tables.links import Link

__all__ = ["neighbourhood"]

#: Links of one entry in the second step: a hub there would crowd out all others.
MOST_OF_ONE = 6


def neighbourhood(memory: Memory, id: str, *, limit: int, **tier: Any) -> dict[str, Any]:
    """Return an entry, those within two steps over links in either direction, and the links between them.

    Half of the places are for direct neighbours, or more where there are few behind them. Links to entries that do not
    exist are left out.

    Args:
        memory: what is asked.
        id: the entry in the middle.
        limit: at most so many entries.
        tier: the one tier that is meant, if any.

    Raises:
        EntryNotFound: no entry has this id.
    """
    if not memory.load([id], **tier):
        raise EntryNotFound(f"there is no entry {id!r}")
    own = memory.links(id, **tier)
    steps, links = {id: 0}, {id: own}
    near = _beside(id, own)
    behind: list[str] = []
    for one in near[: limit - 1]:
        links[one] = memory.links(one, **tier)
    direct = near[: max(limit // 2, limit - 1 - sum(min(len(links[n]), MOST_OF_ONE) for n in near[: limit - 1]))]
    steps |= dict.fromkeys(direct, 1)
    for one in direct:
        behind += [n for n in _beside(one, links[one])[:MOST_OF_ONE] if n not in steps]
    steps |= dict.fromkeys([*dict.fromkeys(behind)][: limit - len(steps)], 2)
    # Direct neighbours that were waiting take the places that are left.
    steps |= dict.fromkeys([n for n in near if n not in steps][: limit - len(steps)], 1)
    found = {entry.id: entry for entry in memory.load(steps, **tier)}
    links |= {one: memory.links(one, **tier) for one in found if one not in links}
    between = {(link.source, link.target): link for one in found for link in links[one]}
    shown = [link for ends, link in sorted(between.items()) if found.keys() >= {*ends}]
    return {
        "nodes": [
            {
                **{name: getattr(found[one], name) for name in ("id", "title", "kind", "domain", "severity")},
                "steps": step,
                "links": len(links[one]),
                "shown": sum(one in (link.source, link.target) for link in shown),
            }
            for one, step in steps.items()
            if one in found
        ],
        "links": [dict(link._asdict()) for link in shown],
        "left_out": len(near) - sum(one in steps for one in near),
    }


def _beside(id: str, links: list[Link]) -> list[str]:
    """Return the neighbours of an entry, those that it leads to first."""
    ends = [link.target for link in links if link.source == id] + [link.source for link in links if link.target == id]
    return [*dict.fromkeys(end for end in ends if end != id)]
