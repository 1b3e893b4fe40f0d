"""Facets of results: what the tiers counted, added up."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from septet.listing.counting import facets_of
from septet.model.pages import Facets
from septet.model.results import Note
from septet.search.federated import FederatedSearch

__all__ = ["facets_of_all"]

#: So many values each field has.
MOST_VALUES = 100


def facets_of_all(search: FederatedSearch) -> list[Mapping[str, Facets]]:
    """Return the facets of each query by field, over the tiers that answer."""
    asked, deadline = search.plan.facets, search.plan.deadline
    if deadline is not None and deadline.passed:
        search.tell(Note("deadline", "timeout_s was over: facets were not counted", "raise timeout_s"))
        return [{} for _ in search.plans]
    found: list[Mapping[str, Facets]] = []
    for query in range(len(search.plans)):
        parts = [
            search.or_degrade(answer.place, partial(answer.session.facets, query, asked), ())
            for answer in search.answers
        ]
        counted = [part for part in parts if part]
        found.append(
            {what.field: facets_of(what, [part[at] for part in counted], MOST_VALUES) for at, what in enumerate(asked)}
        )
    return found
