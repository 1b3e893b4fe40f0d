"""Import into a tier of a federation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from septet.federation.parts import TierMembers
from septet.watch.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from septet.exchange.source import Format, Imported, OnError, Rest
    from septet.model.fields import FrameLike, Split


class CopiedTiers(TierMembers):
    """Tiers with import."""

    def import_(
        self,
        source: str | os.PathLike[str] | Iterable[Any] | FrameLike,
        *,
        format: Format | None = None,
        map: Mapping[str, str | None] | None = None,
        rest: Rest = "attrs",
        on_error: OnError = "stop",
        vectors: ArrayLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        progress: Progress | None = None,
        tier: str | None = None,
    ) -> Imported:
        """Import a source into one tier; see `Vault.import_`.

        Args:
            source: a file, a folder of texts, a stream, lines, or dicts.
            format: format of the source; None detects it.
            map: fields of the source to those of an entry.
            rest: action for unknown fields.
            on_error: action for a record that cannot be stored.
            vectors: one row per record of a list or a frame.
            model: the model that produced ``vectors``.
            split: as for `Vault.add_many`.
            progress: called with the number of entries stored and the total.
            tier: the tier to write; None for the highest.

        Returns:
            Counts of stored, unchanged and skipped records.

        Raises:
            BatchError: a record cannot be stored; the ``written`` entries before it are.
            EntryError: the source cannot be read, or an option is unknown.
            TierError: there is no such tier, or the federation has no tier.
        """
        vault = self._local(self._first() if tier is None else self._named(tier))
        options: dict[str, Any] = {"format": format, "map": map, "rest": rest, "on_error": on_error}
        return vault.import_(source, **options, vectors=vectors, model=model, split=split, progress=progress)
