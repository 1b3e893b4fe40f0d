"""The commands that copy a vault: backup, restore, export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from septet.cli.options import VaultPath
from septet.cli.places import existing
from septet.cli.terminal import escaped, say

__all__ = ["backup", "export", "restore"]


def backup(
    vault: Annotated[
        Path, typer.Argument(metavar="[VAULT]", help="The vault; it may be in use. Default as for other commands.")
    ],
    backup: Annotated[
        Path | None, typer.Argument(metavar="BACKUP", help="The file to write; an old one is replaced.")
    ] = None,
    named: VaultPath = None,
) -> None:
    """Copy a vault that may be in use to another file."""
    from septet.vault import Vault

    target = vault if backup is None else backup
    with existing(named) if backup is None else Vault(vault, read_only=True) as copied:
        copied.backup(target)
        say(f"copied {copied.stats().entries} entries to {target}")


def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A copy that Vault.backup wrote.")],
    vault: Annotated[Path, typer.Argument(metavar="VAULT", help="The file to put it in the place of.")],
) -> None:
    """Put a backup in the place of a vault.

    It is checked first. The vault may be damaged or missing; no program may have it open.
    """
    from septet.storage.postgres.dsn import check_file
    from septet.vault import Vault

    count = Vault.restore(backup, check_file(str(vault)))
    say(f"restored {count} entries to {vault}")


def export(
    target: Annotated[str, typer.Argument(metavar="FILE", help="The file to write; - for standard output.")] = "-",
    vault: VaultPath = None,
) -> None:
    """Write everything as JSON lines, which `septet import` reads: entries, vectors, links, feedback."""
    with existing(vault) as opened:
        count = opened.export(escaped(sys.stdout) if target == "-" else target)
        if target == "-":
            sys.stdout.flush()
    if target != "-":
        say(f"wrote {count:,} lines to {target}")
