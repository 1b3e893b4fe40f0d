"""The results of `explain`: the rank of one entry and its causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from septet.model.codec import Plain
from septet.model.entry import Shown
from septet.notes import Note


@dataclass(frozen=True, slots=True)
class LegReport:
    """The rank of an entry in one leg.

    Attributes:
        leg: ``text``, ``vector``, ``memories`` if the profile fixes their score, or ``path`` if the query names the
            file that the entry is a part of.
        matched: True if the entry matches in this leg, ignoring filters.
        rank: its rank among the entries that match and pass the filters, from 1; None if it is not among them.
        of: number of entries that match and pass the filters.
        taken: number of entries that become candidates.
        value: its score in the leg: BM25 with its sign flipped, the cosine, or for a named file 3 (by its path), 2 (by
            its name) or 1 (by its stem).
        detail: the matching words, or the reason for no match.
    """

    leg: str
    matched: bool
    rank: int | None
    of: int
    taken: int
    value: float | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy(Plain):
    """A change of the search that returns a missing entry; verified by a search.

    Attributes:
        changes: the changed options of the search with their new values, which may include ``query``; as few as
            possible.
        rank: the resulting rank of the entry.
        text: the same in one sentence.
    """

    changes: Mapping[str, Any]
    rank: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Shown, Plain):
    """The reasons for the rank of an entry, or for its absence from the results.

    Attributes:
        found: True if the search returns it.
        rank: its rank among all candidates, from 1, even beyond the limit; None if it is not a candidate.
        limit: maximum results of the search.
        candidates: candidates per leg; in profiles that derive them from the limit, another limit may change the order.
        reason: the explanation in one sentence.
        estimated: the signals that are estimates, because the entry has no vector yet.
        confidence: the probability that the entry answers the query, 0 to 1; see `septet.model.results.Hit`.
        raw: ``cosine``, ``bm25`` and ``tfidf``; None if unknown.
        filters: True for each filter of the search that the entry passes.
        remedy: a change that returns the entry; None if it is returned, if a reranker decides, or if no tried change
            returns it.
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
