"""Reading a vault without a query: entries, links and counts."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from septet.errors import EntryError
from septet.inputs.arguments import utf8, whole
from septet.model.entry import Entry
from septet.model.links import Link
from septet.store.protocol import Store
from septet.vault.batch import ids_of
from septet.vault.places import entry_at, is_like_place

if TYPE_CHECKING:
    from septet.model.stats import Stats


class Readable:
    """A store with methods that read entries; each call reads one state."""

    _store: Store

    def get(self, id: str) -> Entry | None:
        """Return the entry with this id, or None.

        A path relative to its root works as an id: ``a.md`` is the first chunk of the file, ``a.md#L10`` the chunk with
        that line. An entry with this id takes precedence.

        Raises:
            EntryError: no entry has the id, and several files have the path; the message lists their chunks.
            StoreError: the vault cannot be read.
        """
        if entries := self.load([utf8(id, "id")]):
            return entries[0]
        return entry_at(self, id) if is_like_place(id) else None

    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries in the order of the ids; unknown ids are skipped.

        Raises:
            StoreError: the vault cannot be read.
        """
        wanted_ids = ids_of([ids] if isinstance(ids, str) else ids)
        with self._store.reading() as read:
            rows = read.tables.entries.find(read, wanted_ids)
        return [rows[i].to_entry() for i in wanted_ids if i in rows]

    def get_many(self, ids: Iterable[str]) -> list[Entry | None]:
        """Return one entry per id, in order; None for unknown ids, which `load` skips.

        Raises:
            EntryError: an id is not text.
            StoreError: the vault cannot be read.
        """
        wanted_ids = ids_of([ids] if isinstance(ids, str) else ids)
        entries = {entry.id: entry for entry in self.load(wanted_ids)}
        return [entries.get(i) for i in wanted_ids]

    def ids_beginning(self, text: str, *, limit: int = 20) -> list[str]:
        """Return the ids that begin with a text, in order: the completions of a shortened id.

        Args:
            text: the prefix; case-sensitive.
            limit: maximum number of ids, at least 1.

        Raises:
            EntryError: an argument is malformed.
            StoreError: the vault cannot be read.
        """
        prefix, most = utf8(text, "text"), whole(limit, "limit", EntryError, 1)
        with self._store.reading() as read:
            # No store supports larger limits.
            return read.tables.entries.ids_beginning(read, prefix, min(most, sys.maxsize))

    def links(self, id: str) -> list[Link]:
        """Return the links from and to an entry.

        Raises:
            StoreError: the vault cannot be read.
        """
        with self._store.reading() as read:
            return read.tables.links.links_of(read, utf8(id, "id"))

    def stats(self) -> Stats:
        """Return counts of the vault's contents.

        Raises:
            StoreError: the vault cannot be read.
        """
        from septet.model.stats import Stats

        with self._store.reading() as read:
            return Stats(
                path=self._store.path,
                entries=read.tables.entries.count(read),
                kinds=read.tables.entries.kinds(read),
                links=read.tables.links.count(read),
                feedback=read.tables.feedback.counts(read),
                spaces=read.tables.vectors.spaces(read),
                generation=read.generation,
                size_bytes=self._store.size_bytes(),
                notes=() if self._store.place is None else (self._store.place,),
            )

    def __bool__(self) -> bool:
        # An empty vault must be true: `vault or Vault(...)` must not open another one.
        return True

    def __len__(self) -> int:
        with self._store.reading() as read:
            return read.tables.entries.count(read)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(self.load([id]))
