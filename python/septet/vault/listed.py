"""Reading a vault by filter, order and page: entries, counts and facets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from septet.model.entry import Entry

if TYPE_CHECKING:
    from septet.listing import Listings
    from septet.listing.queries import ListingQuery, Shadowing
    from septet.listing.request import OrderBy
    from septet.model.arrays import Mask
    from septet.model.fields import Time
    from septet.model.pages import Facets, Page
    from septet.query.facets import Bucket
    from septet.ranking.pool import Candidate
    from septet.sqlite.tier.tier import LocalTier
    from septet.store.protocol import Store

_Answer = TypeVar("_Answer")


class Lists(ABC):
    """Entries of one store, or of several as one, that can be listed and counted; each call reads one state of each."""

    @property
    def _has_tiers(self) -> bool:
        """True if there are several stores."""
        return False

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

        Lists all live entries, valid or not, including memories. A federation lists each id once, with the copy of the
        highest tier that has it; with ``as_of``, of the copies valid then. Only that copy is compared with ``where``,
        not lower ones, and tiers that fail are skipped. Pages are stable: an entry whose position in the order
        does not change is listed once, regardless of writes between pages. A page continues after the last entry of the
        previous one, so the last page costs no more than the first.

        Args:
            where: a filter, as for `search`.
            order_by: a field, ``(field, "desc")``, or a list of these: ``id``, ``kind``, ``type``, ``domain``,
                ``severity`` (the most severe last), ``trust`` (the most trusted last), ``source``, ``title``,
                ``parent``, ``path``, ``first_line``, ``last_line``, the four times, or a path into attrs (numbers, then
                texts, then False and True). Texts are compared by code point. Ties are ordered by id. Entries without
                a value, or with a list in attrs, come last; an unset ``valid_from`` sorts first, an unset
                ``valid_until`` last.
            limit: maximum entries per page; None for all, in memory at once.
            after: ``next`` of the previous page, with the same ``where``, ``order_by`` and ``as_of``.
            as_of: only entries that are valid at this time.

        Raises:
            QueryError: an argument is malformed, or ``after`` belongs to another listing.
            StoreError: the vault cannot be read; of a federation, the first error if all tiers fail.
        """
        from septet.listing import Request
        from septet.listing.queries import PageQuery, in_order, the_page

        request = Request.of(where, as_of).paged(order_by, limit, after)
        pages = self._over_tiers(request.as_of, PageQuery(request))
        rows = pages[0] if len(pages) == 1 else in_order([row for page in pages for row in page], request)
        return the_page(rows, request)

    def count(self, where: Mapping[str, Any] | None = None, *, as_of: Time | None = None) -> int:
        """Return the number of entries that pass a filter, valid or not, including memories; see `entries`.

        Args:
            where: a filter, as for `search`; None counts all.
            as_of: only entries that are valid at this time.

        Raises:
            QueryError: an argument cannot be understood.
            StoreError: the vault cannot be read.
        """
        from septet.listing import Request
        from septet.listing.queries import NumberQuery

        request = Request.of(where, as_of)
        return sum(self._over_tiers(request.as_of, NumberQuery(request)))

    def facets(
        self,
        field: str,
        where: Mapping[str, Any] | None = None,
        *,
        by: Bucket | None = None,
        limit: int | None = 100,
        as_of: Time | None = None,
    ) -> Facets:
        """Return the number of entries per value of a field, the most frequent first, ties by value; see `entries`.

        Args:
            field: ``domain``, ``type``, ``severity``, ``kind``, ``tags``, ``source``, ``trust``, ``parent``, ``path``,
                a path into attrs (``attrs.team``), or one of the four times. Each value of a list counts once per
                entry; objects, and times outside the years 1 to 9999, do not count.
            where: count only entries that pass this filter, as for `search`.
            by: group times by ``"day"`` (the default), ``"month"`` or ``"year"``, UTC: ``2026-11-23``, ``2026-11``,
                ``2026``.
            limit: maximum number of values; None for all.
            as_of: only entries that are valid at this time.

        Raises:
            QueryError: an argument cannot be understood.
            StoreError: the vault cannot be read.
        """
        from septet.listing import Request
        from septet.listing.queries import CountsQuery, facets_of
        from septet.listing.request import limit_of
        from septet.query.facets import Faceted

        what, request, most = Faceted.of(field, by), Request.of(where, as_of), limit_of(limit)
        # No limit per tier: a value rare in each of several tiers may be frequent in the sum.
        query = CountsQuery(what, request, None if self._has_tiers else most)
        return facets_of(what, self._over_tiers(request.as_of, query), most)

    def _over_tiers(self, as_of: float | None, query: ListingQuery[_Answer]) -> list[_Answer]:
        """Query the listings of all tiers, from the highest down; copies that are not valid at ``as_of`` hide none."""
        return [answer for _, answer in self._asked_listings(query, as_of, None)]

    @abstractmethod
    def _asked_listings(
        self, query: ListingQuery[_Answer], as_of: float | None, tiers: frozenset[str] | None
    ) -> list[tuple[str, _Answer]]:
        """Return the results with the names of the tiers; ``tiers`` limits the tiers, None for all."""


class Listed(Lists):
    """A store whose entries can be listed and counted."""

    _store: Store

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over all entries in the order in which they were first stored, some hundred in memory at a time.

        Each part is a read of its own, so the vault may be written in between: added entries are not visited, changes
        and deletions are seen. The first part and the last entry are of one moment.
        """
        for part in self._parts():
            yield from part

    def _parts(self) -> Iterator[list[Entry]]:
        """Yield all entries, some hundred at a time."""
        last, candidates = self._part(0, None)
        while candidates:
            yield [candidate.to_entry() for candidate in candidates]
            last, candidates = self._part(candidates[-1].row, last)

    def _part(self, row: int, last: int | None) -> tuple[int, list[Candidate]]:
        """Return some hundred entries after a row, and the last row to visit; empty at the end.

        Args:
            last: that row; None to read it in the same transaction as the entries, so that no rewritten entry is missed
                between the two.
        """
        with self._store.reading() as read:
            end = read.tables.listings.last_row(read) if last is None else last
            return end, read.tables.listings.run(read, row, end)

    @abstractmethod
    def _listed(
        self, query: ListingQuery[_Answer], hidden: Callable[[Shadowing], Mask | None] | None
    ) -> tuple[_Answer, Shadowing | None]:
        """Run a query on the listing; see `septet.federation.member.Member`."""

    def _asked_listings(
        self, query: ListingQuery[_Answer], as_of: float | None, tiers: frozenset[str] | None
    ) -> list[tuple[str, _Answer]]:
        # A vault is the tier ``vault``.
        return [("vault", self._listed(query, None)[0])]

    def _held(self, ids: Sequence[str]) -> frozenset[str]:
        """Return the ids of live entries."""
        with self._store.reading() as read:
            return read.tables.listings.held(read, ids)


class ListedByArrays(Listed):
    """A file whose entries are listed from arrays in memory.

    The first call builds them, in some tenths of a second for 100,000 entries.
    """

    _tier: LocalTier

    @property
    def _listings(self) -> Listings:
        return self._tier.listings.made

    def _listed(
        self, query: ListingQuery[_Answer], hidden: Callable[[Shadowing], Mask | None] | None
    ) -> tuple[_Answer, Shadowing | None]:
        """Run a query on the listing; see `septet.federation.member.Member`."""
        with self._listings.reading() as view:
            if hidden is None:
                return query(view), None
            # Load the ids now: lower tiers are compared with them after this read has ended.
            view.listing.ids(view.read)
            return query(view._replace(hidden=hidden(view.listing))), view.listing
