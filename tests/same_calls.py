"""Calls of a vault drawn by a seed, odd values among them, and what comes of one: an answer, or an error."""

from __future__ import annotations

import io
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta, timezone
from math import isnan
from random import Random
from typing import Any

import numpy as np

from septet import SeptetError

__all__ = ["NOW", "Calls", "alike", "state", "told"]

NOW = 1_700_000_000.0
IDS = ["a", "b", "B", "é", "e\u0301", "a b", "%", "a_b", "'", "\\", "漢字", "😀", "\ue000x", "a#1", "a#2", "😀" * 256]
WORDS = [
    "retry",
    "retries",
    "Größe",
    "getUserName",
    "漢字かな",
    "the",
    "café",
    "42",
    "한국어",
    "e-mail",
    "İstanbul",
    "½",
]
LABELS = ["general", "web", "Web", "ärger", "\ue000", "😀", "true", "12", "x" * 256]
TAGS = ["net", "Net", "Größe", "a b", 'q"', "\\", "ä", "t" * 4_096]
VALUES = [
    0, 1, 1.0, True, None, "1", "", "x", "X", "é", 2**53 + 1, float(2**53), 2**63 - 1, 10**30, 5e-324, 0.1, [], [1],
    [1.0, "1"], {}, {"z": 1}, {"z": None}, "a%b", "\ue000", "😀", "\\u0000",
]  # fmt: skip
NAMES = ["n", "o", "a.b", "ü", "'", "%s", "0"]
VECTORS = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5], [3.0, 3.0], [1e-20, 1e-20]]
WRONG_VECTORS = [[0.0, 0.0], [float("nan"), 1.0], [1.0, 2.0, 3.0], []]
FIELDS = [
    "id",
    "kind",
    "type",
    "domain",
    "title",
    "tags",
    "source",
    "created_at",
    "valid_until",
    "attrs.n",
    "attrs.o.z",
]
#: What differs from vault to vault, or from moment to moment.
OWN = {"took_ms", "path", "generation", "size_bytes", "tiers"}


