"""The neighbourhood of an entry: entries within two links, limited to a displayable number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from septet.errors import EntryNotFound

if TYPE_CHECKING:
    from septet.model.links import Link
    from septet.service.running import Memory

#: Maximum number of second-step links per entry: a hub would crowd out all others.
MOST_OF_ONE = 6


def neighbourhood(memory: Memory, id: str, *, limit: int = 40, tier: str | None = None) -> dict[str, Any]:
    """Return an entry, those within two links in either direction, and the links between them.

    Half of the places are for direct neighbours, more if those have few further ones. Links to missing entries are
    dropped.

    Args:
        memory: the vault or federation.
        id: the entry in the middle.
        limit: maximum number of entries.
        tier: the tier to read; None for any.

    Raises:
        EntryNotFound: no entry has this id.
    """
    named: Any = {} if tier is None else {"tier": tier}
    if not memory.load([id], **named):
        raise EntryNotFound(f"there is no entry {id!r}")
    center_links = memory.links(id, **named)
    steps, links = {id: 0}, {id: center_links}
    first = _neighbours_of(id, center_links)
    second: list[str] = []
    for neighbour in first[: limit - 1]:
        links[neighbour] = memory.links(neighbour, **named)
    direct = first[: max(limit // 2, limit - 1 - sum(min(len(links[n]), MOST_OF_ONE) for n in first[: limit - 1]))]
    steps |= dict.fromkeys(direct, 1)
    for neighbour in direct:
        second += [n for n in _neighbours_of(neighbour, links[neighbour])[:MOST_OF_ONE] if n not in steps]
    steps |= dict.fromkeys([*dict.fromkeys(second)][: limit - len(steps)], 2)
    # Remaining direct neighbours fill the remaining places.
    steps |= dict.fromkeys([n for n in first if n not in steps][: limit - len(steps)], 1)
    entries = {entry.id: entry for entry in memory.load(steps, **named)}
    links |= {entry_id: memory.links(entry_id, **named) for entry_id in entries if entry_id not in links}
    between = {(link.source, link.target): link for entry_id in entries for link in links[entry_id]}
    shown = [link for ends, link in sorted(between.items()) if entries.keys() >= {*ends}]
    return {
        "nodes": [
            {
                **{name: getattr(entries[entry_id], name) for name in ("id", "title", "kind", "domain", "severity")},
                "steps": step,
                "links": len(links[entry_id]),
                "shown": sum(entry_id in (link.source, link.target) for link in shown),
            }
            for entry_id, step in steps.items()
            if entry_id in entries
        ],
        "links": [dict(link._asdict()) for link in shown],
        "left_out": len(first) - sum(entry_id in steps for entry_id in first),
    }


def _neighbours_of(id: str, links: list[Link]) -> list[str]:
    """Return the neighbours of an entry, targets of its links first."""
    ends = [link.target for link in links if link.source == id] + [link.source for link in links if link.target == id]
    return [*dict.fromkeys(end for end in ends if end != id)]
