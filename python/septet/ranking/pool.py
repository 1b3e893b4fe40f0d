"""Pool: the candidates of a search as parallel arrays."""

from __future__ import annotations

import json
from typing import NamedTuple

from septet import _core
from septet.model.entry import Entry, entries_of, tags_of

__all__ = ["EMPTY", "Candidate", "Pool", "json_text", "searched_text", "tag_words"]


class Candidate(NamedTuple):
    """One entry as its store holds it; tags and attrs are still JSON text."""

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
        """The tags in the order they were given."""
        return tuple(tags_of(self.tags_json))

    @property
    def text(self) -> str:
        """What the text legs see of an entry beside its id."""
        return searched_text(self.title, self.description, self.context, self.tags_json)

    def to_entry(self) -> Entry:
        """Return the public value."""
        return entries_of((self,))[0]


#: Candidates as parallel arrays; see `septet._core.Pool`.
Pool = _core.Pool
#: No candidates.
EMPTY = Pool((), (), {"kind": (), "severity": (), "domain": ()}, {})


def json_text(value: object) -> str:
    """Return JSON as the store keeps it: no blanks, every script readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def searched_text(title: str, description: str, context: str, tags_json: str) -> str:
    """Return what TF-IDF and the comparison of spelling see of an entry."""
    return f"{title} {description} {context} {tag_words(tags_json)}"


def tag_words(tags_json: str) -> str:
    """Return tags as text. A JSON list is words between punctuation already, unless something in it was escaped."""
    return tags_json if "\\" not in tags_json else " ".join(json.loads(tags_json))
