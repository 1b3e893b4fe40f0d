"""What few searches ask for: a deadline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from septet.arguments import real
from septet.errors import QueryError
from septet.query.deadline import deadline_of

__all__ = ["refinements"]

#: The shortest and the longest time for a search, in seconds.
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.01, 86_400.0


def refinements(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a plan that few searches set, checked.

    Raises:
        QueryError: an option that cannot be understood.
    """
    return {
        "deadline": deadline_of(real(options["timeout_s"], "timeout_s", QueryError, LEAST_TIMEOUT_S, MOST_TIMEOUT_S))
    }
