"""Masking secrets in stored entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from septet.errors import EntryError, ReadOnly
from septet.inputs.arguments import flag, shown
from septet.sqlite.store.store import SqliteStore
from septet.vault.embedded import Embedded
from septet.watch.progress import Progress, reporter, with_progress

if TYPE_CHECKING:
    from septet.files.redact_report import RedactReport
    from septet.files.redaction import Redactor
    from septet.sqlite.tier.tier import LocalTier


class Redactable(Embedded):
    """A store whose secrets can be masked."""

    _store: SqliteStore
    _tier: LocalTier
    _clock: Callable[[], float]

    @with_progress("entries", EntryError)
    def redact(
        self,
        *,
        redactor: Redactor | None = None,
        where: Mapping[str, object] | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> RedactReport:
        """Mask the secrets in all stored data, and erase every byte of them from the vault's files.

        Masks titles, descriptions, contexts, tags, sources, attrs at any depth, earlier versions, notes of links and
        queries of feedback. The vectors of the old texts are removed from the vault and its embedding cache; the next
        embedding computes those of the masked texts. Chunks of a file, and parts of a split entry, are joined before
        the scan, so a secret across a border is detected. At the end the full-text index, the file and its log are
        rewritten and the sidecar is removed, so texts that were changed or deleted earlier are erased too.

        Files on the disk are never changed. A root with a secret in its files is masked from then on
        (``redact="all"``, or True if only transcripts had secrets), and these files are read again by the next sync.
        Ids do not change, since links and other programs use them: the report lists ids that contain a secret.

        Transactions are small, except the last ones, which rewrite the index and the file: other writers wait some
        seconds per gigabyte, and the disk needs room for twice the file. Searches continue. After a crash the vault is
        intact; redact it again to finish. Backups, exports, and entries stored during the run are not scanned.

        Args:
            redactor: defines secrets; None for a `Redactor` with its default rules.
            where: only entries that pass this filter, with their versions, links and feedback.
            dry_run: change nothing; only scan.
            progress: called with the number of scanned entries and their total; True shows a bar, as of `embed`.

        Returns:
            Counts of masked secrets by rule, and the places that could not be masked.

        Raises:
            EntryError: ``redactor`` is not a `Redactor`.
            QueryError: the filter is malformed or empty.
            ReadOnly: the vault was opened for reading.
            StoreError: the vault cannot be read or written.
        """
        from septet.files.redacting import Wanted, redact_store
        from septet.files.redaction import Redactor

        flag(dry_run, "dry_run", EntryError)
        if redactor is not None and not isinstance(redactor, Redactor):
            raise EntryError(f"redactor is {shown(redactor)}: wanted a septet.Redactor, such as Redactor(add=[...])")
        if self._store.read_only and not dry_run:
            raise ReadOnly(f"{self._store.path} was opened with read_only=True: open it for writing to redact it")
        rows = None if where is None else self._rows_where(where)
        request = Wanted(redactor or Redactor(), rows, dry_run, self._clock, self._forget_vectors, reporter(progress))
        report = redact_store(self._store, request, self._erase_arrays)
        if report.entries and not dry_run:
            self._written()
        return report

    # -- inside ------------------------------------------------------------------------------------------------------

    def _rows_where(self, where: Mapping[str, object]) -> frozenset[int]:
        from septet.vault.changing import chosen

        filters = chosen(where)
        with self._store.reading() as read:
            return frozenset(read.tables.parts.with_parts(read, read.tables.changing.rows_where(read, filters)))

    def _forget_vectors(self, texts: Sequence[str]) -> int:
        return self._embeddings.forget(texts) if self._has_embeddings else 0

    def _erase_arrays(self) -> None:
        manager = self._tier.manager
        if manager.sidecar is not None:
            manager.sidecar.erase()
        else:
            from septet.sqlite.snapshot.sidecar import Sidecar

            # Another process may have written one.
            Sidecar(self._store.file).erase()
        manager.forget()
