"""A tier over a vault on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.tiers.postgres.session import PostgresSession
from septet.tiers.postgres.spaces import Remembered
from septet.tiers.postgres.view import PostgresView, asking_of

if TYPE_CHECKING:
    from septet.query.plan import Plan
    from septet.storage.postgres.store import PostgresStore

__all__ = ["PostgresTier"]


class PostgresTier(NamedTuple):
    """A vault on a server with a name and a priority.

    Attributes:
        remembered: what searches leave for later ones.
        timeout_s: how long the server may keep a search waiting in all; None for the store's own bounds.
    """

    name: str
    priority: float
    store: PostgresStore
    remembered: Remembered
    timeout_s: float | None = None

    @property
    def crosses_threads(self) -> bool:
        """Whether a session may be used by one thread after another."""
        return True

    def open(self, plans: Sequence[Plan], place: int) -> PostgresSession:
        """Begin a search (see `septet.tiers.protocol.Tier`)."""
        plans = [plan.of_tier(self.name) if plan.embeddings else plan for plan in plans]
        asking = None if plans[0].begins_words else asking_of(self.store.vault, plans, self.remembered)
        transaction = self.store.begin_reading(
            self.timeout_s,
            () if asking is None else asking.statements,
            # How many pass filters is for the planner to guess.
            plan_once=not plans[0].filters,
        )
        try:
            with transaction.asking():
                view = PostgresView(plans, transaction, self.remembered, asking)
                return PostgresSession(self.name, self.store, place, view)
        except BaseException:
            transaction.end()
            raise
