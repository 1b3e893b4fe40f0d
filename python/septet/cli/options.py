"""Options shared by several commands; the options of a search come from `septet.query.options`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from septet.cli.completing import complete_ids, complete_profiles
from septet.cli.places import EMBEDDING_VARIABLE
from septet.errors import QueryError
from septet.query.options import OPTIONS

Query = Annotated[str, typer.Argument(metavar="QUERY", help="A question or some words; no character is special.")]
Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The id of an entry, whole or shortened, or a path#L10.", autocompletion=complete_ids
    ),
]

VaultPath = Annotated[
    Any,
    typer.Option(
        "--vault",
        envvar="SEPTET_VAULT",
        metavar="FILE|ADDRESS",
        # Not a `Path`: that would merge the slashes of an address. Shells complete files in any case.
        path_type=str,
        help="The vault; default ~/.local/share/septet/vault.db. On a server: postgresql://host/database?vault=NAME.",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="Use the tiers of this configuration, not one vault; or SEPTET_CONFIG."
    ),
]
TierName = Annotated[str | None, typer.Option("--tier", metavar="NAME", help="Only use this tier of --config.")]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Where = Annotated[str | None, typer.Option("--where", metavar="JSON", help="Only entries that match a filter.")]
Embedding = Annotated[
    str | None,
    typer.Option(
        "--embedding",
        metavar="FILE|NAME",
        help="A configuration file, or a provider's name; default ~/.config/septet/config.toml, if it exists. "
        f"Or {EMBEDDING_VARIABLE}.",
    ),
]

_F = TypeVar("_F", bound=Callable[..., object])


class Mode(str, Enum):
    """The amount of each entry that a search returns."""

    full = "full"
    scan = "scan"


#: The search options on the command line: type, flags and placeholder.
_WRITTEN: Mapping[str, tuple[Any, tuple[str, ...], str | None]] = {
    "limit": (int | None, ("-n", "--limit"), None),
    "offset": (int, ("--offset",), None),
    "must": (list[str] | None, ("--must",), "WORDS"),
    "must_not": (list[str] | None, ("--must-not",), "WORDS"),
    "phrase": (list[str] | None, ("--phrase",), "WORDS"),
    "prefix": (bool, ("--prefix",), None),
    "syntax": (str, ("--syntax",), "plain|web"),
    "typos": (bool | None, ("--typos/--no-typos",), None),
    "mode": (Mode, ("--mode",), None),
    "domain": (str | None, ("--domain",), "NAME"),
    "type": (str | None, ("--type",), "NAME"),
    "severity": (str | None, ("--severity",), "NAME"),
    "tags": (list[str] | None, ("-t", "--tag"), "NAME"),
    "where": (str | None, ("--where",), "JSON"),
    "profile": (str | None, ("--profile",), "NAME|FILE"),
    "include_expired": (bool, ("--expired",), None),
    "min_score": (float | None, ("--min-score",), None),
    "min_confidence": (float | None, ("--min-confidence",), None),
    "max_tokens": (int | None, ("--max-tokens",), None),
    "diversity": (float | None, ("--diversity",), "0..1"),
    "timeout_s": (float | None, ("--timeout",), "SECONDS"),
    "include_memories": (bool, ("--memories",), None),
}
#: Help texts that differ from those of Python.
_HELP = {"prefix": "The last word of the query matches as a prefix."}
#: Options of a search that the command line does not offer.
LEFT_OUT = frozenset(
    "as_of facets group_by kinds query_vector model legs tiers reranker rerank_top rerank_timeout_s".split()
)


def takes_search_options(*without: str) -> Callable[[_F], _F]:
    """Replace the ``**options`` of a command by the options of a search.

    Args:
        without: options that the command does not offer.
    """

    def changed(command: _F) -> _F:
        plain = inspect.signature(command, eval_str=True)
        named = list(plain.parameters.values())[:-1]
        arguments = [p for p in named if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        offered = [_parameter(name) for name in _WRITTEN if name not in without]
        parameters = [*arguments, *offered, *named[len(arguments) :]]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return command

    return changed


def search_options(parsed: Mapping[str, Any]) -> Any:
    """Return the options of a search from those of the command line.

    Raises:
        QueryError: ``--where`` is not a JSON object.
    """
    options = dict(parsed)
    if options.get("where") is not None:
        options["where"] = filter_of(options["where"])
    if "mode" in options:
        options["mode"] = options["mode"].value
    return options


def _parameter(name: str) -> inspect.Parameter:
    declared, flags, metavar = _WRITTEN[name]
    more = " Repeat for more." if declared == list[str] | None else ""
    completed = complete_profiles if name == "profile" else None
    option = typer.Option(
        *flags, metavar=metavar, help=_HELP.get(name, OPTIONS[name].help) + more, autocompletion=completed
    )
    default = Mode(OPTIONS[name].default) if declared is Mode else OPTIONS[name].default
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=Annotated[declared, option])


def filter_of(text: str) -> dict[str, Any]:
    """Parse ``--where``.

    Raises:
        QueryError: not a JSON object.
    """
    try:
        parsed = json.loads(text)
    except ValueError as fault:
        raise QueryError(f"--where is not JSON: {fault}") from None
    except RecursionError:
        raise QueryError("--where is nested too deeply: use fewer levels") from None
    if not isinstance(parsed, dict):
        raise QueryError('--where is not a JSON object: wanted one such as {"domain": "security"}')
    return parsed
