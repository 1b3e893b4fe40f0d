"""What a vault says about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from septet.spaces import Space

__all__ = ["Optimized", "Stats"]


@dataclass(frozen=True, slots=True)
class Stats:
    """What a vault holds. ``spaces`` counts vectors by model and dimension; ``size_bytes`` is the file's."""

    path: str
    entries: int
    kinds: Mapping[str, int]
    links: int
    feedback: Mapping[str, int]
    spaces: Sequence[Space]
    generation: int
    size_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        return {
            "path": self.path,
            "entries": self.entries,
            "kinds": dict(self.kinds),
            "links": self.links,
            "feedback": dict(self.feedback),
            "spaces": [{"model": s.model, "dimensions": s.dimensions, "entries": s.entries} for s in self.spaces],
            "generation": self.generation,
            "size_bytes": self.size_bytes,
        }


@dataclass(frozen=True, slots=True)
class Optimized:
    """What `Vault.optimize` made: for how many entries, and the file, None for a vault that keeps all in memory."""

    entries: int
    path: str | None
    size_bytes: int
