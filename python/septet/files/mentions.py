"""Turn `[[wiki]]` and relative links in chunks into links of type ``mentions``.

No queue of pending work: a query finds the chunks whose targets may have changed, those of changed files and those that
mention a path, name or stem of a file that was added, removed, renamed or has another first chunk.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from septet.model.links import Link
from septet.sqlite.store.store import SqliteWriting
from septet.sqlite.tables import files, links, mentions
from septet.sqlite.tables.files import folded, stem_of
from septet.sqlite.tables.mentions import ALIAS, Mentioned

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
    files.unlink(write, [ends for ends, kind in stored.items() if kind == MENTIONS and ends not in current])
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
        file_id = self._files[key]
        if file_id is None:
            return None
        place = file_id, mention.anchor
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
            for path, file_id in files.named(self._write, self._root, name, stem=stem):
                as_named = _without_ending(folded(path)) if stem else folded(path)
                if as_named == target or (type == "wiki" and as_named.endswith(f"/{target}")):
                    near = posixpath.dirname(path) != folder
                    candidates.append((as_named != target, near, path.count("/"), len(path), path, file_id))
            if candidates:
                return min(candidates)[-1]
        others = mentions.aliased(self._write, self._root, target) if type == "wiki" else ()
        return min(
            (
                (posixpath.dirname(path) != folder, path.count("/"), len(path), path, file_id)
                for path, file_id in others
            ),
            default=(None,),
        )[-1]

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
