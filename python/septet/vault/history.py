"""The history of entries: earlier versions, superseding and reinstating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from septet.errors import EntryError
from septet.inputs.arguments import as_epoch, shown, utf8
from septet.model.entry import Entry, Version
from septet.model.links import MOST_NOTE_CHARS, Link
from septet.ranking.pool import Candidate
from septet.store.rules import feedback_row
from septet.vault.batch import Batch, item_fields, words_a_part
from septet.vault.changing import Changeable
from septet.vault.writing import Writable

if TYPE_CHECKING:
    from septet.model.fields import Action, EntryItem
    from septet.store.protocol import Writing
    from septet.store.rows import Keeping


class Judged(Writable):
    """A store that records feedback on results."""

    def feedback(self, query: str, id: str, action: Action) -> None:
        """Record the outcome of a result: ``accepted``, ``modified``, ``dismissed``, or ``failed`` (never counted).

        The weights adapt after 30 counted rows; see `weights`. ``purge(feedback=True)`` deletes all feedback.

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


#: The type of the link from an entry to the one that it replaced.
SUPERSEDES = "supersedes"
#: Fields that a successor copies from the entry it replaces.
_INHERITED = ("kind", "type", "domain", "severity", "tags")


class Historic(Changeable):
    """A store that keeps earlier versions of entries."""

    def history(self, id: str) -> list[Version]:
        """Return the earlier versions of an entry, the latest first; empty if the entry does not exist.

        `add`, `update` and other calls that change an entry keep a version, at most ``history=`` of the vault (10 by
        default). `delete` erases them all, and `purge` those of a certain age. Vectors, links and the parts of split
        entries have no versions, and exports do not contain them.

        Raises:
            StoreError: the vault cannot be read.
        """
        with self._store.reading() as read:
            rows = read.tables.history.of_entry(read, utf8(id, "id"))
        return [Version(entry=v.entry, replaced_at=v.at, call=v.call, changed=_fields(v.columns)) for v in rows]

    def supersede(self, old: str, new: str | Entry | EntryItem | Mapping[str, object], reason: str = "") -> str:
        """Replace an entry by another one, ending the validity of the old one; return the id of the new one.

        The old entry stays. Its validity ends now, and that of the new one begins: searches return the new one, and the
        old one with ``as_of=`` an earlier time. A link of the type ``supersedes`` leads from the new entry to the old
        one, with the reason as its note. It is one transaction. `reinstate` undoes it.

        Args:
            old: the id of the entry to replace.
            new: the id of an entry, or a new entry: an `Entry`, or a dict with the arguments of `add`. A dict takes
                kind, type, domain, severity and tags from the old entry unless it has them. Its ``valid_from``, if set,
                is the time of the change.
            reason: the note of the link.

        Raises:
            EntryNotFound: an entry does not exist.
            EntryError: one of the two was superseded already, both are the same, or the new one cannot be stored;
                nothing was written.
            VectorError: as for `add`.
            StoreError: the vault cannot be written.
        """
        old, note = utf8(old, "old"), utf8(reason, "reason", EntryError, MOST_NOTE_CHARS)
        if not isinstance(new, (str, Entry, Mapping)):
            raise EntryError(f"new is {shown(new)}: wanted an id, an Entry, or a dict with a title")
        fields = None if isinstance(new, str) else item_fields(new)
        with self._store.writing() as write:
            keeping, before = self._keeping("supersede"), self._require(write, old)
            if fields is None:
                new_id, moment = self._require(write, utf8(new, "new")).id, keeping.at
            else:
                batch, moment = self._successor(fields, before, keeping.at, isinstance(new, Entry))
                new_id = batch.rows[0].id
            _check(write, old, new_id)
            if fields is None:
                row = write.tables.entries.rows_of(write, [new_id])
                write.tables.changing.set_columns(write, row, {"valid_from": moment}, keeping, touch=False)
            else:
                self._store_batch(write, batch, keeping.call)
            replace_entry(write, before, Link(new_id, old, SUPERSEDES, note), moment, keeping)
        self._written()
        return str(new_id)

    def reinstate(self, id: str) -> bool:
        """Undo `supersede`: restore the end of the entry's validity; return True if it was superseded.

        The successor stays, without the link. If the version before was not kept, the validity of the entry has no end;
        if either validity was changed since, it stays unchanged.

        Raises:
            EntryNotFound: no entry has this id.
            StoreError: the vault cannot be written.
        """
        id = utf8(id, "id")
        with self._store.writing() as write:
            entry, newer = self._require(write, id), write.tables.links.linked_by(write, id, SUPERSEDES)
            if newer is None:
                return False
            if entry.valid_until == self._require(write, newer).valid_from:
                until = write.tables.history.was(write, entry.row, "supersede", "valid_until")
                keeping = self._keeping("reinstate")
                write.tables.changing.set_columns(write, [entry.row], {"valid_until": until}, keeping, touch=False)
            write.tables.links.remove(write, newer, id)
        return True

    def _require(self, write: Writing, id: str) -> Candidate:
        row = write.tables.entries.find(write, [id]).get(id)
        if row is None:
            raise self._missing(id)
        return row

    def _successor(self, item: Mapping[str, Any], before: Candidate, now: float, whole: bool) -> tuple[Batch, float]:
        """Return a batch that stores the new entry, and the start of its validity."""
        entry = before.to_entry()
        fields = dict(item) if whole else {**{name: getattr(entry, name) for name in _INHERITED}, **item}
        vector, model = fields.pop("vector", None), fields.pop("model", None)
        words = words_a_part(fields.pop("split", None))
        if fields.get("valid_from") is None:
            fields["valid_from"] = now
        batch = Batch()
        batch.gather(fields, vector, model, now=now, words=words)
        moment = batch.rows[0].valid_from
        return batch, now if moment is None else moment


def replace_entry(write: Writing, before: Candidate, link: Link, moment: float, keeping: Keeping) -> None:
    """End the validity of an entry at a moment, in epoch seconds, and link its successor to it."""
    if before.valid_until is None or before.valid_until > moment:
        rows = write.tables.entries.rows_of(write, [link.target])
        write.tables.changing.set_columns(write, rows, {"valid_until": moment}, keeping, touch=False)
    write.tables.links.put(write, [link])


def _check(write: Writing, old: str, new: str) -> None:
    """Raise if either entry was superseded already: a superseded successor would close a circle."""
    if old == new:
        raise EntryError(f"{shown(old)} cannot supersede itself: `update` changes an entry")
    newer = write.tables.links.linked_by(write, old, SUPERSEDES)
    if newer is not None:
        raise EntryError(f"{shown(old)} was superseded by {shown(newer)} already: supersede that, or `reinstate` it")
    newer = write.tables.links.linked_by(write, new, SUPERSEDES)
    if newer is not None:
        raise EntryError(f"{shown(new)} was superseded by {shown(newer)}: name that one, or `reinstate` it")


def _fields(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Map columns to fields of an entry."""
    spans = ("path", "first_line", "last_line")
    return tuple(dict.fromkeys("span" if name in spans else name for name in columns))
