"""Answers of the operations on the memory as a whole: health, neighbourhood, slow searches, learned weights."""

# No `from __future__ import annotations`: pydantic reads the annotations as values.
from typing_extensions import NotRequired, TypedDict

from septet.client.shapes import LinkAnswer, NoteAnswer
from septet.model.fields import Severity


class NodeAnswer(TypedDict):
    """An entry of a neighbourhood: ``steps`` from the middle, its number of ``links``, and of those ``shown``."""

    id: str
    title: str
    kind: str
    domain: str
    severity: Severity
    steps: int
    links: int
    shown: int


class NeighbourhoodAnswer(TypedDict):
    """Entries around one, itself first, and the links between them; ``left_out`` neighbours exceed the limit."""

    nodes: list[NodeAnswer]
    links: list[LinkAnswer]
    left_out: int


class SpaceHealthAnswer(TypedDict):
    """The completeness of the vectors of a model."""

    model: str
    dimensions: int | None
    entries: int
    missing: int
    active: bool
    given: bool
    standby: bool


class ModelHealthAnswer(TypedDict):
    """A model to embed with, and the fault that prevents it."""

    model: str
    configured: bool
    fault: str | None


class EmbeddingHealthAnswer(TypedDict):
    """The embedder and its activity."""

    model: str | None
    activity: str
    asking: bool
    models: list[ModelHealthAnswer]
    notes: list[NoteAnswer]


class SidecarHealthAnswer(TypedDict):
    """The sidecar of the file: ``current``, ``behind`` by this number of writes, ``none``, or ``off``."""

    state: str
    behind: int
    size_bytes: int


class FolderHealthAnswer(TypedDict):
    """A followed folder: the number of files that differ, and the time of the last sync."""

    name: str
    files: int
    chunks: int
    new: int
    changed: int
    gone: int
    skipped: int
    problems: int
    missing: bool
    rebuilding: bool
    failed: bool
    synced_at: float | None


class FoldersHealthAnswer(TypedDict):
    """The followed folders of a tier; ``in_step`` is True if every file is indexed as it is on disk."""

    in_step: bool
    running: bool
    folders: list[FolderHealthAnswer]


class TierHealthAnswer(TypedDict):
    """One tier, or the only vault as ``vault``; only ``error`` if it cannot be read."""

    name: str
    error: str | None
    entries: NotRequired[int]
    links: NotRequired[int]
    feedback: NotRequired[dict[str, int]]
    generation: NotRequired[int]
    size_bytes: NotRequired[int]
    notes: NotRequired[list[NoteAnswer]]
    spaces: NotRequired[list[SpaceHealthAnswer]]
    embedding: NotRequired[EmbeddingHealthAnswer]
    sidecar: NotRequired[SidecarHealthAnswer]
    folders: NotRequired[FoldersHealthAnswer]


class HealthAnswer(TypedDict):
    """The health of a memory by tier."""

    at: float
    tiers: list[TierHealthAnswer]


class LearnedDayAnswer(TypedDict):
    """A day with feedback: its feedback by action, and the weights after it."""

    day: str
    actions: dict[str, int]
    counted: int
    accept_rate: float | None
    weights: dict[str, float]


class LearnedAnswer(TypedDict):
    """The weights of a profile by day of feedback; ``base`` are those without feedback."""

    profile: str
    row: str
    min_rows: int
    base: dict[str, float]
    cause: str
    earlier_days: int
    days: list[LearnedDayAnswer]


class SlowSearchAnswer(TypedDict):
    """A slow search; ``query`` only if the server keeps queries."""

    at: float
    method: str
    query: NotRequired[str]
    query_chars: int
    queries: int
    took_ms: float
    stages: dict[str, float]
    candidates: int
    hits: int
    profile: str
    notes: list[str]
    error: str | None


class SlowAnswer(TypedDict):
    """The slowest searches of the last day, slowest first; ``watching`` is False if searches are not recorded."""

    watching: bool
    queries_kept: bool
    seen: int
    searches: list[SlowSearchAnswer]
