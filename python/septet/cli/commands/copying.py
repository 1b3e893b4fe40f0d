"""The commands that copy a vault: backup, restore, export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from septet.cli.exporting import Written, format_for, writer
from septet.cli.options import VaultPath
from septet.cli.overwriting import Force, replaces
from septet.cli.places import existing
from septet.cli.terminal import escaped, say, say_notes, unguarded
from septet.errors import SeptetError
from septet.system.target import complete_file

__all__ = ["backup", "export", "restore"]


def backup(
    vault: Annotated[
        Path, typer.Argument(metavar="[VAULT]", help="The vault; it may be in use. Default as for other commands.")
    ],
    backup: Annotated[Path | None, typer.Argument(metavar="BACKUP", help="The file to write.")] = None,
    force: Force = False,
    named: VaultPath = None,
) -> None:
    """Copy a vault that may be in use to another file."""
    from septet.vault import Vault

    target = vault if backup is None else backup
    with existing(named) if backup is None else Vault(vault, read_only=True) as copied:
        if not (target.exists() and Path(copied.path).exists() and target.samefile(copied.path)):
            replaces(target, force)
        copied.backup(target)
        say(f"copied {copied.stats().entries} entries to {target}")


def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A copy that Vault.backup wrote.")],
    vault: Annotated[Path, typer.Argument(metavar="VAULT", help="The file to put it in the place of.")],
    force: Force = False,
) -> None:
    """Put a backup in the place of a vault.

    It is checked first. The vault may be damaged or missing; no program may have it open.
    """
    from septet.postgres.store.dsn import check_file
    from septet.vault import Vault

    target = Path(check_file(str(vault)))
    lost = _lost(backup, target) if target.is_file() else ""
    replaces(target, force, lost)
    count = Vault.restore(backup, target)
    say(f"restored {count} entries to {vault}" + (f", in the place of {lost}" if lost else ""))


def _lost(backup: Path, vault: Path) -> str:
    """Return in words what a vault holds that a backup would replace."""
    from septet.vault import Vault

    with Vault(backup, read_only=True) as copy:
        last = copy.entries(order_by=[("updated_at", "desc")], limit=1).entries
    try:
        with Vault(vault, read_only=True) as replaced:
            count = replaced.stats().entries
            since = {"updated_at": {"$gt": last[0].updated_at}} if last else None
            newer = replaced.count(since)
    except SeptetError:
        return "a vault that cannot be read"
    return f"{count} entries, {newer} of them newer than all of the backup"


def export(
    target: Annotated[str, typer.Argument(metavar="FILE", help="The file to write; - for standard output.")] = "-",
    format: Annotated[
        str | None, typer.Option("--format", metavar="jsonl|json|csv|md", help="Default: by the name, else jsonl.")
    ] = None,
    force: Force = False,
    vault: VaultPath = None,
) -> None:
    """Write everything as JSON lines, which `septet import` reads: entries, vectors, links, feedback.

    csv and md hold entries alone; `septet import` reads csv as well.
    """
    wanted = format_for(format, target)
    with existing(vault) as opened:
        if target != "-":
            replaces(Path(target), force)
        if wanted == "jsonl":
            count = opened.export(escaped(sys.stdout) if target == "-" else target)
            sys.stdout.flush()
            left_out, written = "", f"{count:,} lines"
        else:
            done = _to_file(opened, wanted, target) if target != "-" else _to_output(opened, wanted)
            left_out, written = done.said(), f"{done.counts['entry']:,} entries"
        if unsound := getattr(opened._store, "left_out", ()):
            from septet.tiers.notes import rows_left_out

            say_notes([rows_left_out(unsound, "")])
    if target != "-":
        say(f"wrote {written} to {target}")
    if left_out:
        say(f"{wanted} holds entries alone, without the vault's {left_out}: --format jsonl holds all")


def _to_output(opened: Any, format: str) -> Written:
    """Write an export to standard output."""
    # The cells of a table are harmless; the guard would take the CR at the ends of lines for harm.
    stream: Any = {"csv": unguarded, "json": escaped}.get(format, lambda plain: plain)(sys.stdout)
    out = writer(format, stream, for_people=True)
    opened.export(out)
    out.finish()
    return out


def _to_file(opened: Any, format: str, target: str) -> Written:
    """Write an export into a file, which appears when it is complete."""
    with (
        complete_file(target, of=str(opened.path), cure="name a file, or - for standard output") as part,
        open(part.descriptor, "w", encoding="utf-8", newline="", closefd=False) as stream,
    ):
        out = writer(format, stream)
        opened.export(out)
        out.finish()
        return out
