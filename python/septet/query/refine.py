"""What few searches ask for: a deadline, and some tiers only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from septet.arguments import listed, real, utf8
from septet.errors import QueryError
from septet.query.deadline import deadline_of

__all__ = ["refinements"]

#: The shortest and the longest time for a search, in seconds.
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.01, 86_400.0
MOST_TIERS = 10_000


def refinements(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a plan that few searches set, checked.

    Raises:
        QueryError: an option that cannot be understood.
    """
    fields: dict[str, Any] = {}
    if (timeout := options["timeout_s"]) is not None:
        fields["deadline"] = deadline_of(real(timeout, "timeout_s", QueryError, LEAST_TIMEOUT_S, MOST_TIMEOUT_S))
    if options["tiers"] is not None:
        fields["tiers"] = _tiers(options["tiers"])
    return fields


def _tiers(tiers: object) -> frozenset[str]:
    wanted = "the names of tiers"
    given = [tiers] if isinstance(tiers, str) else listed(tiers, "tiers", QueryError, wanted, MOST_TIERS, of=str)
    if not given:
        raise QueryError("tiers names none: leave it out to search all")
    return frozenset(utf8(name, "a name in tiers", QueryError) for name in given)
