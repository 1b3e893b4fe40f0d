"""An index of vectors with ids of one's own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from septet import _core
from septet.errors import EntryNotFound, QueryError, VectorError
from septet.index import checks, files
from septet.index.checks import Metric, Nearest, VectorIds
from septet.index.names import Names, Places, shown_ids
from septet.index.state import State
from septet.inputs.arguments import exact, flag, real, shown, whole
from septet.model.vector import MOST_DIMENSIONS

__all__ = ["VectorIndex"]

#: More threads than this are not started.
MOST_THREADS = 256
#: How many are returned where nothing is said.
DEFAULT_K = 10


class VectorIndex:
    """Vectors with ids and 8-bit codes, searched exactly. Threads may search while another adds and removes.

    Ids are whole numbers of 64 bits or texts, all of one kind, or numbers given automatically, from 0 on. The order of
    the index is that in which vectors came: iteration, ``ids`` and masks follow it, and so do equal scores. A vector
    that is replaced counts as the latest.

    ============ ======================================================= ============
    metric       score of a search                                       best first
    ============ ======================================================= ============
    ``cosine``   the cosine; vectors are scaled to length 1 and kept so  largest
    ``ip``       the inner product                                       largest
    ``l2``       the squared Euclidean distance                          smallest
    ============ ======================================================= ============

    Vectors are kept as float32; those of float64 are rounded, those of float16 are not changed.

    Args:
        dimensions: the number of components of each vector, 1 to 65,536.
        metric: what vectors are compared by.

    Raises:
        VectorError: ``dimensions`` outside 1..65,536, or an unknown metric.
    """

    def __init__(self, dimensions: int, *, metric: Metric = "cosine") -> None:
        dimensions = whole(dimensions, "dimensions", VectorError, 1, MOST_DIMENSIONS)
        self._begin(State.empty(checks.metric_of(metric), dimensions))

    def _begin(self, state: State) -> None:
        self._adding = _core.Lock()
        # Held for no longer than it takes to look up or change ids.
        self._naming = _core.Lock()
        self._places = Places()
        # All that searches read, replaced as a whole: a change is there when this is, or not at all.
        self._state = state

    @property
    def dimensions(self) -> int:
        """The number of components of a vector."""
        return self._state.codes.dimensions

    @property
    def metric(self) -> Metric:
        """What vectors are compared by."""
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
        one = exact(id)
        if isinstance(one, np.integer):
            one = int(one)
        if isinstance(one, bool) or not isinstance(one, (int, str)):
            return False
        if isinstance(one, int) and not checks.SMALLEST_ID <= one <= checks.LARGEST_ID:
            return False
        return bool(self._found([one])[1][0] >= 0)

    def __getitem__(self, id: int | str) -> NDArray[np.float32]:
        """Return a vector ``(d,)``.

        Raises:
            EntryNotFound: there is no vector with this id.
            VectorError: no id.
        """
        ids = checks.id_list(id, VectorError, "id")
        if len(ids) != 1:
            raise VectorError(f"id is {shown(id)}: wanted one id; for several there is get()")
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
        """Add vectors ``(n, d)``, or one ``(d,)``, and return their ids. An error adds none of them.

        Args:
            vectors: finite numbers; for cosines none of length 0.
            ids: one for each, that the index does not have yet. None takes the numbers behind the largest one so far.

        Returns:
            The ids: a range if they were given automatically, else a list.

        Raises:
            VectorError: another number of dimensions, a vector of length 0 for cosines, a number that is NaN or
                infinite; an id that is in the index, or twice in ``ids``, or of another kind than those before.
        """
        rows = checks.rows_of(vectors, "vectors", self.metric, self.dimensions, one=True)
        given = None if ids is None else checks.id_list(ids, VectorError)
        with self._adding.hold():
            state = self._state
            if given is None:
                new: range | list[Any] = state.names.fresh_ids(len(rows))
            else:
                state.names.checked(given, len(rows))
                new = given
                there = self._found(given)[1] >= 0
                if there.any():
                    known = shown_ids(one for one, is_there in zip(given, there, strict=True) if is_there)
                    raise VectorError(f"ids has {known}, in the index already: use upsert() to replace vectors")
            self._change(state, np.empty(0, np.int64), rows, new)
        return new

    def upsert(self, vectors: ArrayLike, ids: VectorIds) -> int:
        """Add vectors, in place of those that have the same ids, and return how many were replaced.

        Raises:
            VectorError: as `add`, but that an id may be in the index. An error changes nothing.
        """
        rows = checks.rows_of(vectors, "vectors", self.metric, self.dimensions, one=True)
        given = checks.id_list(ids, VectorError)
        with self._adding.hold():
            state, at = self._found(given)
            state.names.checked(given, len(rows))
            old = at[at >= 0]
            self._change(state, old, rows, given)
        return len(old)

    def remove(self, ids: VectorIds, *, strict: bool = False) -> int:
        """Remove vectors, and return how many.

        Their memory is given back once more than half of the vectors, and 1,024, were removed. What `open` mapped is
        then read into memory.

        Args:
            ids: one id or several.
            strict: refuse ids that are not in the index, and remove none.

        Raises:
            VectorError: no ids.
            EntryNotFound: with ``strict``, an id is not in the index.
        """
        given = list(dict.fromkeys(checks.id_list(ids, VectorError)))
        flag(strict, "strict", VectorError)
        with self._adding.hold():
            state, at = self._found(given)
            if strict:
                _all_found(given, at)
            gone = at[at >= 0]
            self._change(state, gone, np.empty((0, self.dimensions), np.float32), [])
        return len(gone)

    def get(self, ids: VectorIds) -> NDArray[np.float32]:
        """Return a copy of the vectors ``(len(ids), d)`` as they are kept: for cosines, of length 1.

        Raises:
            EntryNotFound: an id is not in the index.
            VectorError: no ids.
            StoreError: a file that `open` mapped was cut or overwritten since.
        """
        given = checks.id_list(ids, VectorError)
        state, at = self._found(given)
        _all_found(given, at)
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
        radius: float,
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
        threads: int | None = None,
    ) -> Nearest | list[Nearest]:
        """Find the ``k`` best vectors, exactly.

        Scores are those of a float64 scan of the float32 vectors and query, for ``cosine`` both brought to length 1 in
        float32 before; of equal ones, the vector that came first is first. (For ``l2``, equal means equal squared
        distances.)

        Args:
            query: one query ``(d,)``, or several ``(q, d)``, which is faster than one call each.
            k: how many vectors to return, 0 or more; fewer are returned if fewer are allowed. None is 10, or with
                ``radius`` every one within it.
            ids: only these vectors may be returned; ids that are not in the index are passed over.
            mask: booleans ``(len(index),)``, true where a vector may be returned, in the order of ``index.ids``; a
                sparse mask is faster.
            radius: only vectors with at least this score or, for ``l2``, at most this squared distance.
            threads: the most threads to use; None takes every core if there is work for more than one.

        Returns:
            Ids (int64, or str as objects) and scores (float64), best first, each ``(min(k, allowed),)``, or with a
            leading ``q``. With ``radius`` and several queries a list of such pairs, one for each, since each may find
            another number of vectors.

        Raises:
            VectorError: the query has another number of dimensions, for cosines length 0, or a number that is NaN or
                infinite.
            QueryError: ``k`` is negative, ``threads`` is below 1, the mask has another length, ``radius`` is not a
                finite number, or ``ids`` are no ids.
            StoreError: a file that `open` mapped was cut or overwritten since.
        """
        given = None if ids is None else checks.id_list(ids, QueryError)
        state, at = (self._state, None) if given is None else self._found(given)
        queries, many = checks.queries_of(query, self.dimensions, self.metric)
        allowed = state.names.allowed(checks.mask_of(mask, state.names.size), at)
        k = checks.count((DEFAULT_K if radius is None else checks.MOST) if k is None else k, 0, "k")
        workers = None if threads is None else min(checks.count(threads, 1, "threads"), MOST_THREADS)
        codes, rows, names = state.codes, state.rows, state.names
        with files.changed_files():
            if radius is not None:
                least = real(radius, "radius", QueryError)
                each = codes.within(queries, rows, k, least, allowed, threads=workers)
                found = [(names.at(own), scores) for own, scores in each]
                return found if many else found[0]
            if many:
                best, scores = codes.top_k_batch(queries, rows, k, allowed, threads=workers)
            else:
                best, scores = codes.top_k(queries[0], rows, k, allowed, threads=workers)
        return names.at(best), scores

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vectors to a file that `numpy.load` reads too, and their codes beside it, to ``path`` + ``.codes``.

        Ids and metric stand behind the vectors. Removed vectors are left out. Each file is replaced atomically; a
        process that has the old one open keeps it.

        Raises:
            StoreError: a name belongs to a vault or a database in use, or is no file; or a file cannot be written (it
                is an OSError too, with its ``errno``).
        """
        files.save(self._state, path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, mapped: bool = True) -> VectorIndex:
        """Return the index that `save` wrote.

        Files are mapped, so processes that open the same index share them, and a search reads only the few vectors that
        can be among the best; the codes are read once to verify their checksums, and ids are read into memory. If the
        codes are missing or damaged, or the vectors were written or copied since, new ones are built in memory. What is
        added stays in memory.

        Args:
            path: the file of vectors.
            mapped: False reads both files into memory, as is done anyway where other machines may change them.

        Raises:
            StoreError: the file does not exist, is not a file of vectors, is truncated or damaged, or holds vectors
                that are not finite or, for cosines, whose length is not 1.
        """
        index = cls.__new__(cls)
        index._begin(files.opened(path, mapped=mapped))
        return index

    def __getstate__(self) -> dict[str, Any]:
        state = self._state
        left = state.names.positions()
        with files.changed_files():
            rows = state.read_at(left)
        ids = None if state.names.held is None and not state.names.dead else state.names.at(left)
        return {
            "metric": state.metric,
            "dimensions": self.dimensions,
            "rows": rows,
            "ids": ids,
            "fresh": state.names.fresh,
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        empty = State.empty(kept["metric"], kept["dimensions"])
        rows, ids = kept["rows"], kept["ids"]
        names = empty.names.added(range(len(rows))) if ids is None else Names.of(ids, kept["fresh"])
        self._begin(empty.added(rows, names))

    def _found(self, ids: Sequence[Any]) -> tuple[State, NDArray[np.int64]]:
        """Return the vectors, and the positions of ids among them, -1 for one that is not there."""
        with self._naming.hold():
            state = self._state
            return state, self._places.find(state.names, ids)

    def _change(self, state: State, gone: NDArray[np.int64], rows: checks.Rows, ids: Sequence[Any]) -> None:
        """Publish a state without some vectors and with others; `_adding` is held."""
        names = state.names
        with files.changed_files():
            after = state.added(rows, names.without(gone).added(ids)).compacted()
        gone_ids = names.at(gone).tolist()
        with self._naming.hold():
            if after.names.n == state.n + len(rows):
                self._places.moved(names, after.names, gone_ids, ids)
            self._state = after


def _all_found(ids: Sequence[Any], at: NDArray[np.int64]) -> None:
    if (at < 0).any():
        missing = shown_ids(one for one, position in zip(ids, at, strict=True) if position < 0)
        raise EntryNotFound(f"the index has no vector with the id {missing}")
