"""The table of operations: request, answer, HTTP route, and effect of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from septet.client import shapes
from septet.client.routes import ROUTES, Effect, OperationRoute, Verb
from septet.service import inspected, requests, running, sessions
from septet.service.running import Serving
from septet.service.slow import SlowAnswer
from septet.vault import Vault


@dataclass(frozen=True, slots=True)
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
        status: the HTTP status of success; 200 for a suggestion, which stores nothing.
    """

    name: str
    summary: str
    route: tuple[Verb, str]
    request: type[requests.WireRequest]
    answer: Any
    run: Callable[[Serving, Any], dict[str, Any]]
    effect: Effect
    repeatable: bool
    status: int


def operation(
    name: str,
    summary: str,
    request: type[requests.WireRequest] | None = None,
    run: Callable[[Serving, Any], dict[str, Any]] | None = None,
    route: OperationRoute | None = None,
    *,
    repeatable: bool = True,
) -> Operation:
    """Return an operation; without ``run``, it calls the method of the vault with its name.

    Without a ``request``, that has the parameters of the method.
    """
    verb, path, answer, effect, status = ROUTES[name] if route is None else route
    request = request or requests.request_of(f"{_camel(name)}Request", summary, getattr(Vault, name))
    run = run or running.method(name, answer)
    return Operation(name, summary, (verb, path), request, answer, run, effect, repeatable, status)


def _camel(name: str) -> str:
    return name.replace("_", " ").title().replace(" ", "")


def _function(function: Callable[..., dict[str, Any]]) -> Callable[[Serving, Any], dict[str, Any]]:
    """Return the `Operation.run` of a function of the memory and the fields of a request."""
    return lambda served, request: function(served.blocking, **running.arguments_of(request))


def _learned(served: Serving, request: Any) -> dict[str, Any]:
    """See `septet.service.inspected.learned`."""
    return inspected.learned(served.blocking, tier=request.tier, **running.arguments_of(request))


def _slow_searches(served: Serving, request: Any) -> dict[str, Any]:
    """See `septet.service.slow.SlowSearches`."""
    return served.slow.listed()


_ROWS: Mapping[str, Operation] = {
    row.name: row
    for row in (
        operation(
            "search", "Find the entries that answer a query, best first.", requests.SearchRequest, running.search
        ),
        operation(
            "search_many",
            "Answer many queries in one call, with the results of single searches.",
            requests.SearchManyRequest,
        ),
        operation("recall", "Find the memories that answer a query.", requests.RecallRequest),
        operation(
            "retrieve",
            "Search several corpora: the plan, one ranking, and the quality of the evidence.",
            requests.RetrieveRequest,
            running.retrieve,
        ),
        operation("explain", "Explain the rank of an entry, or its absence.", requests.ExplainRequest),
        operation("similar", "Find entries like an entry, a text or a vector."),
        operation(
            "context",
            "Return what belongs into a prompt for a query, with the reason for each entry.",
            requests.ContextRequest,
        ),
        operation("weights", "Return the weights that a search would use now.", requests.WeightsRequest),
        operation("stats", "Return counts and sizes.", requests.TierRequest, running.stats),
        operation("status", "Return version, tiers, profiles and counts.", requests.NoRequest, running.status),
        operation("get", "Return one entry.", requests.IdRequest, running.get),
        operation("load", "Return full entries by id.", requests.LoadRequest, running.load),
        operation("entries", "List entries by filter, in any order, page by page.", requests.EntriesRequest),
        operation(
            "ids_beginning",
            "Return the ids that begin with a text, to complete a shortened id.",
            requests.IdsBeginningRequest,
            running.method("_ids_beginning", shapes.IdsAnswer),
        ),
        operation("count", "Count the entries that pass a filter."),
        operation("facets", "Count entries by the values of a field.", requests.FacetsRequest),
        operation("history", "Return the earlier versions of an entry.", requests.IdRequest),
        operation("links", "Return the links from and to an entry.", requests.IdRequest),
        operation(
            "neighbourhood",
            "Return the entries around one, and the links between them.",
            requests.NeighbourhoodRequest,
            _function(inspected.neighbourhood),
            OperationRoute("POST", "/v1/neighbourhood", inspected.NeighbourhoodAnswer),
        ),
        operation(
            "health",
            "Return the health of the memory: sizes, backlogs and faults by tier.",
            requests.HealthRequest,
            _function(inspected.health),
            OperationRoute("POST", "/v1/health", inspected.HealthAnswer),
        ),
        operation(
            "learned",
            "Return the weights after each day of feedback.",
            requests.LearnedRequest,
            _learned,
            OperationRoute("POST", "/v1/learned", inspected.LearnedAnswer),
        ),
        operation(
            "slow_searches",
            "Return the slowest searches of the last day.",
            requests.NoRequest,
            _slow_searches,
            OperationRoute("POST", "/v1/slow_searches", SlowAnswer),
        ),
        operation(
            "sessions",
            "Return what hooks printed to sessions of agents from the served vault.",
            requests.SessionsRequest,
            _function(sessions.sessions),
            OperationRoute("POST", "/v1/sessions", sessions.SessionsAnswer),
        ),
        operation("add", "Store an entry, or overwrite the one with its id.", requests.AddRequest),
        operation("update", "Change some fields of an entry."),
        operation("update_many", "Change every entry that passes a filter."),
        operation("delete", "Delete entries by id or by filter.", requests.DeleteRequest),
        operation("remember", "Store a memory.", requests.RememberRequest),
        operation("forget", "Delete memories by id or by filter.", requests.ForgetRequest),
        operation(
            "supersede",
            "Replace an entry by another; the old one remains as a past version.",
            requests.SupersedeRequest,
        ),
        operation("reinstate", "Undo a supersede.", requests.IdRequest),
        operation("link", "Link two entries.", requests.LinkRequest),
        operation("link_many", "Link many entries, all or none.", requests.LinkManyRequest, running.link_many),
        operation("unlink", "Remove a link.", requests.UnlinkRequest),
        operation("feedback", "Record feedback on a result.", requests.FeedbackRequest, repeatable=False),
    )
}

#: The operations by name. A route without a row here is the method of its name, described by its docstring.
OPERATIONS: Mapping[str, Operation] = {
    **_ROWS,
    **{
        name: operation(name, str(inspect.getdoc(getattr(Vault, name))).partition("\n")[0])
        for name in ROUTES
        if name not in {"bulk", "tier", *_ROWS}
    },
}
