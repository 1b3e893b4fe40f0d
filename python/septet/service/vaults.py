"""Opening one vault, wherever it is: in a file of this machine, or on a PostgreSQL server."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from septet.storage.postgres.dsn import is_dsn, vault_named
from septet.vault import Vault

__all__ = ["OneVault", "VaultPlace", "open_vault"]

#: A file, or ``postgresql://host/database?vault=team``.
VaultPlace: TypeAlias = str | os.PathLike[str]
OneVault: TypeAlias = Any


def open_vault(place: VaultPlace, *, read_only: bool = False, named: str | None = None, **arguments: Any) -> OneVault:
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
    kind: Any = import_module("septet").PostgresVault
    return kind(dsn, vault=name, read_only=read_only, **arguments)
