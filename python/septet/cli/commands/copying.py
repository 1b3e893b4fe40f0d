"""The commands that copy a vault: backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from septet.cli.terminal import say

__all__ = ["backup", "restore"]


def backup(
    vault: Annotated[Path, typer.Argument(metavar="VAULT", help="The vault; it may be in use.")],
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="The file to write; an old one is replaced.")],
) -> None:
    """Copy a vault that may be in use to another file."""
    from septet.vault import Vault

    with Vault(vault, read_only=True) as copied:
        copied.backup(backup)
        say(f"copied {copied.stats().entries} entries to {backup}")


def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A copy that Vault.backup wrote.")],
    vault: Annotated[Path, typer.Argument(metavar="VAULT", help="The file to put it in the place of.")],
) -> None:
    """Put a backup in the place of a vault.

    It is checked first. The vault may be damaged or missing; no program may have it open.
    """
    from septet.vault import Vault

    count = Vault.restore(backup, vault)
    say(f"restored {count} entries to {vault}")
