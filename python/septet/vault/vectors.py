"""Vectors back from a vault, as they were given."""

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

__all__ = ["Layout", "Vectors", "asked_model", "fullest", "rows_of"]

#: A model with its number of dimensions.
Layout: TypeAlias = "tuple[str, int]"


class Vectors:
    """A store whose vectors can be read."""

    _store: Store
    #: Returns the answer to a question about the store, asked once for each state of it.
    _remembered: Remembered

    def vectors(self, ids: Iterable[str], model: str | None = None) -> NDArray[np.float32]:
        """Return the vectors of entries as they were given or came from a provider, a row for each id.

        Args:
            ids: of entries, in any order; one may come several times.
            model: whose vectors; None takes the model that most entries have a vector of, the older one of equals.

        Returns:
            Array ``(n, d)``, float32, of any length, not normalised. A row is NaN where the entry does not exist or has
            no vector: it came without one, was not embedded yet, or was split (its parts have vectors).

        Raises:
            EntryError: an id is not text.
            VectorError: the vault has no vectors, or none of this model.
            StoreError: the vault cannot be read.
        """
        wanted, name = ids_of([ids] if isinstance(ids, str) else ids), asked_model(model)
        layout = fullest([self._layouts()], name, self._store.path)
        return rows_of(wanted, layout, self._vectors_of(wanted, layout))

    def _layouts(self) -> Mapping[Layout, int]:
        """Return how many entries have a vector of each model and number of dimensions."""
        with self._store.reading() as read:
            found = self._remembered(read, "spaces", lambda: read.tables.vectors.spaces(read))
        counts: dict[Layout, int] = {}
        for space in sorted(found, key=lambda s: s.space):
            layout = (space.model, space.dimensions)
            counts[layout] = counts.get(layout, 0) + space.entries
        return counts

    def _vectors_of(self, ids: Sequence[str], layout: Layout) -> dict[str, bytes]:
        """Return the vectors of those ids that have one, little-endian float32; given ones before a provider's."""
        with self._store.reading() as read:
            return read.tables.vectors.of_ids(read, *layout, ids)


def asked_model(model: object) -> str | None:
    """Return the name of a model, or None.

    Raises:
        VectorError: it is no text.
    """
    return None if model is None else utf8(model, "model", VectorError)


def fullest(found: Collection[Mapping[Layout, int]], model: str | None, place: str) -> Layout:
    """Return the layout that most entries have a vector of, in all of the stores.

    Raises:
        VectorError: there is none, or none of the model.
    """
    counts: dict[Layout, int] = {}
    for one in found:
        for layout, entries in one.items():
            counts[layout] = counts.get(layout, 0) + entries
    named = {layout: entries for layout, entries in counts.items() if model in (None, layout[0])}
    if named:
        return max(named, key=named.__getitem__)
    if not counts:
        raise VectorError(f"{place} has no vectors: add entries with vector=, or an embedder")
    known = ", ".join(f"{shown(name)} ({dimensions})" for name, dimensions in counts)
    raise VectorError(f"{place} has no vectors of model {shown(model)}: known are {known}")


def rows_of(ids: Sequence[str], layout: Layout, found: Mapping[str, bytes]) -> NDArray[np.float32]:
    """Return a row for each id ``(n, d)``, NaN where nothing was found."""
    import numpy as np

    rows = np.full((len(ids), layout[1]), np.nan, dtype=np.float32)
    for place, entry_id in enumerate(ids):
        if entry_id in found:
            rows[place] = np.frombuffer(found[entry_id], dtype="<f4")
    return rows
