"""Options of several commands, and shell completion of their values.

The options of a search come from `septet.query.options`.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from septet.cli.places import EMBEDDING_VARIABLE, existing
from septet.errors import EntryError, QueryError
from septet.query.options import OPTIONS, WORDS

#: Set by shells to request completions, such as to ``complete_bash``.
COMPLETE_VARIABLE = "_SEPTET_COMPLETE"
#: Maximum completions of an id.
COMPLETIONS = 100


def complete_ids(ctx: Any, incomplete: str) -> list[str]:
    """Return the ids of the vault with a prefix, without those on the line."""
    typed = ctx.params.get("ids") or ()
    with suppress(Exception), existing(ctx.params.get("vault") or os.environ.get("SEPTET_VAULT")) as opened:
        return [id for id in opened._ids_beginning(incomplete, limit=COMPLETIONS) if id not in typed]
    return []


def complete_profiles(incomplete: str) -> list[str]:
    """Return the names of profiles with a prefix."""
    from septet.profiles import BUILTIN

    return [name for name in BUILTIN if name.startswith(incomplete)]


Query = Annotated[str, typer.Argument(metavar="QUERY", help="A question or some words; no character is special.")]
_ID = typer.Argument(
    metavar="ID", help="The id of an entry, whole or shortened, or a path#L10.", autocompletion=complete_ids
)
Id = Annotated[str, _ID]
OptionalId = Annotated[str | None, _ID]

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


class Mode(str, Enum):
    """The amount of each entry that a search returns."""

    full = "full"
    scan = "scan"


#: The search options on the command line: type, flags and placeholder.
_SEARCH: Mapping[str, tuple[Any, tuple[str, ...], str | None]] = {
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
    "boost_tags": (list[str] | None, ("--boost-tags",), "NAME"),
    "where": (str | None, ("--where",), "JSON"),
    "profile": (str | None, ("--profile",), "NAME|FILE"),
    "include_expired": (bool, ("--expired",), None),
    "min_score": (float | None, ("--min-score",), None),
    "min_confidence": (float | None, ("--min-confidence",), None),
    "max_tokens": (int | None, ("--max-tokens",), None),
    "diversity": (float | None, ("--diversity",), "0..1"),
    "rerank": (str | None, ("--rerank",), "FOLDER"),
    "timeout_s": (float | None, ("--timeout",), "SECONDS"),
    "include_memories": (bool, ("--memories",), None),
}
#: Help texts that differ from those of Python.
_HELP = {
    "prefix": "The last word of the query matches as a prefix.",
    "type": "Only this type.",
    "severity": "Only critical, warning or suggestion.",
    "rerank": "A local model that rescores the best hits: a folder or an installed package.",
}
#: Flags that are fields of ``where`` in Python.
_WHERE = ("type", "severity")
#: Options of a search that the command line does not offer.
LEFT_OUT = frozenset("as_of facets group_by kinds query_vector model legs tiers words".split())


#: Single-valued fields: several values of an option are alternatives.
_FIELDS = ("kind", "type", "domain", "severity", "source")
#: The filter options: placeholder, flags and help.
_FILTERS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "kind": ("NAME", ("--kind",), "Kind: entry, chunk, memory, …; repeat for alternatives."),
    "type": ("NAME", ("--type",), "Type; repeat for alternatives."),
    "domain": ("NAME", ("--domain",), "Domain; repeat for alternatives."),
    "severity": ("NAME", ("--severity",), "critical, warning or suggestion; repeat for alternatives."),
    "source": ("NAME", ("--source",), "Source, such as a folder; repeat for alternatives."),
    "tag": ("NAME", ("-t", "--tag"), "Tag; repeat to require several."),
    "since": ("TIME", ("--since",), "Changed at or after this time: 2026-11-23, 2026-11, or an ISO time; UTC."),
    "until": ("TIME", ("--until",), "Last changed at or before this time; a day or month counts as a whole."),
}


def keyword(name: str, declared: Any, default: Any = None) -> inspect.Parameter:
    """Return a keyword parameter for the signature of a command."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=declared)


