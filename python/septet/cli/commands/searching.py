"""The commands that ask: search, recall, similar, explain, feedback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.completing import complete_ids
from septet.cli.exits import NOTHING
from septet.cli.formats import Format, FormatOption, Found, format_of, show
from septet.cli.memory import in_tier, keep_index, memory, whole_id
from septet.cli.options import (
    AsJson,
    ConfigFile,
    Embedding,
    Id,
    Query,
    TierName,
    VaultPath,
    Where,
    filter_of,
    search_options,
    takes_search_options,
)
from septet.cli.terminal import print_json_line, say, say_notes
from septet.errors import QueryError, SeptetError

if TYPE_CHECKING:
    from septet.model.results import Results

__all__ = ["explain", "feedback", "recall", "search", "similar"]

#: What `csv` and `md` show of a hit.
COLUMNS = ("score", "confidence", "id", "title", "kind", "type", "domain", "severity", "tags", "tier", "citation")


@takes_search_options()
def search(
    ctx: typer.Context,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="A question or some words; - reads queries, a line each.")
    ],
    *,
    explain: Annotated[bool, typer.Option("--explain", help="Show weight x signal of every signal.")] = False,
    format: FormatOption = None,
    as_json: AsJson = False,
    embedding: Embedding = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
    **options: Any,
) -> None:
    """Find the entries that answer a question, best first.

    A query of filters alone, such as tag:daily, lists what passes them, the newest first (see --syntax web).
    With - for the query, each line of standard input is one, and gets a line of JSON as soon as it is read.
    """
    if query == "-":
        if explain or as_json or format not in (None, Format.jsonl):
            raise QueryError("queries from standard input are answered in JSON lines: leave out other formats")
        with memory(vault, config, embeds=True, embedding=embedding) as opened:
            _answer_lines(opened, search_options(options))
        return
    wanted = format_of(format, as_json)
    with memory(vault, config, embeds=True, embedding=embedding) as opened:
        asked = search_options(options)
        listed = _listed(opened, ctx, query, asked)
        results = opened.search(query, **asked) if listed is None else listed
    try:
        _show_results(results, wanted, detail=explain)
    finally:
        keep_index(opened, results.notes)


@takes_search_options(
    "offset", "must", "must_not", "phrase", "prefix", "syntax", "typos", "mode", "domain", "type", "severity",
    "include_memories", "diversity",
)  # fmt: skip
def recall(
    query: Query,
    *,
    format: FormatOption = None,
    as_json: AsJson = False,
    embedding: Embedding = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
    **options: Any,
) -> None:
    """Find the memories that answer a question: what `septet remember` stored."""
    wanted = format_of(format, as_json)
    with memory(vault, config, embeds=True, embedding=embedding) as opened:
        given = search_options(options)
        results = opened.recall(query, **{name: value for name, value in given.items() if value not in (None, False)})
    _show_results(results, wanted)


def similar(
    id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="The id of an entry, whole or shortened, or a path#L10.",
            autocompletion=complete_ids,
        ),
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="Entries like this text, in the place of an ID.")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", help="At most so many.")] = 10,
    where: Where = None,
    format: FormatOption = None,
    as_json: AsJson = False,
    tier: TierName = None,
    embedding: Embedding = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
) -> None:
    """Find entries like an entry or a text, by a similarity of 0 to 1."""
    wanted = format_of(format, as_json)
    if (id is None) == (text is None):
        raise QueryError("wanted either ID or --text TEXT")
    with memory(vault, config, embeds=True, embedding=embedding) as opened:
        which = in_tier(opened, tier)
        whole = None if id is None else whole_id(opened, id, **which)
        filters = {} if where is None else {"where": filter_of(where)}
        results = opened.similar(whole, text=text, limit=limit, **filters, **which)
    _show_results(results, wanted)


@takes_search_options("mode")
def explain(
    query: Query,
    id: Id,
    *,
    format: FormatOption = None,
    as_json: AsJson = False,
    embedding: Embedding = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
    **options: Any,
) -> None:
    """Explain the rank of an entry in a search.

    Or why the search does not return it.
    """
    from septet.cli import render

    wanted = format_of(format, as_json)
    with memory(vault, config, embeds=True, embedding=embedding) as opened:
        found = opened.explain(query, whole_id(opened, id), **search_options(options))
    whole = found.to_dict()
    show(Found(whole=whole, records=[whole], ids=[found.id], show=lambda out: render.explanation(out, found)), wanted)
    say_notes(found.notes)


def feedback(
    query: Query,
    id: Id,
    action: Annotated[
        Any, typer.Argument(metavar="ACTION", help="accepted, modified, dismissed or failed.", parser=str)
    ],
    tier: TierName = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
) -> None:
    """Record what became of a result.

    From 30 rows on, the weights adapt to them.
    """
    with memory(vault, config, write=True) as opened:
        which = in_tier(opened, tier)
        whole = whole_id(opened, id, **which)
        opened.feedback(query, whole, action, **which)
    say(f"recorded: {whole} was {action}")


def _listed(opened: Any, ctx: typer.Context, query: str, options: dict[str, Any]) -> Results | None:
    """Return what passes the filters of a query that has nothing else, unless --syntax says what signs mean."""
    # A filter names its field before a colon.
    if ":" not in query or getattr(ctx.get_parameter_source("syntax"), "name", "") != "DEFAULT":
        return None
    from septet.query.web import understood

    web = understood(query)
    alone = web.where and not (web.text or web.must or web.must_not or web.phrases or web.prefixes or web.without)
    found: Results | None = opened.search(query, **{**options, "syntax": "web"}) if alone else None
    return found


def _show_results(results: Results, format: Format, *, detail: bool = False) -> None:
    from septet.cli import render

    hits = [hit.to_dict() for hit in results]
    rows = [{**{name: getattr(hit, name) for name in COLUMNS if name != "citation"}, "citation": hit.citation}
            for hit in results]  # fmt: skip
    found = Found(
        whole=results.to_dict() if format is Format.json else None,
        records=hits if format is Format.jsonl else rows,
        columns=COLUMNS,
        ids=results.ids,
        show=lambda out: render.hits(out, results, ids=True, detail=detail) if results else None,
    )
    show(found, format)
    say_notes(results.notes)
    if not results:
        say("nothing found")
        raise typer.Exit(NOTHING)


def _answer_lines(opened: Any, options: Any) -> None:
    """Answer each line of standard input with a line of JSON: the results, or what is wrong with the query.

    Raises:
        typer.Exit: nothing was found for any.
    """
    found = False
    for query in _lines():
        try:
            results = opened.search(query, **options)
        except QueryError as fault:
            print_json_line({"query": query, "error": _told(fault)})
            continue
        found = found or bool(results)
        print_json_line(results.to_dict())
    if not found:
        say("nothing found")
        raise typer.Exit(NOTHING)


def _lines() -> Iterator[str]:
    for line in sys.stdin.buffer:
        # A byte that is no text finds nothing, but does not end what follows.
        if query := line.decode("utf-8", errors="replace").strip():
            yield query


def _told(fault: SeptetError) -> dict[str, Any]:
    from septet.cli.wording import in_commands

    return {"code": fault.code, "message": in_commands(str(fault))}
