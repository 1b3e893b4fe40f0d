"""Pool: the candidates of a search as parallel arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet.entry import Entry, Span, entry_of

__all__ = ["EMPTY", "Candidate", "Pool", "json_text", "searched_text", "tag_words", "tags_of"]


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
        span = None if self.path is None else Span(self.path, self.first_line or 1, self.last_line or 1)
        return entry_of(
            self.id,
            self.title,
            self.description,
            self.context,
            self.kind,
            self.type,
            self.domain,
            self.severity,
            self.tags,
            {} if self.attrs_json == "{}" else json.loads(self.attrs_json),
            self.created_at,
            self.updated_at,
            self.valid_from,
            self.valid_until,
            span,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pool:
    """Candidates as parallel arrays. Their texts stay in the store: only those returned are read.

    Attributes:
        rows: each candidate's row in its store ``(m,)``.
        tiers: the place of its tier among those that were asked ``(m,)``.
        facts: by name one value a candidate: ``kind``, ``severity`` and ``domain`` always, ``id`` and ``tags`` only
            when something needs them.
        columns: named float64 columns ``(m,)``; NaN is unknown.
    """

    rows: Sequence[int]
    tiers: Sequence[int]
    facts: Mapping[str, Sequence[Any]]
    columns: Mapping[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ids(self) -> Sequence[str]:
        """The ids in order; they must have been asked for."""
        return self.facts["id"] if len(self) else ()

    def with_columns(self, columns: Mapping[str, NDArray[np.float64]]) -> Pool:
        """Return the pool with columns added or replaced."""
        return Pool(self.rows, self.tiers, self.facts, {**self.columns, **columns})

    def with_facts(self, facts: Mapping[str, Sequence[Any]]) -> Pool:
        """Return the pool with facts added or replaced."""
        return Pool(self.rows, self.tiers, {**self.facts, **facts}, self.columns)

    def at(self, indices: Sequence[int] | NDArray[np.int64]) -> Pool:
        """Return the candidates at the given positions, in that order."""
        where = np.asarray(indices, dtype=np.int64)
        places = where.tolist()
        return Pool(
            [self.rows[i] for i in places],
            [self.tiers[i] for i in places],
            {name: [values[i] for i in places] for name, values in self.facts.items()},
            {name: column[where] for name, column in self.columns.items()},
        )

    @staticmethod
    def united(pools: Iterable[Pool]) -> Pool:
        """Join pools given from the highest priority to the lowest: of equal ids the first one stays."""
        filled = [pool for pool in pools if len(pool)]
        if len(filled) < 2:
            return filled[0] if filled else EMPTY
        seen: set[str] = set()
        kept: list[tuple[Pool, list[int]]] = []
        for pool in filled:
            fresh = [i for i, c in enumerate(pool.ids) if c not in seen]
            seen.update(pool.ids)
            kept.append((pool, fresh))
        names = dict.fromkeys(name for pool in filled for name in pool.columns)
        # A fact that one pool lacks was asked of none of the others on purpose.
        facts = [name for name in filled[0].facts if all(name in pool.facts for pool in filled)]
        return Pool(
            [pool.rows[i] for pool, fresh in kept for i in fresh],
            [pool.tiers[i] for pool, fresh in kept for i in fresh],
            {name: [pool.facts[name][i] for pool, fresh in kept for i in fresh] for name in facts},
            {name: np.concatenate([_column(pool, name)[fresh] for pool, fresh in kept]) for name in names},
        )


#: No candidates.
EMPTY = Pool((), (), {"kind": (), "severity": (), "domain": ()}, {})


def json_text(value: object) -> str:
    """Return JSON as the store keeps it: no blanks, every script readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def tags_of(tags_json: str) -> list[str]:
    """Return tags as they were given. Where nothing is escaped, what stands between two tags is always the same."""
    if tags_json == "[]":
        return []
    if "\\" in tags_json:
        found: list[str] = json.loads(tags_json)
        return found
    return tags_json[2:-2].split('","')


def searched_text(title: str, description: str, context: str, tags_json: str) -> str:
    """Return what TF-IDF and the comparison of spelling see of an entry."""
    return f"{title} {description} {context} {tag_words(tags_json)}"


def tag_words(tags_json: str) -> str:
    """Return tags as text. A JSON list is words between punctuation already, unless something in it was escaped."""
    return tags_json if "\\" not in tags_json else " ".join(json.loads(tags_json))


def _column(pool: Pool, name: str) -> NDArray[np.float64]:
    found = pool.columns.get(name)
    return np.full(len(pool), np.nan) if found is None else found
