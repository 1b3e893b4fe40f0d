"""Feedback: what became of the results of a vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from septet.errors import EntryError
from septet.inputs.arguments import as_epoch
from septet.sqlite.tables.feedback import checked
from septet.vault.writing import Writable

if TYPE_CHECKING:
    from septet.model.fields import Action

__all__ = ["Judged"]


class Judged(Writable):
    """A store that records what became of results."""

    def feedback(self, query: str, id: str, action: Action) -> None:
        """Record what became of a result: ``accepted``, ``modified``, ``dismissed``, or ``failed`` (never counted).

        From 30 counted rows on, the weights adapt; see `weights`.

        Raises:
            EntryError: an unknown action.
            EntryNotFound: no entry has this id.
            StoreError: the vault cannot be written.
        """
        given = checked(query, id, action, self._clock())
        with self._store.writing() as write:
            if not write.tables.entries.find(write, [given.entry_id]):
                raise self._missing(given.entry_id)
            write.tables.feedback.record(write, given)

    def reset_feedback(self) -> int:
        """Delete all feedback, which restores the profile's weights; return how many rows were deleted.

        Raises:
            StoreError: the vault cannot be written.
        """
        with self._store.writing() as write:
            return write.tables.feedback.clear(write)

    def _feedback_days(self) -> list[tuple[int, str, int]]:
        """Return how many rows of each action each day has: whole days since 1970, in order."""
        with self._store.reading() as read:
            return read.tables.feedback.by_day(read)

    def _restore_feedback(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Store feedback rows of an export, with their times."""
        with self._store.writing() as write:
            for row in rows:
                at = as_epoch(row.get("created_at"), "created_at", EntryError)
                now = self._clock() if at is None else at
                write.tables.feedback.restore(write, checked(row["query"], row["entry_id"], row["action"], now))
