"""Requests as pydantic models: MCP and HTTP validate with them, and derive their schemas from them.

The options of a search come from `septet.query.options`. File paths are not accepted: a profile is a built-in name or
an object, since callers must not read files of the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, create_model

from septet.model.fields import Action, OnSimilar, Severity, Trust
from septet.profiles.builtin import BUILTIN
from septet.query.facets import Bucket
from septet.query.options import OPTIONS, GroupBy, Leg, Mode, Syntax
from septet.retrieval.config import RetrievalProfile

#: A time on the wire: epoch seconds, or RFC 3339 with a zone.
WireTime: TypeAlias = float | AwareDatetime
#: The name of a built-in profile, or a profile as an object; never a file of the server.
WireProfile: TypeAlias = Literal[tuple(BUILTIN)] | dict[str, Any]  # type: ignore[valid-type]
Where: TypeAlias = dict[str, Any]
Words: TypeAlias = str | list[str]
WireVector: TypeAlias = Annotated[list[float], Field(min_length=1, max_length=65_536)]
Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=256, description="The id of an entry.")]
Query: TypeAlias = Annotated[str, Field(description="A question or keywords; no character has a special meaning.")]
Tier: TypeAlias = Annotated[str | None, Field(description="The tier to use, if the server has several.")]

#: Maximum number of results per request.
MOST_RESULTS = 1_000
#: Maximum number of ids, queries or entries per request; more need NDJSON, or several requests.
MOST_ITEMS = 1_000

#: Wire type of each search option. Options that are functions are not sent.
_OPTION_TYPES: Mapping[str, Any] = {
    "limit": Annotated[int, Field(ge=1, le=MOST_RESULTS)] | None,
    "offset": Annotated[int, Field(ge=0)],
    "must": Words | None,
    "must_not": Words | None,
    "phrase": Words | None,
    "prefix": bool | Words,
    "syntax": Syntax,
    "typos": bool | None,
    "mode": Mode,
    "domain": str | None,
    "type": str | None,
    "severity": Severity | None,
    "tags": list[str] | None,
    "where": Where | None,
    "profile": WireProfile | None,
    "include_expired": bool,
    "as_of": WireTime | None,
    "min_score": float | None,
    "min_confidence": float | None,
    "max_tokens": int | None,
    "query_vector": WireVector | None,
    "model": str | None,
    "legs": Leg | list[Leg] | None,
    "group_by": GroupBy | None,
    "diversity": float | None,
    "timeout_s": float | None,
    "tiers": Words | None,
    "facets": str | list[str | tuple[str, str]] | None,
    "kinds": Words | None,
    "include_memories": bool,
}
#: Search options that cannot be sent.
LOCAL_OPTIONS = frozenset({"reranker", "rerank_top", "rerank_timeout_s"})


class WireRequest(BaseModel):
    """A request: unknown fields are errors, and numbers are not parsed from strings."""

    model_config = ConfigDict(extra="forbid", strict=False, arbitrary_types_allowed=False, protected_namespaces=())


def set_fields(request: BaseModel, *without: str) -> dict[str, Any]:
    """Return the fields that a request sets, as keyword arguments."""
    return {name: getattr(request, name) for name in request.model_fields_set if name not in without}


def _with_options(name: str, doc: str, required: Mapping[str, Any], *without: str) -> type[WireRequest]:
    options = {
        option: (kind, Field(OPTIONS[option].default, description=OPTIONS[option].help))
        for option, kind in _OPTION_TYPES.items()
        if option not in without
    }
    return create_model(name, __base__=WireRequest, __doc__=doc, **{**required, **options})


#: Maximum number of characters of a hit's passage, as pieces with matches marked; None for no pieces.
Passages: TypeAlias = Annotated[
    int | None, Field(ge=1, le=10_000, description="Add title and passage as pieces, of at most this length.")
]
SearchRequest = _with_options("SearchRequest", "A search.", {"query": (Query, ...), "passages": (Passages, None)})
RecallRequest = _with_options(
    "RecallRequest", "A search of memories.", {"query": (Query, ...)}, "kinds", "include_memories"
)
SearchManyRequest = _with_options(
    "SearchManyRequest",
    "Many queries with one set of options.",
    {"queries": (Annotated[list[Query], Field(max_length=MOST_ITEMS)], ...)},
    "query_vector",
)
ExplainRequest = _with_options(
    "ExplainRequest", "An entry of a search to explain.", {"query": (Query, ...), "id": (Id, ...)}, "mode"
)


class NoRequest(WireRequest):
    """A request without fields."""


class IdRequest(WireRequest):
    """One entry."""

    id: Id
    tier: Tier = None


class TierRequest(WireRequest):
    """One tier of a federation, or all."""

    tier: Tier = None


class IdsBeginningRequest(WireRequest):
    """A prefix of ids."""

    text: Annotated[str, Field(max_length=256, description="The beginning of an id; capitals count.")]
    limit: Annotated[int, Field(ge=1, le=1_000)] = 20
    tier: Tier = None


class LoadRequest(WireRequest):
    """Whole entries by id."""

    ids: Annotated[list[Id], Field(max_length=MOST_ITEMS, description="Ids that a search returned.")]
    tier: Tier = None


class EntriesRequest(WireRequest):
    """A page of entries."""

    where: Where | None = None
    order_by: str | tuple[str, Literal["asc", "desc"]] = "created_at"
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 100
    after: str | None = Field(None, description="`next` of the previous page.")
    as_of: WireTime | None = None
    tier: Tier = None


class CountRequest(WireRequest):
    """A filter of entries to count."""

    where: Where | None = None
    as_of: WireTime | None = None
    tier: Tier = None


class FacetsRequest(WireRequest):
    """A field to count entries by."""

    field: str
    where: Where | None = None
    by: Bucket | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 100
    as_of: WireTime | None = None
    tier: Tier = None


class SimilarRequest(WireRequest):
    """Entries similar to an entry, a text or a vector."""

    id: Id | None = None
    text: str | None = None
    vector: WireVector | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 10
    min_similarity: float | None = None
    where: Where | None = None
    kinds: Words | None = None
    include_expired: bool = False
    include_memories: bool = False
    model: str | None = None
    mode: Mode = "full"
    tier: Tier = None


class NeighbourhoodRequest(WireRequest):
    """The entries around one."""

    id: Id
    limit: Annotated[int, Field(ge=1, le=200, description="Maximum number of entries.")] = 40
    tier: Tier = None


class HealthRequest(WireRequest):
    """The health of the memory."""

    folders: Annotated[bool, Field(description="Also compare the folders with the disk.")] = True


class LearnedRequest(WireRequest):
    """The weights of a profile after each day of feedback."""

    profile: WireProfile | None = None
    tier: Tier = None


class RetrieveRequest(WireRequest):
    """A search of several corpora."""

    query: Query
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS)] | None = None
    corpora: list[str] | None = None
    mode: str | None = None
    timeout_s: float | None = None
    scope: dict[str, Any] | None = None
    profile: RetrievalProfile | None = None


class WeightsRequest(WireRequest):
    """The weights of a profile."""

    profile: WireProfile | None = None
    vectors: bool | None = None


class _Span(WireRequest):
    path: str
    first_line: int
    last_line: int


class _Facts(WireRequest):
    kind: str | None = None
    type: str | None = None
    domain: str | None = None
    severity: Severity | None = None
    attrs: dict[str, Any] | None = None
    source: str | None = None
    trust: Trust | None = None
    created_at: WireTime | None = None
    updated_at: WireTime | None = None
    valid_from: WireTime | None = None
    valid_until: WireTime | None = None


class _Texts(_Facts):
    description: str | None = None
    context: str | None = None
    tags: list[str] | None = None
    parent: str | None = None
    span: _Span | None = None
    vector: WireVector | dict[str, WireVector] | None = None
    model: str | None = None
    split: Literal["auto"] | int | None = None
    tier: Tier = None


class AddRequest(_Texts):
    """An entry to store; one with the same id is overwritten."""

    title: str
    id: Id | None = None
    on_similar: OnSimilar = "keep"
    similarity: float = 0.95


class UpdateRequest(_Texts):
    """Fields of an entry to change."""

    id: Id
    title: str | None = None
    merge_attrs: dict[str, Any] | None = None


class UpdateManyRequest(_Facts):
    """Fields to change of every entry that passes a filter."""

    where: Where
    tags: list[str] | None = None
    merge_attrs: dict[str, Any] | None = None
    dry_run: bool = False
    tier: Tier = None


class RememberRequest(_Facts):
    """A memory to store."""

    text: Annotated[str, Field(description="What to remember, in a sentence or a few.")]
    details: str = ""
    topics: list[str] = []
    id: Id | None = None
    vector: WireVector | dict[str, WireVector] | None = None
    model: str | None = None
    on_similar: OnSimilar = "keep"
    similarity: float = 0.95
    tier: Tier = None


class DeleteRequest(WireRequest):
    """Entries to delete: by id, or by a filter."""

    ids: Annotated[list[Id], Field(max_length=MOST_ITEMS)] = []
    where: Where | None = None
    dry_run: bool = False
    tier: Tier = None


class ForgetRequest(DeleteRequest):
    """Memories to delete: by id, or by a filter."""


class SupersedeRequest(WireRequest):
    """An entry that replaces another."""

    old: Id
    new: Id | dict[str, Any]
    reason: str = ""
    tier: Tier = None


class LinkRequest(WireRequest):
    """A link to store."""

    source: Id
    target: Id
    type: str = "related"
    note: str = ""
    tier: Tier = None


class _Link(WireRequest):
    source: Id
    target: Id
    type: str = "related"
    note: str = ""


class LinkManyRequest(WireRequest):
    """Links to store, all or none."""

    links: Annotated[list[_Link], Field(max_length=MOST_ITEMS)]
    tier: Tier = None


class UnlinkRequest(WireRequest):
    """A link to remove."""

    source: Id
    target: Id
    tier: Tier = None


class FeedbackRequest(WireRequest):
    """Feedback on a result."""

    query: Query
    id: Id
    action: Action
    tier: Tier = None
