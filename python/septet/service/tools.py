"""The tools of agents: a few operations of the table with the arguments that a model needs, described for models.

MCP lists them, and the call of a tool over HTTP takes the same names and arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.errors import QueryError, ReadOnly
from septet.inputs.arguments import shown
from septet.service import telling
from septet.service import tool_requests as requests
from septet.service.operations import OPERATIONS, Effect, Operation
from septet.service.requests import Request

if TYPE_CHECKING:
    from septet.service.served import Served

__all__ = ["MOST_BODY", "MOST_BYTES", "Tool", "ToolAnswer", "UnknownTool", "call_tool", "expect_small", "tools_of"]

#: Arguments of a call take so much at most.
MOST_BYTES = 1_000_000
#: Bytes of a message with a call: arguments, twice as long as they may be, so that the tool says what is wrong.
MOST_BODY = 2 * MOST_BYTES


class UnknownTool(QueryError):
    """There is no tool of this name."""


class ToolAnswer(NamedTuple):
    """What a tool returns.

    Attributes:
        answer: that of its operation, JSON-ready.
        text: the same in few words, for a model.
    """

    answer: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool.

    Attributes:
        name: what is called.
        title: for people.
        description: for models: what it does, when to use it and when not.
        operation: what it does, in the table of operations.
        request: the model of its arguments: some of the operation's.
        fixed: arguments of the operation that the caller does not choose.
        text: makes the short text of an answer.
        effect: what it does to the memory, with these arguments.
        repeatable: doing it twice is the same as doing it once.
    """

    name: str
    title: str
    description: str
    operation: Operation
    request: type[Request]
    fixed: Mapping[str, Any]
    text: Callable[[Mapping[str, Any]], str]
    effect: Effect
    repeatable: bool

    def asked(self, arguments: Mapping[str, Any]) -> Request:
        """Return the request of the operation. An argument that is null is one that is left out.

        Raises:
            pydantic.ValidationError: an argument is unknown, missing or invalid.
            QueryError: they take more than `MOST_BYTES`.
        """
        expect_small(arguments)
        checked = self.request.model_validate(dict(arguments))
        chosen = {name: value for name in type(checked).model_fields if (value := getattr(checked, name)) is not None}
        return self.operation.request.model_validate({**chosen, **self.fixed})


def tools_of(*, writable: bool, documented_names: bool = False) -> dict[str, Tool]:
    """Return the tools by name, eight at most.

    Args:
        writable: with those that write.
        documented_names: `memory_search` and `knowledge_query`, the documented tools of planned retrieval, in the place
            of `search` and `explain`, which explains a search.
    """
    names = _DOCUMENTED if documented_names else _OWN
    return {name: _TOOLS[name] for name in names if writable or _TOOLS[name].effect == "reads"}


async def call_tool(
    served: Served, name: str, arguments: Mapping[str, Any], *, documented_names: bool = False
) -> ToolAnswer:
    """Return what a tool returns. Cancelled, it is dropped if no thread has begun it.

    Raises:
        UnknownTool: there is no such tool.
        ReadOnly: it writes, and what is served is for reading.
        pydantic.ValidationError: an argument is unknown, missing or invalid.
        SeptetError: as the operation does.
    """
    tools = tools_of(writable=True, documented_names=documented_names)
    tool = tools.get(name) or _TOOLS.get(name)
    if tool is None:
        raise UnknownTool(f"there is no tool {shown(name)}: known are {', '.join(tools)}")
    if tool.effect != "reads" and not served.writable:
        raise ReadOnly(f"{name}: this memory is served for reading only")
    answer = await served.call(tool.operation, tool.asked(arguments))
    return ToolAnswer(answer, tool.text(answer))


