"""Agent tools: some operations of the table, with arguments and descriptions for models.

MCP lists them; tool calls over HTTP use the same names and arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import Field

from septet.client.routes import Effect
from septet.errors import QueryError, ReadOnly
from septet.inputs.arguments import shown
from septet.model.fields import Action, Severity
from septet.query.options import Mode
from septet.service import telling
from septet.service.operations import OPERATIONS, Operation
from septet.service.requests import Id, Tier, WireRequest, WireTime

if TYPE_CHECKING:
    from septet.service.served import Served

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
    boost_tags: Annotated[list[str] | None, Field(description="Rank entries with these tags higher.")] = None
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
    boost_tags: Annotated[list[str] | None, Field(description="As in the search.")] = None
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
    source: Annotated[str | None, Field(description="Such as a path or a URL.")] = None
    valid_until: _Time = None
    on_similar: Annotated[
        Literal["suggest", "supersede"] | None,
        Field(description="suggest: only tell if a memory has the same or another value; supersede: end it."),
    ] = None
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


#: Maximum size of the arguments of a call, in bytes.
MOST_BYTES = 1_000_000
#: Maximum size of a message with a call: twice that of its arguments, so that the tool itself can report the error.
MOST_BODY = 2 * MOST_BYTES


class UnknownTool(QueryError):
    """No tool has this name."""


class ToolAnswer(NamedTuple):
    """The result of a tool call.

    Attributes:
        answer: that of its operation, JSON-ready.
        text: the answer as short text, for a model.
    """

    answer: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Attributes:
        name: the name in calls.
        title: for people.
        description: for models: its purpose, when to use it and when not.
        operation: the operation that it runs.
        request: the model of its arguments, a subset of those of the operation.
        fixed: arguments of the operation that the caller cannot set.
        text: formats an answer as short text.
        effect: its effect on the memory, with these arguments.
        repeatable: True if it is idempotent.
    """

    name: str
    title: str
    description: str
    operation: Operation
    request: type[WireRequest]
    text: Callable[[Mapping[str, Any]], str]
    fixed: Mapping[str, Any]
    effect: Effect
    repeatable: bool

    def operation_request(self, arguments: Mapping[str, Any]) -> WireRequest:
        """Return the request of the operation. A null argument counts as omitted.

        Raises:
            pydantic.ValidationError: an argument is unknown, missing or invalid.
            QueryError: the arguments exceed `MOST_BYTES`.
        """
        expect_small(arguments)
        checked = self.request.model_validate(dict(arguments))
        chosen = {name: value for name in type(checked).model_fields if (value := getattr(checked, name)) is not None}
        return self.operation.request.model_validate({**chosen, **self.fixed})


def tools_of(*, writable: bool, documented_names: bool = False) -> dict[str, Tool]:
    """Return the tools by name, at most eight.

    Args:
        writable: True to include tools that write.
        documented_names: True for `memory_search` and `knowledge_query`, the documented tools of planned retrieval,
            instead of `search` and `explain` (which explains a search).
    """
    names = _DOCUMENTED if documented_names else _DEFAULT
    return {name: _TOOLS[name] for name in names if writable or _TOOLS[name].effect == "reads"}


async def call_tool(
    served: Served, name: str, arguments: Mapping[str, Any], *, documented_names: bool = False
) -> ToolAnswer:
    """Return the result of a tool call. A cancelled call that no thread has started is dropped.

    Raises:
        UnknownTool: no tool has this name.
        ReadOnly: it writes, but the memory is read-only.
        pydantic.ValidationError: an argument is unknown, missing or invalid.
        SeptetError: as the operation.
    """
    tools = tools_of(writable=True, documented_names=documented_names)
    tool = tools.get(name) or _TOOLS.get(name)
    if tool is None:
        raise UnknownTool(f"unknown tool {shown(name)}; available: {', '.join(tools)}")
    if tool.effect != "reads" and not served.writable:
        raise ReadOnly(f"{name}: this memory is read-only")
    answer = await served.call(tool.operation, tool.operation_request(arguments))
    return ToolAnswer(answer, tool.text(answer))


