"""Shortened ids, and the places of chunks in followed files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from septet.errors import EntryError, EntryNotFound
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from septet.model.entry import Entry

#: Minimum characters of a shortened id.
LEAST_ID = 4
#: Maximum candidates to list for an ambiguous id.
_CANDIDATES = 10


def whole_ids(opened: Any, texts: Sequence[str]) -> dict[str, str | None]:
    """Resolve whole or shortened ids or paths to ids; None for those without an entry.

    Tries, in order: the id itself; the only id with this prefix, of at least `LEAST_ID` characters; the first chunk of
    the file with this path, or for ``path#L10`` the chunk with that line.

    Raises:
        EntryError: the text is a prefix of several ids, or of several paths; the message lists them.
    """
    from septet.vault.reading import entry_at

    ids: dict[str, str | None] = {entry.id: entry.id for entry in opened.load(texts)}
    for text in texts:
        if text not in ids:
            ids[text] = _complete(opened, text) or getattr(entry_at(opened, text), "id", None)
    return {text: ids[text] for text in texts}


def whole_id(opened: Any, text: str) -> str:
    """Resolve a whole or shortened id or path, as `whole_ids` (`EntryNotFound`, `EntryError`)."""
    id = whole_ids(opened, [text])[text]
    if id is None:
        raise EntryNotFound(f"no entry {text!r} in {place_of(opened)}")
    return id


class SourceFile(NamedTuple):
    """The place of a chunk in a followed file.

    Attributes:
        file: the absolute path.
        line: the first line of the chunk.
        root: the folder or file that the vault follows.
        tier: the name of the tier that follows it; None for a vault, and for the tier that is open.
    """

    file: str
    line: int
    root: str
    tier: str | None


def source_file(opened: Any, entry: Entry) -> SourceFile | None:
    """Return the place of a chunk in a followed file; None for other entries."""
    if entry.kind != "chunk" or entry.span is None:
        return None
    from septet.files.report import roots_of

    vaults = {name: opened.tier(name) for name in opened.tiers()} if hasattr(opened, "tiers") else {None: opened}
    for name, vault in vaults.items():
        # A tier on a server has no folders.
        for root in roots_of(vault._store) if hasattr(vault, "sync") else ():
            if root.name == entry.source:
                folder = Path(root.path) if Path(root.path).is_dir() else Path(root.path).parent
                file = os.path.normpath(folder / entry.span.path)
                return SourceFile(file, entry.span.first_line, root.path, name)
    return None


def not_of_files(opened: Any, entries: Iterable[Entry], todo: str) -> None:
    """Refuse chunks of followed files (`EntryError`): the next sync would undo the change; ``todo`` is the cure."""
    for entry in entries:
        if (place := source_file(opened, entry)) is not None:
            raise followed(entry, place, todo)


def followed(entry: Entry, place: SourceFile, todo: str) -> EntryError:
    """Return the error for a chunk of a followed file."""
    where = f"line {place.line} of {place.file}"
    return EntryError(f"{entry.id} is {where}, which the vault follows: {todo} there, and `septet sync`")


def place_of(opened: Any) -> str:
    """Return the path of a vault or the names of the tiers, for messages."""
    if hasattr(opened, "tiers"):
        return f"the tiers {', '.join(opened.tiers())}"
    return str(opened.path if hasattr(opened, "path") else opened.url)


def _complete(opened: Any, text: str) -> str | None:
    from septet.model.entry import MAX_ID_CHARS

    if not LEAST_ID <= len(text) <= MAX_ID_CHARS:
        return None
    ids = opened._ids_beginning(text, limit=_CANDIDATES + 1)
    if len(ids) < 2:
        return ids[0] if ids else None
    more = ", and others" if len(ids) > _CANDIDATES else ""
    raise EntryError(f"{text!r} may be {', '.join(map(repr, ids[:_CANDIDATES]))}{more}: type more of the id")
