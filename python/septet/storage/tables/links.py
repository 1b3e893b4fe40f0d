"""Links between entries, and the walk that measures how far apart two entries are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from septet.entry import utf8
from septet.errors import EntryError
from septet.storage.store import Reading, Writing

__all__ = ["Link", "all_links", "any_links", "checked", "count", "distances", "links_of", "put", "remove"]


class Link(NamedTuple):
    """A typed link from one entry to another."""

    source: str
    target: str
    type: str
    note: str


def checked(item: Sequence[Any]) -> Link:
    """Return a link from ``(source, target[, type[, note]])``.

    Raises:
        EntryError: not all text, an empty type, or an entry linked to itself.
    """
    link = Link(*item, *("related", "")[len(item) - 2 :]) if 2 <= len(item) <= 4 else None
    if link is None or not all(isinstance(part, str) for part in link) or not link.type.strip():
        raise EntryError(f"link {item!r} cannot be stored: wanted (source, target, type, note), all text")
    for name, part in zip(Link._fields, link):
        utf8(part, f"link {name}")
    if link.source == link.target:
        raise EntryError(f"{link.source!r} cannot be linked to itself")
    return link


def put(write: Writing, links: Iterable[Link]) -> None:
    """Store links; a link that exists gets the new type and note."""
    write.sql.executemany(
        "INSERT INTO links VALUES (?, ?, ?, ?) "
        "ON CONFLICT (source, target) DO UPDATE SET type = excluded.type, note = excluded.note",
        links,
    )


def remove(write: Writing, source: str, target: str) -> bool:
    """Remove a link and say whether there was one."""
    return write.sql.execute("DELETE FROM links WHERE source = ? AND target = ?", (source, target)).rowcount > 0


def links_of(read: Reading, entry_id: str) -> list[Link]:
    """Return the links from and to an entry."""
    sql = "SELECT source, target, type, note FROM links WHERE source = ? OR target = ? ORDER BY source, target"
    return [Link._make(row) for row in read.sql.execute(sql, (entry_id, entry_id))]


def all_links(read: Reading) -> Iterator[Link]:
    """Yield every link."""
    return map(Link._make, read.sql.execute("SELECT source, target, type, note FROM links"))


def count(read: Reading) -> int:
    """Return the number of links."""
    return int(read.sql.execute("SELECT count(*) FROM links").fetchone()[0])


def any_links(read: Reading) -> bool:
    """Say whether the store holds any link."""
    return read.sql.execute("SELECT 1 FROM links LIMIT 1").fetchone() is not None


def distances(read: Reading, anchors: Sequence[str], depth: int) -> dict[str, int]:
    """Return every entry within ``depth`` undirected steps of an anchor, with the smallest number of steps.

    An anchor counts only as the neighbour of another anchor: links are never walked back to where they started.
    """
    nearest: dict[str, int] = {}
    for anchor in anchors:
        seen = {anchor}
        frontier = [anchor]
        for step in range(1, depth + 1):
            frontier = [n for n in _neighbours(read, frontier) if n not in seen]
            seen.update(frontier)
            for found in frontier:
                nearest[found] = min(nearest.get(found, step), step)
    return nearest


def _neighbours(read: Reading, ids: Sequence[str]) -> list[str]:
    if not ids:
        return []
    wanted = json.dumps(list(ids))
    sql = (
        "SELECT l.target FROM json_each(?1) j JOIN links l ON l.source = j.value "
        "UNION SELECT l.source FROM json_each(?1) j JOIN links l ON l.target = j.value"
    )
    return [row[0] for row in read.sql.execute(sql, (wanted,))]
