"""EmbedReport: the result of a run of the pipeline."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from septet.notes import Note, NoteCode
from septet.watch import log

__all__ = ["EmbedReport", "Tally", "log_report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedReport:
    """The result of a run. It counts texts, not entries: entries with the same text share one vector.

    Attributes:
        model: the space that was filled.
        dimensions: of its vectors; None before the first vector.
        embedded: texts embedded by the provider.
        cached: texts whose vectors came from the cache.
        failed: texts that were tried without success; the next run tries them again.
        missing: texts without a vector after the run, failed ones included.
        requests: calls of the embedder.
        elsewhere: texts of which the vault gained a vector meanwhile that this run did not bring: other processes did,
            or a model that embedded in the background in the place of another. Only `septet.Vault.embed` counts them.
        notes: why texts failed, and other remarks.
        earlier: the reports of the models that were tried before this one, and failed.
    """

    model: str
    dimensions: int | None
    embedded: int
    cached: int
    failed: int
    missing: int
    requests: int
    elsewhere: int = 0
    notes: tuple[Note, ...] = ()
    earlier: tuple[EmbedReport, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every text has its vector."""
        return not self.missing

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        counts = ("model", "dimensions", "embedded", "cached", "failed", "missing", "requests", "elsewhere")
        told = {name: getattr(self, name) for name in counts}
        return {**told, "notes": [n.to_dict() for n in self.notes], "earlier": [one.to_dict() for one in self.earlier]}


def log_report(report: EmbedReport, path: str) -> None:
    """Log what a run did; a provider's words may repeat a text, so of what went wrong the codes alone."""
    if not (report.embedded or report.cached or report.failed):
        return
    counts = report.embedded, report.cached, report.failed, report.missing, report.requests
    said = "%s: %d texts embedded by %s, %d from the cache, %d failed, %d missing, %d requests"
    log.say("embedding", log.INFO, said, path, counts[0], report.model, *counts[1:])
    if report.failed:
        codes = sorted({note.code for note in report.notes})
        log.say("embedding", log.WARNING, "%s: %d texts failed: %s", path, report.failed, ", ".join(codes))


@dataclass(slots=True)
class Tally:
    """The counters of a run in progress.

    Attributes:
        failed: texts by hash that this run does not try again.
        refused: those among them that the provider refuses on their own.
        dimensions: of the vectors received.
        failures: batches that failed in a row.
        lost_s: how long they took.
        stopped_by: why the run ends early; None while it goes on.
        wants_retry: whether a later attempt may help.
        causes: why texts failed, as code, cause and cure, with their number.
        remarks: notes that concern no single text.
    """

    embedded: int = 0
    cached: int = 0
    requests: int = 0
    dimensions: int | None = None
    failures: int = 0
    lost_s: float = 0.0
    failed: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    stopped_by: Note | None = None
    wants_retry: bool = False
    causes: Counter[tuple[NoteCode, str, str]] = field(default_factory=Counter)
    remarks: list[Note] = field(default_factory=list)

    @property
    def done(self) -> int:
        """The number of texts processed."""
        return self.embedded + self.cached + len(self.failed)

    def known_dimensions(self, declared: int | None) -> int | None:
        """Return the dimension that an embedder declares, else that of the vectors received, else None."""
        return declared or self.dimensions

    def add(self, other: Tally) -> None:
        """Count what another run has embedded."""
        self.embedded += other.embedded
        self.cached += other.cached
        self.requests += other.requests
        self.dimensions = self.dimensions or other.dimensions

    def fail(self, keys: list[str], code: NoteCode, cause: str, cure: str) -> None:
        """Count texts that failed for one cause."""
        self.failed.update(keys)
        self.causes[code, cause, cure] += len(keys)

    def notes(self) -> list[Note]:
        """Return a note for each cause, the remarks, and why the run ended early."""
        notes = [
            Note(code, f"{n} {'text' if n == 1 else 'texts'}: {cause}", cure)
            for (code, cause, cure), n in self.causes.items()
        ]
        notes += dict.fromkeys(self.remarks)
        return notes if self.stopped_by is None else [*notes, self.stopped_by]
