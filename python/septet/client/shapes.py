"""Answers as typed dicts: the schemas of the ``to_dict()`` of each result, for MCP, OpenAPI and the client.

The client validates answers with them, in `septet.tiers.remote.received`.
"""

# No `from __future__ import annotations`: pydantic reads the annotations as values.
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ValidationInfo
from typing_extensions import NotRequired, TypedDict

from septet.model.context import ContextCode, LeftOutCode
from septet.model.fields import Severity, Trust
from septet.tiers.remote.received import Count, Finite, Many, Said, inner

#: Fields of a full hit, and of a light one.
_WHOLE = ("entry", "breakdown", "signals", "raw")
_LIGHT = ("title", "kind", "type", "domain", "severity", "tags", "source", "trust", "snippet", "token_estimate")


def _complete(hit: Any) -> Any:
    """Return a hit after checking that it has all fields of its mode.

    Raises:
        ValueError: a field is missing.
    """
    for name in _WHOLE if "entry" in hit else _LIGHT:
        if name not in hit:
            raise ValueError(f"wanted the field {name}")
    return hit


# Recursive parts are typed as plain objects: agent tools accept no recursive schemas.


def _hits(parts: list[dict[str, Any]], info: ValidationInfo) -> list[Any]:
    return [_complete(inner(part, HitAnswer, info)) for part in parts]


def _stats(tiers: Mapping[str, Any], info: ValidationInfo) -> dict[str, Any]:
    return {name: inner(stats, StatsAnswer, info) for name, stats in tiers.items()}


class NoteAnswer(TypedDict):
    """A notice of a degraded or changed search: a code for programs, the cause, and the cure."""

    code: Said
    cause: Said
    cure: Said
    tier: Said


class SpanAnswer(TypedDict):
    """Lines of a file."""

    path: str
    first_line: int
    last_line: int


class EntryAnswer(TypedDict):
    """An entry, without its empty optional fields."""

    id: str
    kind: str
    type: str
    domain: str
    severity: Severity
    trust: Trust
    title: str
    description: str
    context: str
    tags: Many[str]
    created_at: Finite
    updated_at: Finite
    attrs: NotRequired[dict[str, Any]]
    valid_from: NotRequired[Finite]
    valid_until: NotRequired[Finite]
    parent: NotRequired[str]
    source: NotRequired[str]
    span: NotRequired[SpanAnswer]


class PieceAnswer(TypedDict):
    """A piece of a text; marked if it is a word of the query."""

    text: str
    match: bool


class MarkedAnswer(TypedDict):
    """The excerpt of a hit, in pieces."""

    title: Many[PieceAnswer]
    passage: Many[PieceAnswer]


class HitAnswer(TypedDict):
    """A result: with ``entry`` and its signals in mode ``full``, with title and snippet in mode ``scan``."""

    id: str
    score: Finite
    confidence: Finite
    tier: Said
    citation: NotRequired[str]
    parts: NotRequired[Annotated[list[dict[str, Any]], AfterValidator(_hits)]]
    entry: NotRequired[EntryAnswer]
    breakdown: NotRequired[dict[str, Finite]]
    signals: NotRequired[dict[str, Finite | None]]
    raw: NotRequired[dict[str, Finite | None]]
    title: NotRequired[str]
    kind: NotRequired[str]
    type: NotRequired[str]
    domain: NotRequired[str]
    severity: NotRequired[Severity]
    tags: NotRequired[Many[str]]
    source: NotRequired[str | None]
    trust: NotRequired[Trust]
    snippet: NotRequired[str]
    token_estimate: NotRequired[int]
    parent: NotRequired[str]
    marked: NotRequired[MarkedAnswer]


class ValueAnswer(TypedDict):
    """A value of a field, and the number of entries that have it."""

    value: str | int | Finite | bool
    count: int


class FacetsAnswer(TypedDict):
    """The number of entries by value of a field."""

    field: Said
    values: Many[ValueAnswer]
    total: int
    missing: int
    distinct: int
    other: int


class TierReportAnswer(TypedDict):
    """The report of a tier on a search."""

    name: Said
    priority: Finite
    candidates: int
    generation: int
    took_ms: Finite
    error: Said | None


class ResultsAnswer(TypedDict):
    """The results of a search, best first: `Results.to_dict()`."""

    query: Said
    profile: Said
    mode: Said
    took_ms: Finite
    weights: dict[str, Finite]
    confidence: Finite
    total: int | None
    offset: int
    facets: NotRequired[dict[str, FacetsAnswer]]
    understood: NotRequired[dict[str, Any]]
    matched_by: NotRequired[Said]
    hits: Many[Annotated[HitAnswer, AfterValidator(_complete)]]
    notes: Many[NoteAnswer]
    tiers: Many[TierReportAnswer]


class ContextItemAnswer(TypedDict):
    """An entry in a context, and the reason for it."""

    hit: Annotated[HitAnswer, AfterValidator(_complete)]
    code: ContextCode
    reason: Said
    tokens: int


