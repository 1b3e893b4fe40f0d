"""Answers of the operations that look at a memory as a whole: its health, its links, what feedback made of weights."""

# No `from __future__ import annotations`: pydantic reads the annotations as values.
from typing_extensions import NotRequired, TypedDict

from septet.client.shapes import LinkAnswer, NoteAnswer
from septet.model.fields import Severity

__all__ = ["HealthAnswer", "LearnedAnswer", "NeighbourhoodAnswer", "SlowAnswer"]


class NodeAnswer(TypedDict):
    """An entry of a neighbourhood; ``steps`` from the one in its middle, ``links`` of its own, ``shown`` of them."""

    id: str
    title: str
    kind: str
    domain: str
    severity: Severity
    steps: int
    links: int
    shown: int


class NeighbourhoodAnswer(TypedDict):
    """Entries around one, the middle first, and the links between them; ``left_out`` neighbours were too many."""

    nodes: list[NodeAnswer]
    links: list[LinkAnswer]
    left_out: int


class SpaceHealthAnswer(TypedDict):
    """How far the vectors of a model are complete."""

    model: str
    dimensions: int | None
    entries: int
    missing: int
    active: bool
    given: bool
    standby: bool


class ModelHealthAnswer(TypedDict):
    """A model that is to embed, and why it does not."""

    model: str
    configured: bool
    fault: str | None


class EmbeddingHealthAnswer(TypedDict):
    """What embeds, and what it does now."""

    model: str | None
    activity: str
    asking: bool
    models: list[ModelHealthAnswer]
    notes: list[NoteAnswer]


class SidecarHealthAnswer(TypedDict):
    """The arrays beside the file: ``current``, ``behind`` by so many writes, ``none``, or ``off``."""

    state: str
    behind: int
    size_bytes: int


class FolderHealthAnswer(TypedDict):
    """A folder that a tier follows: how many files differ, and when it was last in step."""

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
    """The folders of a tier, and whether it has every file as it is on the disk."""

    in_step: bool
    running: bool
    folders: list[FolderHealthAnswer]


class TierHealthAnswer(TypedDict):
    """One tier, or the only vault under the name ``vault``; with ``error`` alone where it cannot be read."""

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
    """How a memory is, tier by tier."""

    at: float
    tiers: list[TierHealthAnswer]


class LearnedDayAnswer(TypedDict):
    """A day with feedback: its rows by action, and the weights after it."""

    day: str
    actions: dict[str, int]
    counted: int
    accept_rate: float | None
    weights: dict[str, float]


class LearnedAnswer(TypedDict):
    """What feedback made of the weights of a profile, day by day; ``base`` are those without feedback."""

    profile: str
    row: str
    min_rows: int
    base: dict[str, float]
    cause: str
    earlier_days: int
    days: list[LearnedDayAnswer]


class SlowSearchAnswer(TypedDict):
    """A search that took long; ``query`` only where the server keeps queries."""

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
    """The slowest searches of the last day, the slowest first; ``watching`` is False where nobody keeps them."""

    watching: bool
    queries_kept: bool
    seen: int
    searches: list[SlowSearchAnswer]
