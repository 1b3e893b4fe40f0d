"""Reading a federation by filter, order and page: each id once, the copy of the highest tier that has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from septet.errors import SeptetError
from septet.federation.parts import Parts
from septet.model.entry import Entry

if TYPE_CHECKING:
    from septet.federation.member import Member
    from septet.listing.asked import AskedListing
    from septet.listing.counting import Bucket
    from septet.listing.request import OrderBy
    from septet.listing.shadows import Shadowing, Shadows
    from septet.model.fields import Time
    from septet.model.pages import Facets, Page
    from septet.sqlite.snapshot.arrays import Mask

__all__ = ["ListedTiers"]

_Answer = TypeVar("_Answer")


class ListedTiers(Parts):
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
        tier: str | None = None,
    ) -> Page:
        """List entries without a query, page by page; see `Vault.entries`.

        Each id comes once, with the copy of the highest tier that has it; with ``as_of``, of those that are valid then.
        Whether that copy passes ``where`` decides, not whether a lower one does. Tiers that fail are skipped.

        Args:
            where: as for a vault.
            order_by: as for a vault.
            limit: as for a vault.
            after: as for a vault.
            as_of: as for a vault.
            tier: only this tier; None for all.

        Raises:
            QueryError: an argument cannot be understood, or ``after`` belongs to another listing.
            TierError: there is no such tier.
            SeptetError: every tier failed; the first error.
        """
        from septet.listing import Request
        from septet.listing.asked import PageAsked
        from septet.listing.paging import in_order, the_page

        request = Request.of(where, as_of).paged(order_by, limit, after)
        found = self._listings(tier, request.as_of, PageAsked(request))
        return the_page(in_order([one for part in found for one in part], request), request)

    def count(
        self, where: Mapping[str, Any] | None = None, *, as_of: Time | None = None, tier: str | None = None
    ) -> int:
        """Return how many entries pass a filter, each id once; see `entries`.

        Args:
            where: as for a vault.
            as_of: as for a vault.
            tier: only this tier; None for all.

        Raises:
            QueryError: an argument cannot be understood.
            TierError: there is no such tier.
            SeptetError: every tier failed; the first error.
        """
        from septet.listing import Request
        from septet.listing.asked import NumberAsked

        request = Request.of(where, as_of)
        return sum(self._listings(tier, request.as_of, NumberAsked(request)))

    def facets(
        self,
        field: str,
        where: Mapping[str, Any] | None = None,
        *,
        by: Bucket | None = None,
        limit: int | None = 100,
        as_of: Time | None = None,
        tier: str | None = None,
    ) -> Facets:
        """Return how many entries have each value of a field, each id once; see `Vault.facets`.

        Args:
            field: as for a vault.
            where: as for a vault.
            by: as for a vault.
            limit: as for a vault.
            as_of: as for a vault.
            tier: only this tier; None for all.

        Raises:
            QueryError: an argument cannot be understood.
            TierError: there is no such tier.
            SeptetError: every tier failed; the first error.
        """
        from septet.listing import Request
        from septet.listing.asked import CountsAsked
        from septet.listing.counting import Faceted, facets_of
        from septet.listing.request import limit_of

        what, request, most = Faceted.of(field, by), Request.of(where, as_of), limit_of(limit)
        # What is rare in each of several tiers may be frequent in all.
        own = most if tier is not None or len(self._vaults) == 1 else None
        parts = self._listings(tier, request.as_of, CountsAsked(what, request, own))
        return facets_of(what, parts, most)

    def __iter__(self) -> Iterator[Entry]:
        """Go through all entries, each id once, tier by tier from the highest down, some hundred in memory at a time.

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
        # An empty federation is a federation.
        return True

    def __len__(self) -> int:
        return self.count()

    def __contains__(self, id: object) -> bool:
        return any(has for _, has in self._each(lambda vault: id in vault))

    def _listings(self, tier: str | None, as_of: float | None, asked: AskedListing[_Answer]) -> list[_Answer]:
        """Ask the listing of one tier, or those of all from the highest down.

        Args:
            as_of: copies that are not valid then hide no others.
            asked: of each without the entries that are hidden by those of higher tiers.
        """
        if tier is not None:
            return [self._named(tier)._listed(asked, None)[0]]
        return [answer for _, answer in self._asked_listings(asked, as_of, None)]

    def _asked_listings(
        self, asked: AskedListing[_Answer], as_of: float | None, tiers: frozenset[str] | None
    ) -> list[tuple[str, _Answer]]:
        """Do the same with the names of the tiers; ``tiers`` are the only ones that are asked, None for all."""
        from septet.listing.shadows import Shadows

        shadows = self._known_shadows = self._known_shadows or Shadows()
        higher: list[Shadowing] = []

        def hidden(listing: Shadowing) -> Mask | None:
            return shadows.hidden(listing, higher, as_of)

        names = {id(vault): name for name, (vault, _) in self._vaults.items() if tiers is None or name in tiers}
        several = hidden if len(names) > 1 else None
        answers: list[tuple[str, _Answer]] = []
        for vault, found in self._each(lambda vault: vault._listed(asked, several) if id(vault) in names else None):
            if found is None:
                continue
            answers.append((names[id(vault)], found[0]))
            if found[1] is not None:
                higher.append(found[1])
        return answers


def _held(ids: list[str], vaults: list[Member]) -> set[str]:
    """Return those of the ids that one of the vaults has; those that fail have none."""
    found: set[str] = set()
    for vault in vaults:
        try:
            found |= vault._held(ids)
        except SeptetError:
            continue
    return found
