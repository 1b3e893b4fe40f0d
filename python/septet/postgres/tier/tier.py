"""A tier over a vault on PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from septet.postgres.store.again import again
from septet.postgres.tier.session import PostgresSession
from septet.postgres.tier.spaces import SpaceCache
from septet.postgres.tier.view import PostgresView, asking_of

if TYPE_CHECKING:
    from septet.postgres.store.store import PostgresStore
    from septet.query.plan import Plan


class PostgresTier(NamedTuple):
    """A vault on a server with a name and a priority.

    Attributes:
        remembered: what searches leave for later ones.
        timeout_s: how long the server may keep a search waiting in all; None for the store's own bounds.
    """

    name: str
    priority: float
    store: PostgresStore
    remembered: SpaceCache
    timeout_s: float | None = None

    @property
    def crosses_threads(self) -> bool:
        """True: a session may be used by one thread after another."""
        return True

    def open(self, plans: Sequence[Plan], place: int) -> PostgresSession:
        """Begin a search (see `septet.tiers.protocol.Tier`)."""
        plans = [plan.of_tier(self.name) if plan.embeddings else plan for plan in plans]
        until = None if self.timeout_s is None else time.monotonic() + self.timeout_s
        look = partial(self._look, plans, until)
        # A standby breaks a transaction off that keeps it from replaying what the primary removed.
        return PostgresSession(self.name, self.store, place, again(look)(), look)

    def _look(self, plans: Sequence[Plan], until: float | None) -> PostgresView:
        """Begin a transaction, which the server may keep waiting until a time by `time.monotonic`."""
        asking = None if plans[0].begins_words else asking_of(self.store.vault, plans, self.remembered)
        transaction = self.store.begin_reading(
            None if until is None else max(0.0, until - time.monotonic()),
            () if asking is None else asking.statements,
            # The planner estimates how many entries pass filters.
            plan_once=not plans[0].filters,
        )
        try:
            with transaction.asking():
                return PostgresView(plans, transaction, self.remembered, asking)
        except BaseException:
            transaction.end()
            raise
