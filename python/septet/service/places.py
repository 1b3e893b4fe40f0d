"""Places: default paths by the conventions of the system; and the vault in a file, or on a PostgreSQL server."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from septet.errors import StoreError
from septet.system.session import session

if TYPE_CHECKING:
    from septet.postgres.vault import PostgresVault
    from septet.vault import Vault

#: A path, or ``postgresql://host/database?vault=team``.
VaultPlace: TypeAlias = str | os.PathLike[str]

#: Path of a project's vault, relative to the folder of the project.
PROJECT_VAULT = Path(".septet") / "vault.db"


def default_vault() -> Path:
    """Return the default vault: ``$XDG_DATA_HOME/septet/vault.db``, on Windows ``%LOCALAPPDATA%\\septet\\vault.db``."""
    return session.data_folder() / "vault.db"


def project_vault(here: Path) -> Path | None:
    """Return the vault of the project of a folder: ``.septet/vault.db`` in the folder or its nearest ancestor."""
    return next((path for folder in (here, *here.parents) if (path := folder / PROJECT_VAULT).is_file()), None)


def cache_folder() -> Path:
    """Return the folder of rebuildable files: ``$XDG_CACHE_HOME/septet``, or ``%LOCALAPPDATA%\\septet\\Cache``."""
    return session.cache_folder()


def cache_file() -> Path:
    """Return the cache shared by all vaults of a user, ``embeddings.db`` in `cache_folder`; create its folder."""
    path = cache_folder() / "embeddings.db"
    with suppress(OSError):
        # The cache is optional, and adds a note if its file is unusable.
        path.parent.mkdir(parents=True, exist_ok=True)
    return path


def config_folder() -> Path:
    """Return the folder of the user's configuration: ``$XDG_CONFIG_HOME/septet``, or ``%APPDATA%\\septet``."""
    return session.config_folder()


def expanded(path: Path) -> Path:
    """Return a path with the home folder for ``~``; an unknown home (``~name``) stays as it is."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def make_folder(path: Path) -> None:
    """Create the folder of a file (`StoreError`)."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise StoreError(f"{path.parent} cannot be created: {fault.strerror}; choose another path") from None


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
    from septet.postgres.store.dsn import is_dsn, vault_named

    if not is_dsn(place):
        from septet.vault import Vault

        return Vault(Path(place), read_only=read_only, **arguments)
    dsn, name = vault_named(str(place), named)
    from septet.postgres.vault import PostgresVault

    return PostgresVault(dsn, vault=name, read_only=read_only, **arguments)
