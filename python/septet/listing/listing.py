"""Listing: the live entries of a store at one generation, as lazily loaded arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from septet._core import Lock
from septet.errors import StoreBusy
from septet.listing.columns import Arrays, Column, Moved, Positions, loaded, passing
from septet.model.arrays import Mask
from septet.query.filters import AllOf, Filter
from septet.sqlite.store.store import SqliteReading, SqliteStore, writer_at
from septet.sqlite.tables import entries, listings
from septet.sqlite.tables.conditions import filtered
from septet.sqlite.tables.listings import TIMES, Dated
from septet.store.rows import Condition
from septet.system.forks import renew_in_children

_Key = TypeVar("_Key")
_Cached = TypeVar("_Cached")

#: Maximum cached columns, masks of filters and orders per listing.
MOST_COLUMNS, MOST_MASKS, MOST_ORDERS = 16, 32, 8
#: Maximum changed entries for which cached masks are updated; beyond it they are dropped.
MOST_CHANGED = 2_000
#: A column is loaded by this many filters on its field.
ASKED_OFTEN = 2
#: Maximum retries of a read because other threads loaded a later state.
TURNS = 1_000


class Listing:
    """All live entries, including memories and split entries, by position in ascending order of row.

    Pass transactions of exactly this state to the methods.

    Attributes:
        rows: the store's row of each entry, ascending ``(n,)``.
        times: by name, epoch seconds ``(n,)``; -inf and inf if ``valid_from`` and ``valid_until`` are not set.
        state: generation and writer.
    """

    def __init__(
        self, state: tuple[int, str], rows: NDArray[np.int64], times: Mapping[str, NDArray[np.float64]]
    ) -> None:
        self.state, self.rows, self.times = state, rows, times
        self._lock = Lock(again=True)
        self._columns: dict[tuple[str, bool], Column] = {}
        self._masks: dict[Condition, Mask] = {}
        self._orders: dict[object, NDArray[Any]] = {}
        self._ids: NDArray[np.object_] | None = None
        self._filtered: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, read: SqliteReading, field: str, *, lists: bool = True) -> Column:
        """Return the values of a field that is not a time.

        Args:
            lists: include the items of lists in attrs.
        """
        key = (field, lists or not field.startswith("attrs."))
        return self._cached(self._columns, key, MOST_COLUMNS, lambda: loaded(read, field, self.rows, lists=lists))

    def column_to_filter(self, read: SqliteReading, field: str) -> Column | None:
        """Return the values of a field; None until `ASKED_OFTEN` filters have used it."""
        with self._lock.hold():
            if (field, True) not in self._columns:
                self._filtered[field] += 1
                if self._filtered[field] < ASKED_OFTEN:
                    return None
            return self.column(read, field)

    def ids(self, read: SqliteReading) -> NDArray[np.object_]:
        """Return the id of each entry ``(n,)``."""
        with self._lock.hold():
            if self._ids is None:
                known = dict(listings.ids(read))
                self._ids = np.empty(len(self.rows), dtype=object)
                self._ids[:] = [known[row] for row in self.rows.tolist()]
            return self._ids

    @property
    def known_ids(self) -> NDArray[np.object_]:
        """The id of each entry ``(n,)``; `ids` must have loaded them."""
        assert self._ids is not None
        return self._ids

    def id_order(self, read: SqliteReading) -> NDArray[np.float64]:
        """Return the rank of each entry by id ``(n,)``."""

        def ranks() -> NDArray[np.float64]:
            ordered = np.array(listings.in_order_of_ids(read), dtype=np.int64)
            at = np.searchsorted(self.rows, ordered)
            # The index still contains deleted entries.
            live = at < len(self.rows)
            live[live] = self.rows[at[live]] == ordered[live]
            order = np.empty(len(self.rows))
            order[at[live]] = np.arange(len(self.rows))
            return order

        return self._cached(self._orders, "id order", MOST_ORDERS, ranks)

    def order(self, key: object, make: Callable[[], Positions]) -> Positions:
        """Return the positions of an order from the cache or from ``make``."""
        return self._cached(self._orders, ("order", key), MOST_ORDERS, make)

    def mask(self, read: SqliteReading, filters: Mapping[str, Filter], as_of: float | None) -> Mask | None:
        """Return the mask of entries that match all filters and are valid at a time ``(n,)``; None for all.

        Args:
            as_of: epoch seconds; None to ignore validity.
        """
        mask = None
        if filters:
            # The key is SQL text with parameters: filters with True and with 1 are equal.
            condition = filtered(filters)
            mask = self._cached(self._masks, condition, MOST_MASKS, lambda: self._passing(read, filters, condition))
        if as_of is None:
            return mask
        return self.valid(as_of) if mask is None else mask & self.valid(as_of)

    def valid(self, moment: float) -> Mask:
        """Return the mask of entries valid at a time, in epoch seconds ``(n,)``."""
        valid: Mask = (self.times["valid_from"] <= moment) & (self.times["valid_until"] > moment)
        return valid

    def mask_of(self, rows: Sequence[int] | NDArray[np.int64]) -> Mask:
        """Return the mask of entries with these rows ``(n,)``."""
        mask = np.zeros(len(self.rows), dtype=bool)
        mask[np.searchsorted(self.rows, np.asarray(rows, dtype=np.int64))] = True
        return mask

    def next(self, read: SqliteReading, changed: list[Dated]) -> Listing:
        """Return the listing of a later state.

        Args:
            changed: the entries written or deleted since.
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
                    positions = moved.places[mask]
                    new_mask[positions[positions >= 0]] = True
                    listing._masks[condition] = new_mask
            if self._ids is not None:
                known = dict(listings.ids(read, fresh))
                new_ids = np.empty(len(fresh), dtype=object)
                new_ids[:] = [known[row] for row in fresh]
                listing._ids = np.concatenate([self._ids, new_ids])[moved.sources]
            listing._filtered = self._filtered
            return listing

    def same(self, read: SqliteReading) -> Listing:
        """Return the listing of a later state with the same entries."""
        listing = Listing(read[1:], self.rows, self.times)
        listing._lock, listing._columns, listing._masks = self._lock, self._columns, self._masks
        listing._orders, listing._ids, listing._filtered = self._orders, self._ids, self._filtered
        return listing

    def _passing(self, read: SqliteReading, filters: Mapping[str, Filter], condition: Condition) -> Mask:
        arrays = Arrays(len(self.rows), self.times, lambda field: self.column_to_filter(read, field))
        mask = passing(arrays, AllOf(tuple(filters.values())))
        return self.mask_of(listings.passing(read, condition)) if mask is None else mask

    def _cached(self, cache: dict[_Key, _Cached], key: _Key, most: int, make: Callable[[], _Cached]) -> _Cached:
        """Return a value from an LRU cache of at most ``most`` values, or from ``make``."""
        with self._lock.hold():
            value = cache.pop(key, None)
            if value is None:
                value = make()
                while len(cache) >= most:
                    del cache[next(iter(cache))]
            cache[key] = value
            return value


