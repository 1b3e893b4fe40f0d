"""The commands that write entries: add, remember, update, delete, forget, link, unlink."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import end_with
from septet.cli.ids import not_of_files, place_of, whole_id, whole_ids
from septet.cli.options import Id, Where, complete_ids, filter_of
from septet.cli.terminal import flat, say, say_notes
from septet.errors import EntryError

if TYPE_CHECKING:
    from septet.model.suggestion import Suggestion

#: Maximum seconds that `add` waits for the vector of its text.
ADD_WAIT_S = 3.0
#: Maximum entries to list before a deletion.
SHOWN = 10
_TIMES = ("created_at", "updated_at", "valid_from", "valid_until")

Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID...", help="Ids of entries, whole or shortened, or paths.", autocompletion=complete_ids),
]
Target = Annotated[
    str, typer.Argument(metavar="TARGET", help="The id of the link's target.", autocompletion=complete_ids)
]
Attr = Annotated[
    list[str] | None, typer.Option("--attr", metavar="KEY=VALUE", help="A custom attribute; VALUE may be JSON.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count; change nothing.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask; without a terminal, never asks.")]


@command("tier", "embedding", "memory")
def add(
    shared: SharedOptions,
    title: Annotated[
        str,
        typer.Argument(metavar="TITLE", help="The title; - reads a text with the title as its first heading."),
    ],
    description: Annotated[str, typer.Option("-d", "--description", help="The text; - reads standard input.")] = "",
    context: Annotated[str, typer.Option(help="Where it applies.")] = "",
    type: Annotated[str | None, typer.Option("--type", help="Default note.")] = None,
    domain: Annotated[str | None, typer.Option(help="Default general.")] = None,
    severity: Annotated[str | None, typer.Option(help="critical, warning or suggestion (default).")] = None,
    tag: Annotated[list[str] | None, typer.Option("-t", "--tag", help="A tag; repeat for more.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Its id; an entry with this id is overwritten.")] = None,
    attr: Attr = None,
    split: Annotated[bool, typer.Option("--split", help="Split a long text into linked parts.")] = False,
) -> None:
    """Store an entry and print its id.

    Embeds its text if an embedder is configured, for at most 3 seconds; the entry is stored even if that fails.
    """
    fields: dict[str, Any] = {
        "title": title,
        "description": _read() if description == "-" else description,
        "context": context,
        "tags": tag or [],
        "attrs": dict(_pair(text, "--attr") for text in attr or []),
    }
    if title == "-":
        if description:
            raise EntryError("TITLE - already reads the text from standard input: omit --description")
        from septet.cli.front_matter import fields_in, has_front_matter, titled

        text = _read()
        read = fields_in(text) if has_front_matter(text) else titled(text)
        options = {name: value for name, value in fields.items() if value and name != "title"}
        fields = {name: value for name, value in read.items() if value not in (None, "", [], {})} | options
    optional = {"type": type, "domain": domain, "severity": severity, "id": id}
    fields.update((name, value) for name, value in optional.items() if value is not None)
    with shared.memory(write=True, create=True, embeds=True, close_wait_s=ADD_WAIT_S) as opened:
        print(opened.add(**fields, split="auto" if split else None), flush=True)
    if not hasattr(opened, "embedding_status"):
        return
    # The vault is closed: its spaces cannot be read any more.
    status = opened._embeddings.status()
    say_notes(status.notes)
    if status.activity == "running":
        say(f"note not_embedded: no vector within {ADD_WAIT_S:g} s (run `septet embed`, or `septet doctor` to check)")


@command("tier", "embedding", "memory")
def remember(
    shared: SharedOptions,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - reads standard input.")],
    details: Annotated[str, typer.Option("-d", "--details", help="Further details.")] = "",
    topic: Annotated[list[str] | None, typer.Option("-t", "--topic", help="A topic; repeat for more.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Its id; a memory with this id is overwritten.")] = None,
    on_similar: Annotated[
        str,
        typer.Option(metavar="ACTION", help="Where one is like it: keep, note, skip, merge, supersede, or suggest."),
    ] = "keep",
) -> None:
    """Store a memory for `septet recall` and print its id.

    With --on-similar suggest, it stores nothing, and prints verdict, id, the other id, probability and reason.
    """
    text = _read() if text == "-" else text
    with shared.memory(write=True, create=True, embeds=True) as opened:
        action: Any = on_similar
        answer: str | Suggestion = opened.remember(text, details, topic or (), id=id, on_similar=action)
    if isinstance(answer, str):
        print(answer)
    else:
        print(answer.verdict, answer.id, answer.other or "-", f"{answer.probability:.2f}", flat(answer.reason))


@command("tier", "embedding", "memory")
def update(
    shared: SharedOptions,
    ids: Ids = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="A field; FIELD= empties it, tags are a,b; repeat for more."),
    ] = None,
    attr: Attr = None,
    where: Where = None,
    dry_run: DryRun = False,
) -> None:
    """Change fields of entries, by id or by filter.

    --attr changes a single attribute; KEY=null removes it.
    """
    changes: dict[str, Any] = dict(_change(text) for text in change or [])
    if attr:
        changes["merge_attrs"] = dict(_pair(text, "--attr") for text in attr)
    if not changes:
        raise EntryError("nothing to change: pass --set FIELD=VALUE or --attr KEY=VALUE")
    _one_of(ids, where)
    with shared.memory(write=not dry_run, embeds=True) as opened:
        if where is not None:
            # Without --tier, an error names the tiers.
            vault = opened._one(None) if hasattr(opened, "tiers") else opened
            count = vault.update_many(filter_of(where), dry_run=dry_run, **changes)
            say(f"{'would change' if dry_run else 'changed'} {_entries(count)}")
            return
        targets = _resolve(opened, ids or [])
        for id in targets if not dry_run else ():
            opened.update(id, **changes)
        say(f"{'would change' if dry_run else 'changed'} {_entries(len(targets))}")


@command("tier", "memory")
def delete(
    shared: SharedOptions, ids: Ids = None, where: Where = None, dry_run: DryRun = False, yes: Yes = False
) -> None:
    """Delete entries by id or by filter; asks first on a terminal.

    Refuses chunks of followed folders, with file and line: delete the text there, and sync.
    """
    _one_of(ids, where)
    with shared.memory(write=not dry_run) as opened:
        if where is not None:
            condition = filter_of(where)
            count = opened.delete(where=condition, dry_run=True)
            titles = [entry.title for entry in opened.entries(condition, limit=SHOWN)] if count else []
            chunks = {"$and": [condition, {"kind": "chunk"}]}
            not_of_files(opened, opened.entries(chunks, limit=None) if count else (), "delete it")
        else:
            condition = None
            targets = _resolve(opened, ids or [])
            entries = opened.load(targets)
            not_of_files(opened, entries, "delete it")
            count, titles = len(targets), [entry.title for entry in entries]
        if not count:
            end_with("nothing to delete")
        if dry_run:
            say(f"would delete {_entries(count)}: {_some(titles, count)}")
            return
        _ask(f"delete {_entries(count)}: {_some(titles, count)}?", yes)
        deleted = opened.delete(*targets) if condition is None else opened.delete(where=condition)
    say(f"deleted {_entries(deleted)}")


@command("tier", "memory")
def forget(
    shared: SharedOptions,
    ids: Annotated[
        list[str],
        typer.Argument(metavar="ID...", help="Ids of memories, whole or shortened.", autocompletion=complete_ids),
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Delete memories; ids of other entries are ignored."""
    with shared.memory(write=not dry_run) as opened:
        entries = opened.load(_resolve(opened, ids))
        memories = [entry for entry in entries if entry.kind == "memory"]
        if not memories:
            end_with("no memory among them")
        count = len(memories)
        summary = f"{_entries(count, 'memory', 'memories')}: {_some([entry.title for entry in memories], count)}"
        if dry_run:
            say(f"would forget {summary}")
            return
        _ask(f"forget {summary}?", yes)
        deleted = opened.forget(*[entry.id for entry in memories])
    say(f"forgot {_entries(deleted, 'memory', 'memories')}")


