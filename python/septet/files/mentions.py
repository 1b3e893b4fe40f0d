"""What chunks name in `[[wiki]]` and relative links, as links of the type ``mentions``.

Pending work is a query: the chunks that may name something else now are those of files that changed, and those that
name a path, a name or a stem of a file that came, went, was renamed or begins with another chunk.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from septet.sqlite.store.store import Writing
from septet.sqlite.tables import files, links, mentions
from septet.sqlite.tables.files import folded, stem_of
from septet.sqlite.tables.links import Link
from septet.sqlite.tables.mentions import ALIAS, Mentioned

__all__ = ["MENTIONS", "link_mentions", "mentioning", "stored_as"]

#: The type of the links that mentions become.
MENTIONS = "mentions"
#: A mention is cut to so many characters; none of a real file is longer.
MOST_CHARS = 4_096
_NO_WORD = re.compile(r"[^\w\- ]+")


def stored_as(target: str, anchor: str, type: str, path: str) -> Mentioned | None:
    """Return a mention as the table has it, of a chunk that is named later; None if it can name no file.

    Args:
        type: ``wiki``, ``link``, or ``alias`` for another name of the file itself.
        path: of the file that it stands in: relative targets begin in its folder.
    """
    anchor = anchor.strip()[:MOST_CHARS]
    plain = unquote(target) if type == "link" else target.strip()
    if type == ALIAS:
        # No mention has such an anchor, so a chunk may mention what its own note is called.
        target, anchor = plain, " "
    elif type == "link" or plain.startswith(("./", "../")):
        # What begins with a slash is seen from the root.
        folder = "" if plain.startswith("/") else posixpath.dirname(path)
        target = posixpath.normpath(posixpath.join(folder, plain.lstrip("/"))) if plain else path
        if target.startswith("../") or target in ("..", "."):
            return None
    else:
        target = plain.strip("/") or path
    if not target or len(target) > MOST_CHARS or "\0" in target:
        return None
    return Mentioned("", folded(target), anchor, type)


def mentioning(write: Writing, root: int, paths: Iterable[str], numbers: Iterable[int]) -> set[str]:
    """Return the chunks of a root that mention files: an end of their paths, without the ending too, or another name.

    Args:
        numbers: of these files, for the other names that the vault has of them.
    """
    found = mentions.aliases_of(write, numbers)
    for path in paths:
        parts = folded(path).split("/")
        for start in range(len(parts)):
            end = "/".join(parts[start:])
            found |= {end, _without_ending(end)}
    return mentions.naming(write, root, sorted(found))


def link_mentions(write: Writing, root: int, chunks: Sequence[str]) -> None:
    """Make the links of chunks say what they mention now."""
    said = mentions.of_chunks(write, chunks)
    there = files.own_links(write, chunks)
    ends = _Ends(write, root)
    wanted: dict[tuple[str, str], str] = {}
    for chunk, own in said.items():
        for mention, path in own:
            found = ends.of(mention, path)
            if found is not None and found != chunk:
                note = f"{mention.target}#{mention.anchor}" if mention.anchor else mention.target
                wanted.setdefault((chunk, found), note)
    files.unlink(write, [both for both, type in there.items() if type == MENTIONS and both not in wanted])
    # The next chunk, and what a user linked, stay linked as they are.
    links.put(write, [Link(*both, MENTIONS, note) for both, note in wanted.items() if both not in there])


class _Ends:
    """Where mentions lead, each looked up once."""

    def __init__(self, write: Writing, root: int) -> None:
        self._write, self._root = write, root
        self._files: dict[tuple[str, str, str], str | None] = {}
        self._chunks: dict[tuple[str, str], str | None] = {}

    def of(self, mention: Mentioned, path: str) -> str | None:
        """Return the chunk that is named; None if there is no such file."""
        folder = posixpath.dirname(path)
        key = mention.target, mention.type, folder
        if key not in self._files:
            self._files[key] = self._file(*key)
        file_id = self._files[key]
        if file_id is None:
            return None
        at = file_id, mention.anchor
        if at not in self._chunks:
            self._chunks[at] = self._chunk(*at)
        return self._chunks[at]

    def _file(self, target: str, type: str, folder: str) -> str | None:
        """Return the id of the file that a target names: by path, by its end, by that without ending, by another name.

        Of several the nearest counts: in the folder, then the least deep, then that of the shortest path.
        """
        name = target.rpartition("/")[2]
        for stem in (False, True):
            found = []
            for path, own in files.named(self._write, self._root, name, stem=stem):
                as_named = _without_ending(folded(path)) if stem else folded(path)
                if as_named == target or (type == "wiki" and as_named.endswith(f"/{target}")):
                    near = posixpath.dirname(path) != folder
                    found.append((as_named != target, near, path.count("/"), len(path), path, own))
            if found:
                return min(found)[-1]
        others = mentions.aliased(self._write, self._root, target) if type == "wiki" else ()
        return min(
            ((posixpath.dirname(path) != folder, path.count("/"), len(path), path, own) for path, own in others),
            default=(None,),
        )[-1]

    def _chunk(self, file_id: str, anchor: str) -> str | None:
        """Return the first chunk under the heading that an anchor names; without one the first of the file."""
        if anchor:
            wanted = _slug(unquote(anchor.rpartition("#")[2]))
            for own, headings in files.anchors(self._write, file_id):
                if any(isinstance(one, str) and _slug(one) == wanted for one in json.loads(headings)):
                    return own
        return files.first_chunk(self._write, file_id)


def _without_ending(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{stem_of(name)}"


def _slug(heading: str) -> str:
    """Return a heading as addresses of pages name it."""
    return _NO_WORD.sub("", folded(heading)).strip().replace(" ", "-")
