"""What a redaction of a vault did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from septet.files.report import counted

__all__ = ["RedactReport", "SecretLeft"]


class SecretLeft(NamedTuple):
    """A secret that was left where it is, because what holds it is a name for something.

    Attributes:
        place: ``id`` or ``parent`` of an entry, ``link`` (an end without an entry), ``path`` of a file, ``root``.
        name: the id, the path or the name of the root, as it is: with the secret.
        cure: what to do.
    """

    place: str
    name: str
    cure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactReport:
    """What a redaction did, or would do.

    Attributes:
        entries: entries in which something was masked.
        versions: of entries, in their history.
        links: whose note or type was masked.
        feedback: queries, of feedback, that were masked.
        files: files that the next sync reads again, masked.
        roots: the names of roots that are read otherwise from now on: masked, in all their files if need be.
        vectors: how many were removed, in all spaces; the next embedding makes those of the masked texts.
        cached: how many were removed from the embedding cache.
        redacted: how many secrets were masked, by rule.
        left: what holds a secret and cannot be masked.
        problems: what else went wrong, in sentences.
        took_s: from the call to the return.
        dry_run: nothing was changed; ``vectors`` and ``cached`` were not counted.
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
        """Whether nothing of what the rules find is left in the files of the vault."""
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
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return values | {
            "roots": list(self.roots),
            "redacted": dict(self.redacted),
            "left": [one._asdict() for one in self.left],
            "problems": list(self.problems),
            "complete": self.complete,
        }
