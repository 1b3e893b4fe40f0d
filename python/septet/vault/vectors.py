"""Reading stored vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from septet.errors import VectorError
from septet.inputs.arguments import shown, utf8
from septet.store.protocol import Store
from septet.vault.batch import ids_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.store.protocol import Remembered

#: A model with its number of dimensions.
Layout: TypeAlias = "tuple[str, int]"


class VectorReader:
    """A store whose vectors can be read."""

    _store: Store
    #: Caches the result of a read per state of the store.
    _remembered: Remembered

    def vectors(self, ids: Iterable[str], model: str | None = None) -> NDArray[np.float32]:
        """Return the vectors of entries as stored or received from a provider, one row per id.

        Args:
            ids: of entries, in any order, possibly repeated.
            model: the model of the vectors; None for the one with the most entries, the older one of equals.

        Returns:
            Array ``(n, d)``, float32, not normalised. A row is NaN if the entry does not exist or has no vector: it was
            stored without one, is not embedded yet, or was split (its parts have vectors).

        Raises:
            EntryError: an id is not text.
            VectorError: the vault has no vectors, or none of this model.
            StoreError: the vault cannot be read.
        """
        wanted_ids, name = ids_of([ids] if isinstance(ids, str) else ids), asked_model(model)
        layout = fullest([self._layouts()], name, self._store.path)
        return rows_of(wanted_ids, layout, self._vectors_of(wanted_ids, layout))

    def _layouts(self) -> Mapping[Layout, int]:
        """Return the number of entries with a vector, by model and dimensions."""
        with self._store.reading() as read:
            rows = self._remembered(read, "spaces", lambda: read.tables.vectors.spaces(read))
        counts: dict[Layout, int] = {}
        for space in sorted(rows, key=lambda s: s.space):
            layout = (space.model, space.dimensions)
            counts[layout] = counts.get(layout, 0) + space.entries
        return counts

    def _vectors_of(self, ids: Sequence[str], layout: Layout) -> dict[str, bytes]:
        """Return the vectors by id, little-endian float32; stored ones take precedence over a provider's."""
        with self._store.reading() as read:
            return read.tables.vectors.of_ids(read, *layout, ids)


def asked_model(model: object) -> str | None:
    """Return the name of a model, or None.

    Raises:
        VectorError: it is no text.
    """
    return None if model is None else utf8(model, "model", VectorError)


def fullest(stores: Collection[Mapping[Layout, int]], model: str | None, place: str) -> Layout:
    """Return the layout with the most entries, summed over all stores.

    Raises:
        VectorError: there are no vectors, or none of the model.
    """
    counts: dict[Layout, int] = {}
    for store in stores:
        for layout, entries in store.items():
            counts[layout] = counts.get(layout, 0) + entries
    named = {layout: entries for layout, entries in counts.items() if model in (None, layout[0])}
    if named:
        return max(named, key=named.__getitem__)
    if not counts:
        raise VectorError(f"{place} has no vectors: add entries with vector=, or an embedder")
    known = ", ".join(f"{shown(name)} ({dimensions})" for name, dimensions in counts)
    raise VectorError(f"{place} has no vectors of model {shown(model)}; available: {known}")


def rows_of(ids: Sequence[str], layout: Layout, vectors: Mapping[str, bytes]) -> NDArray[np.float32]:
    """Return one row per id ``(n, d)``, NaN for missing vectors."""
    import numpy as np

    rows = np.full((len(ids), layout[1]), np.nan, dtype=np.float32)
    for place, entry_id in enumerate(ids):
        if entry_id in vectors:
            rows[place] = np.frombuffer(vectors[entry_id], dtype="<f4")
    return rows
