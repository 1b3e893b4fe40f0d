"""The operations of a server over HTTP: verb, path, answer and effect of each, for server and client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from septet.client import shapes

#: Effect of an operation: it only reads; only adds; changes or removes.
Effect: TypeAlias = Literal["reads", "adds", "changes"]
Verb: TypeAlias = Literal["GET", "POST", "PATCH", "DELETE"]


class OperationRoute(NamedTuple):
    """An operation over HTTP.

    Attributes:
        verb: the HTTP verb.
        path: the path; ``{id}`` is a field of the request. The others are query parameters of a GET or DELETE, and in
            the body otherwise.
        answer: the type of the answer.
        effect: its effect on the memory. Calls that only read may be retried after a failed connection.
        status: the HTTP status of success; 200 for a suggestion, which stores nothing.
    """

    verb: Verb
    path: str
    answer: Any
    effect: Effect = "reads"
    status: int = 200


#: The operations by name, for those that a client calls.
ROUTES: Mapping[str, OperationRoute] = {
    "search": OperationRoute("POST", "/v1/search", shapes.ResultsAnswer),
    "search_many": OperationRoute("POST", "/v1/search_many", shapes.SearchManyAnswer),
    "recall": OperationRoute("POST", "/v1/recall", shapes.ResultsAnswer),
    "retrieve": OperationRoute("POST", "/v1/retrieve", shapes.RetrievalAnswer),
    "explain": OperationRoute("POST", "/v1/explain", shapes.ExplanationAnswer),
    "similar": OperationRoute("POST", "/v1/similar", shapes.ResultsAnswer),
    "context": OperationRoute("POST", "/v1/context", shapes.ContextAnswer),
    "weights": OperationRoute("POST", "/v1/weights", shapes.WeightsAnswer),
    "stats": OperationRoute("GET", "/v1/stats", shapes.StatsAnswer),
    "status": OperationRoute("GET", "/v1/status", shapes.StatusAnswer),
    "get": OperationRoute("GET", "/v1/entries/{id}", shapes.EntryAnswer),
    "load": OperationRoute("POST", "/v1/load", shapes.LoadedAnswer),
    "ids_beginning": OperationRoute("POST", "/v1/ids", shapes.IdsAnswer),
    "entries": OperationRoute("POST", "/v1/list", shapes.PageAnswer),
    "count": OperationRoute("POST", "/v1/count", shapes.CountAnswer),
    "facets": OperationRoute("POST", "/v1/facets", shapes.FacetsAnswer),
    "history": OperationRoute("POST", "/v1/history", shapes.HistoryAnswer),
    "links": OperationRoute("POST", "/v1/links/of", shapes.LinksAnswer),
    # The answers of a tier depend on the call: see `septet.tiers.remote.shapes`.
    "tier": OperationRoute("POST", "/v1/tier", None),
    "add": OperationRoute("POST", "/v1/entries", shapes.AddedAnswer, "changes", 201),
    "bulk": OperationRoute("POST", "/v1/bulk", shapes.StoredAnswer, "changes"),
    "update": OperationRoute("PATCH", "/v1/entries/{id}", shapes.EntryAnswer, "changes"),
    "update_many": OperationRoute("POST", "/v1/update_many", shapes.CountAnswer, "changes"),
    "delete": OperationRoute("POST", "/v1/delete", shapes.CountAnswer, "changes"),
    "remember": OperationRoute("POST", "/v1/memories", shapes.AddedAnswer, "changes", 201),
    "forget": OperationRoute("POST", "/v1/forget", shapes.CountAnswer, "changes"),
    "supersede": OperationRoute("POST", "/v1/supersede", shapes.IdAnswer, "changes"),
    "reinstate": OperationRoute("POST", "/v1/reinstate", shapes.OkAnswer, "changes"),
    "link": OperationRoute("POST", "/v1/links", shapes.OkAnswer, "adds"),
    "link_many": OperationRoute("POST", "/v1/link_many", shapes.CountAnswer, "adds"),
    "unlink": OperationRoute("POST", "/v1/unlink", shapes.OkAnswer, "changes"),
    "feedback": OperationRoute("POST", "/v1/feedback", shapes.OkAnswer, "adds"),
}
