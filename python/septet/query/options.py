"""The options of a search, defined once: type, default and a line of help each.

The keyword arguments of `septet.Vault.search` and `septet.Vault.explain`, their signatures, the defaults and the
options of the command line come from `SearchOptions`. Nothing here may load numpy: the command line reads it to
print its help.
"""

# No `from __future__ import annotations`: `OPTIONS` reads the annotations as values.
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from septet.model.fields import Severity, Strings, Time
    from septet.model.results import Reranker
    from septet.profiles.load import ProfileLike

__all__ = [
    "DEFAULTS",
    "OPTIONS",
    "RECALL_OPTIONS",
    "GroupBy",
    "Leg",
    "Mode",
    "Option",
    "RecallOptions",
    "SearchOptions",
    "Syntax",
    "takes_options",
    "takes_recall_options",
    "unexpected",
]

Leg: TypeAlias = Literal["text", "vector"]
Mode: TypeAlias = Literal["full", "scan"]
Syntax: TypeAlias = Literal["plain", "web"]
GroupBy: TypeAlias = Literal["parent"]

_F = TypeVar("_F", bound=Callable[..., object])


class Option(NamedTuple):
    """What belongs to an option beside its type: its default, and one line of help."""

    default: Any
    help: str


class _Limit(TypedDict, total=False):
    limit: Annotated[int | None, Option(None, "At most so many results.")]


class RecallOptions(TypedDict, total=False):
    """The keyword arguments of `septet.Vault.recall` beside the limit; `septet.Vault.search` documents them."""

    offset: Annotated[int, Option(0, "Leave out so many of the best results.")]
    must: Annotated["str | Sequence[str] | None", Option(None, "Only entries that hold all these words.")]
    must_not: Annotated["str | Sequence[str] | None", Option(None, "No entry that holds any of these words.")]
    phrase: Annotated["str | Sequence[str] | None", Option(None, "Only entries with these words in a row.")]
    prefix: Annotated[
        "bool | str | Sequence[str]",
        Option(False, "Only entries with a word that begins so; True (a flag): as the query's last."),
    ]

    syntax: Annotated[Syntax, Option("plain", "What signs in the query mean: nothing, or as in web searches.")]
    typos: Annotated[bool | None, Option(None, "Guess at words that no entry holds.")]
    mode: Annotated[Mode, Option("full", "Whole entries, or light results to choose from.")]
    domain: Annotated[str | None, Option(None, "Only this domain.")]
    type: Annotated[str | None, Option(None, "Only this type.")]
    severity: Annotated["Severity | None", Option(None, "Only critical, warning or suggestion.")]
    tags: Annotated["Strings | None", Option(None, "Rank entries with these tags higher.")]
    where: Annotated[Mapping[str, object] | None, Option(None, 'A filter, as {"tags": {"$in": ["http"]}}.')]
    profile: Annotated["ProfileLike | None", Option(None, "How to rank.")]
    include_expired: Annotated[bool, Option(False, "Search entries outside their validity too.")]
    as_of: Annotated["Time | None", Option(None, "Search what was valid at this time.")]
    min_score: Annotated[float | None, Option(None, "Drop results under this score.")]
    min_confidence: Annotated[float | None, Option(None, "Drop results of less confidence, 0 to 1.")]
    max_tokens: Annotated[int | None, Option(None, "Leave out results that would cost more tokens.")]
    query_vector: Annotated["ArrayLike | None", Option(None, "The query as a vector.")]
    model: Annotated[str | None, Option(None, "Which model's vectors to compare with.")]
    legs: Annotated[Leg | Sequence[Leg] | None, Option(None, "Only this leg of the search: text or vector.")]
    group_by: Annotated[GroupBy | None, Option(None, "One result for all parts of an entry that was split.")]
    diversity: Annotated[float | None, Option(None, "0 to 1: how much unlike each other results should be.")]
    reranker: Annotated["Reranker | None", Option(None, "A function that scores the best hits anew.")]
    rerank_top: Annotated[int, Option(50, "So many of the best hits are reranked.")]
    rerank_timeout_s: Annotated[float, Option(10.0, "Wait so many seconds for the reranker.")]
    timeout_s: Annotated[float | None, Option(None, "Answer with what was found after so many seconds.")]
    tiers: Annotated["str | Strings | None", Option(None, "Only these tiers of a federation.")]
    facets: Annotated["str | Sequence[str | tuple[str, str]] | None", Option(None, "Count the matches by fields.")]


class SearchOptions(_Limit, RecallOptions, total=False):
    """The keyword arguments of `septet.Vault.search`, which documents them."""

    kinds: Annotated[str | Collection[str] | None, Option(None, "Only these kinds of entries.")]
    include_memories: Annotated[bool, Option(False, "Search memories too.")]


#: The options by name, in the order of the signature.
OPTIONS: Mapping[str, Option] = {name: hint.__metadata__[0] for name, hint in SearchOptions.__annotations__.items()}
#: What an option is when it is not named.
DEFAULTS: Mapping[str, Any] = {name: option.default for name, option in OPTIONS.items()}
#: Those of `septet.Vault.recall`.
RECALL_OPTIONS = frozenset(RecallOptions.__annotations__)


def unexpected(method: str, options: Mapping[str, Any], known: Collection[str] = DEFAULTS.keys()) -> TypeError:
    """Return the error about the first option that does not exist; it names the nearest one that does."""
    from difflib import get_close_matches

    unknown = next(name for name in options if name not in known)
    near = get_close_matches(unknown, known, 1)
    hint = f". Did you mean {near[0]!r}?" if near else f": known are {', '.join(n for n in DEFAULTS if n in known)}"
    return TypeError(f"{method}() got an unexpected keyword argument {unknown!r}{hint}")


def takes_options(method: _F) -> _F:
    """Write the options out in the signature of a method that ends in ``**options``, for `help` and editors."""
    return _signed(method, SearchOptions.__annotations__)


def takes_recall_options(method: _F) -> _F:
    """Do the same for the options of `septet.Vault.recall`."""
    return _signed(method, RecallOptions.__annotations__)


def _signed(method: _F, options: Mapping[str, Any]) -> _F:
    plain = signature(method)
    own = [p for p in plain.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    named = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=OPTIONS[name].default, annotation=_type(hint))
        for name, hint in options.items()
    ]
    method.__signature__ = Signature([*own, *named], return_annotation=plain.return_annotation)  # type: ignore[attr-defined]
    return method


def _type(hint: Any) -> Any:
    """Return an option's type; one that is written as text as this text."""
    declared = hint.__origin__
    return getattr(declared, "__forward_arg__", declared)