def _arrays(dated: Sequence[tuple[Any, ...]]) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """Return rows and times of live entries as arrays."""
    columns = list(zip(*dated)) if dated else [()] * len(Dated._fields)
    times = {name: np.array(columns[2 + n], dtype=np.float64) for n, name in enumerate(TIMES)}
    for name, unset in (("valid_from", -np.inf), ("valid_until", np.inf)):
        times[name][np.isnan(times[name])] = unset
    return np.array(columns[0], dtype=np.int64), times


def _moved(old: Listing, changed: list[Dated]) -> tuple[Moved, NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """Return the mapping to the next listing, and its rows and times."""
    written = np.array([row for row, *_ in changed], dtype=np.int64)
    fresh_rows, fresh_times = _arrays([(row, live, *rest) for row, live, *rest in changed if live])
    at = np.searchsorted(old.rows, written)
    known = at < len(old.rows)
    known[known] = old.rows[at[known]] == written[known]
    keep = np.ones(len(old.rows), dtype=bool)
    keep[at[known]] = False
    unchanged = np.flatnonzero(keep)
    sources = np.concatenate([unchanged, len(old.rows) + np.arange(len(fresh_rows))])
    rows = np.concatenate([old.rows[unchanged], fresh_rows])
    order = np.argsort(rows, kind="stable")
    sources = sources[order]
    places = np.full(len(old.rows) + len(fresh_rows), -1, dtype=np.int64)
    places[sources] = np.arange(len(sources))
    times = {name: np.concatenate([old.times[name], fresh_times[name]])[sources] for name in TIMES}
    return Moved(sources, places[: len(old.rows)], places[len(old.rows) :]), rows[order], times


class View(NamedTuple):
    """A listing with a transaction to read it.

    Attributes:
        read: a transaction of the listing's state.
        hidden: the mask of entries to exclude ``(n,)``; None for none.
    """

    read: SqliteReading
    listing: Listing
    hidden: Mask | None = None

    def mask(self, filters: Mapping[str, Filter], as_of: float | None) -> Mask | None:
        """Return the mask of entries that match all filters and are not hidden ``(n,)``; None for all."""
        mask = self.listing.mask(self.read, filters, as_of)
        if self.hidden is None:
            return mask
        return ~self.hidden if mask is None else mask & ~self.hidden


class Listings:
    """Caches the current listing of a store. Thread-safe."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._lock = Lock()
        self._current: Listing | None = None
        #: The listing of an older state that a transaction still reads.
        self._older: Listing | None = None
        renew_in_children(self)

    def after_fork(self) -> None:
        """Reset in a forked child: another thread may have held the lock."""
        self._lock = Lock()
        self._current = self._older = None

    def at(self, read: SqliteReading) -> View:
        """Return the listing of the state of an open transaction.

        Raises:
            StoreError: the file cannot be read.
            StoreBusy: a file opened as unchanging was written.
        """
        listing = self._view(read, None)
        if listing is None:
            if self._store.at_rest is not None and self._store.disturbed:
                raise StoreBusy(f"{self._store.path} changed while it was read: try again")
            # Other threads loaded a later state.
            listing = self._older
            if listing is None or listing.state != read[1:]:
                listing = self._older = Listing(read[1:], *_arrays(listings.dated(read)))
        return View(read, listing)

    @contextmanager
    def reading(self) -> Iterator[View]:
        """Begin a read transaction and yield the listing of its state.

        Raises:
            StoreError: the file cannot be read.
            StoreBusy: other threads loaded later states `TURNS` times.
        """
        for _ in range(TURNS):
            seen = self._current
            with self._store.reading() as read:
                listing = self._view(read, seen)
                if listing is not None:
                    yield View(read, listing)
                    return
        raise StoreBusy(f"{self._store.path} changed {TURNS} times while a read began: try again")

    def _view(self, read: SqliteReading, seen: Listing | None) -> Listing | None:
        """Return the listing of the transaction's state; None if another thread has loaded a later one."""
        with self._lock.hold():
            current = self._current
            if current is not None and current.state == read[1:]:
                return current
            if current is not None and current.state[0] >= read.generation:
                if current is not seen:
                    return None
                # The file was restored from a backup.
                current = None
            if current is not None:
                current = _caught_up(current, read)
            if current is None:
                current = Listing(read[1:], *_arrays(listings.dated(read)))
            self._current = current
            if self._store.at_rest is not None and self._store.disturbed:
                # A file opened as unchanging was written.
                self._current = None
                return None
            return current


def _caught_up(old: Listing, read: SqliteReading) -> Listing | None:
    """Return the listing of a later state; None if all entries must be read, or reading them is cheaper."""
    generation, writer = old.state
    if read.writer != writer and writer_at(read, generation) != writer:
        return None
    if entries.purged_at(read) > generation:
        # Purged rows leave no record of their deletion.
        return None
    changed = listings.changed(read, generation)
    if not changed:
        return old.same(read)
    return None if 2 * len(changed) > len(old) + 1_000 else old.next(read, changed)
