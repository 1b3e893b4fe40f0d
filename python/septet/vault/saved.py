"""Backups of a vault that is a file."""

from __future__ import annotations

import os

from septet.errors import StoreError
from septet.inputs.arguments import file_path
from septet.sqlite.store.store import Store
from septet.watch.progress import Progress, reporter, with_progress

__all__ = ["Saved"]


class Saved:
    """A file that can be copied while it is in use, and restored."""

    _store: Store

    @with_progress("pages", StoreError)
    def backup(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
        """Copy the vault to another file while it is in use; the copy appears when it is complete.

        Args:
            progress: called with the number of pages copied and the total; True shows a bar, as of `embed`.

        Raises:
            StoreError: the vault cannot be read, or the copy cannot be written: its name belongs to a vault or a
                database in use, or is no file.
        """
        from septet.sqlite.snapshot.optimize import keep_beside

        target = file_path(path, "path", StoreError)
        self._store.backup(target, reporter(progress))
        keep_beside(target)

    @staticmethod
    @with_progress("pages", StoreError)
    def restore(
        backup: str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        progress: Progress | None = None,
    ) -> int:
        """Put a copy of a backup in the place of a vault, which may be damaged or missing.

        The backup is copied and checked before anything is touched. A crash leaves the old vault or the new one, whole.
        Stale logs and the folder beside the old vault are removed. Nobody may have the vault open, this process
        neither; open it afterwards.

        Args:
            backup: a file that `backup` wrote, or any other vault that is sound.
            path: the vault.
            progress: called with the number of pages copied and the total; True shows a bar, as of `embed`.

        Returns:
            How many entries the vault now holds.

        Raises:
            NotAVault: the backup is damaged or no vault, or ``path`` is something else than a vault.
            SchemaTooNew: the backup was written by a newer Septet.
            StoreBusy: the vault is open.
            StoreError: the backup cannot be read, or the vault cannot be written.
        """
        from septet.sqlite.snapshot.optimize import keep_beside
        from septet.sqlite.store.restoring import restore

        target = file_path(path, "path", StoreError)
        entries = restore(file_path(backup, "backup", StoreError), target, reporter(progress))
        keep_beside(target)
        return entries
