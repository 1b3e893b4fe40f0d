"""Filter options of the commands that list and count."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import typer

from septet.cli.options import Where, filter_of

_F = TypeVar("_F", bound=Callable[..., object])

#: Single-valued fields: several values of an option are alternatives.
_FIELDS = ("kind", "type", "domain", "severity", "source")
_OPTIONS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "kind": (("--kind",), "Kind: entry, chunk, memory, …; repeat for alternatives."),
    "type": (("--type",), "Type; repeat for alternatives."),
    "domain": (("--domain",), "Domain; repeat for alternatives."),
    "severity": (("--severity",), "critical, warning or suggestion; repeat for alternatives."),
    "source": (("--source",), "Source, such as a folder; repeat for alternatives."),
    "tag": (("-t", "--tag"), "Tag; repeat to require several."),
    "since": (("--since",), "Changed at or after this time: 2026-11-23, 2026-11, or an ISO time; UTC."),
    "until": (("--until",), "Last changed at or before this time; a day or month counts as a whole."),
}


def takes_filters(command: _F) -> _F:
    """Replace the ``**filters`` of a command by the filter options."""
    declared = list(inspect.signature(command, eval_str=True).parameters.values())
    named = [parameter for parameter in declared if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    arguments = [parameter for parameter in named if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
    command.__signature__ = inspect.Signature([*arguments, *_parameters(), *named[len(arguments) :]])  # type: ignore[attr-defined]
    return command


def where_of(filters: Mapping[str, Any]) -> dict[str, Any] | None:
    """Combine the filter options; None without any.

    Raises:
        QueryError: ``--where`` is no JSON object, or a time is malformed.
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
    """Parse the time of an option; None without one.

    Raises:
        QueryError: a malformed time.
    """
    if text is None:
        return None
    from septet.errors import EntryError, QueryError
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


def _parameters() -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = []
    for name, (flags, text) in _OPTIONS.items():
        declared, metavar = (str | None, "TIME") if name in ("since", "until") else (list[str] | None, "NAME")
        option = typer.Option(*flags, metavar=metavar, help=text)
        parameters.append(inspect.Parameter(name, keyword, default=None, annotation=Annotated[declared, option]))
    return [*parameters, inspect.Parameter("where", keyword, default=None, annotation=Where)]
