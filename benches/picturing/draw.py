"""The pictures by the name of their file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .confidence import by_threshold, score_and_confidence
from .hit import hit
from .house import house, writes
from .road import road

__all__ = ["PICTURES"]

PICTURES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "house": house,
    "road": road,
    "score-and-confidence": score_and_confidence,
    "least-confidence": by_threshold,
    "explained-hit": hit,
    "write": writes,
}
