"""Distances over links, by SQL: the slow twin of the walk in memory."""

import json


def distances(read, anchors, depth):
    """Return every entry within ``depth`` undirected steps of an anchor, with the minimum number of steps.

    An anchor counts only as the neighbour of another anchor: links are never followed back to their start.
    """
    nearest = {}
    for anchor in anchors:
        seen = {anchor}
        frontier = [anchor]
        for step in range(1, depth + 1):
            frontier = [n for n in _neighbours(read, frontier) if n not in seen]
            seen.update(frontier)
            for node in frontier:
                nearest[node] = min(nearest.get(node, step), step)
    return nearest


def _neighbours(read, ids):
    sql = (
        "SELECT l.target FROM json_each(?1) j JOIN links l ON l.source = j.value "
        "UNION SELECT l.source FROM json_each(?1) j JOIN links l ON l.target = j.value"
    )
    return [row[0] for row in read.sql.execute(sql, (json.dumps(ids),))]
