"""Taking secrets out of a vault that holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from septet.errors import EntryError, ReadOnly
from septet.inputs.arguments import flag, shown
from septet.sqlite.store.store import Store
from septet.vault.embedded import Embedded
from septet.watch.progress import Progress, reporter, with_progress

if TYPE_CHECKING:
    from septet.files.redact_report import RedactReport
    from septet.files.redaction import Redactor
    from septet.sqlite.tier.tier import LocalTier

__all__ = ["Redactable"]


class Redactable(Embedded):
    """A store from whose files secrets can be taken."""

    _store: Store
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
        """Mask the secrets in everything that the vault holds already, so that no byte of them is left in its files.

        Titles, descriptions, contexts, tags, sources, attrs at any depth, earlier versions, notes of links and queries
        of feedback are masked. The vectors of what they were are removed, in the vault and in its embedding cache; the
        next embedding makes those of the masked texts. Chunks of a file, and parts of a split entry, are put together
        for a look at the whole, so no secret hides at a border. At the end the full-text index, the file and its log
        are written anew and the sidecar is removed, so texts that were changed or deleted earlier are gone too.

        Files on the disk are never changed. A folder in whose files a secret was found is remembered as one that is
        masked (``redact="all"``, or True where only transcripts held any), and those files are read again at the next
        sync. Ids stay, since links and other programs name entries by them: the report lists those with a secret.

        Each transaction is small, but for the last ones, which write the index and the file anew: other writers wait
        some seconds for each gigabyte, and the disk must have room for twice the file. Searches go on. After a crash
        the vault is whole, and redacting it again finishes. Backups, exports, and entries that others store meanwhile,
        are not looked at.

        Args:
            redactor: what is a secret; None for a `Redactor` with its default rules.
            where: only entries that pass this filter, with their versions, links and feedback.
            dry_run: change nothing; only look.
            progress: called with the number of entries looked at so far and their total; True shows a bar, as of
                `embed`.

        Returns:
            What was masked, by rule, and what could not be.

        Raises:
            EntryError: no redactor is given as one.
            QueryError: the filter cannot be understood, or is empty.
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
        made = Wanted(redactor or Redactor(), rows, dry_run, self._clock, self._forget_vectors, reporter(progress))
        report = redact_store(self._store, made, self._erase_arrays)
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

            # Other processes may have written one.
            Sidecar(self._store.file).erase()
        manager.forget()
