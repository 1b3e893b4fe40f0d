"""The options of a search, defined once: type, default and help line.

The keyword arguments of `septet.Vault.search` and `septet.Vault.explain`, their signatures, the defaults and the
options of the command line are derived from `SearchOptions`. This module must not import numpy: the command line
loads it to print help.
"""

# No `from __future__ import annotations`: `OPTIONS` reads the annotations as values.
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict, TypeVar

from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike

    from septet.model.fields import Strings, Time
    from septet.model.results import Reranker, Reranking
    from septet.profiles import ProfileLike

Leg: TypeAlias = Literal["text", "vector"]
Mode: TypeAlias = Literal["full", "scan"]
Syntax: TypeAlias = Literal["plain", "web"]
GroupBy: TypeAlias = Literal["parent"]

_F = TypeVar("_F", bound=Callable[..., object])


class Option(NamedTuple):
    """Default and help line of an option; ``sent`` is False if it cannot be sent to a server, as a function cannot."""

    default: Any
    help: str
    sent: bool = True


class Words(TypedDict, total=False):
    """Words that results must contain or lack; ``words`` of `septet.Vault.search` documents them."""

    must: Annotated["str | Sequence[str] | None", Option(None, "Only entries with all of these words.")]
    must_not: Annotated["str | Sequence[str] | None", Option(None, "Only entries with none of these words.")]
    phrase: Annotated["str | Sequence[str] | None", Option(None, "Only entries with these words in a row.")]
    prefix: Annotated[
        "bool | str | Sequence[str]",
        Option(False, "Only entries with a word of this prefix; True (a flag): the query's last word."),
    ]


class _Limit(TypedDict, total=False):
    limit: Annotated[int | None, Option(None, "Maximum number of results.")]


class RecallOptions(TypedDict, total=False):
    """The keyword arguments of `septet.Vault.recall` except ``limit``; `septet.Vault.search` documents them."""

    offset: Annotated[int, Option(0, "Skip this many of the best results.")]
    words: Annotated["Words | None", Option(None, 'Words to require or exclude, as {"must": "retry"}.')]
    syntax: Annotated[Syntax, Option("plain", "Syntax of the query: plain text, or web-search operators.")]
    typos: Annotated[bool | None, Option(None, "Guess corrections of words that no entry contains.")]
    mode: Annotated[Mode, Option("full", "Full entries, or light results to choose from.")]
    domain: Annotated[str | None, Option(None, "Only this domain.")]
    boost_tags: Annotated["Strings | None", Option(None, "Rank entries with these tags higher.")]
    where: Annotated[Mapping[str, object] | None, Option(None, 'A filter, as {"tags": {"$in": ["http"]}}.')]
    profile: Annotated["ProfileLike | None", Option(None, "Ranking profile.")]
    include_expired: Annotated[bool, Option(False, "Include entries outside their validity.")]
    as_of: Annotated["Time | None", Option(None, "Search the entries valid at this time.")]
    min_score: Annotated[float | None, Option(None, "Drop results below this score.")]
    min_confidence: Annotated[float | None, Option(None, "Drop results below this confidence, 0 to 1.")]
    max_tokens: Annotated[int | None, Option(None, "Maximum total tokens of the results.")]
    query_vector: Annotated["ArrayLike | None", Option(None, "The query as a vector.")]
    model: Annotated[str | None, Option(None, "Model of the vectors to compare with.")]
    legs: Annotated[Leg | Sequence[Leg] | None, Option(None, "Only this leg of the search: text or vector.")]
    group_by: Annotated[GroupBy | None, Option(None, "One result for all parts of a split entry.")]
    diversity: Annotated[float | None, Option(None, "0 to 1: how dissimilar the results should be.")]
    rerank: Annotated[
        "Reranker | Reranking | str | PathLike[str] | None",
        Option(None, "A local model, or a function, that rescores the best hits.", sent=False),
    ]
    timeout_s: Annotated[float | None, Option(None, "Return partial results after this many seconds.")]
    tiers: Annotated["str | Strings | None", Option(None, "Only these tiers of a federation.")]
    facets: Annotated["str | Sequence[str | tuple[str, str]] | None", Option(None, "Count the matches by fields.")]


class SearchOptions(_Limit, RecallOptions, total=False):
    """The keyword arguments of `septet.Vault.search`, which documents them."""

    kinds: Annotated[str | Collection[str] | None, Option(None, "Only these kinds of entries.")]
    include_memories: Annotated[bool, Option(False, "Include memories.")]


#: The options by name, in the order of the signature.
OPTIONS: Mapping[str, Option] = {name: hint.__metadata__[0] for name, hint in SearchOptions.__annotations__.items()}
#: Keys of the option ``words``, likewise.
WORDS: Mapping[str, Option] = {name: hint.__metadata__[0] for name, hint in Words.__annotations__.items()}
#: Default of each option.
DEFAULTS: Mapping[str, Any] = {name: option.default for name, option in OPTIONS.items()}
#: Options of `septet.Vault.recall`.
RECALL_OPTIONS = frozenset(RecallOptions.__annotations__)


def unexpected(method: str, options: Mapping[str, Any], known: Collection[str] = DEFAULTS.keys()) -> TypeError:
    """Return the error for the first unknown option; it suggests the nearest known one."""
    from difflib import get_close_matches

    unknown = next(name for name in options if name not in known)
    near = get_close_matches(unknown, known, 1)
    if unknown in WORDS and "words" in known:
        hint = f". Did you mean words={{{unknown!r}: ...}}?"
    elif unknown in ("type", "severity", "tags") and "where" in known:
        hint = f". Did you mean where={{{unknown!r}: ...}}?"
    else:
        hint = f". Did you mean {near[0]!r}?" if near else f": known are {', '.join(n for n in DEFAULTS if n in known)}"
    return TypeError(f"{method}() got an unexpected keyword argument {unknown!r}{hint}")


def takes_options(method: _F) -> _F:
    """Expand ``**options`` in the signature of a method, for `help` and editors."""
    return _signed(method, SearchOptions.__annotations__)


def takes_recall_options(method: _F) -> _F:
    """Expand ``**options`` into the options of `septet.Vault.recall`."""
    return _signed(method, RecallOptions.__annotations__)


def _signed(method: _F, options: Mapping[str, Any]) -> _F:
    plain = signature(method)
    positional = [p for p in plain.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    keywords = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=OPTIONS[name].default, annotation=_type(hint))
        for name, hint in options.items()
    ]
    parameters = [*positional, *keywords]
    method.__signature__ = Signature(parameters, return_annotation=plain.return_annotation)  # type: ignore[attr-defined]
    return method


def _type(hint: Any) -> Any:
    """Return an option's type; a forward reference as its text."""
    declared = hint.__origin__
    return getattr(declared, "__forward_arg__", declared)
