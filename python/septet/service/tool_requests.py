"""Arguments of agent tools: a subset of those of the operations, described for models."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import Field

from septet.model.fields import Action, Severity
from septet.query.options import Mode
from septet.service.requests import Id, Tier, WireRequest, WireTime

#: More results fill the context of a model without helping it.
MOST_RESULTS = 50

_Query: TypeAlias = Annotated[str, Field(description="A question or keywords. No character is special.")]
_Ids: TypeAlias = Annotated[list[Id], Field(min_length=1, max_length=MOST_RESULTS, description="Ids of entries.")]
_Where: TypeAlias = Annotated[
    dict[str, Any] | None,
    Field(
        description='A filter, such as {"tags": "http", "attrs.team": {"$in": ["core"]}, '
        '"updated_at": {"$gte": 1760000000}}. Operators: $eq $ne $in $nin $all $gt $gte $lt $lte $exists $contains '
        "$and $or $nor $not."
    ),
]
_SameWhere: TypeAlias = Annotated[dict[str, Any] | None, Field(description="As in the search.")]
_Domain: TypeAlias = Annotated[str | None, Field(description="Only entries of this domain.")]
_Kinds: TypeAlias = Annotated[
    list[str] | None, Field(description="Only these kinds, such as entry, chunk (of files), memory.")
]
_Tiers: TypeAlias = Annotated[list[str] | None, Field(description="Only these tiers; status names them.")]
_Memories: TypeAlias = Annotated[bool, Field(description="Also search memories.")]
_Time: TypeAlias = Annotated[
    WireTime | None, Field(description="Epoch seconds, or RFC 3339 with a zone, such as 2026-01-31T12:00:00Z.")
]


class SearchTool(WireRequest):
    """A search."""

    query: _Query
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS, description="Maximum number of results.")] = 10
    mode: Annotated[Mode, Field(description="scan: titles and snippets; full: entire entries and signals.")] = "scan"
    where: _Where = None
    domain: _Domain = None
    kinds: _Kinds = None
    tags: Annotated[list[str] | None, Field(description="Rank entries with these tags higher.")] = None
    tiers: _Tiers = None
    include_memories: _Memories = True
    offset: Annotated[int, Field(ge=0, description="Number of results to skip, for the next page.")] = 0
    max_tokens: Annotated[int | None, Field(ge=1, description="A budget for the texts of the results.")] = None


class ExplainTool(WireRequest):
    """An entry of a search to explain."""

    query: _Query
    id: Id
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS, description="As in the search.")] = 10
    where: _SameWhere = None
    domain: _Domain = None
    kinds: _Kinds = None
    tags: Annotated[list[str] | None, Field(description="As in the search.")] = None
    tiers: _Tiers = None
    include_memories: _Memories = True


class LoadTool(WireRequest):
    """Whole entries by id."""

    ids: _Ids


class RememberTool(WireRequest):
    """A memory to store."""

    text: Annotated[str, Field(min_length=1, description="What to remember, in one sentence or a few.")]
    details: Annotated[str, Field(description="Further details.")] = ""
    topics: Annotated[list[str] | None, Field(description="A few words for later searches.")] = None
    domain: Annotated[str | None, Field(description="The field it belongs to.")] = None
    source: Annotated[str | None, Field(description="Its source, such as a path or a URL.")] = None
    valid_until: _Time = None
    tier: Tier = None


class UpdateEntryTool(WireRequest):
    """Fields of an entry to change; omitted ones stay."""

    id: Id
    title: str | None = None
    description: Annotated[str | None, Field(description="The text; replaces the old one.")] = None
    context: Annotated[str | None, Field(description="The situation in which it applies.")] = None
    tags: Annotated[list[str] | None, Field(description="All tags; replaces the old ones.")] = None
    domain: str | None = None
    type: str | None = None
    severity: Severity | None = None
    merge_attrs: Annotated[dict[str, Any] | None, Field(description="Attributes to set; null removes one.")] = None
    valid_until: _Time = None
    tier: Tier = None


class ForgetTool(WireRequest):
    """Memories to delete."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=MOST_RESULTS, description="Ids of memories.")]
    tier: Tier = None


class FeedbackTool(WireRequest):
    """Feedback on a result."""

    query: Annotated[str, Field(description="The query of the search, unchanged.")]
    id: Id
    action: Annotated[
        Action,
        Field(description="accepted: it helped; modified: with changes; dismissed: off topic; failed: it was wrong."),
    ]
    tier: Tier = None


class StatusTool(WireRequest):
    """No arguments."""


class MemorySearchTool(WireRequest):
    """A search of all corpora."""

    query: _Query
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS, description="Maximum number of results.")] = 10


class KnowledgeQueryTool(MemorySearchTool):
    """A search of the knowledge graph."""

    limit: Annotated[int, Field(ge=1, le=100, description="Maximum number of results.")] = 10
