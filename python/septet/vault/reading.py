"""Reading a vault without a query: entries, links and counts."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from septet.errors import EntryError
from septet.inputs.arguments import utf8, whole
from septet.model.entry import Entry
from septet.sqlite.tables.links import Link
from septet.store.protocol import Store
from septet.vault.batch import ids_of
from septet.vault.places import entry_at, is_like_place

if TYPE_CHECKING:
    from septet.model.stats import Stats

__all__ = ["Readable"]


class Readable:
    """A store of entries that can be read, at one state in each call."""

    _store: Store

    def get(self, id: str) -> Entry | None:
        """Return the entry with this id, or None.

        A path below its folder is an id too, ``a.md`` of the first chunk of the file, ``a.md#L10`` of the chunk that
        holds the line. An entry that has the text for its id comes first.

        Raises:
            EntryError: no entry has the id, and several files have the path; the message lists their chunks.
            StoreError: the vault cannot be read.
        """
        if found := self.load([utf8(id, "id")]):
            return found[0]
        return entry_at(self, id) if is_like_place(id) else None

    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries in the order of the ids; ids that do not exist are left out.

        Raises:
            StoreError: the vault cannot be read.
        """
        wanted = ids_of([ids] if isinstance(ids, str) else ids)
        with self._store.reading() as read:
            found = read.tables.entries.find(read, wanted)
        return [found[i].to_entry() for i in wanted if i in found]

    def get_many(self, ids: Iterable[str]) -> list[Entry | None]:
        """Return one entry for each id, None for ids that do not exist, so that positions stay.

        `load` leaves out what does not exist.

        Raises:
            EntryError: an id is not text.
            StoreError: the vault cannot be read.
        """
        wanted = ids_of([ids] if isinstance(ids, str) else ids)
        found = {entry.id: entry for entry in self.load(wanted)}
        return [found.get(i) for i in wanted]

    def ids_beginning(self, text: str, *, limit: int = 20) -> list[str]:
        """Return the ids that begin with a text, in order: what a shortened id may mean.

        Args:
            text: how they begin; capitals count.
            limit: at most so many, 1 or more.

        Raises:
            EntryError: an argument cannot be understood.
            StoreError: the vault cannot be read.
        """
        wanted, most = utf8(text, "text"), whole(limit, "limit", EntryError, 1)
        with self._store.reading() as read:
            # No store counts further.
            return read.tables.entries.ids_beginning(read, wanted, min(most, sys.maxsize))

    def links(self, id: str) -> list[Link]:
        """Return the links from and to an entry.

        Raises:
            StoreError: the vault cannot be read.
        """
        with self._store.reading() as read:
            return read.tables.links.links_of(read, utf8(id, "id"))

    def stats(self) -> Stats:
        """Count what the vault holds.

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
        # An empty vault is a vault: `vault or Vault(...)` must not open another.
        return True

    def __len__(self) -> int:
        with self._store.reading() as read:
            return read.tables.entries.count(read)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(self.load([id]))
