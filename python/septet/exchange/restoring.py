"""Restores a vault from a backup."""

from __future__ import annotations

import os

from septet.errors import StoreError
from septet.inputs.arguments import file_path
from septet.sqlite.snapshot.optimize import keep_beside
from septet.sqlite.store import restoring
from septet.watch.progress import Progress, reporter, with_progress


@with_progress("pages", StoreError)
def restore(backup: str | os.PathLike[str], path: str | os.PathLike[str], *, progress: Progress | None = None) -> int:
    """Replace a vault, which may be damaged or missing, by a copy of a backup.

    The backup is copied and checked first. A crash leaves either the old vault or the new one, intact. Stale logs and
    the folder beside the old vault are removed. The vault must be closed in all processes, including this one; open it
    afterwards.

    Args:
        backup: a file written by `Vault.backup`, or any other intact vault.
        path: the vault.
        progress: called with the number of pages copied and the total; True shows a bar, as of `Vault.embed`.

    Returns:
        Number of entries in the vault.

    Raises:
        NotAVault: the backup is damaged or not a vault, or ``path`` is not a vault.
        SchemaTooNew: the backup was written by a newer Septet.
        StoreBusy: the vault is open.
        StoreError: the backup cannot be read, or the vault cannot be written.
    """
    target = file_path(path, "path", StoreError)
    entries = restoring.restore(file_path(backup, "backup", StoreError), target, reporter(progress))
    keep_beside(target)
    return entries
