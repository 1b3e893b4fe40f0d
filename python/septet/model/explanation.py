"""What `explain` returns: why one entry ranks where it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from septet.model.entry import Shown
from septet.model.results import Note

__all__ = ["Explanation", "LegReport", "Remedy"]


@dataclass(frozen=True, slots=True)
class LegReport:
    """Where an entry stands in one leg.

    Attributes:
        leg: ``text``, ``vector``, ``memories`` where the profile fixes their score, or ``path`` where the query names
            the file that the entry is a part of.
        matched: whether the entry matches in this leg, filters aside.
        rank: its rank among the entries that match and pass the filters, from 1; None if it is not among them.
        of: how many entries match and pass the filters.
        taken: how many of them become candidates.
        value: its score in the leg: BM25 with its sign flipped, the cosine, or how exactly the query names the file:
            3 by its path, 2 by its name, 1 by the name without its ending.
        detail: the matching words, or why nothing matched.
    """

    leg: str
    matched: bool
    rank: int | None
    of: int
    taken: int
    value: float | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What brings an entry back that a search does not return: tried, not guessed.

    Attributes:
        changes: the options of the search that change, with their new values; ``query`` is one of them. One where one
            is enough.
        rank: the place that the entry then has.
        text: the same in one sentence.
    """

    changes: Mapping[str, Any]
    rank: int
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        return {"changes": dict(self.changes), "rank": self.rank, "text": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Shown):
    """Why an entry ranks where it does, or why a search does not return it.

    Attributes:
        found: whether the search returns it.
        rank: its place among all candidates, from 1, even beyond the limit; None if it is not a candidate.
        limit: the most results of the search.
        candidates: how many each leg takes; in a profile that takes them by the limit another one may change the order.
        reason: the answer in one sentence.
        estimated: the signals that are estimates, because the entry has no vector yet.
        confidence: how likely the entry answers the query, 0 to 1; see `septet.model.results.Hit`.
        raw: ``cosine``, ``bm25`` and ``tfidf``; None where unknown.
        filters: each filter of the search, and whether the entry passes it.
        remedy: the change that brings the entry back; None where it is found, where a reranker decides, and where
            nothing that was tried brings it back.
    """

    _shown_as = "explanation"

    id: str
    query: str
    found: bool
    rank: int | None
    limit: int
    candidates: int
    score: float | None
    reason: str
    tier: str
    breakdown: Mapping[str, float]
    signals: Mapping[str, float | None]
    estimated: tuple[str, ...]
    confidence: float
    raw: Mapping[str, float | None]
    weights: Mapping[str, float]
    filters: Mapping[str, bool]
    legs: tuple[LegReport, ...]
    notes: tuple[Note, ...] = ()
    remedy: Remedy | None = None

    def __str__(self) -> str:
        lines = [self.reason] if self.remedy is None else [self.reason, self.remedy.text]
        for name, part in self.breakdown.items():
            value = self.signals.get(name)
            if name not in self.weights and value is not None:
                lines.append(f"  {name:16s} {value:.4f} changes the score by {part:+.4f}")
                continue
            if name not in self.weights:
                lines.append(f"  {name:16s} fixed score = {part:.4f}")
                continue
            seen = "unknown" if value is None else f"{value:.4f}"
            note = " (estimated: it has no vector yet)" if name in self.estimated else ""
            lines.append(f"  {name:16s} {self.weights.get(name, 0.0):.4f} x {seen} = {part:.4f}{note}")
        if self.rank is not None:
            known = (f"{name} {value:.4f}" for name, value in self.raw.items() if value is not None)
            lines.append(f"  confidence {self.confidence:.4f}" + "".join(f", {part}" for part in known))
        lines += [f"  filter {name}: {'passes' if ok else 'fails'}" for name, ok in self.filters.items()]
        for leg in self.legs:
            where = f"rank {leg.rank} of {leg.of}, {leg.taken} taken" if leg.rank else "no match"
            lines.append(f"  leg {leg.leg}: {where}" + (f"; {leg.detail}" if leg.detail else ""))
        lines.append(f"  limit {self.limit}: each leg takes {self.candidates} candidates")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        names = ("id", "query", "found", "rank", "limit", "candidates", "score", "reason", "tier", "confidence")
        out: dict[str, Any] = {name: getattr(self, name) for name in names}
        for name in ("breakdown", "signals", "weights", "filters", "raw"):
            out[name] = dict(getattr(self, name))
        out["estimated"] = list(self.estimated)
        out["legs"] = [{f: getattr(leg, f) for f in LegReport.__slots__} for leg in self.legs]
        out["notes"] = [n.to_dict() for n in self.notes]
        out["remedy"] = None if self.remedy is None else self.remedy.to_dict()
        return out
