"""Listing: the live entries of a store at one generation, as arrays that are read when they are first needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from septet._core import Lock
from septet.errors import StoreBusy
from septet.listing.columns import Column, Moved, Positions, loaded
from septet.listing.filtering import Arrays, passing
from septet.query.filters import AllOf, Filter
from septet.sqlite.snapshot.arrays import Mask
from septet.sqlite.store.store import Reading, Store, writer_at
from septet.sqlite.tables import entries, listings
from septet.sqlite.tables.conditions import Condition, filtered
from septet.sqlite.tables.listings import TIMES, Dated
from septet.system.forks import renew_in_children

__all__ = ["Listing", "Listings", "View"]

_Key = TypeVar("_Key")
_Made = TypeVar("_Made")

#: So many columns, answers to filters and orders a listing remembers.
MOST_COLUMNS, MOST_MASKS, MOST_ORDERS = 16, 32, 8
#: When more entries than this were written, filters are asked anew rather than about these alone.
MOST_CHANGED = 2_000
#: A column is read when so many filters have asked for it.
ASKED_OFTEN = 2
#: So often a read begins again because other threads moved on.
TURNS = 1_000


class Listing:
    """Every live entry by its position, which is the place of its row; memories and split entries too.

    What it loads is read in a transaction of exactly its state.

    Attributes:
        rows: the store's row of each entry, ascending ``(n,)``.
        times: by name, epoch seconds ``(n,)``; -inf and inf where ``valid_from`` and ``valid_until`` are not set.
        state: generation and writer.
    """

    def __init__(
        self, state: tuple[int, str], rows: NDArray[np.int64], times: Mapping[str, NDArray[np.float64]]
    ) -> None:
        self.state, self.rows, self.times = state, rows, times
        self._lock = Lock(again=True)
        self._columns: dict[tuple[str, bool], Column] = {}
        self._masks: dict[Condition, Mask] = {}
        self._made: dict[object, NDArray[Any]] = {}
        self._ids: NDArray[np.object_] | None = None
        self._asked: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, read: Reading, field: str, *, lists: bool = True) -> Column:
        """Return the values of a field that is not a time.

        Args:
            lists: look into lists in attrs; False leaves them out.
        """
        key = (field, lists or not field.startswith("attrs."))
        return self._remembered(self._columns, key, MOST_COLUMNS, lambda: loaded(read, field, self.rows, lists=lists))

    def often_asked(self, read: Reading, field: str) -> Column | None:
        """Return the values of a field for a filter; None while reading them is not worth it."""
        with self._lock.hold():
            if (field, True) not in self._columns:
                self._asked[field] += 1
                if self._asked[field] < ASKED_OFTEN:
                    return None
            return self.column(read, field)

    def ids(self, read: Reading) -> NDArray[np.object_]:
        """Return the id of each entry ``(n,)``."""
        with self._lock.hold():
            if self._ids is None:
                known = dict(listings.ids(read))
                found = np.empty(len(self.rows), dtype=object)
                found[:] = [known[row] for row in self.rows.tolist()]
                self._ids = found
            return self._ids

    @property
    def known_ids(self) -> NDArray[np.object_]:
        """What `ids` returned."""
        assert self._ids is not None
        return self._ids

    def id_order(self, read: Reading) -> NDArray[np.float64]:
        """Return the place of each entry in the order of ids ``(n,)``."""
        return self._remembered(self._made, "id order", MOST_ORDERS, lambda: self._id_order(read))

    def order(self, key: object, make: Callable[[], Positions]) -> Positions:
        """Return the positions in an order that was made before, or is made now."""
        return self._remembered(self._made, ("order", key), MOST_ORDERS, make)

    def mask(self, read: Reading, filters: Mapping[str, Filter], as_of: float | None) -> Mask | None:
        """Return which entries pass all filters, and are valid at a moment ``(n,)``; None for all.

        Args:
            as_of: epoch seconds; None for entries outside their validity too.
        """
        mask = None
        if filters:
            # Texts and parameters: True and 1 are equal in a filter.
            condition = filtered(filters)
            mask = self._remembered(self._masks, condition, MOST_MASKS, lambda: self._passing(read, filters, condition))
        if as_of is None:
            return mask
        return self.valid(as_of) if mask is None else mask & self.valid(as_of)

    def valid(self, moment: float) -> Mask:
        """Return which entries are valid at a moment ``(n,)``."""
        valid: Mask = (self.times["valid_from"] <= moment) & (self.times["valid_until"] > moment)
        return valid

    def mask_of(self, rows: Sequence[int] | NDArray[np.int64]) -> Mask:
        """Return rows as a mask ``(n,)``."""
        mask = np.zeros(len(self.rows), dtype=bool)
        mask[np.searchsorted(self.rows, np.asarray(rows, dtype=np.int64))] = True
        return mask

    def next(self, read: Reading, changed: list[Dated]) -> Listing:
        """Return the listing of a later state.

        Args:
            changed: what was written since.
        """
        with self._lock.hold():
            moved, rows, times = _moved(self, changed)
            listing = Listing(read[1:], rows, times)
            fresh = rows[moved.fresh].tolist()
            for (field, lists), column in self._columns.items():
                new = loaded(read, field, rows, names=column.names, at=moved.fresh, lists=lists)
                listing._columns[field, lists] = column.moved(moved, new)
            if len(fresh) <= MOST_CHANGED:
                for condition, mask in self._masks.items():
                    new_mask = listing.mask_of(listings.passing(read, condition, fresh))
                    kept = moved.places[mask]
                    new_mask[kept[kept >= 0]] = True
                    listing._masks[condition] = new_mask
            if self._ids is not None:
                known = dict(listings.ids(read, fresh))
                new_ids = np.empty(len(fresh), dtype=object)
                new_ids[:] = [known[row] for row in fresh]
                listing._ids = np.concatenate([self._ids, new_ids])[moved.sources]
            listing._asked = self._asked
            return listing

    def same(self, read: Reading) -> Listing:
        """Return the listing of a later state in which nothing of it changed."""
        listing = Listing(read[1:], self.rows, self.times)
        listing._lock, listing._columns, listing._masks = self._lock, self._columns, self._masks
        listing._made, listing._ids, listing._asked = self._made, self._ids, self._asked
        return listing

    def _passing(self, read: Reading, filters: Mapping[str, Filter], condition: Condition) -> Mask:
        arrays = Arrays(len(self.rows), self.times, lambda field: self.often_asked(read, field))
        mask = passing(arrays, AllOf(tuple(filters.values())))
        return self.mask_of(listings.passing(read, condition)) if mask is None else mask

    def _id_order(self, read: Reading) -> NDArray[np.float64]:
        ordered = np.array(listings.in_order_of_ids(read), dtype=np.int64)
        at = np.searchsorted(self.rows, ordered)
        # The index knows deleted entries too.
        there = at < len(self.rows)
        there[there] = self.rows[at[there]] == ordered[there]
        order = np.empty(len(self.rows))
        order[at[there]] = np.arange(len(self.rows))
        return order

    def _remembered(self, known: dict[_Key, _Made], key: _Key, most: int, make: Callable[[], _Made]) -> _Made:
        """Return what is known by a key, made if it is not; what was not asked for longest is forgotten."""
        with self._lock.hold():
            found = known.pop(key, None)
            if found is None:
                found = make()
                while len(known) >= most:
                    del known[next(iter(known))]
            known[key] = found
            return found


def _arrays(found: list[Dated]) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """Return rows and times of live entries as arrays."""
    columns = list(zip(*found)) if found else [()] * len(Dated._fields)
    times = {name: np.array(columns[2 + n], dtype=np.float64) for n, name in enumerate(TIMES)}
    for name, unset in (("valid_from", -np.inf), ("valid_until", np.inf)):
        times[name][np.isnan(times[name])] = unset
    return np.array(columns[0], dtype=np.int64), times


def _moved(old: Listing, changed: list[Dated]) -> tuple[Moved, NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """Return how entries move, and rows and times of the next listing."""
    written = np.array([one[0] for one in changed], dtype=np.int64)
    fresh_rows, fresh_times = _arrays([one for one in changed if one[1]])
    at = np.searchsorted(old.rows, written)
    there = at < len(old.rows)
    there[there] = old.rows[at[there]] == written[there]
    keep = np.ones(len(old.rows), dtype=bool)
    keep[at[there]] = False
    kept = np.flatnonzero(keep)
    sources = np.concatenate([kept, len(old.rows) + np.arange(len(fresh_rows))])
    rows = np.concatenate([old.rows[kept], fresh_rows])
    order = np.argsort(rows, kind="stable")
    sources = sources[order]
    places = np.full(len(old.rows) + len(fresh_rows), -1, dtype=np.int64)
    places[sources] = np.arange(len(sources))
    times = {name: np.concatenate([old.times[name], fresh_times[name]])[sources] for name in TIMES}
    return Moved(sources, places[: len(old.rows)], places[len(old.rows) :]), rows[order], times


class View(NamedTuple):
    """A listing while it is read.

    Attributes:
        read: a transaction of the listing's state.
        hidden: entries that are left out ``(n,)``; None for none.
    """

    read: Reading
    listing: Listing
    hidden: Mask | None = None

    def mask(self, filters: Mapping[str, Filter], as_of: float | None) -> Mask | None:
        """Return which entries pass all filters and are not hidden ``(n,)``; None for all."""
        mask = self.listing.mask(self.read, filters, as_of)
        if self.hidden is None:
            return mask
        return ~self.hidden if mask is None else mask & ~self.hidden


class Listings:
    """Holds the current listing of a store. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._current: Listing | None = None
        self._aside: Listing | None = None
        renew_in_children(self)

    def after_fork(self) -> None:
        """Begin from nothing in a forked child: another thread may have held a lock."""
        self._lock = Lock()
        self._current = self._aside = None

    def at(self, read: Reading) -> View:
        """Return the listing of the state of a transaction that began elsewhere.

        Raises:
            StoreError: the file cannot be read.
            StoreBusy: somebody wrote a file of which nobody was expected to.
        """
        listing = self._view(read, None)
        if listing is None:
            if self._store.at_rest is not None and self._store.disturbed:
                raise StoreBusy(f"{self._store.path} changed while it was read: try again")
            # Other threads moved on to a later state.
            listing = self._aside
            if listing is None or listing.state != read[1:]:
                listing = self._aside = Listing(read[1:], *_arrays(listings.dated(read)))
        return View(read, listing)

    @contextmanager
    def reading(self) -> Iterator[View]:
        """Begin a read transaction, and take the listing of its state.

        Raises:
            StoreError: the file cannot be read.
            StoreBusy: other threads moved on again and again.
        """
        for _ in range(TURNS):
            seen = self._current
            with self._store.reading() as read:
                listing = self._view(read, seen)
                if listing is not None:
                    yield View(read, listing)
                    return
        raise StoreBusy(f"{self._store.path} changed {TURNS} times while a read began: try again")

    def _view(self, read: Reading, seen: Listing | None) -> Listing | None:
        """Return the listing of the state that is read; None when another thread has moved on to a later one."""
        with self._lock.hold():
            current = self._current
            if current is not None and current.state == read[1:]:
                return current
            if current is not None and current.state[0] >= read.generation:
                if current is not seen:
                    return None
                # The file was restored.
                current = None
            if current is not None:
                current = _caught_up(current, read)
            if current is None:
                current = Listing(read[1:], *_arrays(listings.dated(read)))
            self._current = current
            if self._store.at_rest is not None and self._store.disturbed:
                # Somebody wrote a file of which nobody was expected to.
                self._current = None
                return None
            return current


def _caught_up(old: Listing, read: Reading) -> Listing | None:
    """Return the listing of a later state; None when it is better, or necessary, to read everything."""
    generation, writer = old.state
    if read.writer != writer and writer_at(read, generation) != writer:
        return None
    if entries.purged_at(read) > generation:
        # Rows that are gone cannot tell that they were deleted.
        return None
    changed = listings.changed(read, generation)
    if not changed:
        return old.same(read)
    return None if 2 * len(changed) > len(old) + 1_000 else old.next(read, changed)
