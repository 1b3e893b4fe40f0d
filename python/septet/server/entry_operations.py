"""Operations of HTTP only: search and list by GET, delete one entry by DELETE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from septet.client import shapes
from septet.client.routes import OperationRoute
from septet.errors import EntryNotFound
from septet.model.fields import Severity
from septet.profiles import BUILTIN
from septet.query.options import Leg, Mode
from septet.service.operations import OPERATIONS, Operation, operation
from septet.service.requests import MOST_RESULTS, IdRequest, Query, WireRequest
from septet.service.running import Serving, arguments_of, set_fields

_FILTERS = ("kind", "type", "domain", "severity", "source")


class ListRequest(WireRequest):
    """A page of entries, by simple filters; /v1/list supports all."""

    kind: str | None = None
    type: str | None = None
    domain: str | None = None
    severity: str | None = None
    source: str | None = None
    tag: str | None = None
    order_by: str = "created_at"
    direction: Literal["asc", "desc"] = "asc"
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 100
    after: Annotated[str | None, Field(description="`next` of the previous page.")] = None


class SearchByAddressRequest(WireRequest):
    """A search by query string; POST /v1/search has every option."""

    q: Query
    limit: Annotated[int | None, Field(ge=1, le=MOST_RESULTS)] = None
    offset: Annotated[int, Field(ge=0)] = 0
    mode: Mode = "full"
    legs: Leg | None = None
    profile: Annotated[Literal[tuple(BUILTIN)] | None, Field(description="A built-in profile.")] = None  # type: ignore[valid-type]
    kind: str | None = None
    type: str | None = None
    domain: str | None = None
    severity: Severity | None = None
    tag: Annotated[str | None, Field(description="Only entries with this tag.")] = None
    min_score: float | None = None
    include_memories: bool = False
    include_expired: bool = False


def _list_entries(served: Serving, request: Any) -> dict[str, Any]:
    where = {name: value for name in _FILTERS if (value := getattr(request, name)) is not None}
    if request.tag is not None:
        where["tags"] = request.tag
    order = (request.order_by, request.direction)
    return served.blocking.entries(where or None, order_by=order, limit=request.limit, after=request.after).to_dict()


def _search(served: Serving, request: Any) -> dict[str, Any]:
    options = set_fields(request, "q", "kind", "type", "severity", "tag")
    if request.kind is not None:
        options["kinds"] = [request.kind]
    fields = {"type": request.type, "severity": request.severity, "tags": request.tag}
    options["where"] = {name: value for name, value in fields.items() if value is not None} or None
    return served.searched.search(request.q, **options).to_dict()


def _delete_entry(served: Serving, request: Any) -> dict[str, Any]:
    count = served.blocking.delete(request.id, **arguments_of(request, "id"))
    if not count:
        raise EntryNotFound(f"there is no entry {request.id!r}")
    return {"count": count}


#: All operations by name: the table, and those of HTTP only.
HTTP_OPERATIONS: Mapping[str, Operation] = {
    **OPERATIONS,
    "search_by_address": operation(
        "search_by_address",
        "Search with the common options, as query parameters.",
        SearchByAddressRequest,
        _search,
        OperationRoute("GET", "/v1/search", shapes.ResultsAnswer),
    ),
    "list_entries": operation(
        "list_entries",
        "List entries, page by page.",
        ListRequest,
        _list_entries,
        OperationRoute("GET", "/v1/entries", shapes.PageAnswer),
    ),
    "delete_entry": operation(
        "delete_entry",
        "Delete one entry.",
        IdRequest,
        _delete_entry,
        OperationRoute("DELETE", "/v1/entries/{id}", shapes.CountAnswer, "changes"),
    ),
}
