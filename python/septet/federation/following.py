"""Automatic sync of the tiers of a federation."""

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


class FollowingTiers(Searchable, SyncedTiers):
    """Tiers that sync their folders automatically."""

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
        """Sync the folders of a tier, the highest unless named, on changes; see `Vault.watch_files`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        return self._synced_one(tier).watch_files(
            debounce_s=debounce_s, session_debounce_s=session_debounce_s, interval_s=interval_s, on_sync=on_sync
        )

    def _look_first(self) -> None:
        """Sync before searches, in tiers with ``sync_on_search``; federations without such tiers pay nothing."""
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
        # Start all syncs before waiting for the first.
        began = time.monotonic()
        requests = [(name, looks, looks.ask(), within(plan, budget)) for name, (looks, budget) in following]
        notes = [
            replace(note, tier=name)
            for name, looks, look, budget in requests
            for note in looks.notes_of(look, max(0.0, began + budget - time.monotonic()))
        ]
        return plan._replace(notes=(*plan.notes, *notes))
