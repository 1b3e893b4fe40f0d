"""Listings: entries by filter, order and page, counts and facets, from arrays that follow the store."""

from septet.listing.listing import Listing, Listings, View
from septet.listing.request import Request

__all__ = ["Listing", "Listings", "Request", "View"]
