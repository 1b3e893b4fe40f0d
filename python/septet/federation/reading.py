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

    def load(self, ids: Iterable[str], *, tier: str | None = None) -> list[Entry]:
        """Return whole entries in the order of the ids, each from the highest tier that has it.

        Ids that do not exist are left out, and tiers that fail are skipped.

        Args:
            ids: what is wanted.
            tier: only this tier; None for all.

        Raises:
            EntryError: an id is not text.
            TierError: there is no such tier.
            SeptetError: every tier failed; the first error.
        """
        wanted = ids_of([ids] if isinstance(ids, str) else ids)
        if tier is not None:
            return self._named(tier).load(wanted)
        found: dict[str, Entry] = {}
        for _, entries in self._each(lambda vault: vault.load([i for i in wanted if i not in found])):
            found.update((e.id, e) for e in entries)
        return [found[i] for i in wanted if i in found]

    def get(self, id: str, *, tier: str | None = None) -> Entry | None:
        """Return the entry with this id from the highest tier that has it, or None.

        Args:
            id: what is wanted.
            tier: only this tier; None for all.

        Raises:
            TierError: there is no such tier.
            SeptetError: every tier failed; the first error.
        """
        return next(iter(self.load([utf8(id, "id")], tier=tier)), None)

    def get_many(self, ids: Iterable[str], *, tier: str | None = None) -> list[Entry | None]:
        """Return one entry for each id, from the highest tier that has it, None for ids that do not exist.

        Args:
            ids: what is wanted.
            tier: only this tier; None for all.

        Raises:
            EntryError: an id is not text.
            TierError: there is no such tier.
            SeptetError: every tier failed; the first error.
        """
        wanted = ids_of([ids] if isinstance(ids, str) else ids)
        found = {entry.id: entry for entry in self.load(wanted, tier=tier)}
        return [found.get(i) for i in wanted]