class LeftOutAnswer(TypedDict):
    """An entry that is not in a context, and the reason."""

    id: Said
    code: LeftOutCode
    reason: Said


class ContextAnswer(TypedDict):
    """The entries that belong into a prompt: `Context.to_dict()`."""

    text: str
    items: Many[ContextItemAnswer]
    left_out: Many[LeftOutAnswer]
    tokens: int
    confidence: Finite
    profile: Said
    notes: Many[NoteAnswer]


class SearchManyAnswer(TypedDict):
    """The results of each query, in the order of the queries."""

    results: Many[ResultsAnswer]


class LegAnswer(TypedDict):
    """The rank of an entry in one leg."""

    leg: Said
    matched: bool
    rank: int | None
    of: int
    taken: int
    value: Finite | None
    detail: Said


class RemedyAnswer(TypedDict):
    """Changes to the options of a search that return an entry, and its rank then."""

    changes: dict[str, Any]
    rank: int
    text: Said


class ExplanationAnswer(TypedDict):
    """The reasons for the rank of an entry, or for its absence: `Explanation.to_dict()`."""

    id: str
    query: Said
    found: bool
    rank: int | None
    limit: int
    candidates: int
    score: Finite | None
    reason: Said
    tier: Said
    confidence: Finite
    breakdown: dict[str, Finite]
    signals: dict[str, Finite | None]
    weights: dict[str, Finite]
    filters: dict[str, bool]
    raw: dict[str, Finite | None]
    estimated: Many[str]
    legs: Many[LegAnswer]
    notes: Many[NoteAnswer]
    remedy: RemedyAnswer | None


class RetrievalAnswer(TypedDict):
    """The results from several corpora: `Retrieval.to_dict()`."""

    query: Said
    profile: Said
    took_ms: Finite
    confidence: Finite | None
    hits: Many[Annotated[HitAnswer, AfterValidator(_complete)]]
    notes: Many[NoteAnswer]
    plan: dict[str, Any]
    envelope: dict[str, Any]
    lists: list[dict[str, Any]]


class LoadedAnswer(TypedDict):
    """Whole entries; ``missing`` are the ids that do not exist."""

    entries: Many[EntryAnswer]
    missing: Many[str]


class PageAnswer(TypedDict):
    """A page of entries; ``next`` is the cursor of the next page."""

    entries: Many[EntryAnswer]
    next: str | None


class VersionAnswer(TypedDict):
    """An earlier version of an entry."""

    entry: EntryAnswer
    replaced_at: Finite
    call: Said
    changed: Many[str]


class HistoryAnswer(TypedDict):
    """The earlier versions of an entry, newest first."""

    versions: Many[VersionAnswer]


class LinkAnswer(TypedDict):
    """A link between two entries."""

    source: str
    target: str
    type: str
    note: str


class LinksAnswer(TypedDict):
    """The links from and to an entry."""

    links: Many[LinkAnswer]


class IdAnswer(TypedDict):
    """The id of the stored entry."""

    id: str


class AddedAnswer(TypedDict):
    """The id of the stored entry; with ``on_similar="suggest"``, a suggestion, and nothing is stored: `Suggestion`."""

    id: str
    verdict: NotRequired[Literal["new", "same", "changes", "contradicts"]]
    other: NotRequired[str | None]
    probability: NotRequired[Finite]
    reason: NotRequired[Said]


class CountAnswer(TypedDict):
    """The number of entries affected."""

    count: Count


class IdsAnswer(TypedDict):
    """Ids of entries."""

    ids: Many[str]


class OkAnswer(TypedDict):
    """True if anything changed."""

    changed: bool


class SpaceAnswer(TypedDict):
    """Vectors of one model."""

    model: str
    dimensions: int
    entries: int


class StatsAnswer(TypedDict):
    """The counts of a vault: `Stats.to_dict()` without the paths of the server."""

    entries: int
    kinds: dict[str, int]
    links: int
    feedback: dict[str, int]
    spaces: Many[SpaceAnswer]
    generation: int
    size_bytes: int
    notes: Many[NoteAnswer]
    tiers: NotRequired[Annotated[dict[str, Any], AfterValidator(_stats)]]


class StatusAnswer(TypedDict):
    """The state of the server: names and counts, without its paths, and whether this request's token may write."""

    version: Said
    writable: bool
    tiers: dict[str, Finite]
    profile: Said
    profiles: Many[str]
    entries: int
    kinds: dict[str, int]
    links: int
    spaces: Many[SpaceAnswer]
    notes: Many[NoteAnswer]


class WeightsAnswer(TypedDict):
    """The weights in use and the reasons: `Weights.to_dict()`."""

    profile: Said
    row: Said
    values: dict[str, Finite]
    cause: Said
    counted: int
    accept_rate: Finite | None


class StoredAnswer(TypedDict, total=False):
    """The result of a line of a bulk request: the id of the stored entry, or the error."""

    id: str
    line: Count
    error: dict[str, Any]
