"""The space that query vectors are compared in, which entries have a vector in it, and the sample of it."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import VectorError
from septet.postgres.store.packing import unpacked
from septet.postgres.store.pipeline import together
from septet.postgres.tables import covered, nearest
from septet.postgres.tables.covered import SpaceCoverage

if TYPE_CHECKING:
    from septet.model.vector import Space
    from septet.postgres.store.transactions import PostgresReading
    from septet.postgres.tier.statistics import Outside, Statistics
    from septet.query.plan import SearchPlan

#: Maximum samples of spaces that a tier caches.
MOST_SAMPLES = 16


class Compared(NamedTuple):
    """The vectors that query vectors are compared with.

    Attributes:
        covered: which entries have a vector.
        sample: of all rows of the space.
        stored: type of stored vectors, ``vector`` or ``halfvec``.
    """

    space: Space
    covered: SpaceCoverage
    sample: _core.Sample
    stored: str


class _Sampled(NamedTuple):
    """The rows of a sample, and the last sample of them."""

    units: NDArray[np.float32]
    keys: NDArray[np.uint32]
    sample: _core.Sample


class SpaceCache:
    """A cache between searches, checked against the server before each use. Threads share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._samples: dict[tuple[int, tuple[int, ...]], _Sampled] = {}
        #: The spaces that held vectors when they were looked at last.
        self.spaces: Sequence[Space] = ()
        #: Entries that were not valid at the last look, with memories and without.
        self.outside: dict[bool, Outside] = {}

    def sample(self, space: int, has: SpaceCoverage) -> _core.Sample | None:
        """Return a sample of as many rows as there are, if its own are known."""
        sample = self._samples.get((space, has.digest))
        if sample is None or sample.sample.population == has.population:
            return None if sample is None else sample.sample
        return self.remember(space, has, sample.units, sample.keys, sample.sample)

    def remember(
        self,
        space: int,
        has: SpaceCoverage,
        units: NDArray[np.float32],
        keys: NDArray[np.uint32],
        before: _core.Sample | None = None,
    ) -> _core.Sample:
        """Make a sample of its rows ``(v, d)`` and their keys ``(v,)``, and remember it."""
        slots, alive = np.arange(len(keys), dtype=np.int64), np.ones(len(keys), dtype=np.bool_)
        # On a cluster a row may be there before it is counted.
        sample = _core.Sample(units, keys, slots, alive, before, population=max(has.population, len(keys)))
        with self._lock:
            while len(self._samples) >= MOST_SAMPLES:
                self._samples.pop(next(iter(self._samples)))
            self._samples[space, has.digest] = _Sampled(units, keys, sample)
        return sample


def likely(plans: Sequence[SearchPlan], known: Sequence[Space]) -> list[Space]:
    """Return the spaces of which a search may compare one, among those that are known."""
    plan = _with_vector(plans)
    if plan is None:
        return []
    return [plan.space] if plan.space is not None else _fitting(plan, known)


def compared(
    read: PostgresReading,
    plans: Sequence[SearchPlan],
    statistics: Statistics,
    covered_spaces: Sequence[Space],
    kept: SpaceCache,
) -> tuple[Compared | None, VectorError | None]:
    """Return the space that query vectors are compared with; None and the mismatch if none fits.

    Args:
        covered_spaces: the spaces with coverage in the statistics.
    """
    plan = _with_vector(plans)
    if plan is None:
        return None, None
    space = plan.space
    if space is None:
        fitting = _fitting(plan, statistics.spaces)
        if len(fitting) == 1 or not statistics.spaces:
            space = fitting[0] if fitting else None
        else:
            assert plan.vector is not None
            try:
                space = read.tables.vectors.choose(read, plan.model, plan.vector.scan.size)
            except VectorError as fault:
                return None, fault
    if space is None:
        return None, None
    if space.space in {item.space for item in covered_spaces}:
        has = covered.covered(statistics.counted, space, memories=statistics.memories)
    else:
        (has,) = covered.of(read, [space], memories=statistics.memories)
    return Compared(space, has, _sample(read, space, has, kept), read.vault.vectors), None


def _with_vector(plans: Sequence[SearchPlan]) -> SearchPlan | None:
    plan = next((item for item in plans if item.vector is not None), None)
    return plan if plan is not None and "vector" in plan.legs else None


def _fitting(plan: SearchPlan, spaces: Sequence[Space]) -> list[Space]:
    assert plan.vector is not None
    dimensions = plan.vector.scan.size
    return [space for space in spaces if space.dimensions == dimensions and plan.model in (None, space.model)]


def _sample(read: PostgresReading, space: Space, has: SpaceCoverage, kept: SpaceCache) -> _core.Sample:
    sample = kept.sample(space.space, has)
    if sample is not None:
        return sample
    (rows,) = together(read, [nearest.sampled(read.vault, space, covered.limit(has.shift), memories=has.memories)])
    vectors = unpacked(read.vault.vectors, [row[1] for row in rows], space.dimensions)
    return kept.remember(
        space.space, has, _core.unit_rows(vectors), np.array([row[0] for row in rows], dtype=np.uint32)
    )
