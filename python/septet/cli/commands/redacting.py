"""`septet redact`: secrets are taken out of a vault that holds them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.exits import STORE
from septet.cli.options import AsJson, Embedding, VaultPath
from septet.cli.places import existing, file_only
from septet.cli.progress import progress
from septet.cli.terminal import print_json, say
from septet.errors import EntryError

if TYPE_CHECKING:
    from septet.files.redact_report import RedactReport
    from septet.files.redaction import Redactor

__all__ = ["redact"]

#: So many names of entries or files that hold secrets are shown.
SHOWN = 20
WHY = "no program can erase a server's logs, standbys and backups: redact a file and `septet push` it"


def redact(
    rules: Annotated[
        Path | None,
        typer.Option("--rules", metavar="FILE", help="TOML, YAML or JSON: rules, add (name, pattern, …), without."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only look; change nothing.")] = False,
    as_json: AsJson = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
) -> None:
    """Mask the secrets in everything that a vault holds: keys, tokens, passwords.

    No byte of them is left in its files. Files of folders that it follows stay as they are, and are masked when they
    are read again. A copy that you made before keeps them.
    """
    from septet.cli import settings

    redactor = None if rules is None else _redactor(rules)
    made: dict[str, Any] = {} if dry_run else settings.find(embedding).embedder
    if not (made or dry_run) and settings.cache_file().exists():
        made["embedding_cache"] = settings.cache_file()
    file = file_only(vault, "redact", WHY)
    with existing(file, read_only=dry_run, **made) as opened, progress("redacting") as step:
        report = opened.redact(redactor=redactor, dry_run=dry_run, progress=step)
    if as_json:
        print_json(report.to_dict())
    else:
        _print(report)
    for said in report.problems:
        say(f"problem: {said}")
    if report.problems:
        raise typer.Exit(STORE)


def _print(report: RedactReport) -> None:
    for name, number in sorted(report.redacted.items(), key=lambda both: (-both[1], both[0])):
        print(f"{number:>8}  {name}")
    print(report)
    for one in report.left[:SHOWN]:
        say(f"left: the {one.place} {one.name!r} holds a secret: {one.cure}")
    if len(report.left) > SHOWN:
        say(f"left: {len(report.left) - SHOWN:,} more; --json lists them")


def _redactor(path: Path) -> Redactor:
    """Return what a file says is a secret.

    Raises:
        EntryError: it cannot be read, or holds no settings of a `Redactor`.
    """
    from septet.files.redaction import Redactor
    from septet.inputs.documents import Unreadable, read_document

    try:
        given = read_document(path)
    except Unreadable as fault:
        raise EntryError(f"{path} {fault}") from None
    except KeyError:
        raise EntryError(f"{path} has another ending than .toml, .yaml or .json") from None
    if not isinstance(given, dict) or given.keys() - {"rules", "add", "without"}:
        raise EntryError(f"{path} holds no rules: wanted rules, add (a list of rules) or without (a list of names)")
    return Redactor(**given)
