"""Copies of a vault: backups, and everything as JSON lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import IO, TYPE_CHECKING

from septet.arguments import called, file_path
from septet.errors import StoreError
from septet.vault.writing import Progress, Writable

if TYPE_CHECKING:
    from septet.portable import Imported

__all__ = ["Copied"]


class Copied(Writable):
    """A store that can be copied whole, and filled from a copy."""

    def backup(self, path: str | os.PathLike[str], *, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy the vault to another file while it is in use; the copy appears when it is complete.

        Args:
            progress: called with the number of pages copied and the total.

        Raises:
            StoreError: the vault cannot be read, or the copy cannot be written: its name belongs to a vault or a
                database in use, or is no file.
        """
        self._store.backup(file_path(path, "path", StoreError), called(progress, "progress", StoreError))

    @staticmethod
    def restore(
        backup: str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Put a copy of a backup in the place of a vault, which may be damaged or missing.

        The backup is copied and checked before anything is touched. A crash leaves the old vault or the new one, whole.
        Stale logs and the folder beside the old vault are removed. Nobody may have the vault open, this process
        neither; open it afterwards.

        Args:
            backup: a file that `backup` wrote, or any other vault that is sound.
            path: the vault.
            progress: called with the number of pages copied and the total.

        Returns:
            How many entries the vault now holds.

        Raises:
            NotAVault: the backup is damaged or no vault, or ``path`` is something else than a vault.
            SchemaTooNew: the backup was written by a newer Septet.
            StoreBusy: the vault is open.
            StoreError: the backup cannot be read, or the vault cannot be written.
        """
        from septet.storage.restoring import restore

        called(progress, "progress", StoreError)
        return restore(file_path(backup, "backup", StoreError), file_path(path, "path", StoreError), progress)

    def export(self, target: str | os.PathLike[str] | IO[str]) -> int:
        """Write everything (entries, memories, vectors, links, feedback) as JSON lines; return the number of lines.

        Args:
            target: an open stream, or a file, which appears when it is complete; a new one is its owner's alone.

        Raises:
            StoreError: the vault cannot be read, or the target cannot be written: it belongs to a vault or a database
                in use, or is no file.
        """
        from septet.portable import export

        return export(self._store, target if hasattr(target, "write") else file_path(target, "target", StoreError))

    def import_(self, source: str | os.PathLike[str] | Iterable[str], *, progress: Progress | None = None) -> Imported:
        """Store JSON lines: those of `export`, or plain entries (objects with a title).

        What `export` wrote comes back as it was. Other entries are stored with the ``source`` ``import:`` and the name
        of the file, and ``unverified`` for ``trust``, unless they say otherwise; `update` raises them once somebody has
        read them.

        Args:
            source: a file, or the lines themselves.
            progress: called with the number of entries stored so far and the total, None when it is unknown.

        Returns:
            How many records were stored.

        Raises:
            BatchError: a line cannot be stored; the ``written`` entries before it are.
            EntryError: the source cannot be read.
        """
        from septet.portable import import_lines

        return import_lines(self, source, progress)
