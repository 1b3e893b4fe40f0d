"""Agent tools: some operations of the table, with arguments and descriptions for models.

MCP lists them; tool calls over HTTP use the same names and arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.client.routes import Effect
from septet.errors import QueryError, ReadOnly
from septet.inputs.arguments import shown
from septet.service import telling
from septet.service import tool_requests as requests
from septet.service.operations import OPERATIONS, Operation
from septet.service.requests import WireRequest

if TYPE_CHECKING:
    from septet.service.served import Served

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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    fixed: Mapping[str, Any]
    text: Callable[[Mapping[str, Any]], str]
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
    return Tool(
        name=name,
        title=title,
        description=description,
        operation=operation,
        request=request,
        text=text,
        **settings,
    )


_TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        _tool(
            "search",
            "Search the memory",
            requests.SearchTool,
            telling.results_text,
            "Find entries, chunks of files and memories that answer a question, best first. Use it before answering "
            "from memory, or redoing earlier decisions. It returns titles and snippets; call load with "
            "the relevant ids for full texts. Not for listing everything: narrow with where. Low confidence "
            "means that the memory probably has no answer.",
        ),
        _tool(
            "load",
            "Load full entries",
            requests.LoadTool,
            telling.entries_text,
            "Return full entries by ids from search. Load only those you will use.",
        ),
        _tool(
            "remember",
            "Remember something",
            requests.RememberTool,
            telling.changed_text,
            "Store a fact, decision or preference worth knowing in later conversations; returns its id. One fact per "
            "call, in words that make sense without this conversation. Not for secrets, nor for content of files. "
            "Storing the same text again updates that memory; omitted arguments keep their values.",
            # Without an id it changes no other memory; given topics and times replace those of the same text.
            effect="adds",
        ),
        _tool(
            "update_entry",
            "Change an entry",
            requests.UpdateEntryTool,
            telling.updated_text,
            "Change some fields of an entry, such as an outdated one. Omitted fields stay; earlier "
            "versions are kept. Load it first. Not for chunks of files: change the file.",
            operation="update",
        ),
        _tool(
            "forget",
            "Forget memories",
            requests.ForgetTool,
            telling.changed_text,
            "Delete memories by id, if they are wrong or the user requests it. Other entries are not deleted.",
        ),
        _tool(
            "feedback",
            "Give feedback on a result",
            requests.FeedbackTool,
            telling.changed_text,
            "Record whether a search result helped; ranking learns from it. Call it once for a result that you used, "
            "or that misled you.",
        ),
        _tool(
            "explain",
            "Explain a rank",
            requests.ExplainTool,
            telling.explanation_text,
            "Explain the rank of an entry in a search, or its absence, and what would change it. Use "
            "it when an expected entry is missing; give the arguments of that search.",
        ),
        _tool(
            "status",
            "Show the contents of the memory",
            requests.StatusTool,
            telling.status_text,
            "Return the number of entries by kind and tier, and whether writes are allowed.",
        ),
        _tool(
            "memory_search",
            "Search all corpora",
            requests.MemorySearchTool,
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
            requests.KnowledgeQueryTool,
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