class Calls:
    """Calls of a vault, one after the other: a method with what it is given."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = NOW
        self.kinds = [self.add, self.add_many, self.update, self.changes, self.links, self.listing, self.search]

    def next(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        """Return the next call, some time after the last one."""
        self.now += self.pick([0, 0, 1, 0.000001, 7.5, 60])
        return self.pick(self.kinds)()

    def pick(self, values: Any) -> Any:
        """Return one of some values."""
        return self.random.choice(values)

    def often(self, share: float) -> bool:
        """Return True so often."""
        return self.random.random() < share

    def words(self, most: int = 5) -> str:
        """Return some words."""
        return " ".join(self.random.choices(WORDS, k=self.random.randint(1, most)))

    def time(self) -> Any:
        """Return a time around now."""
        at = self.now + self.random.randint(-60, 60)
        return self.pick([at, at + 0.123456, datetime.fromtimestamp(int(at), timezone(timedelta(hours=5))), None])

    def attrs(self) -> dict[str, Any]:
        """Return attrs."""
        return {self.pick(NAMES): self.pick(VALUES) for _ in range(self.random.randint(0, 3))}

    def vector(self) -> dict[str, Any]:
        """Return a vector, or none."""
        if self.often(0.6):
            return {}
        return {
            "vector": self.pick(WRONG_VECTORS if self.often(0.1) else VECTORS),
            "model": self.pick([None, "m", "M"]),
        }

    def fields(self) -> dict[str, Any]:
        """Return fields of an entry."""
        made = {
            "id": lambda: self.pick([*IDS, None, "", "a\nb", "x" * 257]) if self.often(0.1) else self.pick(IDS),
            "title": lambda: self.words(),
            "description": lambda: self.words(9),
            "kind": lambda: self.pick(["entry", "memory", "chunk"]),
            "type": lambda: self.pick(LABELS),
            "domain": lambda: self.pick(LABELS),
            "severity": lambda: self.pick(["critical", "warning", "suggestion", "none"]),
            "tags": lambda: self.random.choices(TAGS, k=2),
            "attrs": self.attrs,
            "source": lambda: self.pick(["user", "ü", "s" * 4_096]),
            "parent": lambda: self.pick(IDS),
            "span": lambda: {"path": self.pick(["f.md", "Ä" * 99]), "first_line": 1, "last_line": 2**63 - 1},
            "created_at": self.time,
            "valid_from": self.time,
            "valid_until": self.time,
        }
        always = ("id", "title")
        return {name: make() for name, make in made.items() if name in always or self.often(0.2)}

    def where(self, depth: int = 0) -> dict[str, Any]:
        """Return a filter."""
        if depth < 2 and self.often(0.3):
            return {self.pick(["$and", "$or", "$nor"]): [self.where(depth + 1) for _ in range(2)]}
        name = self.pick(FIELDS)
        of_time = name in ("created_at", "valid_until")
        values = [self.now, self.now - 30, None] if of_time else VALUES if "." in name else [*IDS, *LABELS, *TAGS]
        one, other = self.pick(values), self.pick(values)
        conditions: list[Any] = [
            one, {"$ne": one}, {"$in": [one, other]}, {"$nin": [one]}, {"$all": [one]}, {"$gt": one}, {"$lte": one},
            {"$exists": self.often(0.5)}, {"$not": {"$gte": one}},
            {"$contains": self.pick(["", "e", "É", "%", "ss", "\0"])},
        ]  # fmt: skip
        return {name: self.pick(conditions)}

    # -- calls ---------------------------------------------------------------------------------------------------------

    def add(self) -> Any:
        """Store an entry."""
        alike = {"on_similar": self.pick(["note", "skip", "merge"]), "similarity": 0.6} if self.often(0.2) else {}
        return "add", (), {**self.fields(), **self.vector(), **alike, **({"split": 5} if self.often(0.1) else {})}

    def add_many(self) -> Any:
        """Store many, some of them twice."""
        items = [{**self.fields(), **self.vector()} for _ in range(self.random.randint(0, 6))]
        return "add_many", ([*items, *items[:1]],), {}

    def update(self) -> Any:
        """Change one entry."""
        more = {name: value for name, value in self.fields().items() if name != "id" and self.often(0.6)}
        patch = {"merge_attrs": self.attrs()} if self.often(0.3) and "attrs" not in more else {}
        return "update", (self.pick(IDS),), {**more, **patch, **(self.vector() if self.often(0.3) else {})}

    def changes(self) -> Any:
        """Change or delete several."""
        ids = self.random.choices(IDS, k=3)
        kept = {"$and": [self.where(), self.where()]}
        return self.pick(
            [
                ("update_many", (kept,), {"domain": self.pick(LABELS), "valid_until": self.time()}),
                ("update_many", (kept,), {"kind": "memory", "tags": self.random.choices(TAGS, k=2)}),
                ("update_many", (kept,), {"merge_attrs": self.attrs()}),
                ("rename", ("tags", {self.pick(TAGS): self.pick(TAGS)}), {}),
                ("rename", ("domain", dict.fromkeys(self.random.choices(LABELS, k=2), self.pick(LABELS))), {}),
                ("delete", (ids[:2],), {}),
                ("delete", (), {"where": kept}),
                ("forget", (ids,), {}),
                ("supersede", (ids[0], ids[1], "why"), {}),
                ("reinstate", (ids[0],), {}),
                ("purge", (), {"expired": self.often(0.5), "history_older_than": self.pick([None, 60])}),
            ]
        )

    def links(self) -> Any:
        """Link entries, or judge them."""
        one, other = self.pick(IDS), self.pick(IDS)
        return self.pick(
            [
                ("link", (one, other, self.pick(["related", "next", "ü"])), {"note": self.pick(["", "n" * 9_000])}),
                ("link", (one, other), {}),
                ("unlink", (one, other), {}),
                ("feedback", (self.words(), one, self.pick(["accepted", "failed", "dismissed"])), {}),
            ]
        )

    def listing(self) -> Any:
        """List entries, or count them."""
        where, as_of = self.where(), self.pick([None, self.now, self.now - 30])
        order = [
            self.pick([name, (name, "desc")]) for name in self.random.sample([n for n in FIELDS if n != "tags"], 2)
        ]
        return self.pick(
            [
                ("entries", (where,), {"order_by": order, "limit": self.pick([1, 3, None]), "as_of": as_of}),
                ("count", (where,), {"as_of": as_of}),
                ("facets", (self.pick(["domain", "tags", "kind", "created_at", "attrs.n"]), where), {"limit": 3}),
                ("_ids_beginning", (self.pick(["", "a", "é", "%", "😀", "a\0"]),), {"limit": 5}),
                ("history", (self.pick(IDS),), {}),
                ("vectors", ([self.pick(IDS), "a\0", self.pick(IDS)], "m"), {}),
            ]
        )

    def search(self) -> Any:
        """Search. Words of deleted entries may be guessed at in a file for a while, so nothing is guessed."""
        options = {
            "where": self.where,
            "include_memories": lambda: True,
            "as_of": lambda: self.now - 30,
            "query_vector": lambda: self.pick(VECTORS),
            "profile": lambda: self.pick(["seven-signals", "markdown-memory", "recall", "planned-retrieval"]),
            "group_by": lambda: "parent",
            "facets": lambda: ["domain", "tags"],
            "words": lambda: self.pick([{"must_not": self.words(1)}, {"phrase": self.words(2)}]),
            "limit": lambda: self.pick([1, 3, 100]),
        }
        given = {name: make() for name, make in options.items() if self.often(0.2)}
        if self.often(0.2):
            return "similar", (), {"text": self.words(), "include_memories": True}
        return "search", (self.words(3),), {"typos": False, **given}


def told(vault: Any, call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> Any:
    """Do a call, and return what came of it as plain values."""
    name, given, more = call
    try:
        return _plain(getattr(vault, name)(*given, **more))
    except SeptetError as fault:
        return type(fault).__name__, fault.code, str(fault).replace(vault.path, "VAULT")


def state(vault: Any) -> Any:
    """Return everything that a vault holds."""
    lines = io.StringIO()
    vault.export(lines)
    entries = list(vault)
    stats = vault.stats()
    kept = {one.id: (vault.history(one.id), vault.links(one.id)) for one in entries}
    return _plain(
        [entries, kept, stats.kinds, stats.links, stats.feedback, stats.spaces]
    ), lines.getvalue().splitlines()


def alike(one: Any, other: Any) -> bool:
    """Whether two plain values are equal, but for the rounding of numbers."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or abs(one - other) <= 1e-9 or (isnan(one) and isnan(other))
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(alike(value, other[name]) for name, value in one.items())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, "hits"):
        return _plain([value.to_dict(), [(hit.raw, hit.signals, hit.entry) for hit in value]])
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.name not in OWN}
    if hasattr(value, "_asdict"):
        # Spaces are numbered by store.
        return {name: _plain(one) for name, one in value._asdict().items() if name not in ("space", "emptied_at")}
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if name not in OWN}
    return [*map(_plain, value)] if isinstance(value, (list, tuple)) else value
