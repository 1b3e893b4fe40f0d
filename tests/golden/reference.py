"""A slow, plain reference of the recorded search.

Each choice in which Septet deliberately differs from the recorded system is a switch, named as in `differences`. With
no switch on, the reference gives the recorded numbers; with all of them on, it gives Septet's. So every difference
between the two is the effect of a named switch, and of nothing else. Nothing here uses Septet.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Choices = Collection[str]
Raw = Mapping[str, Any]

RECORDED: frozenset[str] = frozenset()
COLUMN_WEIGHTS = (5.0, 10.0, 3.0, 1.0, 2.0)
TEXT_WEIGHTS = (0.35, 0.0, 0.1, 0.1, 0.1, 0.1, 0.15)
HYBRID_WEIGHTS = (0.2, 0.15, 0.1, 0.1, 0.1, 0.1, 0.15)
SEVERITY = {"critical": 1.0, "warning": 0.7, "suggestion": 0.4}
STOP_WORDS = frozenset(
    "a about all an and are as at be because been both but by can could did do does each else every few for from had "
    "has have he her him his how i if in into is it its just may me might more most must my need no not of on only or "
    "other our out same shall she should so some such than that the their them then these they this those to too up "
    "us very was we were what when where which who whom why will with would you your".split()
)
ANCHORS, HALF_LIFE_S, GUARD_BELOW = 5, 365 * 86_400, 50
SYMBOLS_THAT_SPLIT = set("-_./\\")


@dataclass(frozen=True)
class Ranked:
    """One candidate: its signals in the documented order, and the weighted sum."""

    id: str
    score: float
    signals: tuple[float, ...]


@dataclass(frozen=True)
class Ranking:
    """All candidates, best first, and how many of them are returned."""

    rows: Sequence[Ranked]
    shown: int


# -- text ------------------------------------------------------------------------------------------------------------


def is_word_character(c: str) -> bool:
    return unicodedata.category(c)[0] in "LNM"


def terms(query: str, choices: Choices) -> list[str]:
    """Return the terms of the full-text expression; none when the raw query would be passed on."""
    text = query.lower()

    def keeps(c: str) -> bool:
        return is_word_character(c) if "unicode-terms" in choices else c.isascii() and c.isalnum()

    def splits(c: str) -> bool:
        if "all-punctuation-splits" in choices:
            return not is_word_character(c)
        return c.isspace() or c in SYMBOLS_THAT_SPLIT

    pieces = "".join(" " if splits(c) else c for c in text).split(" ")
    if "short-terms-last" not in choices:
        pieces = [p for p in pieces if len(p.encode("utf-16-le")) // 2 >= 2]
    kept = [p for p in ("".join(c for c in piece if keeps(c)) for piece in pieces) if p]
    if "short-terms-last" in choices:
        kept = [p for p in kept if len(p) >= 2] or kept
    return kept


def expression(query: str, choices: Choices) -> str:
    """Return the full-text expression."""
    found = terms(query, choices)
    if not found and "never-raw" not in choices:
        return query
    return " OR ".join(f'"{t}"' for t in found) if "quoted-terms" in choices else " OR ".join(found)


def tokens(text: str, choices: Choices) -> list[str]:
    """Return the TF-IDF tokens."""
    if "unicode-tokens" not in choices:
        plain = re.sub(r"[^a-z0-9\s-]", " ", text.lower())
        return [t for t in plain.split() if len(t) >= 3 and t not in STOP_WORDS]
    runs = "".join(c if c == "-" or is_word_character(c) else " " for c in text.lower()).split()
    cut = [part for run in runs for part in ([run] if run.isascii() else _of_script(_folded(run)))]
    return [t for t in cut if (len(t) >= 3 or _unspaced(t[0])) and t not in STOP_WORDS]


def _folded(word: str) -> str:
    plain = "".join(
        unicodedata.normalize("NFD", c)[0] if "LATIN" in unicodedata.name(c, "") else c
        for c in unicodedata.normalize("NFKC", word)
    )
    return plain.replace("ß", "ss")


def _unspaced(c: str) -> bool:
    return unicodedata.name(c, "").startswith(("CJK", "HIRAGANA", "KATAKANA"))


def _of_script(word: str) -> list[str]:
    """Cut a word into runs of one kind of script; those written without blanks into pairs of characters."""
    parts: list[str] = []
    for c in word:
        if parts and _unspaced(parts[-1][0]) == _unspaced(c):
            parts[-1] += c
        else:
            parts.append(c)
    out: list[str] = []
    for part in parts:
        pairs = [part[i : i + 2] for i in range(max(1, len(part) - 1))]
        out += pairs if _unspaced(part[0]) else [part]
    return out


def weighted(text: Sequence[str], idf: Mapping[str, float]) -> dict[str, float]:
    """Return TF-IDF weights by term; terms without a positive IDF carry none."""
    return {t: n / len(text) * idf[t] for t, n in Counter(text).items() if idf.get(t, 0.0) > 0}


def sparse_cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    norms = math.sqrt(sum(w * w for w in a.values())) * math.sqrt(sum(w * w for w in b.values()))
    return sum(w * b[t] for t, w in a.items() if t in b) / norms if norms else 0.0


# -- facts -----------------------------------------------------------------------------------------------------------


def jaccard(a: Iterable[str], b: Iterable[str]) -> float:
    one, other = set(a), set(b)
    return len(one & other) / len(one | other) if one | other else 0.0


def decay(entry: Raw, now: float) -> float:
    until = entry.get("validUntil")
    if not until:
        at = entry.get("updatedAt") or entry.get("createdAt") or now
        return math.exp(-math.log(2) * max(0.0, now - at) / HALF_LIFE_S)
    start = entry.get("validFrom") or entry.get("createdAt") or now
    window, remaining = until - start, until - now
    if remaining <= 0:
        return 0.0
    return 1.0 if window <= 0 or remaining > window / 4 else remaining / (window / 4)


def is_valid(entry: Raw, now: float) -> bool:
    return entry.get("validFrom", now) <= now and not (entry.get("validUntil") or math.inf) <= now


def dense_cosine(a: Sequence[float], b: Sequence[float]) -> float:
    norms = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b)) / norms if norms else 0.0


# -- search ----------------------------------------------------------------------------------------------------------


@dataclass
class Corpus:
    """The recorded entries, with a full-text table as documented."""

    entries: Sequence[Raw]
    now: float
    links: Sequence[Raw] = ()
    vectors: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_id = {e["id"]: e for e in self.entries}
        self.fts = sqlite3.connect(":memory:", check_same_thread=False)
        self.fts.execute(
            "CREATE VIRTUAL TABLE f USING fts5(id, title, description, context, tags, "
            "tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        rows = (
            (e["id"], e["title"], e["description"], e.get("context") or "", json.dumps(e["tags"], ensure_ascii=False))
            for e in self.entries
        )
        self.fts.executemany("INSERT INTO f VALUES (?, ?, ?, ?, ?)", rows)
        self._idf: dict[bool, dict[str, float]] = {}

    def close(self) -> None:
        self.fts.close()

    def bm25(self, match: str, *, columns_equal: bool = False) -> list[tuple[str, float]]:
        """Return ids with their scores, best first, whatever their validity; nothing for a malformed expression."""
        score = "-rank" if columns_equal else f"-bm25(f, {', '.join(map(str, COLUMN_WEIGHTS))})"
        try:
            sql = f"SELECT id, {score} AS s FROM f WHERE f MATCH ? ORDER BY s DESC, rowid"
            return self.fts.execute(sql, (match,)).fetchall()
        except sqlite3.OperationalError:
            return []

    def tokens_of(self, entry: Raw, choices: Choices) -> list[str]:
        parts = (entry["title"], entry["description"], entry.get("context") or "", *entry["tags"])
        return tokens(" ".join(parts), choices)

    def idf(self, choices: Choices) -> dict[str, float]:
        """Return the IDF of every term over the entries that are valid now."""
        key = "unicode-tokens" in choices
        if key not in self._idf:
            counted = [set(self.tokens_of(e, choices)) for e in self.entries if is_valid(e, self.now)]
            df = Counter(t for found in counted for t in found)
            self._idf[key] = {t: math.log((len(counted) + 1) / (n + 1)) + 1 for t, n in df.items()}
        return self._idf[key]

    def distances(self, anchors: Sequence[str]) -> dict[str, int]:
        """Return how many links, one or two, each entry is away from the nearest anchor that is not itself."""
        near: dict[str, set[str]] = {}
        for link in self.links:
            near.setdefault(link["sourceId"], set()).add(link["targetId"])
            near.setdefault(link["targetId"], set()).add(link["sourceId"])
        out: dict[str, int] = {}
        for anchor in anchors:
            first = near.get(anchor, set()) - {anchor}
            second = {n for f in first for n in near[f]} - first - {anchor}
            for step, found in ((1, first), (2, second)):
                out.update((i, min(step, out.get(i, step))) for i in sorted(found))
        return out


def search(
    corpus: Corpus, query: str, options: Raw, choices: Choices, *, hybrid: bool = False, vector: Sequence[float] = ()
) -> Ranking:
    """Run the recorded pipeline under some choices.

    Args:
        hybrid: whether an embedding provider is set.
        vector: what it makes of the query; all zero when it knows no word.
    """
    limit = options.get("limit", 10)
    taken = max(3 * limit, 30)
    direction = vector if hybrid and any(vector) else ()

    def passes(entry: Raw, *, leaking: bool) -> bool:
        named = all(entry[k] == options[k] for k in ("domain", "type", "severity") if k in options)
        valid = is_valid(entry, corpus.now)
        if leaking:
            return (named or "filters-everywhere" not in choices) and (valid or "validity-everywhere" not in choices)
        return named and valid

    match = expression(query, choices)
    hits = [i for i, _ in corpus.bm25(match) if passes(corpus.by_id[i], leaking=False)] if match else []
    matches = len(hits)
    if not ("guard-counts-every-match" in choices and "limit" not in options and matches < GUARD_BELOW):
        hits = hits[:taken]
    similar = {i: dense_cosine(direction, v) for i, v in corpus.vectors.items() if direction and any(v)}
    nearest = sorted(similar, key=lambda i: -similar[i])
    nearest = [i for i in nearest if passes(corpus.by_id[i], leaking=True)][:taken]
    pool = [*hits, *(i for i in nearest if i not in set(hits))]
    if not pool:
        return Ranking([], 0)

    as_hybrid = hybrid and (direction or "text-weights-without-a-vector" not in choices)
    weights = HYBRID_WEIGHTS if as_hybrid else TEXT_WEIGHTS
    idf = corpus.idf(choices)
    asked = weighted(tokens(query, choices), idf)

    def scored(entry_id: str, proximity: float) -> Ranked:
        entry = corpus.by_id[entry_id]
        signals = (
            sparse_cosine(asked, weighted(corpus.tokens_of(entry, choices), idf)),
            similar.get(entry_id, 0.0),
            SEVERITY[entry["severity"]],
            decay(entry, corpus.now),
            jaccard(options["tags"], entry["tags"]) if options.get("tags") else 0.0,
            float(options.get("domain") == entry["domain"]),
            proximity,
        )
        return Ranked(entry_id, sum(w * s for w, s in zip(weights, signals)), signals)

    first = sorted((scored(i, 0.0) for i in pool), key=lambda r: -r.score)
    steps = corpus.distances([r.id for r in first[:ANCHORS] if r.signals[0] > 0])
    pulled = [i for i in steps if i not in set(pool) and passes(corpus.by_id[i], leaking=True)]
    second = [scored(i, 1 / (1 + steps[i]) if i in steps else 0.0) for i in (*(r.id for r in first), *pulled)]
    rows = sorted(second, key=lambda r: -r.score)
    counted = matches if "guard-counts-every-match" in choices else len(hits)
    seeds = counted if "guard-counts-full-text" in choices else counted + len(pool) - len(hits)
    return Ranking(rows, _budgeted(corpus, rows[: _shown(len(rows), seeds, options, choices)], options))


def _shown(found: int, seeds: int, options: Raw, choices: Choices) -> int:
    """Return how many of ``found`` results the limit and the small-corpus guard let through."""
    limit = options.get("limit", 10)
    guarded = seeds < GUARD_BELOW and limit < seeds / 2
    if "explicit-limit-is-hard" in choices and "limit" in options:
        guarded = False
    if not guarded:
        return min(found, limit)
    return found if "guard-returns-everything" in choices else min(found, seeds)


def _budgeted(corpus: Corpus, rows: Sequence[Ranked], options: Raw) -> int:
    if "maxTokens" not in options:
        return len(rows)
    kept = rows[:3] if rows and rows[0].score >= options["confidenceThreshold"] else rows
    spent = 0
    for place, row in enumerate(kept):
        spent += token_cost(corpus.by_id[row.id])
        if spent > options["maxTokens"] and place > 0:
            return place
    return len(kept)


def token_cost(entry: Raw) -> int:
    """Return characters / 4 of an entry's text and of its tags as JSON, rounded up."""
    names = ("title", "description", "context", "example", "counterExample", "why")
    tags = json.dumps(entry["tags"], ensure_ascii=False, separators=(",", ":"))
    return math.ceil((sum(len(entry.get(n) or "") for n in names) + len(tags)) / 4)


def guard_shown(matching: int, limit: int | None, choices: Choices, *, managed: bool = False) -> int:
    """Return how many results come back when so many entries match, all in the full text of one vault.

    Args:
        managed: the vault is one of several; the recorded system then takes 10 of each, whatever the limit.
    """
    options: Raw = {} if limit is None else {"limit": limit}
    found = min(matching, max(3 * options.get("limit", 10), 30))
    if managed and "over-fetch-in-every-tier" not in choices:
        found = min(matching, 10)
    seeds = found
    if limit is None and "guard-counts-every-match" in choices:
        seeds = matching
        found = matching if matching < GUARD_BELOW else found
    return _shown(found, seeds, options, choices)
