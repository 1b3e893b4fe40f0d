"""Requests as pydantic models: MCP and HTTP validate with them, and derive their schemas from them.

The fields are the parameters of the methods of a vault, with wire types in place of Python types. File paths are not
accepted: a profile is a built-in name or an object, since callers must not read files of the server.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from inspect import Parameter, signature
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, create_model
from typing_extensions import Unpack

from septet.model import fields
from septet.model.fields import EntryFields
from septet.profiles.builtin import BUILTIN
from septet.query.facets import Bucket
from septet.query.options import OPTIONS, WORDS, Mode
from septet.retrieval.config import RetrievalProfile
from septet.retrieval.retriever import Retriever
from septet.service import inspected, sessions
from septet.vault import Vault

#: A time on the wire: epoch seconds, or RFC 3339 with a zone.
WireTime: TypeAlias = float | AwareDatetime
#: The name of a built-in profile, or a profile as an object; never a file of the server.
WireProfile: TypeAlias = Literal[tuple(BUILTIN)] | dict[str, Any]  # type: ignore[valid-type]
WireVector: TypeAlias = Annotated[list[float], Field(min_length=1, max_length=65_536)]
Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=256, description="The id of an entry.")]
Query: TypeAlias = Annotated[str, Field(description="A question or keywords; no character has a special meaning.")]
Tier: TypeAlias = Annotated[str | None, Field(description="The tier to use, if the server has several.")]

#: Maximum number of results per request.
MOST_RESULTS = 1_000
#: Maximum number of ids, queries or entries per request; more need NDJSON, or several requests.
MOST_ITEMS = 1_000
_Limit: TypeAlias = Annotated[int, Field(ge=1, le=MOST_RESULTS)]


class WireRequest(BaseModel):
    """A request: unknown fields are errors, and numbers are not parsed from strings."""

    model_config = ConfigDict(extra="forbid", strict=False, arbitrary_types_allowed=False, protected_namespaces=())


class _Span(WireRequest):
    path: str
    first_line: int
    last_line: int


class _Link(WireRequest):
    source: Id
    target: Id
    type: str = "related"
    note: str = ""


class _Words(WireRequest):
    must: Annotated[str | list[str] | None, Field(description=WORDS["must"].help)] = None
    must_not: Annotated[str | list[str] | None, Field(description=WORDS["must_not"].help)] = None
    phrase: Annotated[str | list[str] | None, Field(description=WORDS["phrase"].help)] = None
    prefix: Annotated[bool | str | list[str], Field(description=WORDS["prefix"].help)] = False


#: Wire types by name in an annotation, for types that differ on the wire and those imported for type checkers only.
_TYPES: Mapping[str, Any] = {
    **vars(fields),
    "ArrayLike": WireVector,
    "Bucket": Bucket,
    "Mode": Mode,
    "OrderBy": str | tuple[str, Literal["asc", "desc"]],
    "ProfileLike": WireProfile,
    "Span": _Span,
    "SpanFields": _Span,
    "Split": Literal["auto"] | int,
    "Strings": list[str],
    "Time": WireTime,
    "Unpack": Unpack,
    "VectorLike": WireVector | dict[str, WireVector],
    "Words": _Words,
}
#: JSON types of abstract types.
_ABSTRACT: Mapping[Any, Any] = {Collection: list, Iterable: list, Mapping: dict, Sequence: list, object: Any}
#: Wire types of parameters by name, where the Python type alone is not enough.
_NAMED: Mapping[str, Any] = {
    "id": Id,
    "query": Query,
    "limit": _Limit,
    "offset": Annotated[int, Field(ge=0)],
}


def request_of(
    name: str,
    doc: str,
    method: Callable[..., Any] | None = None,
    *without: str,
    extra: type | None = None,
    tier: bool = True,
    **types: Any,
) -> type[WireRequest]:
    """Return the model of a request: the parameters of a method, as wire types.

    Args:
        without: parameters that cannot be sent.
        extra: a typed dict of the keyword arguments, where the method does not name it.
        tier: True for a field ``tier``.
        types: wire types of parameters that need others; of further fields and other defaults, as ``(type, default)``.
    """
    members: dict[str, Any] = {}
    for parameter in () if method is None else _parameters(method, extra):
        if parameter.name not in ("self", *without):
            kind = types.pop(parameter.name, None) or _wire(parameter.name, _evaluated(parameter.annotation, method))
            default = ... if parameter.default is Parameter.empty else parameter.default
            members[parameter.name] = kind if isinstance(kind, tuple) else (kind, default)
    members |= types
    if tier:
        members["tier"] = (Tier, None)
    return create_model(name, __base__=WireRequest, __doc__=doc, **members)


def _parameters(method: Callable[..., Any], extra: type | None) -> Iterator[Parameter]:
    """Yield the parameters of a method that can be sent, and the keyword arguments of its typed dict."""
    # Only `takes_options` sets a signature.
    options = OPTIONS if hasattr(method, "__signature__") else {}
    for name, parameter in signature(method).parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            more: Any = get_args(_evaluated(parameter.annotation, method))[0] if extra is None else extra
            for key, hint in get_type_hints(more, localns=dict(_TYPES)).items():
                required = key in more.__required_keys__
                default, kind = (Parameter.empty, hint) if required else (None, hint | None)
                yield Parameter(key, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        elif name not in options:
            yield parameter
        elif options[name].sent:
            yield parameter.replace(default=Field(options[name].default, description=options[name].help))


def _evaluated(hint: Any, method: Any) -> Any:
    """Return an annotation of a method, with the types of the wire."""

    def holder() -> None: ...

    holder.__annotations__ = {"return": hint}
    module = vars(sys.modules[method.__module__])
    return get_type_hints(holder, module, dict(_TYPES), include_extras=True)["return"]


def _wire(name: str, hint: Any) -> Any:
    """Return the wire type of a parameter."""
    if name not in _NAMED:
        return _json(hint)
    return _NAMED[name] | None if type(None) in get_args(hint) else _NAMED[name]


def _json(hint: Any) -> Any:
    """Return a type with abstract types replaced by those of JSON."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is None or origin in (Annotated, Literal):
        return _ABSTRACT.get(hint, hint)
    parts = tuple(map(_json, inner))
    return Union[parts] if origin in (Union, UnionType) else _ABSTRACT.get(origin, origin)[parts]  # noqa: UP007


