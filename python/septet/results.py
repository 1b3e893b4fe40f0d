"""What a search gives back: hits, notes on what went wrong on the way, and a report per tier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from septet.entry import Entry

__all__ = ["Explanation", "Hit", "LegReport", "Note", "Results", "TierReport"]


@dataclass(frozen=True, slots=True)
class Note:
    """Something a search could not do, or did differently: a code to test for, the cause, and the cure."""

    code: str
    cause: str
    cure: str = ""
    tier: str = ""

    def __str__(self) -> str:
        where = f" [{self.tier}]" if self.tier else ""
        return f"{self.code}{where}: {self.cause}" + (f" ({self.cure})" if self.cure else "")

    def to_dict(self) -> dict[str, str]:
        """Return the four fields as a dict."""
        return {"code": self.code, "cause": self.cause, "cure": self.cure, "tier": self.tier}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result.

    Attributes:
        score: higher is better; the profile says its range (``septet``: 0 to 1).
        breakdown: weight x signal per signal, in the profile's order; the values sum to ``score``.
        signals: the raw signal values, each 0 to 1 unless the profile says otherwise; None where unknown.
        tier: the name of the tier that the entry came from.
        entry: the whole entry in mode ``full``, None in mode ``scan``.
    """

    id: str
    title: str
    score: float
    type: str
    domain: str
    severity: str
    tags: tuple[str, ...]
    kind: str
    snippet: str
    token_estimate: int
    tier: str
    breakdown: Mapping[str, float]
    signals: Mapping[str, float | None]
    entry: Entry | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the documented result: the whole entry with its scores, or the light fields in mode ``scan``."""
        if self.entry is None:
            return {
                "id": self.id,
                "title": self.title,
                "score": self.score,
                "kind": self.kind,
                "type": self.type,
                "domain": self.domain,
                "severity": self.severity,
                "tags": list(self.tags),
                "snippet": self.snippet,
                "token_estimate": self.token_estimate,
                "tier": self.tier,
            }
        return {
            "entry": self.entry.to_dict(),
            "score": self.score,
            "breakdown": dict(self.breakdown),
            "signals": dict(self.signals),
            "tier": self.tier,
        }


@dataclass(frozen=True, slots=True)
class TierReport:
    """What one tier did in a search: candidates it gave, its generation, milliseconds, and its error if it failed."""

    name: str
    priority: float
    candidates: int
    generation: int
    took_ms: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class Results(Sequence[Hit]):
    """The hits of one search, best first, with what happened on the way."""

    hits: tuple[Hit, ...]
    query: str
    profile: str
    mode: str
    weights: Mapping[str, float]
    notes: tuple[Note, ...]
    tiers: tuple[TierReport, ...]
    took_ms: float

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        return self.hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __repr__(self) -> str:
        lines = [f"<Results {len(self)} for {self.query[:60]!r} in {self.took_ms:.1f} ms>"]
        lines += [f"  {h.score:.3f}  {h.id}  {h.title}" for h in self.hits]
        lines += [f"  note {n}" for n in self.notes]
        return "\n".join(lines)

    @property
    def ids(self) -> list[str]:
        """The ids of the hits, best first."""
        return [h.id for h in self.hits]

    @property
    def degraded(self) -> bool:
        """True when a note says that a leg, a tier, vectors or part of the query were missing."""
        return any(n.code in DEGRADING for n in self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        return {
            "query": self.query,
            "profile": self.profile,
            "mode": self.mode,
            "took_ms": self.took_ms,
            "weights": dict(self.weights),
            "hits": [h.to_dict() for h in self.hits],
            "notes": [n.to_dict() for n in self.notes],
            "tiers": [
                {
                    "name": t.name,
                    "priority": t.priority,
                    "candidates": t.candidates,
                    "generation": t.generation,
                    "took_ms": t.took_ms,
                    "error": t.error,
                }
                for t in self.tiers
            ],
        }


#: Codes of notes that mean: the answer is less than it could be.
DEGRADING = frozenset(
    {
        "bm25_unavailable",
        "embedding_refused",
        "embedding_unavailable",
        "no_embedder",
        "no_vectors",
        "other_model",
        "query_cut",
        "space_incomplete",
        "tier_failed",
        "vector_mismatch",
    }
)


@dataclass(frozen=True, slots=True)
class LegReport:
    """Where an entry stands in one leg.

    Attributes:
        leg: ``text``, ``vector`` or ``memories``.
        matched: whether the leg can see the entry at all, filters aside.
        rank: its rank among everything the leg sees, from 1; None when it does not match or pass the filters.
        of: how many entries the leg sees under the filters.
        taken: how many the leg passes on.
        value: its score in the leg (BM25 turned positive, or the cosine).
        detail: the matching words, or why there is nothing.
    """

    leg: str
    matched: bool
    rank: int | None
    of: int
    taken: int
    value: float | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an entry ranked where it did, or why it did not come back.

    Attributes:
        found: whether the search would return it.
        rank: its place among all candidates, from 1, also when the limit cut it off; None when it was none.
        reason: the answer in one sentence.
        filters: every filter of the search and whether the entry passes it.
    """

    id: str
    query: str
    found: bool
    rank: int | None
    limit: int
    score: float | None
    reason: str
    tier: str
    breakdown: Mapping[str, float]
    signals: Mapping[str, float | None]
    weights: Mapping[str, float]
    filters: Mapping[str, bool]
    legs: tuple[LegReport, ...]
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        lines = [self.reason]
        for name, part in self.breakdown.items():
            if name not in self.weights:
                lines.append(f"  {name:16s} fixed score = {part:.4f}")
                continue
            value = self.signals.get(name)
            seen = "unknown" if value is None else f"{value:.4f}"
            lines.append(f"  {name:16s} {self.weights.get(name, 0.0):.4f} x {seen} = {part:.4f}")
        lines += [f"  filter {name}: {'passes' if ok else 'fails'}" for name, ok in self.filters.items()]
        for leg in self.legs:
            where = f"rank {leg.rank} of {leg.of}, {leg.taken} taken" if leg.rank else "no match"
            lines.append(f"  leg {leg.leg}: {where}" + (f"; {leg.detail}" if leg.detail else ""))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        names = ("id", "query", "found", "rank", "limit", "score", "reason", "tier")
        out: dict[str, Any] = {name: getattr(self, name) for name in names}
        for name in ("breakdown", "signals", "weights", "filters"):
            out[name] = dict(getattr(self, name))
        out["legs"] = [{f: getattr(leg, f) for f in LegReport.__slots__} for leg in self.legs]
        out["notes"] = [n.to_dict() for n in self.notes]
        return out
