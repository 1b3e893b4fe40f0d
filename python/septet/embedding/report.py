"""EmbedReport: the result of a run of the pipeline."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from septet.model.codec import Plain
from septet.notes import Note, NoteCode
from septet.watch import log


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedEstimate(Plain):
    """The work of a run that has not begun.

    Attributes:
        texts: texts that the embedder would get.
        cached: texts whose vectors are in the cache; 0 while the dimension is unknown.
        tokens: of the texts, prefixes included. A local model's tokenizer counts them; others are estimated from the
            characters, rather too high: prose has about a quarter fewer.
        requests: to the provider, without its batch API; 0 for a local model.
        cost_usd: list price of the tokens in US dollars, without taxes and free allowances; None if it is unknown.
        prices_of: the month of the price; None without one.
    """

    texts: int
    cached: int
    tokens: int
    requests: int
    cost_usd: float | None
    prices_of: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedReport(Plain):
    """The result of a run. Counts texts, not entries: entries with the same text share one vector.

    Attributes:
        model: the space that was filled.
        dimensions: of its vectors; None before the first vector.
        embedded: texts embedded by the provider.
        cached: texts whose vectors came from the cache.
        failed: texts that failed; the next run retries them.
        missing: texts without a vector after the run, including failed ones.
        requests: calls of the embedder.
        elsewhere: texts embedded during the run by others: other processes, or a fallback in the background. Only
            `septet.Vault.embed` counts them.
        notes: causes of failures, and other remarks.
        earlier: the reports of the models that failed before this one.
        estimate: the work of a run; None unless it is a dry run.
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
    estimate: EmbedEstimate | None = None

    @property
    def complete(self) -> bool:
        """True if every text has a vector."""
        return not self.missing


def log_report(report: EmbedReport, path: str) -> None:
    """Log the counts of a run, and only the codes of its notes: a provider's message may contain a text."""
    if not (report.embedded or report.cached or report.failed):
        return
    counts = report.embedded, report.cached, report.failed, report.missing, report.requests
    message = "%s: %d texts embedded by %s, %d from the cache, %d failed, %d missing, %d requests"
    log.say("embedding", log.INFO, message, path, counts[0], report.model, *counts[1:])
    if report.failed:
        codes = sorted({note.code for note in report.notes})
        log.say("embedding", log.WARNING, "%s: %d texts failed: %s", path, report.failed, ", ".join(codes))


@dataclass(slots=True)
class Tally:
    """The counters of a run in progress.

    Attributes:
        failed: hashes of texts that this run does not retry.
        refused: hashes of texts that the provider refuses individually.
        dimensions: of the vectors received.
        failures: failed batches in a row.
        lost_s: duration of these batches.
        stopped_by: the reason for an early end; None while the run continues.
        wants_retry: True if a retry may help.
        causes: texts that failed, or of an unknown script, by code, cause and cure.
        remarks: notes about the run as a whole.
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
        """Add the counts of another run."""
        self.embedded += other.embedded
        self.cached += other.cached
        self.requests += other.requests
        self.dimensions = self.dimensions or other.dimensions

    def fail(self, keys: list[str], code: NoteCode, cause: str, cure: str) -> None:
        """Record texts that failed for one cause."""
        self.failed.update(keys)
        self.causes[code, cause, cure] += len(keys)

    def notes(self) -> list[Note]:
        """Return a note for each cause, the remarks, and the reason for an early end."""
        counts = self.causes.items()
        notes = [Note(code, f"{n} {'text' if n == 1 else 'texts'}: {why}", cure) for (code, why, cure), n in counts]
        notes += dict.fromkeys(self.remarks)
        return notes if self.stopped_by is None else [*notes, self.stopped_by]
