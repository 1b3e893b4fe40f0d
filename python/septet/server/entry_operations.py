"""Operations as HTTP alone names them: entries listed by GET and deleted by DELETE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from septet.errors import EntryNotFound
from septet.service import answers
from septet.service.operations import OPERATIONS, Operation
from septet.service.requests import MOST_RESULTS, Id, Request, Tier
from septet.service.running import Serving, named

__all__ = ["HTTP_OPERATIONS"]

_FILTERS = ("kind", "type", "domain", "severity", "source")


class ListRequest(Request):
    """A page of entries, by simple filters; /v1/list takes any."""

    kind: str | None = None
    type: str | None = None
    domain: str | None = None
    severity: str | None = None
    source: str | None = None
    tag: str | None = None
    order_by: str = "created_at"
    direction: Literal["asc", "desc"] = "asc"
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 100
    after: Annotated[str | None, Field(description="`next` of the page before.")] = None


class DeleteOneRequest(Request):
    """One entry to delete."""

    id: Id
    tier: Tier = None


def _listed(at: Serving, asked: Any) -> dict[str, Any]:
    where = {name: value for name in _FILTERS if (value := getattr(asked, name)) is not None}
    if asked.tag is not None:
        where["tags"] = asked.tag
    order = (asked.order_by, asked.direction)
    return at.blocking.entries(where or None, order_by=order, limit=asked.limit, after=asked.after).to_dict()


def _deleted(at: Serving, asked: Any) -> dict[str, Any]:
    count = at.blocking.delete(asked.id, **named(at.blocking, asked, "id"))
    if not count:
        raise EntryNotFound(f"there is no entry {asked.id!r}")
    return {"count": count}


#: All operations by name: the table, and those of HTTP alone.
HTTP_OPERATIONS: Mapping[str, Operation] = {
    **OPERATIONS,
    "list_entries": Operation(
        name="list_entries",
        summary="List entries, page by page.",
        route=("GET", "/v1/entries"),
        request=ListRequest,
        answer=answers.PageAnswer,
        run=_listed,
    ),
    "delete_entry": Operation(
        name="delete_entry",
        summary="Delete one entry.",
        route=("DELETE", "/v1/entries/{id}"),
        request=DeleteOneRequest,
        answer=answers.CountAnswer,
        run=_deleted,
        effect="changes",
    ),
}