SearchRequest = request_of(
    "SearchRequest",
    "A search.",
    Vault.search,
    tier=False,
    # Maximum number of characters of a hit's passage, as pieces with matches marked; None for no pieces.
    passages=(
        Annotated[
            int | None, Field(ge=1, le=10_000, description="Add title and passage as pieces, of at most this length.")
        ],
        None,
    ),
)
RecallRequest = request_of("RecallRequest", "A search of memories.", Vault.recall, tier=False)
SearchManyRequest = request_of(
    "SearchManyRequest",
    "Many queries with one set of options.",
    Vault.search_many,
    *("query_vector", "query_vectors", "threads"),
    tier=False,
    queries=Annotated[list[Query], Field(max_length=MOST_ITEMS)],
)
ExplainRequest = request_of("ExplainRequest", "An entry of a search to explain.", Vault.explain, "mode", tier=False)
RetrieveRequest = request_of(
    "RetrieveRequest",
    "A search of several corpora.",
    Retriever.retrieve,
    *("plan", "verification", "query_vector", "model"),
    tier=False,
    corpora=list[str] | None,
    mode=str | None,
    profile=(RetrievalProfile | None, None),
)
ContextRequest = request_of(
    "ContextRequest",
    "A query of which the context is wanted.",
    Vault.context,
    tier=False,
    kinds=str | list[str] | None,
    tiers=str | list[str] | None,
    max_tokens=Annotated[int, Field(ge=1, description="Maximum tokens of the text.")],
    min_confidence=Annotated[float, Field(ge=0, le=1, description="Minimum confidence of a match.")],
)
WeightsRequest = request_of("WeightsRequest", "The weights of a profile.", Vault.weights, tier=False)
NoRequest = request_of("NoRequest", "A request without fields.", tier=False)
IdRequest = request_of("IdRequest", "One entry.", Vault.get)
TierRequest = request_of("TierRequest", "One tier of a federation, or all.", Vault.stats)
IdsBeginningRequest = request_of(
    "IdsBeginningRequest",
    "A prefix of ids.",
    Vault._ids_beginning,
    text=Annotated[str, Field(max_length=256, description="The beginning of an id; capitals count.")],
)
LoadRequest = request_of(
    "LoadRequest",
    "Whole entries by id.",
    Vault.load,
    ids=Annotated[list[Id], Field(max_length=MOST_ITEMS, description="Ids that a search returned.")],
)
EntriesRequest = request_of(
    "EntriesRequest",
    "A page of entries.",
    Vault.entries,
    limit=_Limit,
    after=Annotated[str | None, Field(description="`next` of the previous page.")],
)
FacetsRequest = request_of("FacetsRequest", "A field to count entries by.", Vault.facets, limit=_Limit)
NeighbourhoodRequest = request_of(
    "NeighbourhoodRequest",
    "The entries around one.",
    inspected.neighbourhood,
    "memory",
    limit=Annotated[int, Field(ge=1, le=200, description="Maximum number of entries.")],
)
HealthRequest = request_of(
    "HealthRequest",
    "The health of the memory.",
    inspected.health,
    "memory",
    tier=False,
    folders=Annotated[bool, Field(description="Also compare the folders with the disk.")],
)
LearnedRequest = request_of(
    "LearnedRequest", "The weights of a profile after each day of feedback.", inspected.learned, "memory"
)
SessionsRequest = request_of(
    "SessionsRequest",
    "Sessions of agents to which hooks printed entries.",
    sessions.sessions,
    "memory",
    tier=False,
    limit=Annotated[int, Field(ge=1, le=50, description="Maximum number of sessions.")],
    after=Annotated[str | None, Field(max_length=200, description="`next` of the previous page.")],
    session=Annotated[
        str | None,
        Field(max_length=10_000, description="A session: its id, or the name of its transcript."),
    ],
)
AddRequest = request_of(
    "AddRequest",
    "An entry to store; one with the same id is overwritten.",
    Vault.add,
    "entry",
    extra=EntryFields,
)
RememberRequest = request_of(
    "RememberRequest",
    "A memory to store.",
    Vault.remember,
    *("context", "summary", "span"),
    text=(Annotated[str, Field(description="What to remember, in a sentence or a few.")], ...),
)
_IDS: Any = (Annotated[list[Id], Field(max_length=MOST_ITEMS)], [])
DeleteRequest = request_of("DeleteRequest", "Entries to delete: by id, or by a filter.", Vault.delete, ids=_IDS)
ForgetRequest = request_of("ForgetRequest", "Memories to delete: by id, or by a filter.", Vault.forget, ids=_IDS)
SupersedeRequest = request_of(
    "SupersedeRequest",
    "An entry that replaces another.",
    Vault.supersede,
    old=Id,
    new=Id | dict[str, Any],
)
LinkRequest = request_of("LinkRequest", "A link to store.", Vault.link, source=Id, target=Id)
LinkManyRequest = request_of(
    "LinkManyRequest",
    "Links to store, all or none.",
    Vault.link_many,
    "items",
    links=(Annotated[list[_Link], Field(max_length=MOST_ITEMS)], ...),
)
UnlinkRequest = request_of("UnlinkRequest", "A link to remove.", Vault.unlink, source=Id, target=Id)
FeedbackRequest = request_of("FeedbackRequest", "Feedback on a result.", Vault.feedback)
