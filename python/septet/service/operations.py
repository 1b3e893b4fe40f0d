"""The table of operations: request, answer, HTTP route, and effect of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from septet.client import shapes
from septet.service import around, health, inspected, requests, running
from septet.service.running import Serving

#: Effect of an operation: it only reads; only adds; changes or removes.
Effect: TypeAlias = Literal["reads", "adds", "changes"]
Verb: TypeAlias = Literal["GET", "POST", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation on a memory over the wire.

    Attributes:
        name: the name of the method of `Vault`.
        summary: a sentence for the documentation.
        route: HTTP verb and path; ``{id}`` is a field of the request. The others are query parameters of a GET or
            DELETE, and in the body otherwise.
        request: the model of the request.
        answer: the typed dict of the answer.
        run: maps the served memory and a validated request to a JSON-ready dict; runs on a thread.
        effect: its effect on the memory.
        repeatable: True if it is idempotent.
        status: the HTTP status of success.
    """

    name: str
    summary: str
    route: tuple[Verb, str]
    request: type[requests.WireRequest]
    answer: Any
    run: Callable[[Serving, Any], dict[str, Any]]
    effect: Effect = "reads"
    repeatable: bool = True
    status: int = 200


def _neighbourhood(served: Serving, request: Any) -> dict[str, Any]:
    """See `septet.service.around.neighbourhood`."""
    arguments = running.arguments_of(served.blocking, request, "limit")
    return around.neighbourhood(served.blocking, limit=request.limit, **arguments)


def _health(served: Serving, request: Any) -> dict[str, Any]:
    """See `septet.service.health.health`."""
    return health.health(served.blocking, folders=request.folders)


def _learned(served: Serving, request: Any) -> dict[str, Any]:
    """See `septet.service.health.learned`."""
    return health.learned(served.blocking, **running.arguments_of(served.blocking, request))


def _slow_searches(served: Serving, request: Any) -> dict[str, Any]:
    """See `septet.service.slow.SlowSearches`."""
    return served.slow.listed()


OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation(
            name="search",
            summary="Find the entries that answer a query, best first.",
            route=("POST", "/v1/search"),
            request=requests.SearchRequest,
            answer=shapes.ResultsAnswer,
            run=running.search,
        ),
        Operation(
            name="search_many",
            summary="Answer many queries in one call, with the results of single searches.",
            route=("POST", "/v1/search_many"),
            request=requests.SearchManyRequest,
            answer=shapes.SearchManyAnswer,
            run=running.search_many,
        ),
        Operation(
            name="recall",
            summary="Find the memories that answer a query.",
            route=("POST", "/v1/recall"),
            request=requests.RecallRequest,
            answer=shapes.ResultsAnswer,
            run=running.recall,
        ),
        Operation(
            name="retrieve",
            summary="Search several corpora: the plan, one ranking, and the quality of the evidence.",
            route=("POST", "/v1/retrieve"),
            request=requests.RetrieveRequest,
            answer=shapes.RetrievalAnswer,
            run=running.retrieve,
        ),
        Operation(
            name="explain",
            summary="Explain the rank of an entry, or its absence.",
            route=("POST", "/v1/explain"),
            request=requests.ExplainRequest,
            answer=shapes.ExplanationAnswer,
            run=running.explain,
        ),
        Operation(
            name="similar",
            summary="Find entries like an entry, a text or a vector.",
            route=("POST", "/v1/similar"),
            request=requests.SimilarRequest,
            answer=shapes.ResultsAnswer,
            run=running.similar,
        ),
        Operation(
            name="weights",
            summary="Return the weights that a search would use now.",
            route=("POST", "/v1/weights"),
            request=requests.WeightsRequest,
            answer=shapes.WeightsAnswer,
            run=running.weights,
        ),
        Operation(
            name="stats",
            summary="Return counts and sizes.",
            route=("GET", "/v1/stats"),
            request=requests.TierRequest,
            answer=shapes.StatsAnswer,
            run=running.stats,
        ),
        Operation(
            name="status",
            summary="Return version, tiers, profiles and counts.",
            route=("GET", "/v1/status"),
            request=requests.NoRequest,
            answer=shapes.StatusAnswer,
            run=running.status,
        ),
        Operation(
            name="get",
            summary="Return one entry.",
            route=("GET", "/v1/entries/{id}"),
            request=requests.IdRequest,
            answer=shapes.EntryAnswer,
            run=running.get,
        ),
        Operation(
            name="load",
            summary="Return full entries by id.",
            route=("POST", "/v1/load"),
            request=requests.LoadRequest,
            answer=shapes.LoadedAnswer,
            run=running.load,
        ),
        Operation(
            name="entries",
            summary="List entries by filter, in any order, page by page.",
            route=("POST", "/v1/list"),
            request=requests.EntriesRequest,
            answer=shapes.PageAnswer,
            run=running.entries,
        ),
        Operation(
            name="ids_beginning",
            summary="Return the ids that begin with a text, to complete a shortened id.",
            route=("POST", "/v1/ids"),
            request=requests.IdsBeginningRequest,
            answer=shapes.IdsAnswer,
            run=running.ids_beginning,
        ),
        Operation(
            name="count",
            summary="Count the entries that pass a filter.",
            route=("POST", "/v1/count"),
            request=requests.CountRequest,
            answer=shapes.CountAnswer,
            run=running.count,
        ),
        Operation(
            name="facets",
            summary="Count entries by the values of a field.",
            route=("POST", "/v1/facets"),
            request=requests.FacetsRequest,
            answer=shapes.FacetsAnswer,
            run=running.facets,
        ),
        Operation(
            name="history",
            summary="Return the earlier versions of an entry.",
            route=("POST", "/v1/history"),
            request=requests.IdRequest,
            answer=shapes.HistoryAnswer,
            run=running.history,
        ),
        Operation(
            name="links",
            summary="Return the links from and to an entry.",
            route=("POST", "/v1/links/of"),
            request=requests.IdRequest,
            answer=shapes.LinksAnswer,
            run=running.links,
        ),
        Operation(
            name="neighbourhood",
            summary="Return the entries around one, and the links between them.",
            route=("POST", "/v1/neighbourhood"),
            request=requests.NeighbourhoodRequest,
            answer=inspected.NeighbourhoodAnswer,
            run=_neighbourhood,
        ),
        Operation(
            name="health",
            summary="Return the health of the memory: sizes, backlogs and faults by tier.",
            route=("POST", "/v1/health"),
            request=requests.HealthRequest,
            answer=inspected.HealthAnswer,
            run=_health,
        ),
        Operation(
            name="learned",
            summary="Return the weights after each day of feedback.",
            route=("POST", "/v1/learned"),
            request=requests.LearnedRequest,
            answer=inspected.LearnedAnswer,
            run=_learned,
        ),
        Operation(
            name="slow_searches",
            summary="Return the slowest searches of the last day.",
            route=("POST", "/v1/slow_searches"),
            request=requests.NoRequest,
            answer=inspected.SlowAnswer,
            run=_slow_searches,
        ),
        Operation(
            name="add",
            summary="Store an entry, or overwrite the one with its id.",
            route=("POST", "/v1/entries"),
            request=requests.AddRequest,
            answer=shapes.IdAnswer,
            run=running.add,
            effect="changes",
            status=201,
        ),
        Operation(
            name="update",
            summary="Change some fields of an entry.",
            route=("PATCH", "/v1/entries/{id}"),
            request=requests.UpdateRequest,
            answer=shapes.EntryAnswer,
            run=running.update,
            effect="changes",
        ),
        Operation(
            name="update_many",
            summary="Change every entry that passes a filter.",
            route=("POST", "/v1/update_many"),
            request=requests.UpdateManyRequest,
            answer=shapes.CountAnswer,
            run=running.update_many,
            effect="changes",
        ),
        Operation(
            name="delete",
            summary="Delete entries by id or by filter.",
            route=("POST", "/v1/delete"),
            request=requests.DeleteRequest,
            answer=shapes.CountAnswer,
            run=running.delete,
            effect="changes",
        ),
        Operation(
            name="remember",
            summary="Store a memory.",
            route=("POST", "/v1/memories"),
            request=requests.RememberRequest,
            answer=shapes.IdAnswer,
            run=running.remember,
            effect="changes",
            status=201,
        ),
        Operation(
            name="forget",
            summary="Delete memories by id or by filter.",
            route=("POST", "/v1/forget"),
            request=requests.ForgetRequest,
            answer=shapes.CountAnswer,
            run=running.forget,
            effect="changes",
        ),
        Operation(
            name="supersede",
            summary="Replace an entry by another; the old one remains as a past version.",
            route=("POST", "/v1/supersede"),
            request=requests.SupersedeRequest,
            answer=shapes.IdAnswer,
            run=running.supersede,
            effect="changes",
        ),
        Operation(
            name="reinstate",
            summary="Undo a supersede.",
            route=("POST", "/v1/reinstate"),
            request=requests.IdRequest,
            answer=shapes.OkAnswer,
            run=running.reinstate,
            effect="changes",
        ),
        Operation(
            name="link",
            summary="Link two entries.",
            route=("POST", "/v1/links"),
            request=requests.LinkRequest,
            answer=shapes.OkAnswer,
            run=running.link,
            effect="adds",
        ),
        Operation(
            name="link_many",
            summary="Link many entries, all or none.",
            route=("POST", "/v1/link_many"),
            request=requests.LinkManyRequest,
            answer=shapes.CountAnswer,
            run=running.link_many,
            effect="adds",
        ),
        Operation(
            name="unlink",
            summary="Remove a link.",
            route=("POST", "/v1/unlink"),
            request=requests.UnlinkRequest,
            answer=shapes.OkAnswer,
            run=running.unlink,
            effect="changes",
        ),
        Operation(
            name="feedback",
            summary="Record feedback on a result.",
            route=("POST", "/v1/feedback"),
            request=requests.FeedbackRequest,
            answer=shapes.OkAnswer,
            run=running.feedback,
            effect="adds",
            repeatable=False,
        ),
    )
}
