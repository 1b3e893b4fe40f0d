"""The commands that ask a vault, and say why it answers so: search, explain, feedback."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from septet.cli.exits import NOTHING
from septet.cli.options import AsJson, Embedding, Id, Query, VaultPath, search_options, takes_search_options
from septet.cli.places import existing
from septet.cli.terminal import print_json, say, say_notes

__all__ = ["explain", "feedback", "search"]


@takes_search_options()
def search(
    query: Query,
    *,
    explain: Annotated[bool, typer.Option("--explain", help="Show weight x signal of every signal.")] = False,
    as_json: AsJson = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
    **options: Any,
) -> None:
    """Find the entries that answer a question, best first."""
    from septet.cli import render, settings

    with existing(vault, **settings.find(embedding).embedder) as opened:
        results = opened.search(query, **search_options(options))
    if as_json:
        print_json(results.to_dict())
    elif results:
        render.hits(render.console(sys.stdout), results, ids=True, detail=explain)
    say_notes(results.notes)
    if not results:
        say("nothing found")
        raise typer.Exit(NOTHING)


@takes_search_options("mode")
def explain(
    query: Query,
    id: Id,
    *,
    as_json: AsJson = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
    **options: Any,
) -> None:
    """Explain the rank of an entry in a search.

    Or why the search does not return it.
    """
    from septet.cli import render, settings

    with existing(vault, **settings.find(embedding).embedder) as opened:
        found = opened.explain(query, id, **search_options(options))
    if as_json:
        print_json(found.to_dict())
    else:
        render.explanation(render.console(sys.stdout), found)
    say_notes(found.notes)


def feedback(
    query: Query,
    id: Id,
    action: Annotated[
        Any, typer.Argument(metavar="ACTION", help="accepted, modified, dismissed or failed.", parser=str)
    ],
    vault: VaultPath = None,
) -> None:
    """Record what became of a result.

    From 30 rows on, the weights adapt to them.
    """
    with existing(vault, read_only=False) as opened:
        opened.feedback(query, id, action)
    say(f"recorded: {id} was {action}")
