"""Methods that a vault on a server does not support; each raises an error that names the alternative."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, cast

from septet.errors import StoreError
from septet.vault.vault import Vault
from septet.watch.progress import Progress

_P = ParamSpec("_P")
_S = TypeVar("_S")

_FOLDERS = (
    "a vault on a server cannot follow folders, which other machines may not have: sync a Vault in a file, and copy "
    "it with `septet push`"
)


def _absent(method: Callable[Concatenate[_S, _P], object], why: str) -> Callable[Concatenate[Any, _P], NoReturn]:
    """Return a method with the same arguments that raises."""

    @wraps(method)
    def refuse(self: Any, *args: _P.args, **named: _P.kwargs) -> NoReturn:
        raise StoreError(f"{method.__name__}(): {why}")

    refuse.__doc__ = f"Raise a `StoreError`: {why}."
    return cast("Callable[Concatenate[Any, _P], NoReturn]", refuse)


class OnlyFiles:
    """The methods of `septet.Vault` that a vault on a server refuses."""

    sync = _absent(Vault.sync, _FOLDERS)
    roots = _absent(Vault.roots, _FOLDERS)
    forget_root = _absent(Vault.forget_root, _FOLDERS)
    sync_status = _absent(Vault.sync_status, _FOLDERS)
    watch_files = _absent(Vault.watch_files, _FOLDERS)
    redact = _absent(
        Vault.redact,
        "a server keeps overwritten data in its log and backups, out of reach: copy the vault to a file with `backup`, "
        "redact that, and `septet push` it to a new vault",
    )

    @staticmethod
    def restore(
        backup: str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        progress: Progress | None = None,
    ) -> NoReturn:
        """Refuse: a server is restored by its own tools; a file by `septet.Vault.restore`.

        Raises:
            StoreError: always.
        """
        del backup, path, progress
        raise StoreError(
            "restore(): a vault on a server is restored by the server's own tools, such as pg_restore; `septet push` "
            "copies a file to a server"
        )
