"""Facets: value counts summed over the tiers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from septet.listing.counting import facets_of
from septet.model.pages import Facets
from septet.notes import Note
from septet.search.federated import FederatedSearch

#: Maximum values per field.
MOST_VALUES = 100


def facets_of_all(search: FederatedSearch) -> list[Mapping[str, Facets]]:
    """Return the facets of each query by field, summed over the answering tiers."""
    fields, deadline = search.plan.facets, search.plan.deadline
    if deadline is not None and deadline.passed:
        search.add_note(Note("deadline", "timeout_s ran out: facets were not counted", "raise timeout_s"))
        return [{} for _ in search.plans]
    facets: list[Mapping[str, Facets]] = []
    for query in range(len(search.plans)):
        parts = [
            search.or_degrade(answer.place, partial(answer.session.facets, query, fields), ())
            for answer in search.answers
        ]
        answered = [part for part in parts if part]
        facets.append(
            {
                field.field: facets_of(field, [part[i] for part in answered], MOST_VALUES)
                for i, field in enumerate(fields)
            }
        )
    return facets
