"""Writing to a federation: into the tier that is named, or that has the entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from septet.federation.parts import Parts
from septet.storage.tables import feedback

if TYPE_CHECKING:
    from septet.fields import Action

__all__ = ["WritableTiers"]


class WritableTiers(Parts):
    """Vaults that are written as one."""

    def feedback(self, query: str, id: str, action: Action, *, tier: str | None = None) -> None:
        """Record what became of a result, in the highest tier that has the entry; see `Vault.feedback`.

        Args:
            query: what was searched for.
            id: the entry.
            action: what became of it.
            tier: the tier to record it in; None finds the highest that has the entry.

        Raises:
            EntryNotFound: no tier has the entry.
            EntryError: an unknown action.
            TierError: there is no such tier.
            StoreError: the tier cannot be written, or every tier failed.
        """
        given = feedback.checked(query, id, action, 0.0)
        self._holding(given.entry_id, tier).feedback(given.query, given.entry_id, action)
