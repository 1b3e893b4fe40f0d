"""Paths of vaults, caches and configurations, and opening of vaults."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from septet.errors import QueryError, StoreError
from septet.service.places import cache_folder, default_vault, make_folder

if TYPE_CHECKING:
    from septet.service.vaults import VaultPlace

#: The environment variable that names the configuration of the embedder.
EMBEDDING_VARIABLE = "SEPTET_EMBEDDING"


def demo_vault() -> Path:
    """Return the vault of the demo: ``$XDG_CACHE_HOME/septet/stdlib-3.x.db``."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return cache_folder() / f"stdlib-{version}.db"


def existing(place: VaultPlace | None, *, read_only: bool = True, **embedding: Any) -> Any:
    """Open an existing vault, in a file or on a server.

    Args:
        place: the file or the address; None for the user's own vault.
        embedding: the embedder arguments of `Vault`.

    Raises:
        StoreError: the vault does not exist; the message explains how to create one.
    """
    from septet.postgres.store.dsn import check_file, is_dsn
    from septet.service.vaults import open_vault

    if is_dsn(place):
        return open_vault(str(place), read_only=read_only, **embedding)
    path = Path(check_file(str(place or default_vault())))
    if not path.exists():
        example = demo_vault()
        demo = f"the demo left one at {shown(example)}" if example.exists() else "`septet demo` makes one to try"
        raise StoreError(
            f"there is no vault at {shown(path)}: create one with `septet add`, `septet import` or `septet sync`, "
            f"or name another with --vault FILE; {demo}"
        )
    return open_vault(path, read_only=read_only, **embedding)


def file_only(place: VaultPlace | None, command: str, why: str) -> Path | None:
    """Return the file of a vault, for a command that requires one.

    Args:
        why: the reason and an alternative.

    Raises:
        QueryError: the vault is on a server.
    """
    from septet.postgres.store.dsn import is_dsn

    if is_dsn(place):
        raise QueryError(f"`septet {command}` requires a vault in a file: {why}")
    return None if place is None else Path(place)


@contextmanager
def writable(place: VaultPlace | None, **embedding: Any) -> Iterator[Any]:
    """Open a vault for writing; create it and its folder if missing.

    Removes a new file if the command fails before it stores anything.

    Raises:
        StoreError: the folder cannot be created, or the file cannot be opened.
    """
    from septet.postgres.store.dsn import check_file, is_dsn
    from septet.service.vaults import open_vault

    if is_dsn(place):
        with open_vault(str(place), **embedding) as remote:
            yield remote
        return
    path = Path(check_file(str(place or default_vault())))
    new = not path.exists()
    make_folder(path)
    with open_vault(path, **embedding) as vault:
        try:
            yield vault
        except BaseException:
            empty = new and vault.stats().generation == 0
            vault.close()
            if empty:
                path.unlink(missing_ok=True)
            raise


def shown(path: Path) -> str:
    """Return a path quoted for a shell, with ``~`` for the home folder."""
    try:
        inside = path.resolve().relative_to(Path.home().resolve())
    except (OSError, ValueError, RuntimeError):
        return shlex.quote(str(path))
    return f"~/{shlex.quote(str(inside))}"
