"""The commands of whole vaults: demo, tiers, optimize, redact."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, check_one, command
from septet.cli.exits import NOTHING, STORE, stoppable
from septet.cli.formats import Output, show
from septet.cli.places import existing, file_only
from septet.cli.screen import progress
from septet.cli.terminal import print_json, say
from septet.errors import EntryError, SeptetError

if TYPE_CHECKING:
    from septet.files.redaction import Redactor
    from septet.files.report import RedactReport
    from septet.service.configuration import Configuration
    from septet.service.places import VaultPlace

COLUMNS = ("tier", "priority", "entries", "writable", "place", "problem")
#: Maximum remaining places with secrets to print.
SHOWN = 20
NO_SERVER = "no program can erase a server's logs, standbys and backups: redact a file and `septet push` it"


@command("format", "memory")
def tiers(
    shared: SharedOptions,
    named: Annotated[
        str | None,
        typer.Argument(metavar="[VAULT]", help="A vault to show as one tier; same as --vault.", show_default=False),
    ] = None,
) -> None:
    """List the tiers of a configuration, highest first, with their entries.

    Without --config, a vault and SEPTET_CONFIG, these are the default tiers of servers: those of
    ~/.config/septet/config.toml, else your own vault and .septet/vault.db of the current project.
    """
    from septet.service.configuration import configuration

    for argument in (named, shared.vault):
        check_one(argument, shared.config)
    place = shared.vault if named is None else named
    if place is not None and shared.config is None:
        federation, records = None, [_vault_record(place)]
    else:
        federation = configuration(shared.config)
        records = sorted((_tier_record(federation, name) for name in federation.tiers), key=lambda r: -r["priority"])
    source = None if federation is None or federation.source is None else str(federation.source)
    show(Output(whole={"source": source, "tiers": records}, records=records, columns=COLUMNS,
                ids=[record["tier"] for record in records]), shared.format)  # fmt: skip
    failed = [record for record in records if record["problem"]]
    for record in failed:
        say(f"{record['tier']}: {record['problem']}")
    if any(federation is None or not federation.tiers[record["tier"]].optional for record in failed):
        raise typer.Exit(STORE)


def _vault_record(place: VaultPlace) -> dict[str, Any]:
    """Return the record of a single vault, with the tier name that its searches use."""
    from septet.postgres.store.dsn import is_dsn, without_passwords

    def count() -> int:
        with existing(place) as opened:
            return len(opened)

    writable = is_dsn(place) or os.access(place, os.W_OK)
    return _record("vault", 1.0, count, writable, without_passwords(str(place)))


def _record(tier: str, priority: float, count: Callable[[], int], writable: bool, place: str) -> dict[str, Any]:
    entries, problem = None, ""
    try:
        entries = count()
    except SeptetError as fault:
        problem = str(fault)
    return dict(zip(COLUMNS, (tier, priority, entries, writable, place, problem), strict=True))


def _tier_record(federation: Configuration, name: str) -> dict[str, Any]:
    """Open a tier by itself, read-only, and return its record."""
    from septet.profiles.builtin import TIER_PRIORITIES
    from septet.service.opening import opened

    table = federation.tiers[name]
    single = federation._replace(tiers={name: table.model_copy(update={"optional": False})})

    def count() -> int:
        with opened(None, single, read_only=True, embedder={}) as served:
            return served.blocking.stats().entries

    priority = table.priority if table.priority is not None else TIER_PRIORITIES.get(name, 0.5)
    return _record(name, priority, count, not table.read_only, table.place)


@command("json", "vault")
def optimize(shared: SharedOptions) -> None:
    """Build the search index and write it beside the vault.

    After a large import, this makes the first search of each process as fast as later ones. Skips what is up to date.
    On a server: fold pending counts, and update the planner's statistics.
    """
    # Imported here because the help loads the modules of all commands.
    from septet.postgres.store.dsn import is_dsn

    with (
        stoppable(lambda: "nothing is lost; optimize again to continue"),
        existing(shared.vault, read_only=False) as opened,
        progress("optimizing"),
    ):
        report = opened.optimize()
    if shared.as_json:
        print_json(asdict(report))
    elif is_dsn(shared.vault):
        say(f"{report.entries:,} entries: counts are folded, and the planner's statistics are current")
    elif report.path is None:
        say(f"{report.entries:,} entries: too few for files beside the vault, or they are up to date")
    else:
        say(f"{report.entries:,} entries in {report.path} ({report.size_bytes / 1e6:.1f} MB)")


@command("json", "embedding", "vault")
def redact(
    shared: SharedOptions,
    rules: Annotated[
        Path | None,
        typer.Option("--rules", metavar="FILE", help="TOML, YAML or JSON: rules, add (name, pattern, …), without."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report; change nothing.")] = False,
) -> None:
    """Mask all secrets in a vault: keys, tokens, passwords.

    The files of the vault then contain no byte of them. Files in followed folders are not changed, but masked when
    they are read again. Earlier copies of the vault still contain the secrets.
    """
    from septet.service.places import cache_file

    redactor = None if rules is None else _redactor(rules)
    embedder: dict[str, Any] = {} if dry_run else shared.embedder()
    if not (embedder or dry_run) and cache_file().exists():
        embedder["embedding_cache"] = cache_file()
    file = file_only(shared.vault, "redact", NO_SERVER)
    with existing(file, read_only=dry_run, **embedder) as opened, progress("redacting") as step:
        report = opened.redact(redactor=redactor, dry_run=dry_run, progress=step)
    if shared.as_json:
        print_json(report.to_dict())
    else:
        _print_redacted(report)
    for problem in report.problems:
        say(f"problem: {problem}")
    if report.problems:
        raise typer.Exit(STORE)


def _print_redacted(report: RedactReport) -> None:
    for name, number in sorted(report.redacted.items(), key=lambda item: (-item[1], item[0])):
        print(f"{number:>8}  {name}")
    print(report)
    for secret in report.left[:SHOWN]:
        say(f"left: the {secret.place} {secret.name!r} contains a secret: {secret.cure}")
    if len(report.left) > SHOWN:
        say(f"left: {len(report.left) - SHOWN:,} more; --json lists them")


def _redactor(path: Path) -> Redactor:
    """Read the settings of a `Redactor` from a file (`EntryError`)."""
    from septet.files.redaction import Redactor
    from septet.inputs.documents import Unreadable, read_document

    try:
        options = read_document(path)
    except Unreadable as fault:
        raise EntryError(f"{path} {fault}") from None
    except KeyError:
        raise EntryError(f"{path} has an unknown suffix: wanted .toml, .yaml or .json") from None
    if not isinstance(options, dict) or options.keys() - {"rules", "add", "without"}:
        raise EntryError(f"{path} contains no rules: wanted rules, add (a list of rules) or without (a list of names)")
    return Redactor(**options)


@command("embedding")
def demo(
    shared: SharedOptions,
    # Not a `Path`, as for `septet sync`.
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="A folder of Markdown or text to search; it is only read.")
    ] = None,
    question: Annotated[
        list[str] | None, typer.Option("--ask", metavar="TEXT", help="Ask DIR this; repeat for more.")
    ] = None,
    profile: Annotated[str | None, typer.Option(metavar="NAME|FILE", help="The ranking of answers from DIR.")] = None,
    path: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The vault file; for DIR, default in memory.")
    ] = None,
    no_color: Annotated[bool, typer.Option("--no-color", help="Plain text.")] = False,
) -> None:
    """Index the documentation of this Python and ask six questions; or index and search a folder.

    With DIR, chunks are embedded only with --embedding, not by a configured embedder.
    """
    from septet.cli import demo as demonstration
    from septet.cli import screen

    out = screen.console(sys.stdout, color=not no_color)
    if folder is None:
        if question or profile or shared.embedding:
            raise EntryError("--ask, --profile and --embedding are options of a folder: septet demo DIR")
        demonstration.run(out, path)
        return
    from septet.files.roots import root_at

    root_at(folder)
    embedder = shared.embedder() if shared.embedding else {}
    if not demonstration.run_folder(out, Path(folder), path, question or [], profile=profile, embedding=embedder):
        raise typer.Exit(NOTHING)
