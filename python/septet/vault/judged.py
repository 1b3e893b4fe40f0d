"""Feedback on the results of a vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from septet.errors import EntryError
from septet.inputs.arguments import as_epoch
from septet.store.rules import feedback_row
from septet.vault.writing import Writable

if TYPE_CHECKING:
    from septet.model.fields import Action


class Judged(Writable):
    """A store that records feedback on results."""

    def feedback(self, query: str, id: str, action: Action) -> None:
        """Record the outcome of a result: ``accepted``, ``modified``, ``dismissed``, or ``failed`` (never counted).

        The weights adapt after 30 counted rows; see `weights`.

        Raises:
            EntryError: an unknown action.
            EntryNotFound: no entry has this id.
            StoreError: the vault cannot be written.
        """
        row = feedback_row(query, id, action, self._clock())
        with self._store.writing() as write:
            if not write.tables.entries.find(write, [row.entry_id]):
                raise self._missing(row.entry_id)
            write.tables.feedback.record(write, row)

    def reset_feedback(self) -> int:
        """Delete all feedback, which restores the profile's weights; return the number of deleted rows.

        Raises:
            StoreError: the vault cannot be written.
        """
        with self._store.writing() as write:
            return write.tables.feedback.clear(write)

    def _feedback_days(self) -> list[tuple[int, str, int]]:
        """Return ``(day, action, rows)`` in order; days since 1970."""
        with self._store.reading() as read:
            return read.tables.feedback.by_day(read)

    def _restore_feedback(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Store feedback rows of an export with their times."""
        with self._store.writing() as write:
            for row in rows:
                at = as_epoch(row.get("created_at"), "created_at", EntryError)
                now = self._clock() if at is None else at
                write.tables.feedback.restore(write, feedback_row(row["query"], row["entry_id"], row["action"], now))
