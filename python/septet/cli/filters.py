"""Options that choose entries by their fields, for the commands that list and count."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import typer

from septet.cli.options import Where, filter_of

__all__ = ["moment_of", "takes_filters", "where_of"]

_F = TypeVar("_F", bound=Callable[..., object])

#: Fields with one value each: several values of an option are alternatives.
_FIELDS = ("kind", "type", "domain", "severity", "source")
_OPTIONS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "kind": (("--kind",), "Those of a kind: entry, chunk, memory, …; repeat for other kinds too."),
    "type": (("--type",), "Those of a type; repeat for other types too."),
    "domain": (("--domain",), "Those of a domain; repeat for other domains too."),
    "severity": (("--severity",), "critical, warning or suggestion; repeat for others too."),
    "source": (("--source",), "Those of a source, such as a folder; repeat for others too."),
    "tag": (("-t", "--tag"), "Those with a tag; repeat for those with all of them."),
    "since": (("--since",), "Those changed then or later: 2026-11-23, 2026-11, or an ISO time; UTC."),
    "until": (("--until",), "Those last changed then or before, a day or month as a whole."),
}


def takes_filters(command: _F) -> _F:
    """Replace the ``**filters`` of a command by the options that choose entries, ``--where`` the last."""
    given = list(inspect.signature(command, eval_str=True).parameters.values())
    named = [parameter for parameter in given if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    arguments = [parameter for parameter in named if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
    command.__signature__ = inspect.Signature([*arguments, *_parameters(), *named[len(arguments) :]])  # type: ignore[attr-defined]
    return command


def where_of(filters: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the filter that the options ask for together; None if none is given.

    Raises:
        QueryError: ``--where`` is no JSON object, or a time cannot be read.
    """
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
    """Return the time that an option gives; None without one.

    Raises:
        QueryError: it is no time.
    """
    if text is None:
        return None
    from septet.errors import EntryError, QueryError
    from septet.inputs.times import Times

    try:
        found = Times().epoch(text, option)
    except EntryError as fault:
        raise QueryError(str(fault)) from None
    if found is None:
        raise QueryError(f"{option} is empty: wanted an ISO date such as 2024-05-31")
    return found


def _bound(text: str, sign: str, option: str) -> dict[str, Any]:
    """Return the condition that a time is not before, or not behind, the whole day, month or year of a text."""
    from septet.query.web import dated

    found = dated(sign + text.strip())
    return dict(found) if found is not None else {{">=": "$gte", "<=": "$lte"}[sign]: moment_of(text, option)}


def _parameters() -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    found = []
    for name, (flags, text) in _OPTIONS.items():
        declared, metavar = (str | None, "TIME") if name in ("since", "until") else (list[str] | None, "NAME")
        option = typer.Option(*flags, metavar=metavar, help=text)
        found.append(inspect.Parameter(name, keyword, default=None, annotation=Annotated[declared, option]))
    return [*found, inspect.Parameter("where", keyword, default=None, annotation=Where)]
