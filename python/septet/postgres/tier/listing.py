"""Listings of a vault on PostgreSQL, computed by the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from septet.listing.queries import (
    Counted,
    CountsQuery,
    ListingMirror,
    ListingQuery,
    MirrorQuery,
    NumberQuery,
    PageQuery,
    Placed,
    Shadowing,
)
from septet.listing.request import Cursor
from septet.model.arrays import Mask
from septet.postgres.store.store import PostgresStore
from septet.postgres.store.transactions import PostgresReading
from septet.postgres.tables import listed as table
from septet.postgres.tables.listed import ListingSelection

_Answer = TypeVar("_Answer")


class PostgresListings:
    """Answers queries on the listing of a vault, each at one state. Threads may share it.

    Only for a federation are ids and validity of all entries read, and remembered until the database changes. Where it
    was another vault of it that changed, they stay the same object, of the same state.
    """

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        #: The last mirror, and the state of the database that it was read from.
        self._kept: tuple[str, ListingMirror] | None = None

    def answer(
        self, query: ListingQuery[_Answer], hidden: Callable[[Shadowing], Mask | None] | None
    ) -> tuple[_Answer, Shadowing | None]:
        """Run a query on the listing; see `septet.federation.member.Member`."""
        with self._store.reading() as read:
            if isinstance(query, MirrorQuery):
                return cast(_Answer, self._mirrored(read)), None
            if hidden is None:
                return cast(_Answer, _answered(read, query, ())), None
            mirror = self._mirrored(read)
            mask = hidden(mirror)
            rows = [] if mask is None else mirror.rows[mask].tolist()
            return cast(_Answer, _answered(read, query, rows)), mirror

    def _mirrored(self, read: PostgresReading) -> ListingMirror:
        state, kept = table.state(read), self._kept
        if kept is None or kept[0] != state:
            entries = table.every(read)
            rows, ids, begins, ends = zip(*entries) if entries else ((), (), (), ())
            known_ids = np.empty(len(ids), dtype=object)
            known_ids[:] = ids
            mirror = ListingMirror(
                state,
                np.array(rows, dtype=np.int64),
                known_ids,
                _times(begins, -np.inf),
                _times(ends, np.inf),
            )
            same = kept is not None and all(map(np.array_equal, kept[1][1:], mirror[1:]))
            kept = self._kept = (state, kept[1] if kept is not None and same else mirror)
        return kept[1]


def _times(values: tuple[float | None, ...], unset: float) -> Any:
    return np.array([unset if value is None else value for value in values], dtype=np.float64)


def _answered(read: PostgresReading, query: ListingQuery[Any], hidden: list[int] | tuple[()]) -> Any:
    if not isinstance(query, (PageQuery, NumberQuery, CountsQuery)):
        raise TypeError(f"listing on PostgreSQL does not support {type(query).__name__}")
    request = query.request
    selection = ListingSelection(request.filters, request.as_of, hidden)
    if isinstance(query, PageQuery):
        most = None if request.limit is None else request.limit + 1
        rows = table.page(read, selection, request.keys, most, request.after)
        return [Placed(entry.to_entry(), Cursor(values, entry.id)) for entry, values in rows]
    if isinstance(query, CountsQuery):
        what = query.what
        # As in arrays, dates are cut when those of all tiers are together.
        most = query.limit if what.by is None else None
        counts = table.values(read, what.field, what.by, selection, most)
        other = counts.every - sum(count for _, count in counts.counts)
        return Counted(counts.counts, counts.total, counts.missing, counts.distinct, other)
    return table.number(read, selection)
