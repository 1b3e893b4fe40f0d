"""Changing, deleting and purging entries of a vault by filter."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from septet.errors import EntryError, QueryError
from septet.inputs.arguments import exact, flag, flags, real, shown
from septet.model.drafts import checked_patch, draft, merged_attrs
from septet.model.fields import BulkChanges
from septet.ranking.pool import json_text
from septet.sqlite.tables.entries import row_of
from septet.store.rows import Keeping
from septet.vault.batch import ids_to_delete
from septet.vault.writing import Writable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from septet.query.filters import Filter
    from septet.store.protocol import Writing

#: Maximum names per call of `rename`.
MOST_NAMES = 100_000
_CHANGED = frozenset(BulkChanges.__annotations__)
_EVERYTHING = 'say {"id": {"$exists": True}} to mean every entry'


class Changeable(Writable):
    """A store whose entries are changed and deleted by filter; each call is one transaction: all of it, or nothing."""

    def update_many(
        self,
        where: Mapping[str, object],
        *,
        merge_attrs: Mapping[str, object] | None = None,
        dry_run: bool = False,
        **changes: Unpack[BulkChanges],
    ) -> int:
        """Change some fields of every entry that passes a filter; return how many entries passed.

        It is one transaction: an error or a crash leaves every entry unchanged. Parts of split entries change with
        them. Texts do not change, so no vector is computed again.

        Args:
            where: a filter, as for `search`; memories and entries outside their validity pass too.
            merge_attrs: as for `update`.
            dry_run: change nothing; only count.
            **changes: ``kind``, ``type``, ``domain``, ``severity``, ``tags``, ``attrs`` (both replace the old value),
                ``source``, ``trust``, and times. ``updated_at`` is now unless given.

        Raises:
            QueryError: the filter is missing or malformed.
            EntryError: no change is passed, or a value cannot be stored; nothing was changed.
            StoreError: the vault cannot be written.
        """
        flag(dry_run, "dry_run", EntryError)
        filters, columns = chosen(where), _columns(changes)
        patch = None if merge_attrs is None else checked_patch(merge_attrs, changes)
        if dry_run:
            return self._count(filters)
        if not columns and patch is None:
            raise EntryError("update_many() has nothing to change: name a field, such as domain='billing'")

        def act(write: Writing, keeping: Keeping) -> int:
            rows = write.tables.changing.rows_where(write, filters)
            if columns:
                write.tables.changing.set_columns(write, rows, columns, keeping, touch=True)
            if patch is not None:
                _merge(write, rows, patch, keeping)
            return len(rows)

        count = self._change("update_many", act)
        self._written()
        return count

    def rename(
        self,
        field: Literal["tags", "domain"],
        names: Mapping[str, str],
        *,
        where: Mapping[str, object] | None = None,
        dry_run: bool = False,
    ) -> int:
        """Rename tags or domains: ``rename("tags", {"js": "javascript"})``; return the number of renamed entries.

        Old names with the same new name become one: ``rename("domain", {"web": "frontend", "www": "frontend"})``.
        ``updated_at`` does not change, so ages stay. It is one transaction.

        Args:
            field: ``tags`` or ``domain``.
            names: new names by old name, at most 100,000, all replaced at once. An entry keeps one of equal tags.
            where: only entries that pass this filter.
            dry_run: change nothing; only count.

        Raises:
            QueryError: the filter cannot be understood, or is empty.
            EntryError: another field, or a name that cannot be stored; nothing was changed.
            StoreError: the vault cannot be written.
        """
        flag(dry_run, "dry_run", EntryError)
        filters = {} if where is None else _named(chosen(where))
        renamed = _new_names(field, names)
        if not renamed:
            return 0
        if dry_run:
            return self._count(filters | _any_of(field, renamed))

        def act(write: Writing, keeping: Keeping) -> int:
            tables, changing = write.tables, write.tables.changing
            if field == "tags":
                rows = changing.rows_where(write, filters | _any_of(field, renamed))
                held = tables.entries.tags_at(write, rows)
                changed = [json_text(list(dict.fromkeys(renamed.get(tag, tag) for tag in tags))) for tags in held]
                changing.set_tags(write, rows, changed, keeping)
                return len(rows)
            sources: dict[str, list[str]] = {}
            for old, into in renamed.items():
                sources.setdefault(into, []).append(old)
            # Read before the first change, so that two domains can swap names.
            moved = {into: changing.rows_where(write, filters | _any_of(field, olds)) for into, olds in sources.items()}
            for into, rows in moved.items():
                changing.set_columns(write, rows, {"domain": into}, keeping, touch=False)
            return sum(map(len, moved.values()))

        return self._change("rename", act)

    def delete(
        self, *ids: str | Iterable[str], where: Mapping[str, object] | None = None, dry_run: bool = False
    ) -> int:
        """Delete entries, their parts, links, earlier versions and vectors stored with them; return the number deleted.

        The text is erased at once, from `history` too. `purge` removes the empty rows, their words in the full-text
        index, and embedded vectors of deleted texts; until then, adding the same text again costs no request. It is one
        transaction: an error or a crash leaves every entry unchanged.

        Args:
            *ids: ids, or lists of ids; unknown ids are ignored.
            where: instead of ids, a filter, as for `search`; memories and entries outside their validity pass too.
            dry_run: delete nothing; only count.

        Raises:
            QueryError: the filter is malformed or empty.
            EntryError: an id is not text, or both ids and a filter are passed.
            StoreError: the vault cannot be written.
        """
        flag(dry_run, "dry_run", EntryError)
        if where is None:
            return self._delete_ids(ids_to_delete(ids), dry_run)
        if ids:
            raise EntryError('delete takes ids or where, not both: pass where={"id": {"$in": ids}, ...}')
        filters = chosen(where)
        if dry_run:
            return self._count(filters)

        def act(write: Writing, _: Keeping) -> int:
            rows = write.tables.changing.rows_where(write, filters)
            write.tables.changing.erase(write, rows)
            return len(rows)

        return self._change("delete", act)

    def forget(
        self, *ids: str | Iterable[str], where: Mapping[str, object] | None = None, dry_run: bool = False
    ) -> int:
        """Delete memories by id or by filter, as `delete` does; return the number deleted.

        Args:
            *ids: ids, or lists of ids; unknown ids and ids of other entries are ignored.
            where: instead of ids, a filter; only memories pass.
            dry_run: delete nothing; only count.

        Raises:
            QueryError: as for `delete`.
            EntryError: as for `delete`.
            StoreError: the vault cannot be written.
        """
        if where is not None:
            chosen(where)
            return self.delete(*ids, where={"$and": [where, {"kind": "memory"}]}, dry_run=dry_run)
        flag(dry_run, "dry_run", EntryError)
        return self._delete_ids(ids_to_delete(ids), dry_run, kind="memory")

    def purge(
        self,
        *,
        expired: bool = False,
        older_than: float | timedelta | None = None,
        history_older_than: float | timedelta | None = None,
        feedback: bool = False,
        where: Mapping[str, object] | None = None,
        dry_run: bool = False,
    ) -> int:
        """Permanently remove deleted data; return the number of removed rows.

        Removes the empty rows of deleted entries, vectors of deleted texts, and their words from the full-text index,
        which is rebuilt for that: some tenths of a second for 100,000 entries.

        Args:
            expired: also delete entries whose validity has ended, as `delete` does.
            older_than: with ``expired``, minimum time since the end of the validity: seconds or a timedelta.
            history_older_than: also remove versions replaced at least this long ago; 0 removes all of them.
            feedback: also remove all feedback, which restores the profile's weights.
            where: with ``expired`` or ``history_older_than``, only entries that pass this filter.
            dry_run: remove nothing; only count.

        Returns:
            Number of empty rows, expired entries with their parts, versions, and rows of feedback.

        Raises:
            QueryError: the filter is malformed or empty.
            EntryError: an age is not a number of seconds of at least 0, or an argument has nothing to apply to.
            StoreError: the vault cannot be written.
        """
        flags({"expired": expired, "feedback": feedback, "dry_run": dry_run}, EntryError)
        if older_than is not None and not expired:
            raise EntryError("older_than requires expired=True: it selects expired entries")
        if where is not None and not expired and history_older_than is None:
            raise EntryError(
                "where requires expired=True or history_older_than=: it selects expired entries or versions"
            )
        filters, now = {} if where is None else chosen(where), self._clock()
        ended = now - _seconds(older_than, "older_than")
        replaced = None
        if history_older_than is not None:
            age = _seconds(history_older_than, "history_older_than")
            # 0 also removes versions stamped in the future: by a faster clock, or by another process just now.
            replaced = now - age if age else math.inf

        if dry_run:
            with self._store.reading() as read:
                ended_rows = read.tables.changing.expired(read, ended, filters) if expired else []
                count = len(read.tables.parts.with_parts(read, ended_rows)) + read.tables.changing.erased(read)
                if replaced is not None:
                    count += read.tables.history.count_older(
                        read, replaced, read.tables.changing.rows_where(read, filters) if where else None
                    )
                return count + (sum(read.tables.feedback.counts(read).values()) if feedback else 0)

        def act(write: Writing, _: Keeping) -> int:
            count = 0
            if replaced is not None:
                # Before the deletion, so that versions of deleted entries are counted too.
                count = write.tables.history.drop_older(
                    write, replaced, write.tables.changing.rows_where(write, filters) if where else None
                )
            write.tables.changing.erase(write, write.tables.changing.expired(write, ended, filters) if expired else [])
            count += write.tables.entries.purge(write)
            if feedback:
                count += write.tables.feedback.clear(write)
            write.tables.indexing.merge(write)
            return count

        return self._change("purge", act)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _change(self, call: str, act: Callable[[Writing, Keeping], int]) -> int:
        with self._store.writing() as write:
            return act(write, self._keeping(call))

    def _delete_ids(self, ids: Sequence[str], dry_run: bool, kind: str | None = None) -> int:
        """Delete entries by id, optionally of one kind; return the number deleted."""
        if dry_run:
            with self._store.reading() as read:
                return len(read.tables.entries.rows_of(read, ids, kind))

        def act(write: Writing, _: Keeping) -> int:
            rows = write.tables.entries.rows_of(write, ids, kind)
            write.tables.changing.erase(write, rows)
            return len(rows)

        return self._change("delete", act)

    def _holds(self, ids: Sequence[str], kind: str | None = None) -> set[str]:
        """Return the ids that exist, optionally of one kind."""
        with self._store.reading() as read:
            rows = read.tables.entries.rows_of(read, ids, kind)
            return set(read.tables.entries.ids_at(read, rows))

    def _count(self, filters: Mapping[str, Filter]) -> int:
        with self._store.reading() as read:
            return read.tables.changing.count_where(read, filters)


def chosen(where: object) -> Mapping[str, Filter]:
    """Return the parsed filter of a bulk change.

    Raises:
        QueryError: the filter is empty or malformed.
    """
    # Imported late: most programs change entries by id.
    from septet.query.filters import parse_where

    if not isinstance(where, Mapping) or not where:
        raise QueryError(f"where is {shown(where)}: wanted a filter such as {{'domain': 'old'}}; {_EVERYTHING}")
    return parse_where(where)


def _named(filters: Mapping[str, Filter]) -> dict[str, Filter]:
    """Prefix the names of filters, so that they do not collide with others."""
    return {f"and {name}": condition for name, condition in filters.items()}


def _columns(changes: Mapping[str, object]) -> dict[str, object]:
    """Return checked changes as columns.

    Raises:
        EntryError: a field that cannot be set in bulk, or a value that cannot be stored.
    """
    for name in changes:
        if name not in _CHANGED:
            raise EntryError(f"update_many() cannot set {shown(name)}: available: {', '.join(sorted(_CHANGED))}")
    if not changes:
        return {}
    row = row_of(draft({"title": "-", **changes}, now=0.0))
    return {name: getattr(row, name) for name in changes}


def _merge(write: Writing, rows: Sequence[int], patch: Mapping[str, Any], keeping: Keeping) -> None:
    stored = write.tables.changing.attrs_at(write, rows)
    changed = [(row, json_text(merged_attrs(json.loads(text), patch))) for row, text in stored]
    write.tables.changing.set_attrs(write, changed, keeping)


def _new_names(field: object, names: object) -> dict[str, str]:
    """Return checked new names by old name, without those that stay.

    Raises:
        EntryError: a field without names, or a name that cannot be stored.
    """
    if not isinstance(field, str) or field not in ("tags", "domain"):
        raise EntryError(f"values of {shown(field)} cannot be renamed: available: domain, tags")
    if not isinstance(names, Mapping):
        raise EntryError(f"names is {shown(names)}: wanted a dict of new names by old name")
    if len(names) > MOST_NAMES:
        raise EntryError(f"names has more than {MOST_NAMES:,} values: split them into several calls")
    pairs = [(_name(field, old), _name(field, new)) for old, new in names.items()]
    return {old: new for old, new in pairs if old != new}


def _name(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise EntryError(f"names has {shown(value)}: wanted a name of {field}, as text")
    entry = draft({"title": "-", field: [value] if field == "tags" else value}, now=0.0).entry
    return entry.tags[0] if field == "tags" else entry.domain


def _any_of(field: str, names: Iterable[str]) -> dict[str, Filter]:
    return dict(chosen({field: {"$in": sorted(names)}}))


def _seconds(value: object, name: str) -> float:
    if value is None:
        return 0.0
    age = exact(value)
    if isinstance(age, timedelta):
        age = age.total_seconds()
    return real(age, f"{name}, in seconds,", EntryError, 0)
