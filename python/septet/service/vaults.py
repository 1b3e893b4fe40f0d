"""Opens a vault by its place: a file of this machine, or an address of a PostgreSQL server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from septet.postgres.store.dsn import is_dsn, vault_named
from septet.vault import Vault

if TYPE_CHECKING:
    from septet.postgres.vault import PostgresVault

#: A path, or ``postgresql://host/database?vault=team``.
VaultPlace: TypeAlias = str | os.PathLike[str]


def open_vault(
    place: VaultPlace, *, read_only: bool = False, named: str | None = None, **arguments: Any
) -> Vault | PostgresVault:
    """Open a vault.

    Args:
        place: the path of its file, or the address of a PostgreSQL server.
        read_only: True to refuse writes.
        named: the name of the vault, if the address does not contain it.
        arguments: further arguments of the class of the vault.

    Raises:
        StoreError: it cannot be opened; the message contains no password.
    """
    if not is_dsn(place):
        return Vault(Path(place), read_only=read_only, **arguments)
    dsn, name = vault_named(str(place), named)
    from septet.postgres.vault import PostgresVault

    return PostgresVault(dsn, vault=name, read_only=read_only, **arguments)
