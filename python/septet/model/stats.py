"""Counts and sizes of a vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from septet.model.codec import OMITTED, as_dict, attributes
from septet.model.vector import Space
from septet.notes import Note


@dataclass(frozen=True, slots=True)
class Stats:
    """Contents of a vault.

    Attributes:
        path: the file.
        entries: number of entries, including memories.
        kinds: entries by kind.
        links: number of links.
        feedback: feedback rows by action.
        spaces: vectors by model and dimension.
        generation: the state of the vault; each write transaction adds 1.
        size_bytes: the size of the file; 0 in memory or if the file was deleted.
        notes: notes on the vault's folder.
        tiers: stats by tier, in a federation.
    """

    path: str
    entries: int
    kinds: Mapping[str, int]
    links: int
    feedback: Mapping[str, int]
    spaces: Sequence[Space]
    generation: int
    size_bytes: int
    notes: Sequence[Note] = ()
    tiers: Mapping[str, Stats] = field(default_factory=dict, metadata=OMITTED)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        return {
            **as_dict(self),
            "spaces": [attributes(space, ("model", "dimensions", "entries")) for space in self.spaces],
        }


@dataclass(frozen=True, slots=True)
class Optimized:
    """The result of `Vault.optimize`.

    Attributes:
        entries: number of indexed entries.
        path: the file; None if the index is in memory.
        size_bytes: the size of the file.
    """

    entries: int
    path: str | None
    size_bytes: int
