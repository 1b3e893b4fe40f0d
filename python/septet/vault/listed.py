"""Reading a vault by filter, order and page: entries, counts and facets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from septet.model.entry import Entry
from septet.store.protocol import Store

if TYPE_CHECKING:
    from septet.listing import Listings
    from septet.listing.asked import AskedListing
    from septet.listing.counting import Bucket
    from septet.listing.request import OrderBy
    from septet.listing.shadows import Shadowing
    from septet.model.fields import Time
    from septet.model.pages import Facets, Page
    from septet.ranking.pool import Candidate
    from septet.sqlite.snapshot.arrays import Mask
    from septet.sqlite.tier.tier import LocalTier

__all__ = ["Listed", "ListedByArrays"]

_Answer = TypeVar("_Answer")


class Listed(ABC):
    """A store whose entries can be listed and counted, at one state in each call."""

    _store: Store

    def entries(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        order_by: OrderBy = "created_at",
        limit: int | None = 100,
        after: str | None = None,
        as_of: Time | None = None,
    ) -> Page:
        """List entries without a query, page by page.

        All live entries are listed, valid or not, memories too. Pages are stable: whatever is written in between, each
        entry whose place in the order did not change comes once. They are found by what stands last on the page before,
        so the last page costs no more than the first.

        Args:
            where: a filter, as for `search`.
            order_by: a field, ``(field, "desc")``, or a list of these: ``id``, ``kind``, ``type``, ``domain``,
                ``severity`` (the most severe last), ``trust`` (the most trusted last), ``source``, ``title``,
                ``parent``, ``path``, ``first_line``, ``last_line``, the four times, or a path into attrs (numbers, then
                texts, then False and True). Texts are compared by their characters. Equal entries come in the order
                of their ids. Those without a value come last, those with a list in attrs too; a ``valid_from`` that is
                not set stands before all, a ``valid_until`` behind all.
            limit: how many entries a page has; None for all, which are in memory together then.
            after: the ``next`` of the page before, with the same ``where``, ``order_by`` and ``as_of``.
            as_of: only entries that are valid at this time.

        Raises:
            QueryError: an argument cannot be understood, or ``after`` belongs to another listing.
            StoreError: the vault cannot be read.
        """
        from septet.listing import Request
        from septet.listing.asked import PageAsked
        from septet.listing.paging import the_page

        request = Request.of(where, as_of).paged(order_by, limit, after)
        return the_page(self._listed(PageAsked(request), None)[0], request)

    def count(self, where: Mapping[str, Any] | None = None, *, as_of: Time | None = None) -> int:
        """Return how many entries pass a filter, valid or not, memories too.

        Args:
            where: a filter, as for `search`; None counts all.
            as_of: only entries that are valid at this time.

        Raises:
            QueryError: an argument cannot be understood.
            StoreError: the vault cannot be read.
        """
        from septet.listing import Request
        from septet.listing.asked import NumberAsked

        return self._listed(NumberAsked(Request.of(where, as_of)), None)[0]

    def facets(
        self,
        field: str,
        where: Mapping[str, Any] | None = None,
        *,
        by: Bucket | None = None,
        limit: int | None = 100,
        as_of: Time | None = None,
    ) -> Facets:
        """Return how many entries have each value of a field, the most frequent value first, equal ones by value.

        Args:
            field: ``domain``, ``type``, ``severity``, ``kind``, ``tags``, ``source``, ``trust``, ``parent``, ``path``,
                a path into attrs (``attrs.team``), or one of the four times. Each value of a list counts, once for an
                entry; objects count as no value, and so do times outside the years 1 to 9999.
            where: count only entries that pass this filter, as for `search`.
            by: gather times by ``"day"`` (the default), ``"month"`` or ``"year"``, UTC: ``2026-11-23``, ``2026-11``,
                ``2026``.
            limit: at most so many values; None for all.
            as_of: only entries that are valid at this time.

        Raises:
            QueryError: an argument cannot be understood.
            StoreError: the vault cannot be read.
        """
        from septet.listing import Request
        from septet.listing.asked import CountsAsked
        from septet.listing.counting import Faceted, facets_of
        from septet.listing.request import limit_of

        what, request, most = Faceted.of(field, by), Request.of(where, as_of), limit_of(limit)
        return facets_of(what, [self._listed(CountsAsked(what, request, most), None)[0]], most)

    def __iter__(self) -> Iterator[Entry]:
        """Go through all entries in the order in which they were first stored, some hundred in memory at a time.

        Each part is read by itself, so the vault may be written meanwhile: what is added is not visited, what is
        deleted or changed is visited as it then is. The first part and the last entry are of one moment.
        """
        for part in self._parts():
            yield from part

    def _parts(self) -> Iterator[list[Entry]]:
        """Yield all entries, some hundred at a time."""
        last, found = self._part(0, None)
        while found:
            yield [candidate.to_entry() for candidate in found]
            last, found = self._part(found[-1].row, last)

    def _part(self, row: int, last: int | None) -> tuple[int, list[Candidate]]:
        """Return some hundred entries behind a row, none where there is no more, and the last row that counts.

        Args:
            last: that row; None for the last one of now, which is of the same moment as the entries: what is written
                anew between the two would be missing.
        """
        with self._store.reading() as read:
            end = read.tables.listings.last_row(read) if last is None else last
            return end, read.tables.listings.run(read, row, end)

    @abstractmethod
    def _listed(
        self, asked: AskedListing[_Answer], hidden: Callable[[Shadowing], Mask | None] | None
    ) -> tuple[_Answer, Shadowing | None]:
        """Return what is asked of the listing; see `septet.federation.member.Member`."""

    def _asked_listings(
        self, asked: AskedListing[_Answer], as_of: float | None, tiers: frozenset[str] | None
    ) -> list[tuple[str, _Answer]]:
        """Return what the listing of each tier answers by its name; a vault is the tier ``vault``."""
        return [("vault", self._listed(asked, None)[0])]

    def _held(self, ids: Sequence[str]) -> frozenset[str]:
        """Return those of the ids that are live."""
        with self._store.reading() as read:
            return read.tables.listings.held(read, ids)


class ListedByArrays(Listed):
    """A file whose entries are listed by arrays that follow it.

    They are made by the first call, in some tenths of a second for 100,000 entries.
    """

    _tier: LocalTier

    @property
    def _listings(self) -> Listings:
        return self._tier.listings.made

    def _listed(
        self, asked: AskedListing[_Answer], hidden: Callable[[Shadowing], Mask | None] | None
    ) -> tuple[_Answer, Shadowing | None]:
        """Return what is asked of the listing; see `septet.federation.member.Member`."""
        with self._listings.reading() as view:
            if hidden is None:
                return asked(view), None
            # Those below are compared with them when this is no longer read.
            view.listing.ids(view.read)
            return asked(view._replace(hidden=hidden(view.listing))), view.listing