def searching(*without: str) -> Iterator[inspect.Parameter]:
    """Yield the parameters of the options of a search.

    Args:
        without: options that the command does not offer.
    """
    return (_search_parameter(name) for name in _SEARCH if name not in without)


def filtering() -> Iterator[inspect.Parameter]:
    """Yield the parameters of the filter options."""
    for name, (metavar, flags, help) in _FILTERS.items():
        declared = str | None if metavar == "TIME" else list[str] | None
        yield keyword(name, Annotated[declared, typer.Option(*flags, metavar=metavar, help=help)])
    yield keyword("where", Where)


def search_options(parsed: Mapping[str, Any]) -> Any:
    """Return the options of a search from those of the command line (`QueryError`)."""
    options = {name: value for name, value in parsed.items() if name not in WORDS and name not in _WHERE}
    if options.get("where") is not None:
        options["where"] = filter_of(options["where"])
    if fields := {name: parsed[name] for name in _WHERE if parsed.get(name) is not None}:
        options["where"] = {"$and": [options["where"], fields]} if options.get("where") else fields
    if words := {
        name: parsed[name] for name, option in WORDS.items() if parsed.get(name) not in (None, option.default)
    }:
        options["words"] = words
    if "mode" in options:
        options["mode"] = options["mode"].value
    return options


def _search_parameter(name: str) -> inspect.Parameter:
    declared, flags, metavar = _SEARCH[name]
    more = " Repeat for more." if declared == list[str] | None else ""
    completed = complete_profiles if name == "profile" else None
    known = OPTIONS.get(name) or WORDS.get(name)
    text = _HELP.get(name) or (known.help if known else "")
    option = typer.Option(*flags, metavar=metavar, help=text + more, autocompletion=completed)
    default = known.default if known else None
    default = Mode(default) if declared is Mode else default
    return keyword(name, Annotated[declared, option], default)


def filter_of(text: str) -> dict[str, Any]:
    """Parse ``--where`` (`QueryError`)."""
    try:
        parsed = json.loads(text)
    except ValueError as fault:
        raise QueryError(f"--where is not JSON: {fault}") from None
    except RecursionError:
        raise QueryError("--where is nested too deeply: use fewer levels") from None
    if not isinstance(parsed, dict):
        raise QueryError('--where is not a JSON object: wanted one such as {"domain": "security"}')
    return parsed


def where_of(filters: Mapping[str, Any]) -> dict[str, Any] | None:
    """Combine the filter options; None without any (`QueryError`)."""
    named = {field: list(dict.fromkeys(filters[field] or ())) for field in _FIELDS}
    parts: list[dict[str, Any]] = [
        {field: values[0] if len(values) == 1 else {"$in": values}} for field, values in named.items() if values
    ]
    if tags := list(dict.fromkeys(filters["tag"] or ())):
        parts.append({"tags": {"$all": tags}})
    for option, sign in (("since", ">="), ("until", "<=")):
        if filters[option] is not None:
            parts.append({"updated_at": _bound(filters[option], sign, f"--{option}")})
    if filters["where"] is not None and (where := filter_of(filters["where"])):
        parts.append(where)
    return {"$and": parts} if len(parts) > 1 else parts[0] if parts else None


def moment_of(text: str | None, option: str) -> Any:
    """Parse the time of an option; None without one (`QueryError`)."""
    if text is None:
        return None
    from septet.inputs.times import Times

    try:
        moment = Times().epoch(text, option)
    except EntryError as fault:
        raise QueryError(str(fault)) from None
    if moment is None:
        raise QueryError(f"{option} is empty: wanted an ISO date such as 2024-05-31")
    return moment


def _bound(text: str, sign: str, option: str) -> dict[str, Any]:
    """Return the condition that a time is not before (``>=``) or after (``<=``) a day, month, year or time."""
    from septet.query.web import dated

    condition = dated(sign + text.strip())
    return dict(condition) if condition is not None else {{">=": "$gte", "<=": "$lte"}[sign]: moment_of(text, option)}
