"""Queries of a listing, as values: they run where the listing is, locally or on a server."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from septet.listing.counting import Counted, counted, number_of
from septet.listing.listing import View
from septet.listing.paging import Placed, placed
from septet.listing.request import Request
from septet.listing.shadows import ListingMirror
from septet.query.facets import Faceted

_Answer = TypeVar("_Answer", covariant=True)


class AskedListing(Protocol[_Answer]):
    """A query of a listing."""

    def __call__(self, view: View) -> _Answer:
        """Run the query."""


class PageAsked(NamedTuple):
    """The entries of a page in order, plus the first of the next page."""

    request: Request

    def __call__(self, view: View) -> list[Placed]:
        """Run the query."""
        return placed(view, self.request)


class NumberAsked(NamedTuple):
    """The number of entries that match."""

    request: Request

    def __call__(self, view: View) -> int:
        """Run the query."""
        return number_of(view, self.request)


class CountsAsked(NamedTuple):
    """The number of matching entries per value of a field, of the ``limit`` most frequent values; None for all."""

    what: Faceted
    request: Request
    limit: int | None

    def __call__(self, view: View) -> Counted:
        """Run the query."""
        return counted(view, self.what, self.request, self.limit)


class MirrorAsked(NamedTuple):
    """Ids and validity of all entries, to compare with listings elsewhere."""

    def __call__(self, view: View) -> ListingMirror:
        """Run the query."""
        listing, times = view.listing, view.listing.times
        return ListingMirror(
            str(listing.state), listing.rows, listing.ids(view.read), times["valid_from"], times["valid_until"]
        )
