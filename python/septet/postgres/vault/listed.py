"""Reading a vault on PostgreSQL by filter, order and page: the server lists and counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from septet.vault.listed import Listed

if TYPE_CHECKING:
    from septet.listing.asked import AskedListing
    from septet.listing.shadows import Shadowing
    from septet.model.arrays import Mask
    from septet.postgres.store.store import PostgresStore
    from septet.postgres.tier.listing import PostgresListings

_Answer = TypeVar("_Answer")


class PostgresListed(Listed):
    """A vault on PostgreSQL whose entries can be listed and counted, at one state in each call."""

    @cached_property
    def _answers(self) -> PostgresListings:
        from septet.postgres.tier.listing import PostgresListings

        return PostgresListings(cast("PostgresStore", self._store))

    def _listed(
        self, query: AskedListing[_Answer], hidden: Callable[[Shadowing], Mask | None] | None
    ) -> tuple[_Answer, Shadowing | None]:
        """Run a query on the listing; see `septet.federation.member.Member`."""
        return self._answers.answer(query, hidden)