@command("tier", "memory")
def link(
    shared: SharedOptions,
    source: Id,
    target: Target,
    type: Annotated[str, typer.Option("--type", help="The type of the link.")] = "related",
    note: Annotated[str, typer.Option("--note", help="The reason for the link.")] = "",
) -> None:
    """Link an entry to another; an existing link gets the new type and note."""
    with shared.memory(write=True) as opened:
        ends = [whole_id(opened, end) for end in (source, target)]
        opened.link(*ends, type, note=note)
    say(f"linked {ends[0]} to {ends[1]}")


@command("tier", "memory")
def unlink(shared: SharedOptions, source: Id, target: Target) -> None:
    """Remove the link from an entry to another."""
    with shared.memory(write=True) as opened:
        ends = [whole_id(opened, end) for end in (source, target)]
        if not opened.unlink(*ends):
            end_with(f"no link from {ends[0]} to {ends[1]}")
    say(f"unlinked {ends[0]} from {ends[1]}")


def _resolve(opened: Any, texts: list[str]) -> list[str]:
    """Resolve whole or shortened ids; exit if one does not exist."""
    ids = whole_ids(opened, texts)
    if missing := [text for text, id in ids.items() if id is None]:
        end_with(f"no entry {', '.join(map(repr, missing))} in {place_of(opened)}; nothing was changed")
    return list(dict.fromkeys(id for id in ids.values() if id is not None))


def _ask(question: str, yes: bool) -> None:
    """Ask for confirmation on a terminal; exit if the user declines."""
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    print(flat(question), "[y/N]", end=" ", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        end_with("nothing was deleted")


def _one_of(ids: list[str] | None, where: str | None) -> None:
    if bool(ids) == (where is not None):
        raise EntryError("wanted either ids or --where JSON")


def _entries(count: int, singular: str = "entry", plural: str = "entries") -> str:
    return f"{count:,} {singular if count == 1 else plural}"


def _some(titles: list[str], count: int) -> str:
    more = f" and {count - SHOWN:,} more" if count > SHOWN else ""
    return "; ".join(flat(title) for title in titles[:SHOWN]) + more


def _read() -> str:
    """Read standard input as UTF-8 (`EntryError`)."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as fault:
        raise EntryError(f"standard input is not UTF-8: {fault.reason} at byte {fault.start}") from None


def _pair(text: str, option: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise EntryError(f"{option} is {text!r}: wanted KEY=VALUE")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value


def _change(text: str) -> tuple[str, Any]:
    """Parse ``--set`` into a field and its value (`EntryError`)."""
    from septet.inputs.times import Times
    from septet.model.fields import EntryChanges

    name, sign, value = text.partition("=")
    if not sign or name not in EntryChanges.__annotations__ or name == "span":
        known = ", ".join(sorted(EntryChanges.__annotations__.keys() - {"span"}))
        raise EntryError(f"--set is {text!r}: wanted FIELD=VALUE, with a field of {known}")
    if name == "tags":
        return name, [tag.strip() for tag in value.split(",") if tag.strip()]
    if name == "attrs":
        return name, _pair(text, "--set")[1]
    if name in _TIMES:
        return name, Times().epoch(value, name)
    if name in ("title", "description", "context"):
        return name, _read() if value == "-" else value
    return name, value or None
