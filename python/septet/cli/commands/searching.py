"""The commands that search: search, recall, context, similar, explain, feedback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command, keep_index
from septet.cli.exits import end_with
from septet.cli.formats import Format, Output, show
from septet.cli.ids import whole_id
from septet.cli.options import Id, OptionalId, Query, Where, filter_of, search_options, searching
from septet.cli.terminal import print_json, print_json_line, say, say_notes
from septet.errors import QueryError, SeptetError

if TYPE_CHECKING:
    from septet.model.results import Results

#: The columns of a hit in `csv` and `md`.
COLUMNS = ("score", "confidence", "id", "title", "kind", "type", "domain", "severity", "tags", "tier", "citation")
#: Options of a search that `septet context` does not offer.
_NOT_OF_CONTEXT = (
    *("limit", "offset", "must", "must_not", "phrase", "prefix", "syntax", "typos", "mode", "boost_tags"),
    *("include_expired", "min_score", "diversity", "rerank", "include_memories"),
)


@command("format", "embedding", "memory", options=searching())
def search(
    shared: SharedOptions,
    ctx: typer.Context,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="A question or some words; - reads queries, one per line.")
    ],
    *,
    explain: Annotated[bool, typer.Option("--explain", help="Show weight x signal of every signal.")] = False,
    **options: Any,
) -> None:
    """Search entries, best first.

    A query of filters alone, such as tag:daily, lists the matching entries, newest first (see --syntax web).
    The query - reads queries from standard input, and prints a line of JSON for each as soon as it is read.
    """
    if query == "-":
        if explain or shared.named_format not in (None, Format.jsonl):
            raise QueryError("queries from standard input are answered in JSON lines: omit other formats")
        with shared.memory(embeds=True) as opened:
            _answer_lines(opened, search_options(options))
        return
    with shared.memory(embeds=True) as opened:
        applied = search_options(options)
        listed = _listed(opened, ctx, query, applied)
        results = opened.search(query, **applied) if listed is None else listed
    try:
        _show_results(results, shared.format, detail=explain)
    finally:
        keep_index(opened, results.notes)


@command(
    "format",
    "embedding",
    "memory",
    options=searching(
        "offset",
        "must",
        "must_not",
        "phrase",
        "prefix",
        "syntax",
        "typos",
        "mode",
        "domain",
        "type",
        "severity",
        "include_memories",
        "diversity",
    ),
)
def recall(shared: SharedOptions, query: Query, **options: Any) -> None:
    """Search memories, which `septet remember` stores."""
    with shared.memory(embeds=True) as opened:
        applied = {name: value for name, value in search_options(options).items() if value not in (None, False)}
        results = opened.recall(query, **applied)
    _show_results(results, shared.format)


@command("json", "embedding", "memory", options=searching(*_NOT_OF_CONTEXT))
def context(
    shared: SharedOptions,
    query: Query,
    *,
    kinds: Annotated[
        list[str] | None, typer.Option("--kind", metavar="NAME", help="Only entries of this kind; repeat for more.")
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="Also print the reason for each entry, and against others.")
    ] = False,
    **options: Any,
) -> None:
    """Print what belongs into the prompt of a model: pins, named entries and matches, within a budget.

    Entries with the tag always are pins; the tag alias:NAME names an entry.
    """
    with shared.memory(embeds=True) as opened:
        applied = {name: value for name, value in search_options(options).items() if value is not None}
        chosen = opened.context(query, kinds=kinds or None, **applied)
    if shared.as_json:
        print_json(chosen.to_dict())
    else:
        print(chosen.text, end="")
    if why:
        for item in chosen.items:
            say(f"{item.hit.id}: {item.reason}, {item.tokens} tokens")
        for missing in chosen.left_out:
            say(f"{missing.id} left out: {missing.reason}")
    say_notes(chosen.notes)
    if not chosen.items:
        no_room = next((missing.reason for missing in chosen.left_out if missing.code == "budget"), None)
        end_with("nothing found" if no_room is None else f"nothing printed: {no_room}")


@command("format", "tier", "embedding", "memory")
def similar(
    shared: SharedOptions,
    id: OptionalId = None,
    text: Annotated[str | None, typer.Option("--text", help="Find entries like this text, instead of an ID.")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", help="Maximum hits.")] = 10,
    where: Where = None,
) -> None:
    """Find entries similar to an entry or a text; scores are similarities from 0 to 1."""
    if (id is None) == (text is None):
        raise QueryError("wanted either ID or --text TEXT")
    with shared._replace(tier=None).memory(embeds=True) as opened:
        # Hits of a tier have its name.
        vault = shared.in_tier(opened)
        whole = None if id is None else whole_id(vault, id)
        filters = {} if where is None else {"where": filter_of(where)}
        searched = opened if vault is opened else opened._alone(shared.tier)
        results = searched.similar(whole, text=text, limit=limit, **filters)
    _show_results(results, shared.format)


@command("format", "embedding", "memory", options=searching("mode"))
def explain(shared: SharedOptions, query: Query, id: Id, **options: Any) -> None:
    """Explain the rank of an entry in a search, or its absence."""
    from septet.cli import render

    with shared.memory(embeds=True) as opened:
        explained = opened.explain(query, whole_id(opened, id), **search_options(options))
    whole = explained.to_dict()
    show(
        Output(whole=whole, records=[whole], ids=[explained.id], show=lambda out: render.explanation(out, explained)),
        shared.format,
    )
    say_notes(explained.notes)


@command("tier", "memory")
def feedback(
    shared: SharedOptions,
    query: Query,
    id: Id,
    action: Annotated[
        Any, typer.Argument(metavar="ACTION", help="accepted, modified, dismissed or failed.", parser=str)
    ],
) -> None:
    """Record feedback on a result.

    Weights adapt to feedback from 30 rows on.
    """
    with shared.memory(write=True) as opened:
        whole = whole_id(opened, id)
        opened.feedback(query, whole, action)
    say(f"recorded: {whole} was {action}")


def _listed(opened: Any, ctx: typer.Context, query: str, options: dict[str, Any]) -> Results | None:
    """Return the entries for a query of filters alone; None for other queries, or with --syntax."""
    # A filter begins with its field and a colon.
    if ":" not in query or getattr(ctx.get_parameter_source("syntax"), "name", "") != "DEFAULT":
        return None
    from septet.query.web import understood

    web = understood(query)
    only_filters = web.where and not (
        web.text or web.must or web.must_not or web.phrases or web.prefixes or web.without
    )
    results: Results | None = opened.search(query, **{**options, "syntax": "web"}) if only_filters else None
    return results


def _show_results(results: Results, format: Format, *, detail: bool = False) -> None:
    from septet.cli import render

    hits = [hit.to_dict() for hit in results]
    rows = [{**{name: getattr(hit, name) for name in COLUMNS if name != "citation"}, "citation": hit.citation}
            for hit in results]  # fmt: skip
    output = Output(
        whole=results.to_dict() if format is Format.json else None,
        records=hits if format is Format.jsonl else rows,
        columns=COLUMNS,
        ids=results.ids,
        show=lambda out: render.hits(out, results, ids=True, detail=detail) if results else None,
    )
    show(output, format)
    say_notes(results.notes)
    if not results:
        end_with("nothing found")


def _answer_lines(opened: Any, options: Any) -> None:
    """Answer each line of standard input with a line of JSON, results or error; exit if no query had results."""
    has_results = False
    for query in _lines():
        try:
            results = opened.search(query, **options)
        except QueryError as fault:
            print_json_line({"query": query, "error": _error(fault)})
            continue
        has_results = has_results or bool(results)
        print_json_line(results.to_dict())
    if not has_results:
        end_with("nothing found")


def _lines() -> Iterator[str]:
    for line in sys.stdin.buffer:
        # An invalid byte must not abort the remaining queries.
        if query := line.decode("utf-8", errors="replace").strip():
            yield query


def _error(fault: SeptetError) -> dict[str, Any]:
    from septet.cli.wording import in_commands

    return {"code": fault.code, "message": in_commands(str(fault))}
