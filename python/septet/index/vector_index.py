"""Nearest neighbours: an index of vectors with ids."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from septet import _core
from septet.errors import EntryNotFound, QueryError, VectorError
from septet.index import checks, files
from septet.index.checks import ApproximateNearest, Metric, Nearest, VectorIds
from septet.index.state import Places, State, VectorNames, shown_ids
from septet.inputs.arguments import exact, flag, real, shown, whole
from septet.model.vector import MOST_DIMENSIONS

#: Maximum number of threads.
MOST_THREADS = 256
#: Default ``k``.
DEFAULT_K = 10


class VectorIndex:
    """Vectors with ids and 8-bit codes, searched exactly or with a recall. Threads may search while another adds and
    removes.

    Ids are 64-bit integers or texts, all of one type, or integers assigned automatically, from 0. The index is in
    insertion order: iteration, ``ids``, masks and ties follow it. A replaced vector moves to the end.

    ============ ======================================================= ============
    metric       score of a search                                       best first
    ============ ======================================================= ============
    ``cosine``   the cosine; vectors are stored at length 1              largest
    ``ip``       the inner product                                       largest
    ``l2``       the squared Euclidean distance                          smallest
    ============ ======================================================= ============

    Vectors are stored as float32; float64 is rounded, float16 is exact.

    Args:
        dimensions: the number of components of each vector, 1 to 65,536.
        metric: comparison of vectors, see above.

    Raises:
        VectorError: ``dimensions`` outside 1..65,536, or an unknown metric.
    """

    def __init__(self, dimensions: int, *, metric: Metric = "cosine") -> None:
        dimensions = whole(dimensions, "dimensions", VectorError, 1, MOST_DIMENSIONS)
        self._begin(State.empty(checks.metric_of(metric), dimensions))

    def _begin(self, state: State) -> None:
        self._adding = _core.Lock()
        # Held only for lookups and changes of ids.
        self._naming = _core.Lock()
        self._places = Places()
        # Replaced as a whole, so that searches see all of a change or nothing.
        self._state = state

    @property
    def dimensions(self) -> int:
        """The number of components of a vector."""
        return self._state.codes.dimensions

    @property
    def metric(self) -> Metric:
        """The comparison of vectors."""
        return self._state.metric

    @property
    def ids(self) -> NDArray[Any]:
        """The ids in order, ``(len(index),)``: int64, or str as objects."""
        names = self._state.names
        return names.at(names.positions())

    def __len__(self) -> int:
        return self._state.names.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.ids.tolist())

    def __contains__(self, id: object) -> bool:
        value = exact(id)
        if isinstance(value, np.integer):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            return False
        if isinstance(value, int) and not checks.SMALLEST_ID <= value <= checks.LARGEST_ID:
            return False
        return bool(self._find([value])[1][0] >= 0)

    def __getitem__(self, id: int | str) -> NDArray[np.float32]:
        """Return a vector ``(d,)``.

        Raises:
            EntryNotFound: the id is not in the index.
            VectorError: not an id.
        """
        ids = checks.id_list(id, VectorError, "id")
        if len(ids) != 1:
            raise VectorError(f"id is {shown(id)}: wanted one id; use get() for several")
        row: NDArray[np.float32] = self.get(ids)[0]
        return row

    def __repr__(self) -> str:
        metric = "" if self.metric == "cosine" else f", {self.metric}"
        return f"<VectorIndex of {len(self)} vectors, {self.dimensions} dimensions{metric}>"

    @overload
    def add(self, vectors: ArrayLike, ids: None = None) -> range: ...

    @overload
    def add(self, vectors: ArrayLike, ids: VectorIds) -> list[Any]: ...

    def add(self, vectors: ArrayLike, ids: VectorIds | None = None) -> range | list[Any]:
        """Add vectors ``(n, d)``, or one ``(d,)``, and return their ids. On error, none is added.

        Args:
            vectors: finite numbers; for cosines none of length 0.
            ids: a new id for each vector. None assigns the integers after the largest one so far.

        Returns:
            The ids: a range if assigned automatically, else a list.

        Raises:
            VectorError: another number of dimensions, a vector of length 0 for cosines, a number that is NaN or
                infinite; an id that is in the index, repeated in ``ids``, or of another type than those before.
        """
        rows = checks.rows_of(vectors, "vectors", self.metric, self.dimensions, single=True)
        requested = None if ids is None else checks.id_list(ids, VectorError)
        with self._adding.hold():
            state = self._state
            if requested is None:
                new: range | list[Any] = state.names.fresh_ids(len(rows))
            else:
                state.names.checked(requested, len(rows))
                new = requested
                exists = self._find(requested)[1] >= 0
                if exists.any():
                    known = shown_ids(value for value, exist in zip(requested, exists, strict=True) if exist)
                    raise VectorError(f"ids has {known}, in the index already: use upsert() to replace vectors")
            self._change(state, np.empty(0, np.int64), rows, new)
        return new

    def upsert(self, vectors: ArrayLike, ids: VectorIds) -> int:
        """Add vectors, replacing those with the same ids, and return the number replaced.

        Raises:
            VectorError: as `add`, except that ids may be in the index. On error, nothing changes.
        """
        rows = checks.rows_of(vectors, "vectors", self.metric, self.dimensions, single=True)
        id_list = checks.id_list(ids, VectorError)
        with self._adding.hold():
            state, at = self._find(id_list)
            state.names.checked(id_list, len(rows))
            old = at[at >= 0]
            self._change(state, old, rows, id_list)
        return len(old)

    def remove(self, ids: VectorIds, *, strict: bool = False) -> int:
        """Remove vectors, and return their number.

        Memory is released once at least 1,024 and more than half of the vectors were removed. Vectors that `open`
        mapped are then read into memory.

        Args:
            ids: one id or several.
            strict: True to raise for unknown ids, and remove none.

        Raises:
            VectorError: not ids.
            EntryNotFound: with ``strict``, an id is not in the index.
        """
        id_list = list(dict.fromkeys(checks.id_list(ids, VectorError)))
        flag(strict, "strict", VectorError)
        with self._adding.hold():
            state, at = self._find(id_list)
            if strict:
                _require_all(id_list, at)
            removed = at[at >= 0]
            self._change(state, removed, np.empty((0, self.dimensions), np.float32), [])
        return len(removed)

    def get(self, ids: VectorIds) -> NDArray[np.float32]:
        """Return a copy of the stored vectors ``(len(ids), d)``: for cosines, of length 1.

        Raises:
            EntryNotFound: an id is not in the index.
            VectorError: not ids.
            StoreError: a file that `open` mapped was truncated or overwritten.
        """
        id_list = checks.id_list(ids, VectorError)
        state, at = self._find(id_list)
        _require_all(id_list, at)
        with files.changed_files():
            return state.read_at(at)

    @overload
    def search(
        self,
        query: ArrayLike,
        k: int | None = None,
        *,
        ids: VectorIds | None = None,
        mask: ArrayLike | None = None,
        radius: None = None,
        recall: None = None,
        threads: int | None = None,
    ) -> Nearest: ...

    @overload
    def search(
        self,
        query: ArrayLike,
        k: int | None = None,
        *,
        ids: VectorIds | None = None,
        mask: ArrayLike | None = None,
        radius: None = None,
        recall: float,
        threads: int | None = None,
    ) -> ApproximateNearest: ...

    @overload
    def search(
        self,
        query: ArrayLike,
        k: int | None = None,
        *,
        ids: VectorIds | None = None,
        mask: ArrayLike | None = None,
        radius: float,
        recall: None = None,
        threads: int | None = None,
    ) -> Nearest | list[Nearest]: ...

    def search(
        self,
        query: ArrayLike,
        k: int | None = None,
        *,
        ids: VectorIds | None = None,
        mask: ArrayLike | None = None,
        radius: float | None = None,
        recall: float | None = None,
        threads: int | None = None,
    ) -> Nearest | ApproximateNearest | list[Nearest]:
        """Find the ``k`` best vectors, exactly unless ``recall`` is passed.

        Scores equal those of a float64 scan of the float32 vectors and query, for ``cosine`` both normalized in
        float32; ties are in index order. (For ``l2``, ties have equal squared distances.)

        Args:
            query: one query ``(d,)``, or several ``(q, d)``, which is faster than one call each.
            k: maximum number of vectors, 0 or more. None means 10, or with ``radius`` all within it.
            ids: only these vectors may be returned; unknown ids are ignored.
            mask: booleans ``(len(index),)``, true where a vector may be returned, in the order of ``index.ids``; a
                sparse mask is faster.
            radius: only vectors with at least this score or, for ``l2``, at most this squared distance.
            recall: the share of the ``k`` best vectors to expect, above 0 and at most 1, of an index that `optimize`
                has arranged in lists: at .99 a search reads a few percent of the vectors. Never fewer vectors are
                returned. Without lists, and at 1, the search is exact. One thread.
            threads: maximum threads; None means every core if there is work for more than one.

        Returns:
            Ids (int64, or str as objects) and scores (float64), best first, each ``(min(k, allowed),)``, or with a
            leading ``q``. With ``radius`` and several queries, a list of such pairs, whose lengths may differ. With
            ``recall``, also whether they are the best for certain: an `ApproximateNearest`.

        Raises:
            VectorError: the query has another number of dimensions, for cosines length 0, or a number that is NaN or
                infinite.
            QueryError: ``k`` is negative, ``threads`` is below 1, the mask has another length, ``radius`` is not a
                finite number, ``recall`` is not in (0, 1] or used with ``radius``, or ``ids`` are not ids.
            StoreError: a file that `open` mapped was truncated or overwritten.
        """
        share = None if recall is None else checks.recall_of(recall, radius)
        requested = None if ids is None else checks.id_list(ids, QueryError)
        state, at = (self._state, None) if requested is None else self._find(requested)
        queries, many = checks.queries_of(query, self.dimensions, self.metric)
        allowed = state.names.allowed(checks.mask_of(mask, state.names.size), at)
        k = checks.count((DEFAULT_K if radius is None else checks.MOST) if k is None else k, 0, "k")
        workers = None if threads is None else min(checks.count(threads, 1, "threads"), MOST_THREADS)
        codes, rows, names = state.codes, state.rows, state.names
        with files.changed_files():
            if radius is not None:
                least = real(radius, "radius", QueryError)
                results = codes.within(queries, rows, k, least, allowed, threads=workers)
                nearest = [(names.at(positions), scores) for positions, scores in results]
                return nearest if many else nearest[0]
            if share is not None:
                return state.probed(queries, k, share, allowed, many=many)
            if many:
                best, scores = codes.top_k_batch(queries, rows, k, allowed, threads=workers)
            else:
                best, scores = codes.top_k(queries[0], rows, k, allowed, threads=workers)
        return names.at(best), scores

    def optimize(self, *, threads: int | None = None) -> int:
        """Arrange the vectors in lists of near ones, for searches with ``recall``, and return the number of lists.

        Pays from about 100,000 vectors on. Vectors that are added later are always read, until the lists absorb them:
        by themselves, once there are 16,384 and a 32nd of all. `optimize` absorbs them at once; after the index has
        doubled, it makes new lists. Lists are saved with the codes. They change no result of an exact search.

        Args:
            threads: maximum threads; None means every core.

        Raises:
            QueryError: ``threads`` is below 1.
            StoreError: a file that `open` mapped was truncated or overwritten.
        """
        workers = None if threads is None else min(checks.count(threads, 1, "threads"), MOST_THREADS)
        with self._adding.hold(), files.changed_files():
            state = self._state
            codes = state.codes
            absorb = codes.lists > 0 and 2 * codes.unlisted <= len(codes)
            after = state.arranged(absorb=absorb, threads=workers)
            with self._naming.hold():
                self._state = after
        return after.codes.lists

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vectors to a file that `numpy.load` can read, and their codes to ``path`` + ``.codes``.

        Ids and metric follow the vectors. Removed vectors are not written. Each file is replaced atomically; a process
        that has the old one open keeps it.

        Raises:
            StoreError: a path is a vault, a database in use, or not a file; or a file cannot be written (then it is an
                OSError too, with its ``errno``).
        """
        files.save(self._state, path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, mapped: bool = True) -> VectorIndex:
        """Open an index written by `save`.

        Files are memory-mapped: processes that open the same index share them, and a search reads only the few vectors
        that can be among the best. Codes are read once to verify their checksums, and ids are read into memory. Codes
        that are missing, damaged or older than the vectors are rebuilt in memory. Later additions stay in memory.

        Args:
            path: the file of vectors.
            mapped: False reads both files into memory, as is always done on network file systems.

        Raises:
            StoreError: the file does not exist, is not a file of vectors, is truncated or damaged, or contains vectors
                that are not finite or, for cosines, not of length 1.
        """
        index = cls.__new__(cls)
        index._begin(files.opened(path, mapped=mapped))
        return index

    def __getstate__(self) -> dict[str, Any]:
        state, names = self._state, self._state.names
        positions = names.positions()
        with files.changed_files():
            rows = state.read_at(positions)
        ids = None if names.stored is None and not names.dead else names.at(positions)
        return {"metric": state.metric, "dimensions": self.dimensions, "rows": rows, "ids": ids, "fresh": names.fresh}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        empty = State.empty(pickled["metric"], pickled["dimensions"])
        rows, ids = pickled["rows"], pickled["ids"]
        names = empty.names.added(range(len(rows))) if ids is None else VectorNames.of(ids, pickled["fresh"])
        self._begin(empty.added(rows, names))

    def _find(self, ids: Sequence[Any]) -> tuple[State, NDArray[np.int64]]:
        """Return the state, and the positions of ids in it, -1 for unknown ids."""
        with self._naming.hold():
            state = self._state
            return state, self._places.find(state.names, ids)

    def _change(self, state: State, removed: NDArray[np.int64], rows: checks.Rows, ids: Sequence[Any]) -> None:
        """Publish a state with vectors removed and added; the caller holds `_adding`."""
        names = state.names
        with files.changed_files():
            after = state.added(rows, names.without(removed).added(ids)).compacted()
        removed_ids = names.at(removed).tolist()
        with self._naming.hold():
            if after.names.n == state.n + len(rows):
                self._places.moved(names, after.names, removed_ids, ids)
            self._state = after


def _require_all(ids: Sequence[Any], at: NDArray[np.int64]) -> None:
    if (at < 0).any():
        missing = shown_ids(value for value, position in zip(ids, at, strict=True) if position < 0)
        raise EntryNotFound(f"the index has no vector with the id {missing}")
