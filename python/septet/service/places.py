"""Default paths of vaults, caches and configurations, by the XDG base directory specification."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from septet.errors import StoreError

#: Path of a project's vault, relative to the folder of the project.
PROJECT_VAULT = Path(".septet") / "vault.db"


def default_vault() -> Path:
    """Return the default vault: ``$XDG_DATA_HOME/septet/vault.db``."""
    return _base("XDG_DATA_HOME", ".local/share") / "septet" / "vault.db"


def project_vault(here: Path) -> Path | None:
    """Return the vault of the project of a folder: ``.septet/vault.db`` in the folder or its nearest ancestor."""
    return next((path for folder in (here, *here.parents) if (path := folder / PROJECT_VAULT).is_file()), None)


def cache_folder() -> Path:
    """Return the folder of rebuildable files: ``$XDG_CACHE_HOME/septet``."""
    return _base("XDG_CACHE_HOME", ".cache") / "septet"


def cache_file() -> Path:
    """Return the cache shared by all vaults of a user, ``$XDG_CACHE_HOME/septet/embeddings.db``; create its folder."""
    path = cache_folder() / "embeddings.db"
    with suppress(OSError):
        # The cache is optional, and adds a note if its file is unusable.
        path.parent.mkdir(parents=True, exist_ok=True)
    return path


def config_folder() -> Path:
    """Return the folder of the user's configuration: ``$XDG_CONFIG_HOME/septet``."""
    return _base("XDG_CONFIG_HOME", ".config") / "septet"


def expanded(path: Path) -> Path:
    """Return a path with the home folder for ``~``; an unknown home (``~name``) stays as it is."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def make_folder(path: Path) -> None:
    """Create the folder of a file.

    Raises:
        StoreError: it cannot be created.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise StoreError(f"{path.parent} cannot be created: {fault.strerror}; choose another path") from None


def _base(variable: str, fallback: str) -> Path:
    named = os.environ.get(variable, "")
    # The specification requires that relative paths are ignored.
    return Path(named) if Path(named).is_absolute() else Path.home() / fallback
