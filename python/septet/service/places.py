"""Where a user's vaults, caches and configurations are, by the XDG base directory specification."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from septet.errors import StoreError

__all__ = [
    "PROJECT_VAULT",
    "cache_file",
    "cache_folder",
    "config_folder",
    "default_vault",
    "expanded",
    "make_folder",
    "project_vault",
]

#: The vault of a project, in the project's folder.
PROJECT_VAULT = Path(".septet") / "vault.db"


def default_vault() -> Path:
    """Return the vault that is used when none is named: ``$XDG_DATA_HOME/septet/vault.db``."""
    return _base("XDG_DATA_HOME", ".local/share") / "septet" / "vault.db"


def project_vault(here: Path) -> Path | None:
    """Return the vault of the project that a folder belongs to: ``.septet/vault.db`` in it or the nearest above it."""
    return next((found for folder in (here, *here.parents) if (found := folder / PROJECT_VAULT).is_file()), None)


def cache_folder() -> Path:
    """Return the folder of files that can be rebuilt: ``$XDG_CACHE_HOME/septet``."""
    return _base("XDG_CACHE_HOME", ".cache") / "septet"


def cache_file() -> Path:
    """Return the cache that all vaults of a user share, ``$XDG_CACHE_HOME/septet/embeddings.db``; create its folder."""
    path = cache_folder() / "embeddings.db"
    with suppress(OSError):
        # The cache is optional, and notes itself that its file cannot be used.
        path.parent.mkdir(parents=True, exist_ok=True)
    return path


def config_folder() -> Path:
    """Return the folder of the user's configuration: ``$XDG_CONFIG_HOME/septet``."""
    return _base("XDG_CONFIG_HOME", ".config") / "septet"


def expanded(path: Path) -> Path:
    """Return a path with the home folder in the place of ``~``; the home of nobody is a name like any other."""
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
        raise StoreError(f"{path.parent} cannot be created: {fault.strerror}; name another place") from None


def _base(variable: str, fallback: str) -> Path:
    named = os.environ.get(variable, "")
    # The XDG specification says to ignore relative paths.
    return Path(named) if Path(named).is_absolute() else Path.home() / fallback
