"""Store planned files in a vault, whole files per transaction, and link what their chunks mention.

`[[wiki]]` and relative links become links of type ``mentions``. No queue of pending work: a query finds the chunks
whose targets may have changed, those of changed files and those that mention a path, name or stem of a file that was
added, removed, renamed or has another first chunk.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from urllib.parse import unquote

from septet.files.planning import FilePlan, chunk_id, file_id
from septet.model.links import NEXT, Link
from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables import changing, entries, files, links, mentions, vectors
from septet.sqlite.tables.files import COMPARED, ChunkRow, FileRow, folded, stem_of
from septet.sqlite.tables.mentions import ALIAS, Mentioned
from septet.store.rows import Keeping

#: Link type of mentions.
MENTIONS = "mentions"
#: Maximum characters of a mention; paths of real files are shorter.
MOST_CHARS = 4_096
_NO_WORD = re.compile(r"[^\w\- ]+")


def stored_as(target: str, anchor: str, type: str, path: str) -> Mentioned | None:
    """Return the row of a mention, whose chunk is set later; None if it cannot name a file.

    Args:
        type: ``wiki``, ``link``, or ``alias`` for an alias of the file itself.
        path: path of the file with the mention; relative targets begin in its folder.
    """
    anchor = anchor.strip()[:MOST_CHARS]
    plain = unquote(target) if type == "link" else target.strip()
    if type == ALIAS:
        # The anchor " " is impossible in a mention, so an alias and a mention of the same name can coexist.
        target, anchor = plain, " "
    elif type == "link" or plain.startswith(("./", "../")):
        # A leading slash is relative to the root.
        folder = "" if plain.startswith("/") else posixpath.dirname(path)
        target = posixpath.normpath(posixpath.join(folder, plain.lstrip("/"))) if plain else path
        if target.startswith("../") or target in ("..", "."):
            return None
    else:
        target = plain.strip("/") or path
    if not target or len(target) > MOST_CHARS or "\0" in target:
        return None
    return Mentioned("", folded(target), anchor, type)


def mentioning(write: SqliteWriting, root: int, paths: Iterable[str], numbers: Iterable[int]) -> set[str]:
    """Return the chunks of a root that mention files by a trailing part of the path, with or without suffix, or alias.

    Args:
        numbers: numbers of the files, to look up their aliases.
    """
    names = mentions.aliases_of(write, numbers)
    for path in paths:
        parts = folded(path).split("/")
        for start in range(len(parts)):
            end = "/".join(parts[start:])
            names |= {end, _without_ending(end)}
    return mentions.naming(write, root, sorted(names))


def link_mentions(write: SqliteWriting, root: int, chunks: Sequence[str]) -> None:
    """Update the links of chunks to their current mentions."""
    by_chunk = mentions.of_chunks(write, chunks)
    stored = files.own_links(write, chunks)
    targets = _Resolver(write, root)
    current: dict[tuple[str, str], str] = {}
    for chunk, rows in by_chunk.items():
        for mention, path in rows:
            target = targets.of(mention, path)
            if target is not None and target != chunk:
                note = f"{mention.target}#{mention.anchor}" if mention.anchor else mention.target
                current.setdefault((chunk, target), note)
    links.unlink(write, [ends for ends, kind in stored.items() if kind == MENTIONS and ends not in current])
    # Links to the next chunk, and links of a user, stay.
    links.put(write, [Link(*ends, MENTIONS, note) for ends, note in current.items() if ends not in stored])


class _Resolver:
    """Resolves mentions, with a cache."""

    def __init__(self, write: SqliteWriting, root: int) -> None:
        self._write, self._root = write, root
        self._files: dict[tuple[str, str, str], str | None] = {}
        self._chunks: dict[tuple[str, str], str | None] = {}

    def of(self, mention: Mentioned, path: str) -> str | None:
        """Return the chunk that a mention names; None if no file matches."""
        folder = posixpath.dirname(path)
        key = mention.target, mention.type, folder
        if key not in self._files:
            self._files[key] = self._file(*key)
        if (named_id := self._files[key]) is None:
            return None
        place = named_id, mention.anchor
        if place not in self._chunks:
            self._chunks[place] = self._chunk(*place)
        return self._chunks[place]

    def _file(self, target: str, type: str, folder: str) -> str | None:
        """Return the id of the file that a target names: by path, by its end, without its suffix, or by alias.

        Files in the same folder come first, then the least deep, then the shortest path.
        """
        name = target.rpartition("/")[2]
        for stem in (False, True):
            candidates = []
            for path, named_id in files.named(self._write, self._root, name, stem=stem):
                as_named = _without_ending(folded(path)) if stem else folded(path)
                if as_named == target or (type == "wiki" and as_named.endswith(f"/{target}")):
                    near = posixpath.dirname(path) != folder
                    candidates.append((as_named != target, near, path.count("/"), len(path), path, named_id))
            if candidates:
                return min(candidates)[-1]
        others = mentions.aliased(self._write, self._root, target) if type == "wiki" else ()
        ranked = ((posixpath.dirname(path) != folder, path.count("/"), len(path), path, id) for path, id in others)
        return min(ranked, default=(None,))[-1]

    def _chunk(self, file_id: str, anchor: str) -> str | None:
        """Return the first chunk under the heading that an anchor names; the first of the file without a match."""
        if anchor:
            slug = _slug(unquote(anchor.rpartition("#")[2]))
            for chunk, headings in files.anchors(self._write, file_id):
                if any(isinstance(heading, str) and _slug(heading) == slug for heading in json.loads(headings)):
                    return chunk
        return files.first_chunk(self._write, file_id)


def _without_ending(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{stem_of(name)}"


def _slug(heading: str) -> str:
    """Return the slug of a heading, as in URL fragments."""
    return _NO_WORD.sub("", folded(heading)).strip().replace(" ", "-")


_LINES = slice(COMPARED.index("first_line"), COMPARED.index("last_line") + 1)


def in_order(read: SqliteReading | SqliteWriting, rows: Sequence[ChunkRow]) -> list[ChunkRow] | None:
    """Return the chunks of a file in order; None if the order is unknown.

    Pieces of a long line have the same span: then only the links to the next chunk give the order.
    """
    spans = {row.columns[_LINES] for row in rows}
    if len(spans) == len(rows):
        return list(rows)
    chunks = {str(row.columns[0]): row for row in rows}
    links = [ends for ends, type in files.own_links(read, list(chunks)).items() if type == NEXT and ends[1] in chunks]
    following = dict(links)
    first = chunks.keys() - following.values()
    if len(links) != len(rows) - 1 or len(following) != len(links) or len(first) != 1:
        return None
    ordered, id = [], next(iter(first), None)
    while id is not None:
        ordered.append(chunks[id])
        id = following.get(id)
    return ordered if len(ordered) == len(rows) else None


def store_plans(
    write: SqliteWriting, plans: Sequence[FilePlan], root: str, keeping: Keeping
) -> list[tuple[FilePlan, int]]:
    """Store files with their chunks, links and mentions; skip files changed since they were planned.

    Args:
        root: name of their root.

    Returns:
        each plan with the number of its stored file; 0 if another process changed the file first.
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
    mentioning = mentions.of_files(write, [plan.before.file for plan in ready if plan.before is not None])
    numbers = {}
    for plan in ready:
        number = numbers[plan.after.path] = files.put(write, plan.after)
        if plan.mentions or (plan.before is not None and plan.mentions is not None):
            mentions.put(write, number, plan.mentions)
    # An unchanged text may lose its mentions, for example inside a code block opened above it.
    if silent := mentioning - mentions.of_files(write, numbers.values()):
        link_mentions(write, plans[0].after.root, sorted(silent))
    return [(plan, numbers.get(plan.after.path, 0)) for plan in plans]