def expect_small(arguments: object) -> None:
    """Check the size of arguments, reading no more of them than needed.

    Raises:
        QueryError: their size, roughly that of compact JSON, exceeds `MOST_BYTES`.
    """
    budget = MOST_BYTES
    pending = [arguments]
    while pending:
        value = pending.pop()
        budget -= len(value) + 2 if isinstance(value, str) else 4
        if isinstance(value, Mapping):
            budget -= sum(len(name) + 4 for name in value)
            items = list(value.values()) if budget >= 0 else []
        else:
            items = value if isinstance(value, list) else []
        if budget < 2 * len(items):
            raise QueryError(f"the arguments have more than {MOST_BYTES:,} bytes: send less, or split the call")
        pending += items


def _tool(
    name: str,
    title: str,
    request: type[WireRequest],
    text: Callable[[Mapping[str, Any]], str],
    description: str,
    **more: Any,
) -> Tool:
    operation = OPERATIONS[more.pop("operation", name)]
    settings = {"fixed": {}, "effect": operation.effect, "repeatable": operation.repeatable, **more}
    return Tool(name, title, description, operation, request, text, **settings)


_TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        _tool(
            "search",
            "Search the memory",
            SearchTool,
            telling.results_text,
            "Find entries, chunks of files and memories that answer a question, best first. Use it before answering "
            "from memory, or redoing earlier decisions. It returns titles and snippets; call load with "
            "the relevant ids for full texts. Not for listing everything: narrow with where. Low confidence "
            "means that the memory probably has no answer.",
        ),
        _tool(
            "load",
            "Load full entries",
            LoadTool,
            telling.entries_text,
            "Return full entries by ids from search. Load only those you will use.",
        ),
        _tool(
            "remember",
            "Remember something",
            RememberTool,
            telling.remembered_text,
            "Store a fact, decision or preference worth knowing in later conversations; returns its id. One fact per "
            "call, in words that make sense without this conversation. Not for secrets, nor for content of files. "
            "Storing the same text again updates that memory; omitted arguments keep their values.",
            # Without an id it rewrites no other memory: a superseded one keeps its text. Given topics and times replace
            # those of the same text.
            effect="adds",
        ),
        _tool(
            "update_entry",
            "Change an entry",
            UpdateEntryTool,
            telling.updated_text,
            "Change some fields of an entry, such as an outdated one. Omitted fields stay; earlier "
            "versions are kept. Load it first. Not for chunks of files: change the file.",
            operation="update",
        ),
        _tool(
            "forget",
            "Forget memories",
            ForgetTool,
            telling.changed_text,
            "Delete memories by id, if they are wrong or the user requests it. Other entries are not deleted.",
        ),
        _tool(
            "feedback",
            "Give feedback on a result",
            FeedbackTool,
            telling.changed_text,
            "Record whether a search result helped; ranking learns from it. Call it once for a result that you used, "
            "or that misled you.",
        ),
        _tool(
            "explain",
            "Explain a rank",
            ExplainTool,
            telling.explanation_text,
            "Explain the rank of an entry in a search, or its absence, and what would change it. Use "
            "it when an expected entry is missing; give the arguments of that search.",
        ),
        _tool(
            "status",
            "Show the contents of the memory",
            StatusTool,
            telling.status_text,
            "Return the number of entries by kind and tier, and whether writes are allowed.",
        ),
        _tool(
            "memory_search",
            "Search all corpora",
            MemorySearchTool,
            telling.documented_text,
            "Search memory, knowledge graph, document chunks and repository, by a plan derived from the "
            "question. Returns a line of key=value on the evidence, then the results by corpus. Use it before "
            "answering from memory.",
            operation="retrieve",
            fixed={"profile": "planned-retrieval"},
        ),
        _tool(
            "knowledge_query",
            "Query the knowledge graph",
            KnowledgeQueryTool,
            telling.results_text,
            "Find nodes of the knowledge graph, and entries linked to them: id, label and snippet of each.",
            operation="retrieve",
            fixed={"profile": "planned-retrieval", "corpora": ["knowledge_graph"]},
        ),
    )
}

_SHARED = ("load", "remember", "update_entry", "forget", "feedback")
_DEFAULT = ("search", *_SHARED, "explain", "status")
_DOCUMENTED = ("memory_search", "knowledge_query", *_SHARED, "status")
