"""Answers as typed dicts: the schemas of what ``to_dict()`` of each result gives, for MCP, OpenAPI and the client."""

# No `from __future__ import annotations`: pydantic reads the annotations as values.
from typing import Any

from typing_extensions import NotRequired, TypedDict

from septet.fields import Severity, Trust

__all__ = [
    "CountAnswer",
    "EntryAnswer",
    "ExplanationAnswer",
    "FacetsAnswer",
    "HistoryAnswer",
    "HitAnswer",
    "IdAnswer",
    "IdsAnswer",
    "LinksAnswer",
    "LoadedAnswer",
    "NoteAnswer",
    "OkAnswer",
    "PageAnswer",
    "ResultsAnswer",
    "RetrievalAnswer",
    "SearchManyAnswer",
    "StatsAnswer",
    "StatusAnswer",
    "WeightsAnswer",
]


class NoteAnswer(TypedDict):
    """What a search could not do, or did differently: a code to test for, what happened, what to do about it."""

    code: str
    cause: str
    cure: str
    tier: str


class SpanAnswer(TypedDict):
    """Lines of a file."""

    path: str
    first_line: int
    last_line: int


class EntryAnswer(TypedDict):
    """An entry; optional fields that are empty are left out."""

    id: str
    kind: str
    type: str
    domain: str
    severity: Severity
    trust: Trust
    title: str
    description: str
    context: str
    tags: list[str]
    created_at: float
    updated_at: float
    attrs: NotRequired[dict[str, Any]]
    valid_from: NotRequired[float]
    valid_until: NotRequired[float]
    parent: NotRequired[str]
    source: NotRequired[str]
    span: NotRequired[SpanAnswer]


class PieceAnswer(TypedDict):
    """A piece of a text, and whether it is a word of the query."""

    text: str
    match: bool


class MarkedAnswer(TypedDict):
    """What a hit is shown by, in pieces."""

    title: list[PieceAnswer]
    passage: list[PieceAnswer]


class HitAnswer(TypedDict):
    """A result: with ``entry`` and its signals in mode ``full``, with title and snippet in mode ``scan``."""

    id: str
    score: float
    confidence: float
    tier: str
    citation: NotRequired[str]
    parts: NotRequired[list[dict[str, Any]]]
    entry: NotRequired[EntryAnswer]
    breakdown: NotRequired[dict[str, float]]
    signals: NotRequired[dict[str, float | None]]
    raw: NotRequired[dict[str, float | None]]
    title: NotRequired[str]
    kind: NotRequired[str]
    type: NotRequired[str]
    domain: NotRequired[str]
    severity: NotRequired[Severity]
    tags: NotRequired[list[str]]
    source: NotRequired[str | None]
    trust: NotRequired[Trust]
    snippet: NotRequired[str]
    token_estimate: NotRequired[int]
    parent: NotRequired[str]
    marked: NotRequired[MarkedAnswer]


class ValueAnswer(TypedDict):
    """A value of a field, and how many entries have it."""

    value: str | int | float | bool
    count: int


class FacetsAnswer(TypedDict):
    """How many entries have each value of a field."""

    field: str
    values: list[ValueAnswer]
    total: int
    missing: int
    distinct: int
    other: int


class TierReportAnswer(TypedDict):
    """What a tier did for a search."""

    name: str
    priority: float
    candidates: int
    generation: int
    took_ms: float
    error: str | None


class ResultsAnswer(TypedDict):
    """What a search found, best first: `Results.to_dict()`."""

    query: str
    profile: str
    mode: str
    took_ms: float
    weights: dict[str, float]
    confidence: float
    total: int | None
    offset: int
    facets: NotRequired[dict[str, FacetsAnswer]]
    understood: NotRequired[dict[str, Any]]
    matched_by: NotRequired[str]
    hits: list[HitAnswer]
    notes: list[NoteAnswer]
    tiers: list[TierReportAnswer]


class SearchManyAnswer(TypedDict):
    """The results of each query, in their order."""

    results: list[ResultsAnswer]


class LegAnswer(TypedDict):
    """Where an entry stands in one leg."""

    leg: str
    matched: bool
    rank: int | None
    of: int
    taken: int
    value: float | None
    detail: str


class RemedyAnswer(TypedDict):
    """Options of a search that bring an entry back, and the place that it has then."""

    changes: dict[str, Any]
    rank: int
    text: str


class ExplanationAnswer(TypedDict):
    """Why an entry ranks where it does, or why it does not come back: `Explanation.to_dict()`."""

    id: str
    query: str
    found: bool
    rank: int | None
    limit: int
    candidates: int
    score: float | None
    reason: str
    tier: str
    confidence: float
    breakdown: dict[str, float]
    signals: dict[str, float | None]
    weights: dict[str, float]
    filters: dict[str, bool]
    raw: dict[str, float | None]
    estimated: list[str]
    legs: list[LegAnswer]
    notes: list[NoteAnswer]
    remedy: RemedyAnswer | None


class RetrievalAnswer(TypedDict):
    """What several corpora found: `Retrieval.to_dict()`."""

    query: str
    profile: str
    took_ms: float
    confidence: float | None
    hits: list[HitAnswer]
    notes: list[NoteAnswer]
    plan: dict[str, Any]
    envelope: dict[str, Any]
    lists: list[dict[str, Any]]


class LoadedAnswer(TypedDict):
    """Whole entries; ``missing`` are the ids that do not exist."""

    entries: list[EntryAnswer]
    missing: list[str]


class PageAnswer(TypedDict):
    """A page of entries; ``next`` goes on behind it."""

    entries: list[EntryAnswer]
    next: str | None


class VersionAnswer(TypedDict):
    """An earlier version of an entry."""

    entry: EntryAnswer
    replaced_at: float
    call: str
    changed: list[str]


class HistoryAnswer(TypedDict):
    """The earlier versions of an entry, the newest first."""

    versions: list[VersionAnswer]


class LinkAnswer(TypedDict):
    """A link between two entries."""

    source: str
    target: str
    type: str
    note: str


class LinksAnswer(TypedDict):
    """The links from and to an entry."""

    links: list[LinkAnswer]


class IdAnswer(TypedDict):
    """The id of what was stored."""

    id: str


class CountAnswer(TypedDict):
    """How many entries it concerns."""

    count: int


class IdsAnswer(TypedDict):
    """Ids of entries."""

    ids: list[str]


class OkAnswer(TypedDict):
    """Whether it changed anything."""

    changed: bool


class SpaceAnswer(TypedDict):
    """Vectors of one model."""

    model: str
    dimensions: int
    entries: int


class StatsAnswer(TypedDict):
    """What a vault holds: `Stats.to_dict()` without the paths of the server."""

    entries: int
    kinds: dict[str, int]
    links: int
    feedback: dict[str, int]
    spaces: list[SpaceAnswer]
    generation: int
    size_bytes: int
    notes: list[NoteAnswer]
    tiers: NotRequired[dict[str, Any]]


class StatusAnswer(TypedDict):
    """What is served: names and counts, no path of the server."""

    version: str
    writable: bool
    tiers: dict[str, float]
    profile: str
    profiles: list[str]
    entries: int
    kinds: dict[str, int]
    links: int
    spaces: list[SpaceAnswer]
    notes: list[NoteAnswer]


class WeightsAnswer(TypedDict):
    """The weights in use and why: `Weights.to_dict()`."""

    profile: str
    row: str
    values: dict[str, float]
    cause: str
    counted: int
    accept_rate: float | None