def expect_small(arguments: object) -> None:
    """Check the size of arguments, without looking at more of them than is needed for that.

    Raises:
        QueryError: they take more than `MOST_BYTES`, as JSON without blanks, by and large.
    """
    left = MOST_BYTES
    waiting = [arguments]
    while waiting:
        value = waiting.pop()
        left -= len(value) + 2 if isinstance(value, str) else 4
        if isinstance(value, Mapping):
            left -= sum(len(name) + 4 for name in value)
            items = list(value.values()) if left >= 0 else []
        else:
            items = value if isinstance(value, list) else []
        if left < 2 * len(items):
            raise QueryError(f"the arguments take more than {MOST_BYTES:,} bytes: send less, or in several calls")
        waiting += items


def _tool(
    name: str,
    title: str,
    request: type[Request],
    text: Callable[[Mapping[str, Any]], str],
    description: str,
    **more: Any,
) -> Tool:
    operation = OPERATIONS[more.pop("operation", name)]
    given_of = {"fixed": {}, "effect": operation.effect, "repeatable": operation.repeatable, **more}
    return Tool(
        name=name,
        title=title,
        description=description,
        operation=operation,
        request=request,
        text=text,
        **given_of,
    )


_TOOLS: Mapping[str, Tool] = {
    one.name: one
    for one in (
        _tool(
            "search",
            "Search the memory",
            requests.SearchTool,
            telling.results_text,
            "Find entries, chunks of files and memories that answer a question, best first. Use it before answering "
            "from memory, or doing what may have been decided before. It returns titles and snippets; call load with "
            "the ids that look right for whole texts. Not for listing everything: narrow with where. Low confidence "
            "means that an answer is probably not there.",
        ),
        _tool(
            "load",
            "Load whole entries",
            requests.LoadTool,
            telling.entries_text,
            "Return whole entries by the ids that search returned. Load only what you will use.",
        ),
        _tool(
            "remember",
            "Remember something",
            requests.RememberTool,
            telling.changed_text,
            "Store a fact, decision or preference worth knowing in later conversations; returns its id. One fact per "
            "call, in words that make sense without this conversation. Not for secrets, nor for what files hold "
            "already. The same text again is the same memory: what is left out stays as it is.",
            # Without an id it changes no other text; what it is given replaces topics and times of the same one.
            effect="adds",
        ),
        _tool(
            "update_entry",
            "Change an entry",
            requests.UpdateEntryTool,
            telling.updated_text,
            "Change some fields of an entry, such as one that is out of date. Fields that are left out stay; earlier "
            "versions are kept. Load it first. Not for chunks of files: change the file.",
            operation="update",
        ),
        _tool(
            "forget",
            "Forget memories",
            requests.ForgetTool,
            telling.changed_text,
            "Delete memories by id, when they are wrong or the user asks for it. Other entries are left alone.",
        ),
        _tool(
            "feedback",
            "Say what became of a result",
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
            "Say why an entry ranks where it does in a search, or why it is not found, and what would change that. Use "
            "it when an expected entry is missing; give the arguments of that search.",
        ),
        _tool(
            "status",
            "What the memory holds",
            requests.StatusTool,
            telling.status_text,
            "Say how many entries of which kinds and tiers there are, and whether they can be changed.",
        ),
        _tool(
            "memory_search",
            "Search all corpora",
            requests.MemorySearchTool,
            telling.documented_text,
            "Ask memory, knowledge graph, document chunks and repository side by side, as a plan made from the "
            "question says. Returns a line of key=value on the evidence, then the results by corpus. Use it before "
            "answering from memory.",
            operation="retrieve",
            fixed={"profile": "planned-retrieval"},
        ),
        _tool(
            "knowledge_query",
            "Query the knowledge graph",
            requests.KnowledgeQueryTool,
            telling.results_text,
            "Find nodes of the knowledge graph, and what is linked to them: id, label and snippet of each.",
            operation="retrieve",
            fixed={"profile": "planned-retrieval", "corpora": ["knowledge_graph"]},
        ),
    )
}

_SHARED = ("load", "remember", "update_entry", "forget", "feedback")
_OWN = ("search", *_SHARED, "explain", "status")
_DOCUMENTED = ("memory_search", "knowledge_query", *_SHARED, "status")
