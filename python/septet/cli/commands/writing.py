"""The commands that write entries: add."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from septet.cli.options import Embedding, VaultPath
from septet.cli.places import writable
from septet.cli.terminal import say, say_notes
from septet.errors import EntryError

__all__ = ["add"]

#: How long `add` waits for the vector of its text.
ADD_WAIT_S = 3.0


def add(
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What the entry is about.")],
    description: Annotated[str, typer.Option("-d", "--description", help="The text; - reads standard input.")] = "",
    context: Annotated[str, typer.Option(help="Where it applies.")] = "",
    type: Annotated[str | None, typer.Option("--type", help="Default note.")] = None,
    domain: Annotated[str | None, typer.Option(help="Default general.")] = None,
    severity: Annotated[str | None, typer.Option(help="critical, warning or suggestion (default).")] = None,
    tag: Annotated[list[str] | None, typer.Option("-t", "--tag", help="A tag; repeat for more.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Its id; an entry with this id is overwritten.")] = None,
    attr: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Anything else; VALUE may be JSON.")
    ] = None,
    split: Annotated[bool, typer.Option("--split", help="Split a long text into linked parts.")] = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
) -> None:
    """Store an entry and print its id.

    Its text is embedded if an embedder is configured; this takes 3 seconds at most, and a failure does not matter.
    """
    from septet.cli import settings

    fields: dict[str, Any] = {
        "title": title,
        "description": sys.stdin.read().strip() if description == "-" else description,
        "context": context,
        "tags": tag or [],
        "attrs": dict(_attr(text) for text in attr or []),
    }
    optional = {"type": type, "domain": domain, "severity": severity, "id": id}
    fields.update((name, value) for name, value in optional.items() if value is not None)
    made = settings.find(embedding).embedder
    if made:
        from septet.embedding.options import EmbeddingOptions

        made["embedding_options"] = EmbeddingOptions(close_wait_s=ADD_WAIT_S)
    with writable(vault, **made) as opened:
        print(opened.add(**fields, split="auto" if split else None), flush=True)
    status = opened.embedding_status()
    say_notes(status.notes)
    if status.activity == "running":
        say(f"note not_embedded: no vector within {ADD_WAIT_S:g} s (`septet embed` makes it, `septet doctor` checks)")


def _attr(text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise EntryError(f"--attr is {text!r}: wanted KEY=VALUE")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value
