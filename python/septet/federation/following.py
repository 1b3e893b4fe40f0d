"""A federation whose vaults follow folders of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from septet.federation.synced import SyncedTiers
from septet.query.plan import Plan
from septet.search.searchable import Searchable
from septet.vault.following import within

if TYPE_CHECKING:
    from septet.files.report import SyncReport
    from septet.files.status import SyncStatus
    from septet.files.watching import Watcher

__all__ = ["FollowingTiers"]


class FollowingTiers(Searchable, SyncedTiers):
    """Vaults of which each keeps itself in step with its folders."""

    def sync_status(self, *, tier: str | None = None) -> SyncStatus:
        """Compare the folders of a tier, the highest unless named, with the disk; see `Vault.sync_status`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        return self._synced_one(tier).sync_status()

    def watch_files(
        self,
        *,
        debounce_s: float = 1.5,
        session_debounce_s: float = 5.0,
        interval_s: float | None = 60.0,
        on_sync: Callable[[SyncReport], object] | None = None,
        tier: str | None = None,
    ) -> Watcher:
        """Keep a tier, the highest unless named, in step with its folders; see `Vault.watch_files`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        return self._synced_one(tier).watch_files(
            debounce_s=debounce_s, session_debounce_s=session_debounce_s, interval_s=interval_s, on_sync=on_sync
        )

    def _look_first(self) -> None:
        """Have searches look at the disks of those tiers that do so alone; without such tiers it costs nothing."""
        self.__dict__["_plan"] = self._plan_in_step

    def _plan_in_step(self, query: str, options: Mapping[str, Any], method: str = "search") -> Plan:
        plan = Searchable._plan(self, query, options, method)
        following = [
            (name, vault._on_search)
            for name, vault in self._here().items()
            if vault._on_search is not None and (plan.tiers is None or name in plan.tiers)
        ]
        if not following:
            return plan
        # All look at their disks at the same time.
        began = time.monotonic()
        asked = [(name, looks, looks.ask(), within(plan, budget)) for name, (looks, budget) in following]
        notes = [
            replace(note, tier=name)
            for name, looks, look, budget in asked
            for note in looks.notes_of(look, max(0.0, began + budget - time.monotonic()))
        ]
        return plan._replace(notes=(*plan.notes, *notes))