def erase_files(write: SqliteWriting, missing: Sequence[FileRow]) -> tuple[list[FileRow], int]:
    """Remove files whose rows are unchanged, with their chunks; return the files and the number of chunks.

    The caller has checked that they are not on the disk.
    """
    current = files.rows_of(write, (row.file for row in missing))
    unchanged = [row for row in missing if current.get(row.file) == row]
    chunks = files.chunks_of(write, [row.id for row in unchanged])
    rows = sorted(chunk.row for of_file in chunks.values() for chunk in of_file)
    changing.erase(write, rows)
    files.remove(write, [row.file for row in unchanged])
    return unchanged, len(rows)


def _as_planned(write: SqliteWriting, plans: Sequence[FilePlan]) -> list[FilePlan]:
    """Return the plans whose files are unchanged since."""
    if not plans or not files.has_root(write, plans[0].after.root):
        return []
    current = files.rows_of(write, (plan.before.file for plan in plans if plan.before is not None))
    at_paths = files.at(write, plans[0].after.root, [plan.after.path for plan in plans])
    ready: list[FilePlan] = []
    # A file that frees its path comes before the file that takes it.
    vacated: set[int] = set()
    for plan in plans:
        occupant = at_paths.get(plan.after.path)
        if plan.before is None:
            if occupant is None or occupant.file in vacated:
                ready.append(plan)
        elif current.get(plan.before.file) == plan.before and (occupant is None or occupant.file == plan.before.file):
            ready.append(plan)
            if plan.before.path != plan.after.path:
                vacated.add(plan.before.file)
    return ready


