"""What few searches ask for: a deadline, some tiers only, facets, results unlike each other, a reranker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from septet.errors import QueryError
from septet.inputs.arguments import called, listed, real, utf8, whole
from septet.model.results import Reranker
from septet.query.deadline import deadline_of
from septet.query.facets import facets_asked

__all__ = ["Reranking", "refinements"]

#: The shortest and the longest time for a search or a reranker, in seconds.
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.01, 86_400.0
MOST_TIERS = 10_000
#: At most so many of the best are arranged anew.
MOST_ARRANGED = 1_000


class Reranking(NamedTuple):
    """Who scores the best candidates anew, how many of them, and in how many seconds."""

    reranker: Reranker
    top: int
    timeout_s: float


def refinements(options: Mapping[str, Any], limit: int, candidates: int, diversity: float = 0.0) -> dict[str, Any]:
    """Return the fields of a plan that few searches set, checked.

    Args:
        limit: of the search.
        candidates: how many each leg takes without them.
        diversity: what it is unless the options name it; groups and pages, which it does not go with, do without.

    Raises:
        QueryError: an option that cannot be understood, or does not go together with another.
    """
    out: dict[str, Any] = {}
    if options["timeout_s"] is not None:
        timeout_s = real(options["timeout_s"], "timeout_s", QueryError, LEAST_TIMEOUT_S, MOST_TIMEOUT_S)
        out["deadline"] = deadline_of(timeout_s)
    if options["tiers"] is not None:
        out["tiers"] = _tiers(options["tiers"])
    if options["facets"] is not None:
        out["facets"] = facets_asked(options["facets"])
    given = [name for name in ("diversity", "reranker") if options[name] is not None]
    if not given and (not diversity or options["group_by"] is not None or options["offset"]):
        return out
    for name, without in (("group_by", None), ("offset", 0)):
        if given and options[name] != without:
            raise QueryError(f"{given[0]} does not go together with {name}: leave one of them out, or raise the limit")
    out["limit"] = limit
    if options["diversity"] is not None:
        diversity = real(options["diversity"], "diversity", QueryError, 0, 1)
    if options["diversity"] is not None or (diversity and not (options["group_by"] or options["offset"])):
        out["diversity"] = diversity
        out["depth"] = max(limit, min(candidates, MOST_ARRANGED))
    if options["reranker"] is not None:
        reranker = called(options["reranker"], "reranker", QueryError)
        top = whole(options["rerank_top"], "rerank_top", QueryError, 1, MOST_ARRANGED)
        timeout_s = real(options["rerank_timeout_s"], "rerank_timeout_s", QueryError, LEAST_TIMEOUT_S, MOST_TIMEOUT_S)
        out["reranking"] = Reranking(reranker, top, timeout_s)
        out["depth"], out["candidates"] = max(limit, top), max(candidates, top)
    return out


def _tiers(tiers: object) -> frozenset[str]:
    wanted = "the names of tiers"
    given = [tiers] if isinstance(tiers, str) else listed(tiers, "tiers", QueryError, wanted, MOST_TIERS, of=str)
    if not given:
        raise QueryError("tiers names none: leave it out to search all")
    return frozenset(utf8(name, "a name in tiers", QueryError) for name in given)
