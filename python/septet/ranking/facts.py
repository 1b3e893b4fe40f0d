"""Facts about candidates as columns: when they were made and changed, how old they are, and numbers in their attrs.

``created_at``, ``updated_at``, ``valid_from`` and ``valid_until`` are epoch seconds. ``created_age``, ``updated_age``,
``valid_from_age`` and ``valid_until_age`` are the days from then to the moment of the search, negative for what is to
come. ``attrs.NAME`` and ``attrs.NAME.NAME`` are numbers in attrs; what is no number is unknown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["AGES", "TIMES", "attrs_paths", "is_fact", "number_at", "numbers_of", "with_ages"]

TIMES = frozenset({"created_at", "updated_at", "valid_from", "valid_until"})
#: Each age with the time that it counts from.
AGES: Mapping[str, str] = {f"{name.removesuffix('_at')}_age": name for name in sorted(TIMES)}
SECONDS_A_DAY = 86_400.0
#: Characters of a column's name.
MOST_CHARS = 256
#: Numbers are cut to this size: sums and products of them stay far from infinity.
LARGEST = 10.0**18


def is_fact(name: str) -> bool:
    """Say whether a column is a time, an age, or a path into attrs."""
    if name in TIMES or name in AGES:
        return True
    first, *path = name.split(".")
    return first == "attrs" and bool(path) and all(path) and len(name) <= MOST_CHARS


def attrs_paths(columns: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns that are paths into attrs, each with the names on its way."""
    return {name: tuple(name.split(".")[1:]) for name in sorted(columns) if name.startswith("attrs.")}


def number_at(attrs: object, path: Sequence[str]) -> float:
    """Return the number at a path into attrs, NaN where there is none: text, truth values and lists are no numbers."""
    for name in path:
        attrs = attrs.get(name) if isinstance(attrs, Mapping) else None
    if isinstance(attrs, bool) or not isinstance(attrs, (int, float)):
        return math.nan
    return math.nan if attrs != attrs else float(max(-LARGEST, min(LARGEST, attrs)))


def numbers_of(texts: Sequence[str], paths: Iterable[Sequence[str]]) -> list[NDArray[np.float64]]:
    """Return for each path the numbers in attrs ``(m,)``, given as JSON."""
    # Most entries of a vault have the same few attrs, and many none.
    parsed = [json.loads(text) if text != "{}" else {} for text in texts]
    return [np.array([number_at(attrs, path) for attrs in parsed], dtype=np.float64) for path in paths]


def with_ages(
    columns: Mapping[str, NDArray[np.float64]], ages: Iterable[str], now: float
) -> dict[str, NDArray[np.float64]]:
    """Return the ages ``(m,)`` in days at a moment, in epoch seconds, of candidates with the times in ``columns``."""
    return {name: (now - columns[AGES[name]]) / SECONDS_A_DAY for name in ages if AGES[name] in columns}
