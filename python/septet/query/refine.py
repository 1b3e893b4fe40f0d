"""Options of few searches: deadline, tiers, facets, diversity, rerank."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from septet.errors import QueryError
from septet.inputs.arguments import called, listed, real, utf8, whole
from septet.model.results import Reranker, Reranking
from septet.query.facets import facets_asked


class Deadline(NamedTuple):
    """A time by `time.monotonic`, and the timeout in seconds that set it."""

    at: float
    timeout_s: float

    @property
    def left_s(self) -> float:
        """Remaining seconds, 0 after the deadline."""
        return max(0.0, self.at - time.monotonic())

    @property
    def passed(self) -> bool:
        """True after the deadline."""
        return time.monotonic() >= self.at


def deadline_of(timeout_s: float) -> Deadline:
    """Return the deadline ``timeout_s`` seconds from now."""
    return Deadline(time.monotonic() + timeout_s, timeout_s)


#: Minimum and maximum timeout of a search or a reranker, in seconds.
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.01, 86_400.0
MOST_TIERS = 10_000
#: Maximum results to rearrange.
MOST_ARRANGED = 1_000


def refinements(options: Mapping[str, Any], limit: int, candidates: int, diversity: float = 0.0) -> dict[str, Any]:
    """Check these options and return the fields of the plan that they set.

    Args:
        limit: limit of the search.
        candidates: candidates per leg without these options.
        diversity: default diversity; ignored with groups and pages, which exclude it.

    Raises:
        QueryError: an invalid option, or a combination of options that exclude each other.
    """
    out: dict[str, Any] = {}
    if options["timeout_s"] is not None:
        timeout_s = real(options["timeout_s"], "timeout_s", QueryError, LEAST_TIMEOUT_S, MOST_TIMEOUT_S)
        out["deadline"] = deadline_of(timeout_s)
    if options["tiers"] is not None:
        out["tiers"] = _tiers(options["tiers"])
    if options["facets"] is not None:
        out["facets"] = facets_asked(options["facets"])
    named = [name for name in ("diversity", "rerank") if options[name] is not None]
    if not named and (not diversity or options["group_by"] is not None or options["offset"]):
        return out
    for name, without in (("group_by", None), ("offset", 0)):
        if named and options[name] != without:
            raise QueryError(f"{named[0]} cannot be combined with {name}: omit one of them, or raise the limit")
    out["limit"] = limit
    if options["diversity"] is not None:
        diversity = real(options["diversity"], "diversity", QueryError, 0, 1)
    if options["diversity"] is not None or (diversity and not (options["group_by"] or options["offset"])):
        out["diversity"] = diversity
        out["depth"] = max(limit, min(candidates, MOST_ARRANGED))
    if (rerank := options["rerank"]) is not None:
        function, top, timeout_s = rerank if isinstance(rerank, Reranking) else Reranking(rerank)
        function = called(cast("Reranker", function), "rerank", QueryError)
        top = whole(top, "rerank.top", QueryError, 1, MOST_ARRANGED)
        timeout_s = real(timeout_s, "rerank.timeout_s", QueryError, LEAST_TIMEOUT_S, MOST_TIMEOUT_S)
        out["reranking"] = Reranking(function, top, timeout_s)
        out["depth"], out["candidates"] = max(limit, top), max(candidates, top)
    return out


def _tiers(tiers: object) -> frozenset[str]:
    expected = "the names of tiers"
    names = [tiers] if isinstance(tiers, str) else listed(tiers, "tiers", QueryError, expected, MOST_TIERS, of=str)
    if not names:
        raise QueryError("tiers is empty: omit it to search all tiers")
    return frozenset(utf8(name, "a name in tiers", QueryError) for name in names)
