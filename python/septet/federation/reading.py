"""Reading a federation without a query: each entry from the highest tier that has it."""

from __future__ import annotations

from collections.abc import Iterable

from septet.arguments import utf8
from septet.entry import Entry
from septet.federation.parts import Parts
from septet.vault.batch import ids_of

__all__ = ["ReadableTiers"]


class ReadableTiers(Parts):
    """Vaults that are read as one."""

    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries in the order of the ids, each from the highest tier that has it.

        Ids that do not exist are left out, and tiers that fail are skipped.

        Raises:
            EntryError: an id is not text.
            SeptetError: every tier failed; the first error.
        """
        wanted = ids_of([ids] if isinstance(ids, str) else ids)
        found: dict[str, Entry] = {}
        for _, entries in self._each(lambda vault: vault.load([i for i in wanted if i not in found])):
            found.update((e.id, e) for e in entries)
        return [found[i] for i in wanted if i in found]

    def get(self, id: str) -> Entry | None:
        """Return the entry with this id from the highest tier that has it, or None.

        Raises:
            SeptetError: every tier failed; the first error.
        """
        return next(iter(self.load([utf8(id, "id")])), None)
