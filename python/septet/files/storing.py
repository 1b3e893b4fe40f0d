"""Bringing planned files into a vault: whole files in each transaction, so that nobody sees half of one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from septet.files.mentions import link_mentions
from septet.files.planning import Plan, chunk_id, file_id
from septet.sqlite.store.store import Reading, Writing
from septet.sqlite.tables import changing, entries, files, links, mentions, vectors
from septet.sqlite.tables.files import COMPARED, ChunkRow, FileRow
from septet.sqlite.tables.history import Keeping
from septet.sqlite.tables.links import NEXT, Link

__all__ = ["Stored", "erase_files", "in_order", "store_plans"]

_LINES = slice(COMPARED.index("first_line"), COMPARED.index("last_line") + 1)


class Stored(NamedTuple):
    """What became of a plan: the number of its file, 0 if another process was quicker."""

    plan: Plan
    file: int


def in_order(read: Reading | Writing, own: Sequence[ChunkRow]) -> list[ChunkRow] | None:
    """Return the chunks of a file in their order; None where that is not known.

    Where a long line makes several, only the links from each to the next one tell.
    """
    spans = {one.columns[_LINES] for one in own}
    if len(spans) == len(own):
        return list(own)
    chunks = {str(one.columns[0]): one for one in own}
    links = [both for both, type in files.own_links(read, list(chunks)).items() if type == NEXT and both[1] in chunks]
    following = dict(links)
    first = chunks.keys() - following.values()
    if len(links) != len(own) - 1 or len(following) != len(links) or len(first) != 1:
        return None
    found, at = [], next(iter(first), None)
    while at is not None:
        found.append(chunks[at])
        at = following.get(at)
    return found if len(found) == len(own) else None


def store_plans(write: Writing, plans: Sequence[Plan], root: str, keeping: Keeping) -> list[Stored]:
    """Store files and their chunks, links between them and what they mention; skip those that are not as planned.

    Args:
        root: the name of the root they are in.
    """
    ready = _named(write, _as_planned(write, plans), root)
    changing.erase(write, sorted(chain.from_iterable(plan.removed for plan in ready)))
    rows = [row for plan in ready for row in (*plan.changed, *plan.added)]
    if any(plan.changed for plan in ready):
        vectors.drop_stale(write, {row.id: row.text_hash for plan in ready for row in plan.changed})
    if rows:
        entries.upsert(write, rows, [], keeping)
    files.move_chunks(write, chain.from_iterable(plan.moved for plan in ready))
    _chain(write, [plan for plan in ready if plan.fresh])
    said = mentions.of_files(write, [plan.before.file for plan in ready if plan.before is not None])
    numbers = {}
    for plan in ready:
        number = numbers[plan.after.path] = files.put(write, plan.after)
        if plan.mentions or (plan.before is not None and plan.mentions is not None):
            mentions.put(write, number, plan.mentions)
    # A text that stays mentions nothing any more where code begins above it.
    if silent := said - mentions.of_files(write, numbers.values()):
        link_mentions(write, plans[0].after.root, sorted(silent))
    return [Stored(plan, numbers.get(plan.after.path, 0)) for plan in plans]


def erase_files(write: Writing, gone: Sequence[FileRow]) -> tuple[list[FileRow], int]:
    """Remove files that are still as they were read, and erase their chunks; return those files, and how many chunks.

    The caller has seen that they are not on the disk.
    """
    there = files.rows_of(write, (row.file for row in gone))
    same = [row for row in gone if there.get(row.file) == row]
    chunks = files.chunks_of(write, [row.id for row in same])
    rows = sorted(chunk.row for own in chunks.values() for chunk in own)
    changing.erase(write, rows)
    files.remove(write, [row.file for row in same])
    return same, len(rows)


def _as_planned(write: Writing, plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans whose files are still as they were when the plan was made."""
    if not plans or not files.has_root(write, plans[0].after.root):
        return []
    there = files.rows_of(write, (plan.before.file for plan in plans if plan.before is not None))
    taken = files.at(write, plans[0].after.root, [plan.after.path for plan in plans])
    ready: list[Plan] = []
    # Files whose path a new one takes stand before it.
    left: set[int] = set()
    for plan in plans:
        at = taken.get(plan.after.path)
        if plan.before is None:
            if at is None or at.file in left:
                ready.append(plan)
        elif there.get(plan.before.file) == plan.before and (at is None or at.file == plan.before.file):
            ready.append(plan)
            if plan.before.path != plan.after.path:
                left.add(plan.before.file)
    return ready


def _named(write: Writing, plans: Sequence[Plan], root: str) -> list[Plan]:
    """Return plans whose new files and chunks have ids that nobody else has."""
    taken = files.file_ids_taken(write, [plan.after.id for plan in plans if plan.before is None])
    made = [
        _renumbered(write, plan, root) if plan.before is None and plan.after.id in taken else plan for plan in plans
    ]
    parents = {row.id: plan.after.id for plan in made for row in plan.added}
    others = files.others_with(write, parents) if parents else set()
    # Two files of one transaction may claim an id as well.
    others |= {row.id for plan in made for row in plan.added if parents[row.id] != plan.after.id}
    return [_salted(plan, root, others) for plan in made] if others else made


def _renumbered(write: Writing, plan: Plan, root: str) -> Plan:
    """Return the plan of a new file under an id that no file has."""
    number = 1
    while files.file_ids_taken(write, [own := file_id(root, plan.after.path, number)]):
        number += 1
    return plan._replace(after=plan.after._replace(id=own), added=[row._replace(parent=own) for row in plan.added])


def _salted(plan: Plan, root: str, others: set[str]) -> Plan:
    """Return a plan that takes none of the ids that others have."""
    new = {row.id: chunk_id(root, plan.after.path, row.id, 0, plan.after.id) for row in plan.added if row.id in others}
    if not new:
        return plan
    return plan._replace(
        ids=[new.get(one, one) for one in plan.ids],
        added=[row._replace(id=new.get(row.id, row.id)) for row in plan.added],
        mentions=plan.mentions and [one._replace(chunk=new.get(one.chunk, one.chunk)) for one in plan.mentions],
    )


def _chain(write: Writing, plans: Sequence[Plan]) -> None:
    """Link the chunks of files, each to the next, and remove such links that are not so any more."""
    wanted = {both for plan in plans for both in pairwise(plan.ids)}
    old = [one for plan in plans if plan.before is not None for one in plan.ids]
    there = files.own_links(write, old) if old else {}
    files.unlink(write, [both for both, type in there.items() if type == NEXT and both not in wanted])
    # What a user linked stays as the user said.
    new = (both for both in sorted(wanted) if there.get(both, "mentions") == "mentions")
    links.put(write, [Link(*both, NEXT, "") for both in new])
