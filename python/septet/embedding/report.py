"""EmbedReport: what a run of the pipeline did, and what it has to say."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from septet.notes import Note, NoteCode

__all__ = ["EmbedReport", "Tally"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedReport:
    """What a run did. Texts are counted, not entries: those with the same text share one vector.

    Attributes:
        model: the space that was filled.
        dimensions: of its vectors; None when none has come yet.
        embedded: texts that the provider embedded.
        cached: texts whose vectors were in the cache.
        failed: texts that were tried and got no vector; the next run tries them again.
        missing: texts without a vector now, those that failed among them.
        requests: calls of the embedder.
        notes: why texts failed, and what else there is to say.
    """

    model: str
    dimensions: int | None
    embedded: int
    cached: int
    failed: int
    missing: int
    requests: int
    notes: tuple[Note, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every text has its vector."""
        return not self.missing

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        counts = ("model", "dimensions", "embedded", "cached", "failed", "missing", "requests")
        return {**{name: getattr(self, name) for name in counts}, "notes": [n.to_dict() for n in self.notes]}


@dataclass(slots=True)
class Tally:
    """What a run has done so far.

    Attributes:
        failed: texts by hash that this run does not try again.
        refused: those of them that the provider does not take, whatever stands beside them.
        dimensions: of the vectors that came.
        unanswered: batches that failed one after the other.
        over: why the run ends early; None while it does not.
        wants_retry: whether trying again later may help.
        remarks: what else there is to say.
    """

    embedded: int = 0
    cached: int = 0
    requests: int = 0
    dimensions: int | None = None
    unanswered: int = 0
    failed: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    over: Note | None = None
    wants_retry: bool = False
    causes: Counter[tuple[NoteCode, str, str]] = field(default_factory=Counter)
    remarks: list[Note] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Texts that have been dealt with."""
        return self.embedded + self.cached + len(self.failed)

    def fail(self, keys: list[str], code: NoteCode, cause: str, cure: str) -> None:
        """Count texts that got no vector, and why."""
        self.failed.update(keys)
        self.causes[code, cause, cure] += len(keys)

    def notes(self) -> list[Note]:
        """Return a note for each cause, and why the run ended early."""
        notes = [
            Note(code, f"{n} {'text' if n == 1 else 'texts'}: {cause}", cure)
            for (code, cause, cure), n in self.causes.items()
        ]
        notes += dict.fromkeys(self.remarks)
        return notes if self.over is None else [*notes, self.over]
