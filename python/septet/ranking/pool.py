"""Pool: the candidates of a search as parallel arrays; their facts as columns.

``created_at``, ``updated_at``, ``valid_from`` and ``valid_until`` are epoch seconds. ``created_age``, ``updated_age``,
``valid_from_age`` and ``valid_until_age`` are the days from these to the time of the search, negative for future times.
``attrs.NAME`` and ``attrs.NAME.NAME`` are numbers in attrs; other values are unknown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from septet import _core
from septet.model.entry import Entry, entries_of, tags_of
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Candidate(NamedTuple):
    """An entry as stored; tags and attrs are JSON text."""

    row: int
    id: str
    kind: str
    type: str
    domain: str
    severity: str
    title: str
    description: str
    context: str
    tags_json: str
    attrs_json: str
    path: str | None
    first_line: int | None
    last_line: int | None
    created_at: float
    updated_at: float
    valid_from: float | None
    valid_until: float | None
    parent: str | None = None
    source: str | None = None
    trust: str = "trusted"

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags in stored order."""
        return tuple(tags_of(self.tags_json))

    @property
    def text(self) -> str:
        """The searched text of an entry, except its id."""
        return searched_text(self.title, self.description, self.context, self.tags_json)

    def to_entry(self) -> Entry:
        """Return the public value."""
        return entries_of((self,))[0]


#: Candidates as parallel arrays; see `septet._core.Pool`.
Pool = _core.Pool
#: No candidates.
EMPTY = Pool((), (), {"kind": (), "severity": (), "domain": ()}, {})


def json_text(value: object) -> str:
    """Return compact JSON without ASCII escapes, as in the store."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def searched_text(title: str, description: str, context: str, tags_json: str) -> str:
    """Return the text of an entry for TF-IDF and spelling."""
    return f"{title} {description} {context} {tag_words(tags_json)}"


def tag_words(tags_json: str) -> str:
    """Return tags as text. A JSON list without escapes is returned as is: its punctuation separates words."""
    return tags_json if "\\" not in tags_json else " ".join(json.loads(tags_json))


TIMES = frozenset({"created_at", "updated_at", "valid_from", "valid_until"})
#: Ages, and the times they are counted from.
AGES: Mapping[str, str] = {f"{name.removesuffix('_at')}_age": name for name in sorted(TIMES)}
SECONDS_A_DAY = 86_400.0
#: Maximum characters of a column name.
MOST_CHARS = 256
#: Numbers are clipped to this magnitude, so that sums and products stay finite.
LARGEST = 10.0**18


def is_fact(name: str) -> bool:
    """Return True if a column is a time, an age, or a path into attrs."""
    if name in TIMES or name in AGES:
        return True
    first, *path = name.split(".")
    return first == "attrs" and bool(path) and all(path) and len(name) <= MOST_CHARS


def role_of(attrs_json: str) -> str:
    """Return the ``role`` in JSON text of attrs, in lower case; empty if there is none, or it is no text."""
    role = json.loads(attrs_json).get("role") if "role" in attrs_json else None
    return role.lower() if isinstance(role, str) else ""


def values_by_role(roles: Mapping[str, float]) -> dict[str, float]:
    """Return the values of a profile's roles by their names in the form of `role_of`."""
    return {name.lower(): value for name, value in roles.items()}


def number_at(attrs: object, path: Sequence[str]) -> float:
    """Return the number at a path into attrs, NaN if there is none: text, booleans and lists are not numbers."""
    for name in path:
        attrs = attrs.get(name) if isinstance(attrs, Mapping) else None
    if isinstance(attrs, bool) or not isinstance(attrs, (int, float)):
        return math.nan
    return math.nan if attrs != attrs else float(max(-LARGEST, min(LARGEST, attrs)))


def numbers_of(texts: Sequence[str], paths: Iterable[Sequence[str]]) -> list[NDArray[np.float64]]:
    """Return for each path the numbers in JSON texts of attrs ``(m,)``."""
    # Many entries have no attrs.
    parsed = [json.loads(text) if text != "{}" else {} for text in texts]
    return [np.array([number_at(attrs, path) for attrs in parsed], dtype=np.float64) for path in paths]
