"""The commands that read entries: get, list, count, history, links, facets, stats."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import NOTHING, end_with
from septet.cli.formats import Format, Output, show
from septet.cli.ids import place_of, whole_id, whole_ids
from septet.cli.options import Id, complete_ids, filtering, moment_of, where_of
from septet.cli.terminal import print_json, say, say_notes
from septet.errors import QueryError

if TYPE_CHECKING:
    from septet.cli.screen import Screen
    from septet.model.entry import Entry, Version
    from septet.model.stats import Stats

#: The columns of an entry in `csv` and `md`.
COLUMNS = ("id", "title", "kind", "type", "domain", "severity", "trust", "tags", "context", "description", "source",
           "created_at", "updated_at", "valid_from", "valid_until", "citation")  # fmt: skip
#: The columns of the table of a list.
LISTED = ("id", "kind", "type", "domain", "updated", "title")
_LINES = re.compile(r"(.+?):(\d+)(?::(\d+))?", re.DOTALL)

AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="Only entries valid at this time: 2026-11-23.")
]


@command("format", "tier", "memory")
def get(
    shared: SharedOptions,
    ids: Annotated[
        list[str],
        typer.Argument(
            metavar="ID[:FROM[:COUNT]]...",
            help="Whole or shortened ids; COUNT lines of the text, from FROM.",
            autocompletion=complete_ids,
        ),
    ],
) -> None:
    """Print whole entries by id, or some lines of their texts."""
    entries: list[Entry] = []
    missing: list[str] = []
    with shared.memory() as opened:
        ids_by_text = whole_ids(opened, ids)
        for text in ids:
            # Ids may contain colons: an existing id takes precedence over a range of lines.
            id, lines = ids_by_text[text], _LINES.fullmatch(text)
            if id is None and lines is not None:
                id = whole_ids(opened, [lines[1]])[lines[1]]
            entry = None if id is None else opened.get(id)
            if entry is None:
                missing.append(text)
            elif ids_by_text[text] is None and lines is not None:
                entries.append(_cut(entry, int(lines[2]), None if lines[3] is None else int(lines[3])))
            else:
                entries.append(entry)
    _show_entries(entries, shared.format)
    if missing:
        end_with(f"no entry {', '.join(map(repr, sorted(set(missing))))} in {place_of(opened)}")


@command("format", "tier", "memory", options=filtering())
def list_(
    shared: SharedOptions,
    *,
    order_by: Annotated[
        list[str] | None,
        typer.Option("--order-by", metavar="FIELD[:desc]", help="Default created; repeat for more."),
    ] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", help="Maximum entries; 0 for all.")] = 100,
    after: Annotated[str | None, typer.Option("--after", metavar="TEXT", help="Start after the previous page.")] = None,
    as_of: AsOf = None,
    **filters: Any,
) -> None:
    """List entries by filter, in any order, page by page.

    Sorts by any column of the list, by created, or by another single-valued field.
    """
    order: Any = [_order(text) for text in order_by or ["created"]]
    with shared.memory() as opened:
        page = opened.entries(
            where_of(filters), order_by=order, limit=limit or None, after=after, as_of=moment_of(as_of, "--as-of")
        )
    _show_entries(page.entries, shared.format, whole=page.to_dict(), listed=True)
    if page.next is not None:
        say(f"next page: --after '{page.next}'")
    if not page:
        end_with("nothing found")


@command("json", "tier", "memory", options=filtering())
def count(shared: SharedOptions, *, as_of: AsOf = None, **filters: Any) -> None:
    """Count the entries that `septet list` would list.

    Exits with 1 if there are none.
    """
    with shared.memory() as opened:
        number = opened.count(where_of(filters), as_of=moment_of(as_of, "--as-of"))
    if shared.as_json:
        print_json({"count": number})
    else:
        print(number)
    if not number:
        raise typer.Exit(NOTHING)


@command("format", "tier", "memory")
def history(shared: SharedOptions, id: Id) -> None:
    """Print the earlier versions of an entry, newest first."""
    with shared.memory() as opened:
        whole = whole_id(opened, id)
        versions = opened.history(whole)
    records = [
        {"entry": v.entry.to_dict(), "replaced_at": v.replaced_at, "call": v.call, "changed": list(v.changed)}
        for v in versions
    ]
    rows = [_version_row(version) for version in versions]
    lines = records if shared.format is Format.jsonl else rows
    columns = ("replaced", "call", "changed", "title")
    show(Output(whole={"versions": records}, records=lines, columns=columns), shared.format)
    if not versions:
        say(f"{whole} has no earlier versions")


@command("format", "tier", "memory")
def links(shared: SharedOptions, id: Id) -> None:
    """Print the links from and to an entry."""
    with shared.memory() as opened:
        whole = whole_id(opened, id)
        links_ = opened.links(whole)
        ends = [link.target if link.source == whole else link.source for link in links_]
        titles = {entry.id: entry.title for entry in opened.load(ends)}
    records = [{"source": link.source, "target": link.target, "type": link.type, "note": link.note} for link in links_]
    rows = [
        {**record, "direction": "to" if record["source"] == whole else "from", "id": end, "title": titles.get(end, "")}
        for record, end in zip(records, ends, strict=True)
    ]
    lines = records if shared.format is Format.jsonl else rows
    columns = ("direction", "id", "type", "title", "note")
    show(Output(whole={"links": records}, records=lines, columns=columns, ids=ends), shared.format)
    if not links_:
        say(f"{whole} has no links")


@command("format", "tier", "memory", options=filtering())
def facets(
    shared: SharedOptions,
    field: Annotated[str, typer.Argument(metavar="FIELD", help="tags, domain, type, kind, source, attrs.NAME, …")],
    *,
    by: Annotated[Any, typer.Option("--by", metavar="day|month|year", parser=str, help="Group times.")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", help="Maximum values; 0 for all.")] = 100,
    **filters: Any,
) -> None:
    """Count entries per value of a field, the most frequent first."""
    with shared.memory() as opened:
        counts = opened.facets(field, where_of(filters), by=by, limit=limit or None)
    records = [{"value": value, "count": count} for value, count in counts.items()]
    show(Output(whole=counts.to_dict(), records=records, columns=("count", "value")), shared.format)
    if not records:
        end_with("nothing found")


@command("format", "tier", "memory")
def stats(shared: SharedOptions) -> None:
    """Show the contents of a vault and the folders it follows."""
    from septet.cli import render
    from septet.cli.commands.syncing import print_roots
    from septet.files.report import roots_of
    from septet.vault import Vault

    with shared.memory() as opened:
        # Only a vault in a file follows folders.
        counts, roots = opened.stats(), roots_of(opened._store) if isinstance(opened, Vault) else []
    whole = counts.to_dict() | ({"roots": [asdict(root) for root in roots]} if roots else {})

    def shown(out: Screen) -> None:
        render.stats(out, counts)
        print_roots(roots)

    lines = [whole] if shared.format is Format.jsonl else _stats_rows(counts)
    show(Output(whole=whole, records=lines, columns=("what", "name", "count"), show=shown), shared.format)
    say_notes(tuple(counts.notes))


def _show_entries(entries: Sequence[Entry], format: Format, *, whole: Any = None, listed: bool = False) -> None:
    from septet.cli import render
    from septet.cli.formats import table

    records = [entry.to_dict() for entry in entries]

    def shown(out: Screen) -> None:
        if listed:
            table(out, LISTED, [_row(entry) for entry in entries]) if entries else None
            return
        for number, entry in enumerate(entries):
            if number:
                out.print()
            render.entry(out, entry)

    documents = []
    if format is Format.md and not listed:
        from septet.cli.front_matter import as_text

        documents = [as_text(entry) for entry in entries]
    rows = [{**record, "citation": entry.citation} for record, entry in zip(records, entries, strict=True)]
    show(
        Output(
            whole=records if whole is None else whole,
            records=records if format is Format.jsonl else rows,
            columns=COLUMNS if format is not Format.md else (*LISTED[:-2], "title"),
            documents=documents,
            ids=[entry.id for entry in entries],
            show=shown,
        ),
        format,
    )


def _row(entry: Entry) -> tuple[str, ...]:
    return entry.id, entry.kind, entry.type, entry.domain, _day(entry.updated_at), entry.title


def _day(epoch: float) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.localtime(epoch))
    except (OverflowError, ValueError, OSError):
        return f"{epoch:g}"


def _cut(entry: Entry, first: int, count: int | None) -> Entry:
    """Return an entry with ``count`` lines of its description, from line ``first``, counted from 1 (`QueryError`)."""
    lines = entry.description.split("\n")
    if not 1 <= first <= len(lines):
        raise QueryError(f"no line {first} in {entry.id}: wanted 1 to {len(lines)}")
    return replace(entry, description="\n".join(lines[first - 1 :][:count]))


def _version_row(version: Version) -> dict[str, Any]:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(version.replaced_at))
    return {"replaced": when, "call": version.call, "changed": list(version.changed), "title": version.entry.title}


def _stats_rows(counts: Stats) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"what": "entries", "count": counts.entries}, {"what": "links", "count": counts.links},
        {"what": "bytes", "count": counts.size_bytes}, {"what": "generation", "count": counts.generation},
    ]  # fmt: skip
    for what, numbers in (("kind", counts.kinds), ("feedback", counts.feedback)):
        rows += [{"what": what, "name": name, "count": count} for name, count in numbers.items()]
    rows += [{"what": "vectors", "name": space.model, "count": space.entries} for space in counts.spaces]
    return [{"name": "", **row} for row in rows]


def _order(text: str) -> str | tuple[str, str]:
    """Parse a field and its direction: ``updated``, ``updated:desc``, ``-updated`` (`QueryError`)."""
    field, sign, direction = text.rpartition(":")
    if text.startswith("-"):
        field, sign, direction = text[1:], ":", "desc"
    elif sign and direction.lower() not in ("asc", "desc") and not text.startswith("attrs."):
        raise QueryError(f"--order-by is {text!r}: wanted FIELD, FIELD:asc or FIELD:desc")
    elif direction.lower() not in ("asc", "desc") or not sign:
        field, sign = text, ""
    field = {"created": "created_at", "updated": "updated_at"}.get(field, field)
    return (field, direction.lower()) if sign else field
