"""Opening one vault, wherever it is: in a file of this machine, or on a PostgreSQL server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from septet.postgres.store.dsn import is_dsn, vault_named
from septet.vault import Vault

if TYPE_CHECKING:
    from septet.postgres.vault.vault import PostgresVault

__all__ = ["VaultPlace", "open_vault"]

#: A file, or ``postgresql://host/database?vault=team``.
VaultPlace: TypeAlias = str | os.PathLike[str]


def open_vault(
    place: VaultPlace, *, read_only: bool = False, named: str | None = None, **arguments: Any
) -> Vault | PostgresVault:
    """Open a vault.

    Args:
        named: the name of the vault, where the address of a server does not tell it.
        arguments: those that both kinds of vaults have, and those of the kind it is.

    Raises:
        StoreError: it cannot be opened; the message has no password.
    """
    if not is_dsn(place):
        return Vault(Path(place), read_only=read_only, **arguments)
    dsn, name = vault_named(str(place), named)
    from septet.postgres.vault.vault import PostgresVault

    return PostgresVault(dsn, vault=name, read_only=read_only, **arguments)
