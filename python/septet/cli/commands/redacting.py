"""`septet redact`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import STORE
from septet.cli.places import existing, file_only
from septet.cli.progress import progress
from septet.cli.terminal import print_json, say
from septet.errors import EntryError

if TYPE_CHECKING:
    from septet.files.redact_report import RedactReport
    from septet.files.redaction import Redactor

#: Maximum remaining places with secrets to print.
SHOWN = 20
WHY = "no program can erase a server's logs, standbys and backups: redact a file and `septet push` it"


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
    file = file_only(shared.vault, "redact", WHY)
    with existing(file, read_only=dry_run, **embedder) as opened, progress("redacting") as step:
        report = opened.redact(redactor=redactor, dry_run=dry_run, progress=step)
    if shared.as_json:
        print_json(report.to_dict())
    else:
        _print(report)
    for problem in report.problems:
        say(f"problem: {problem}")
    if report.problems:
        raise typer.Exit(STORE)


def _print(report: RedactReport) -> None:
    for name, number in sorted(report.redacted.items(), key=lambda item: (-item[1], item[0])):
        print(f"{number:>8}  {name}")
    print(report)
    for secret in report.left[:SHOWN]:
        say(f"left: the {secret.place} {secret.name!r} holds a secret: {secret.cure}")
    if len(report.left) > SHOWN:
        say(f"left: {len(report.left) - SHOWN:,} more; --json lists them")


def _redactor(path: Path) -> Redactor:
    """Read the settings of a `Redactor` from a file.

    Raises:
        EntryError: the file cannot be read, or contains no such settings.
    """
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