def _named(write: SqliteWriting, plans: Sequence[FilePlan], root: str) -> list[FilePlan]:
    """Return the plans with unique ids for new files and chunks."""
    taken = files.file_ids_taken(write, [plan.after.id for plan in plans if plan.before is None])
    numbered = []
    for plan in plans:
        if plan.before is None and plan.after.id in taken:
            number = 1
            while files.file_ids_taken(write, [id := file_id(root, plan.after.path, number)]):
                number += 1
            added = [row._replace(parent=id) for row in plan.added]
            numbered.append(plan._replace(after=plan.after._replace(id=id), added=added))
        else:
            numbered.append(plan)
    parents = {row.id: plan.after.id for plan in numbered for row in plan.added}
    others = files.others_with(write, parents) if parents else set()
    # Two files of one transaction may claim the same id.
    others |= {row.id for plan in numbered for row in plan.added if parents[row.id] != plan.after.id}
    return [_salted(plan, root, others) for plan in numbered] if others else numbered


def _salted(plan: FilePlan, root: str, others: set[str]) -> FilePlan:
    """Return a plan whose new chunks have none of the ids of others."""
    new = {row.id: chunk_id(root, plan.after.path, row.id, 0, plan.after.id) for row in plan.added if row.id in others}
    if not new:
        return plan
    return plan._replace(
        ids=[new.get(id, id) for id in plan.ids],
        added=[row._replace(id=new.get(row.id, row.id)) for row in plan.added],
        mentions=plan.mentions and [row._replace(chunk=new.get(row.chunk, row.chunk)) for row in plan.mentions],
    )


def _chain(write: SqliteWriting, plans: Sequence[FilePlan]) -> None:
    """Link each chunk of the files to the next one, and remove outdated links."""
    pairs = {pair for plan in plans for pair in pairwise(plan.ids)}
    old = [id for plan in plans if plan.before is not None for id in plan.ids]
    stored = files.own_links(write, old) if old else {}
    links.unlink(write, [pair for pair, kind in stored.items() if kind == NEXT and pair not in pairs])
    # Links of a user stay.
    new = (pair for pair in sorted(pairs) if stored.get(pair, "mentions") == "mentions")
    links.put(write, [Link(*pair, NEXT, "") for pair in new])
