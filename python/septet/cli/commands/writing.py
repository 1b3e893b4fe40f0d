"""The commands that write entries: add, remember, update, delete, forget, link, unlink."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from septet.cli.completing import complete_ids
from septet.cli.exits import NOTHING
from septet.cli.memory import in_tier, memory, not_of_files, place_of, whole_id, whole_ids
from septet.cli.options import ConfigFile, Embedding, Id, TierName, VaultPath, Where, filter_of
from septet.cli.terminal import flat, say, say_notes
from septet.errors import EntryError

__all__ = ["add", "delete", "forget", "link", "remember", "unlink", "update"]

#: How long `add` waits for the vector of its text.
ADD_WAIT_S = 3.0
#: So many entries are named before they are deleted.
SHOWN = 10
_TIMES = ("created_at", "updated_at", "valid_from", "valid_until")

Attr = Annotated[
    list[str] | None, typer.Option("--attr", metavar="KEY=VALUE", help="Anything else; VALUE may be JSON.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say how many; change nothing.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask; without a terminal nothing is asked.")]


def add(
    title: Annotated[
        str,
        typer.Argument(metavar="TITLE", help="What it is about; - reads a text whose first heading is that."),
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
    tier: TierName = None,
    embedding: Embedding = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
) -> None:
    """Store an entry and print its id.

    Its text is embedded if an embedder is configured; this takes 3 seconds at most, and a failure does not matter.
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
            raise EntryError("TITLE - reads the text from standard input too: leave out --description")
        read = _noted(_read())
        fields = {**read, **{name: value for name, value in fields.items() if value and name != "title"}}
    optional = {"type": type, "domain": domain, "severity": severity, "id": id}
    fields.update((name, value) for name, value in optional.items() if value is not None)
    opening: dict[str, Any] = {"write": True, "create": True, "embeds": True, "embedding": embedding}
    with memory(vault, config, **opening, close_wait_s=ADD_WAIT_S) as opened:
        print(opened.add(**fields, split="auto" if split else None, **in_tier(opened, tier)), flush=True)
    if not hasattr(opened, "embedding_status"):
        return
    status = opened.embedding_status()
    say_notes(status.notes)
    if status.activity == "running":
        say(f"note not_embedded: no vector within {ADD_WAIT_S:g} s (`septet embed` makes it, `septet doctor` checks)")


def remember(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - reads standard input.")],
    details: Annotated[str, typer.Option("-d", "--details", help="More of it.")] = "",
    topic: Annotated[list[str] | None, typer.Option("-t", "--topic", help="A topic; repeat for more.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Its id; a memory with this id is overwritten.")] = None,
    tier: TierName = None,
    embedding: Embedding = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
) -> None:
    """Store a memory, which `septet recall` finds, and print its id."""
    said = _read() if text == "-" else text
    with memory(vault, config, write=True, create=True, embeds=True, embedding=embedding) as opened:
        print(opened.remember(said, details, topic or (), id=id, **in_tier(opened, tier)))


def update(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...", help="Ids of entries, whole or shortened, or paths.", autocompletion=complete_ids
        ),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="A field; FIELD= empties it, tags are a,b; repeat for more."),
    ] = None,
    attr: Attr = None,
    where: Where = None,
    dry_run: DryRun = False,
    tier: TierName = None,
    embedding: Embedding = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
) -> None:
    """Change some fields of entries: by id, or all that pass a filter.

    --attr changes one of the attrs; KEY=null removes it.
    """
    changes: dict[str, Any] = dict(_changed(text) for text in change or [])
    if attr:
        changes["merge_attrs"] = dict(_pair(text, "--attr") for text in attr)
    if not changes:
        raise EntryError("nothing to change: say --set FIELD=VALUE or --attr KEY=VALUE")
    _one_of(ids, where)
    with memory(vault, config, write=not dry_run, embeds=True, embedding=embedding) as opened:
        which = in_tier(opened, tier)
        if where is not None:
            count = opened.update_many(filter_of(where), dry_run=dry_run, **changes, **which)
            say(f"{'would change' if dry_run else 'changed'} {_entries(count)}")
            return
        there = _there(opened, ids or [], which)
        for id in there if not dry_run else ():
            opened.update(id, **changes, **which)
        say(f"{'would change' if dry_run else 'changed'} {_entries(len(there))}")


def delete(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...", help="Ids of entries, whole or shortened, or paths.", autocompletion=complete_ids
        ),
    ] = None,
    where: Where = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    tier: TierName = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
) -> None:
    """Delete entries by id, or all that pass a filter; asks first on a terminal.

    Chunks of folders that the vault follows are refused, with file and line: what is deleted there goes with the next
    sync.
    """
    _one_of(ids, where)
    with memory(vault, config, write=not dry_run) as opened:
        which = in_tier(opened, tier)
        if where is not None:
            wanted = filter_of(where)
            count = opened.delete(where=wanted, dry_run=True, **which)
            titles = [entry.title for entry in opened.entries(wanted, limit=SHOWN, **which)] if count else []
            chunks = {"$and": [wanted, {"kind": "chunk"}]}
            not_of_files(opened, opened.entries(chunks, limit=None, **which) if count else (), "delete it", which)
        else:
            wanted = None
            there = _there(opened, ids or [], which)
            entries = opened.load(there, **which)
            not_of_files(opened, entries, "delete it", which)
            count, titles = len(there), [entry.title for entry in entries]
        if not count:
            say("nothing to delete")
            raise typer.Exit(NOTHING)
        if dry_run:
            say(f"would delete {_entries(count)}: {_some(titles, count)}")
            return
        _ask(f"delete {_entries(count)}: {_some(titles, count)}?", yes)
        done = opened.delete(*there, **which) if wanted is None else opened.delete(where=wanted, **which)
    say(f"deleted {_entries(done)}")


