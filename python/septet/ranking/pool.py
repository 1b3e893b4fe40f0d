"""Pool: the candidates of a search as parallel arrays."""

from __future__ import annotations

import json
from typing import NamedTuple

from septet import _core
from septet.model.entry import Entry, entries_of, tags_of


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
