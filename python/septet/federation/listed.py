"""Reading a federation by filter, order and page: each id once, the copy of the highest tier that has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from septet.errors import SeptetError
from septet.federation.member import TierMembers
from septet.model.entry import Entry

if TYPE_CHECKING:
    from septet.federation.member import Member
    from septet.listing.queries import ListingQuery, Shadowing, Shadows
    from septet.listing.request import OrderBy
    from septet.model.arrays import Mask
    from septet.model.fields import Time
    from septet.model.pages import Facets, Page
    from septet.query.facets import Bucket

_Answer = TypeVar("_Answer")


class ListedTiers(TierMembers):
    """Vaults whose entries are listed and counted as one."""

    _known_shadows: Shadows | None = None

    def entries(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        order_by: OrderBy = "created_at",
        limit: int | None = 100,
        after: str | None = None,
        as_of: Time | None = None,
    ) -> Page:
        """List entries without a query, page by page; see `Vault.entries`.

        Each id is listed once, with the copy of the highest tier that has it; with ``as_of``, of the copies valid then.
        Only that copy is compared with ``where``, not lower ones. Tiers that fail are skipped.

        Args:
            where: as for a vault.
            order_by: as for a vault.
            limit: as for a vault.
            after: as for a vault.
            as_of: as for a vault.

        Raises:
            QueryError: an argument is malformed, or ``after`` belongs to another listing.
            SeptetError: every tier failed; the first error.
        """
        from septet.listing import Request
        from septet.listing.queries import PageQuery, in_order, the_page

        request = Request.of(where, as_of).paged(order_by, limit, after)
        pages = self._listings(request.as_of, PageQuery(request))
        return the_page(in_order([row for part in pages for row in part], request), request)

    def count(self, where: Mapping[str, Any] | None = None, *, as_of: Time | None = None) -> int:
        """Return the number of entries that pass a filter, each id once; see `entries`.

        Args:
            where: as for a vault.
            as_of: as for a vault.

        Raises:
            QueryError: an argument cannot be understood.
            SeptetError: every tier failed; the first error.
        """
        from septet.listing import Request
        from septet.listing.queries import NumberQuery

        request = Request.of(where, as_of)
        return sum(self._listings(request.as_of, NumberQuery(request)))

    def facets(
        self,
        field: str,
        where: Mapping[str, Any] | None = None,
        *,
        by: Bucket | None = None,
        limit: int | None = 100,
        as_of: Time | None = None,
    ) -> Facets:
        """Return the number of entries per value of a field, each id once; see `Vault.facets`.

        Args:
            field: as for a vault.
            where: as for a vault.
            by: as for a vault.
            limit: as for a vault.
            as_of: as for a vault.

        Raises:
            QueryError: an argument cannot be understood.
            SeptetError: every tier failed; the first error.
        """
        from septet.listing import Request
        from septet.listing.queries import CountsQuery, facets_of
        from septet.listing.request import limit_of
        from septet.query.facets import Faceted

        what, request, most = Faceted.of(field, by), Request.of(where, as_of), limit_of(limit)
        # No limit per tier: a value rare in each of several tiers may be frequent in the sum.
        tier_limit = most if len(self._vaults) == 1 else None
        parts = self._listings(request.as_of, CountsQuery(what, request, tier_limit))
        return facets_of(what, parts, most)

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over all entries, each id once, from the highest tier down, some hundred in memory at a time.

        See `Vault.__iter__`; tiers that fail are skipped.

        Raises:
            SeptetError: every tier failed; the first error.
        """
        vaults, failures = self._by_priority(), []
        for place, vault in enumerate(vaults):
            try:
                for part in vault._parts():
                    hidden = _held([entry.id for entry in part], vaults[:place])
                    yield from (entry for entry in part if entry.id not in hidden)
            except SeptetError as fault:
                failures.append(fault)
        if failures and len(failures) == len(vaults):
            raise failures[0]

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return self.count()

    def __contains__(self, id: object) -> bool:
        return any(has for _, has in self._each(lambda vault: id in vault))

    def _listings(self, as_of: float | None, query: ListingQuery[_Answer]) -> list[_Answer]:
        """Query the listings of all tiers, from the highest down.

        Args:
            as_of: copies that are not valid at this time hide no others.
            query: run on each listing without the entries hidden by higher tiers.
        """
        return [answer for _, answer in self._asked_listings(query, as_of, None)]

    def _asked_listings(
        self, query: ListingQuery[_Answer], as_of: float | None, tiers: frozenset[str] | None
    ) -> list[tuple[str, _Answer]]:
        """Return the results with the names of the tiers; ``tiers`` limits the tiers, None for all."""
        from septet.listing.queries import Shadows

        shadows = self._known_shadows = self._known_shadows or Shadows()
        higher: list[Shadowing] = []

        def hidden(listing: Shadowing) -> Mask | None:
            return shadows.hidden(listing, higher, as_of)

        names = {id(vault): name for name, (vault, _) in self._vaults.items() if tiers is None or name in tiers}
        several = hidden if len(names) > 1 else None
        answers: list[tuple[str, _Answer]] = []
        for vault, result in self._each(lambda vault: vault._listed(query, several) if id(vault) in names else None):
            if result is None:
                continue
            answers.append((names[id(vault)], result[0]))
            if result[1] is not None:
                higher.append(result[1])
        return answers


def _held(ids: list[str], vaults: list[Member]) -> set[str]:
    """Return the ids that any of the vaults has; failing vaults are skipped."""
    live: set[str] = set()
    for vault in vaults:
        try:
            live |= vault._held(ids)
        except SeptetError:
            continue
    return live