def forget(
    ids: Annotated[
        list[str],
        typer.Argument(metavar="ID...", help="Ids of memories, whole or shortened.", autocompletion=complete_ids),
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    tier: TierName = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
) -> None:
    """Delete memories; ids of other entries are left alone."""
    with memory(vault, config, write=not dry_run) as opened:
        which = in_tier(opened, tier)
        there = _there(opened, ids, which)
        found = [entry for entry in opened.load(there, **which) if entry.kind == "memory"]
        if not found:
            say("no memory among them")
            raise typer.Exit(NOTHING)
        said = f"{_entries(len(found), 'memory', 'memories')}: {_some([one.title for one in found], len(found))}"
        if dry_run:
            say(f"would forget {said}")
            return
        _ask(f"forget {said}?", yes)
        done = opened.forget(*[one.id for one in found], **which)
    say(f"forgot {_entries(done, 'memory', 'memories')}")


def link(
    source: Id,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The id that the link leads to.", autocompletion=complete_ids)
    ],
    type: Annotated[str, typer.Option("--type", help="What the link says.")] = "related",
    note: Annotated[str, typer.Option("--note", help="Why, for those who ask later.")] = "",
    tier: TierName = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
) -> None:
    """Link an entry to another one; a link that is there gets the new type and note."""
    with memory(vault, config, write=True) as opened:
        which = in_tier(opened, tier)
        ends = [whole_id(opened, end, **which) for end in (source, target)]
        opened.link(*ends, type, note=note, **which)
    say(f"linked {ends[0]} to {ends[1]}")


def unlink(
    source: Id,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The id that the link leads to.", autocompletion=complete_ids)
    ],
    tier: TierName = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
) -> None:
    """Remove the link from an entry to another one."""
    with memory(vault, config, write=True) as opened:
        which = in_tier(opened, tier)
        ends = [whole_id(opened, end, **which) for end in (source, target)]
        if not opened.unlink(*ends, **which):
            say(f"there is no link from {ends[0]} to {ends[1]}")
            raise typer.Exit(NOTHING)
    say(f"unlinked {ends[0]} from {ends[1]}")


def _there(opened: Any, given: list[str], which: dict[str, Any]) -> list[str]:
    """Return the ids that are meant.

    Raises:
        typer.Exit: one of them does not exist; nothing was changed.
    """
    found = whole_ids(opened, given, **which)
    if missing := [id for id, whole in found.items() if whole is None]:
        say(f"no entry {', '.join(map(repr, missing))} in {place_of(opened)}; nothing was changed")
        raise typer.Exit(NOTHING)
    return list(dict.fromkeys(id for id in found.values() if id is not None))


def _ask(question: str, yes: bool) -> None:
    """Ask on a terminal whether to go on.

    Raises:
        typer.Exit: no.
    """
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    print(flat(question), "[y/N]", end=" ", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        say("nothing was deleted")
        raise typer.Exit(NOTHING)


def _one_of(ids: list[str] | None, where: str | None) -> None:
    if bool(ids) == (where is not None):
        raise EntryError("wanted either ids or --where JSON")


def _entries(count: int, one: str = "entry", many: str = "entries") -> str:
    return f"{count:,} {one if count == 1 else many}"


def _some(titles: list[str], count: int) -> str:
    more = f" and {count - SHOWN:,} more" if count > SHOWN else ""
    return "; ".join(flat(title) for title in titles[:SHOWN]) + more


def _read() -> str:
    """Return standard input as text.

    Raises:
        EntryError: it is not UTF-8.
    """
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as fault:
        raise EntryError(f"standard input is not UTF-8: {fault.reason} at byte {fault.start}") from None


def _noted(text: str) -> dict[str, Any]:
    """Return the fields of a text with front matter, or of Markdown with a heading."""
    from septet.cli.front_matter import fields_in, has_front_matter, titled

    if not has_front_matter(text):
        return titled(text)
    return {name: value for name, value in fields_in(text).items() if value not in (None, "", [], {})}


def _pair(text: str, option: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise EntryError(f"{option} is {text!r}: wanted KEY=VALUE")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value


def _changed(text: str) -> tuple[str, Any]:
    """Return the field and the value of ``--set``.

    Raises:
        EntryError: there is no such field.
    """
    from septet.inputs.times import Times
    from septet.model.fields import EntryChanges

    name, sign, value = text.partition("=")
    if not sign or name not in EntryChanges.__annotations__ or name == "span":
        known = ", ".join(sorted(EntryChanges.__annotations__.keys() - {"span"}))
        raise EntryError(f"--set is {text!r}: wanted FIELD=VALUE, with a field of {known}")
    if name == "tags":
        return name, [tag for tag in (one.strip() for one in value.split(",")) if tag]
    if name == "attrs":
        return name, _pair(text, "--set")[1]
    if name in _TIMES:
        return name, Times().epoch(value, name)
    if name in ("title", "description", "context"):
        return name, _read() if value == "-" else value
    return name, value or None
