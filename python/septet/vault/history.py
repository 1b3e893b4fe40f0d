"""The history of entries: what they were, what replaced them, and how to undo that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from septet.errors import EntryError
from septet.inputs.arguments import shown, utf8
from septet.model.entry import Entry, Version
from septet.ranking.pool import Candidate
from septet.sqlite.tables.links import MOST_NOTE_CHARS, Link
from septet.store.protocol import Writing
from septet.vault.batch import Batch, item_fields, words_a_part
from septet.vault.changing import Changeable

if TYPE_CHECKING:
    from septet.model.fields import EntryItem

__all__ = ["Historic"]

#: The type of the link from an entry to the one that it replaced.
SUPERSEDES = "supersedes"
#: What an entry that replaces another takes over from it.
_INHERITED = ("kind", "type", "domain", "severity", "tags")


class Historic(Changeable):
    """A store that knows what entries were, and what came in their place."""

    def history(self, id: str) -> list[Version]:
        """Return the earlier versions of an entry, the last one first; none of an entry that does not exist.

        A version is kept when `add`, `update` and the like change an entry, at most as many as the vault was opened
        for (``history=``, 10 by default). `delete` erases them all, and `purge` those of a certain age. Vectors, links
        and the parts of split entries have none, and neither do exports.

        Raises:
            StoreError: the vault cannot be read.
        """
        with self._store.reading() as read:
            found = read.tables.history.of_entry(read, utf8(id, "id"))
        return [Version(entry=v.entry, replaced_at=v.at, call=v.call, changed=_fields(v.columns)) for v in found]

    def supersede(self, old: str, new: str | Entry | EntryItem | Mapping[str, object], reason: str = "") -> str:
        """Put an entry in the place of another one, which stays as what was valid before; return the id of the new one.

        The validity of the old one ends now, and that of the new one begins: searches find the new one, and with
        ``as_of=`` a time before, the old one. A link of the type ``supersedes`` leads from the new one to the old one,
        with the reason as its note. It is one transaction. `reinstate` undoes it.

        Args:
            old: the id of the entry that is not valid any more.
            new: the id of an entry, or one that is stored now: an `Entry`, or a dict with the arguments of `add`. A
                dict takes kind, type, domain, severity and tags from the old entry unless it names them. With a
                ``valid_from`` of its own, that is the time of the change.
            reason: why, for those who ask later.

        Raises:
            EntryNotFound: an entry does not exist.
            EntryError: one of the two was superseded already, both are the same, or the new one cannot be stored;
                nothing was written.
            VectorError: as for `add`.
            StoreError: the vault cannot be written.
        """
        old, said = utf8(old, "old"), utf8(reason, "reason", EntryError, MOST_NOTE_CHARS)
        if not isinstance(new, (str, Entry, Mapping)):
            raise EntryError(f"new is {shown(new)}: wanted an id, an Entry, or a dict with a title")
        given = None if isinstance(new, str) else item_fields(new)
        with self._store.writing() as write:
            keeping, before = self._keeping("supersede"), self._found(write, old)
            if given is None:
                new_id, moment = self._found(write, utf8(new, "new")).id, keeping.at
            else:
                batch, moment = self._successor(given, before, keeping.at, isinstance(new, Entry))
                new_id = batch.rows[0].id
            _check(write, old, new_id)
            if given is None:
                row = write.tables.entries.rows_of(write, [new_id])
                write.tables.changing.set_columns(write, row, {"valid_from": moment}, keeping, touch=False)
            else:
                self._store_batch(write, batch, keeping.call)
            if before.valid_until is None or before.valid_until > moment:
                write.tables.changing.set_columns(
                    write, write.tables.entries.rows_of(write, [old]), {"valid_until": moment}, keeping, touch=False
                )
            write.tables.links.put(write, [Link(new_id, old, SUPERSEDES, said)])
        self._written()
        return str(new_id)

    def reinstate(self, id: str) -> bool:
        """Undo `supersede`: the entry is valid as long as it was to be before; return whether it was superseded.

        The entry that came in its place stays, without the link. If the version before was not kept, the validity of
        the entry has no end; if either validity was changed since, it stays as it is.

        Raises:
            EntryNotFound: no entry has this id.
            StoreError: the vault cannot be written.
        """
        id = utf8(id, "id")
        with self._store.writing() as write:
            entry, newer = self._found(write, id), write.tables.links.linked_by(write, id, SUPERSEDES)
            if newer is None:
                return False
            if entry.valid_until == self._found(write, newer).valid_from:
                until = write.tables.history.was(write, entry.row, "supersede", "valid_until")
                keeping = self._keeping("reinstate")
                write.tables.changing.set_columns(write, [entry.row], {"valid_until": until}, keeping, touch=False)
            write.tables.links.remove(write, newer, id)
        return True

    def _found(self, write: Writing, id: str) -> Candidate:
        found = write.tables.entries.find(write, [id]).get(id)
        if found is None:
            raise self._missing(id)
        return found

    def _successor(self, given: Mapping[str, Any], before: Candidate, now: float, whole: bool) -> tuple[Batch, float]:
        """Return what stores the entry that replaces another one, and from when on it is valid."""
        entry = before.to_entry()
        fields = dict(given) if whole else {**{name: getattr(entry, name) for name in _INHERITED}, **given}
        vector, model = fields.pop("vector", None), fields.pop("model", None)
        words = words_a_part(fields.pop("split", None))
        if fields.get("valid_from") is None:
            fields["valid_from"] = now
        batch = Batch()
        batch.gather(fields, vector, model, now=now, words=words)
        moment = batch.rows[0].valid_from
        return batch, now if moment is None else moment


def _check(write: Writing, old: str, new: str) -> None:
    """Raise unless an entry may replace another one. One that was replaced itself would close a circle."""
    if old == new:
        raise EntryError(f"{shown(old)} cannot supersede itself: `update` changes an entry")
    newer = write.tables.links.linked_by(write, old, SUPERSEDES)
    if newer is not None:
        raise EntryError(f"{shown(old)} was superseded by {shown(newer)} already: supersede that, or `reinstate` it")
    newer = write.tables.links.linked_by(write, new, SUPERSEDES)
    if newer is not None:
        raise EntryError(f"{shown(new)} was superseded by {shown(newer)}: name that one, or `reinstate` it")


def _fields(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return columns as fields of an entry."""
    spans = ("path", "first_line", "last_line")
    return tuple(dict.fromkeys("span" if name in spans else name for name in columns))
