"""Report of the redaction of a vault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from septet.files.report import counted
from septet.model.codec import as_dict


class SecretLeft(NamedTuple):
    """A secret that cannot be masked because it is part of an identifier.

    Attributes:
        place: ``id`` or ``parent`` of an entry, ``link`` (an end without an entry), ``path`` of a file, ``root``.
        name: the id, path or root name, with the secret.
        cure: remedy, as a sentence.
    """

    place: str
    name: str
    cure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactReport:
    """The result of a redaction or of its dry run.

    Attributes:
        entries: number of masked entries.
        versions: number of masked versions in the history.
        links: number of links with a masked note or type.
        feedback: number of masked queries of feedback.
        files: number of files that the next sync reads again with redaction.
        roots: names of roots whose redaction was extended, to all their files if needed.
        vectors: number of removed vectors in all spaces; the next embedding replaces them.
        cached: number of entries removed from the embedding cache.
        redacted: number of masked secrets, by rule.
        left: secrets that cannot be masked.
        problems: other problems, as sentences.
        took_s: duration of the call in seconds.
        dry_run: True if nothing was changed; ``vectors`` and ``cached`` are not counted then.
    """

    entries: int = 0
    versions: int = 0
    links: int = 0
    feedback: int = 0
    files: int = 0
    roots: tuple[str, ...] = ()
    vectors: int = 0
    cached: int = 0
    redacted: Mapping[str, int] = field(default_factory=dict)
    left: tuple[SecretLeft, ...] = ()
    problems: tuple[str, ...] = ()
    took_s: float = 0.0
    dry_run: bool = False

    @property
    def complete(self) -> bool:
        """True if no secret found by the rules remains in the files of the vault."""
        return not (self.left or self.problems or self.dry_run)

    def __str__(self) -> str:
        secrets = counted(sum(self.redacted.values()), "secret")
        entries = "1 entry" if self.entries == 1 else f"{self.entries:,} entries"
        parts = [f"{secrets} {'found' if self.dry_run else 'masked'} in {entries}"]
        numbers = ((noun, getattr(self, f"{noun}s")) for noun in ("version", "link", "file", "vector"))
        parts += (counted(number, noun) for noun, number in numbers if number)
        if self.feedback:
            parts.append(f"{self.feedback:,} of feedback")
        if self.left:
            parts.append(f"{len(self.left):,} left")
        if self.problems:
            parts.append(counted(len(self.problems), "problem"))
        return f"{', '.join(parts)} in {self.took_s:.2f} s"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        return {**as_dict(self), "complete": self.complete}
