"""What is asked of a listing, as values: they are answered where the listing is."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from septet.listing.counting import Counted, counted, number_of
from septet.listing.listing import View
from septet.listing.paging import Placed, placed
from septet.listing.request import Request
from septet.listing.shadows import Mirror
from septet.query.facets import Faceted

__all__ = ["AskedListing", "CountsAsked", "MirrorAsked", "NumberAsked", "PageAsked"]

_Answer = TypeVar("_Answer", covariant=True)


class AskedListing(Protocol[_Answer]):
    """Something that is asked of a listing."""

    def __call__(self, view: View) -> _Answer:
        """Return the answer of a listing while it is read."""


class PageAsked(NamedTuple):
    """The entries of a page, and one more if there are more, in order."""

    request: Request

    def __call__(self, view: View) -> list[Placed]:
        """Return them."""
        return placed(view, self.request)


class NumberAsked(NamedTuple):
    """How many entries pass."""

    request: Request

    def __call__(self, view: View) -> int:
        """Return it."""
        return number_of(view, self.request)


class CountsAsked(NamedTuple):
    """How many of the entries that pass have each value of a field; of most entries, where ``limit`` is not None."""

    what: Faceted
    request: Request
    limit: int | None

    def __call__(self, view: View) -> Counted:
        """Return it."""
        return counted(view, self.what, self.request, self.limit)


class MirrorAsked(NamedTuple):
    """Ids and validity of all entries, for those that are compared with them elsewhere."""

    def __call__(self, view: View) -> Mirror:
        """Return them."""
        listing, times = view.listing, view.listing.times
        return Mirror(
            str(listing.state), listing.rows, listing.ids(view.read), times["valid_from"], times["valid_until"]
        )
