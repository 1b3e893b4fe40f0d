"""Reports of syncs and of redactions, and the roots of a vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.files.roots import LEFT_OUT, kinds_merged, kinds_text
from septet.model.codec import Plain, as_dict
from septet.model.entry import json_of

if TYPE_CHECKING:
    from septet.files.planning import FilePlan
    from septet.sqlite.store.store import SqliteStore


class SkippedFile(NamedTuple):
    """A file that was skipped, or stored with a remark.

    Attributes:
        path: relative to the root, or absolute if it is in no root.
        reason: a code (``symlink``, ``symlink_cycle``, ``broken_symlink``, ``duplicate``, ``unreadable``, ``binary``,
            ``encrypted``, ``damaged``, ``too_large``, ``not_a_file``, ``changing``, ``vanished``, ``missing``,
            ``ending``, ``name``), otherwise a sentence.
        root: name of the root.
        taken: True if the file is stored and ``reason`` is a remark, such as bytes that are not UTF-8.
    """

    path: str
    reason: str
    root: str = ""
    taken: bool = False


class PendingFile(NamedTuple):
    """A transcript with too little new text for an automatic sync.

    Attributes:
        path: relative to the root.
        bytes: number of new bytes.
        messages: number of new lines.
    """

    path: str
    bytes: int
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RootInfo:
    """A folder or file followed by a vault, as stored; see `septet.files.status.RootStatus`."""

    name: str
    path: str
    options: Mapping[str, Any]
    files: int
    chunks: int
    synced_at: float | None
    problem: str | None


def roots_of(store: SqliteStore) -> list[RootInfo]:
    """Return the folders that a vault follows.

    Raises:
        StoreError: the vault cannot be read.
    """
    from septet.sqlite.tables import files

    with store.reading() as read:
        return [
            RootInfo(
                name=row.name,
                path=row.path,
                options=json_of(row.options, dict),
                files=files.count_files(read, row.root),
                chunks=files.count_chunks(read, row.root),
                synced_at=row.synced_at,
                problem=row.problem,
            )
            for row in files.roots(read)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport(Plain):
    """The result of a sync.

    Attributes:
        roots: names of the synced roots.
        files_seen: files on the disk.
        files_added: files new to the vault.
        files_changed: files whose bytes changed, or whose chunks were rebuilt with new options.
        files_renamed: files with a new path and the same bytes; they count as neither added nor removed.
        files_removed: files deleted from the disk, and now from the vault.
        files_unchanged: files already up to date.
        files_left: files not reached within ``timeout_s``, or changed by another process.
        files_staged: files rebuilt with new options, whose chunks are not searched yet.
        chunks_added: inserted chunks.
        chunks_changed: chunks with the same text but a new heading, tags or other fields.
        chunks_kept: unchanged chunks of the files that were read.
        chunks_moved: chunks whose lines or path alone changed.
        chunks_removed: erased chunks.
        bytes: bytes read.
        reindexed: roots whose chunks were all rebuilt with new options and replaced at once.
        skipped: skipped files with the reason, and files that were ``taken`` with a remark.
        skipped_kinds: number of files skipped for their suffix alone, or for lack of the extra ``files``, by suffix,
            most frequent first; rare suffixes and none are ``other``. Hidden and excluded files are not counted.
        problems: other problems, as sentences: a missing root, a full disk.
        redacted: number of masked secrets, by rule.
        redacted_in: files with these secrets; ``redact=False`` does not mask them.
        took_s: duration of the call in seconds.
        complete: True if the vault equals the disk at the start of the sync, except for ``skipped``.
        dry_run: True if nothing was written and the report is a forecast.
    """

    roots: tuple[str, ...] = ()
    files_seen: int = 0
    files_added: int = 0
    files_changed: int = 0
    files_renamed: int = 0
    files_removed: int = 0
    files_unchanged: int = 0
    files_left: int = 0
    files_staged: int = 0
    chunks_added: int = 0
    chunks_changed: int = 0
    chunks_kept: int = 0
    chunks_moved: int = 0
    chunks_removed: int = 0
    bytes: int = 0
    reindexed: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    skipped_kinds: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    redacted: Mapping[str, int] = field(default_factory=dict)
    redacted_in: tuple[str, ...] = ()
    took_s: float = 0.0
    complete: bool = True
    dry_run: bool = False

    @property
    def count(self) -> int:
        """Number of chunks written or erased."""
        return self.chunks_added + self.chunks_changed + self.chunks_moved + self.chunks_removed

    def __str__(self) -> str:
        parts = [counted(self.files_seen, "file")]
        changes = ((name, getattr(self, f"files_{name}")) for name in ("added", "changed", "renamed", "removed"))
        parts += (f"{number:,} {name}" for name, number in changes if number)
        if self.chunks_added or self.chunks_removed:
            parts.append(f"{counted(self.chunks_added, 'chunk')} in, {self.chunks_removed:,} out")
        if self.files_staged:
            parts.append(f"{self.files_staged:,} rebuilt")
        parts += (f"{name} reindexed" for name in self.reindexed)
        if self.redacted:
            parts.append(f"{counted(sum(self.redacted.values()), 'secret')} masked")
        if out := sum(not file.taken for file in self.skipped):
            parts.append(f"{out:,} skipped")
        if odd := len({(file.root, file.path) for file in self.skipped if file.taken}):
            parts.append(f"{odd:,} with a remark")
        if self.skipped_kinds:
            parts.append(f"skipped {kinds_text(self.skipped_kinds)}")
        if self.problems:
            parts.append(counted(len(self.problems), "problem"))
        if not self.complete:
            parts.append(f"{counted(self.files_left, 'file')} left" if self.files_left else "not complete")
        return f"{', '.join(parts)} in {self.took_s:.2f} s"


#: Kinds of changed chunks, as named in `FilePlan` and in `SyncReport`.
CHANGES = ("added", "changed", "moved", "removed")


class SyncTally:
    """Counts of a sync, by the names of `SyncReport`."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.skipped: dict[SkippedFile, None] = {}
        self.skipped_kinds: dict[str, int] = {}
        self.problems: list[str] = []
        self.reindexed: list[str] = []
        self.redacted: dict[str, int] = {}
        self.redacted_in: dict[str, None] = {}
        self.complete = True
        #: Rebuilds that lack disk space, as sentences.
        self.no_room: list[str] = []

    def add(self, name: str, number: int = 1) -> None:
        """Add to a count."""
        if number:
            self.counts[name] = self.counts.get(name, 0) + number

    def add_plan(self, plan: FilePlan) -> None:
        """Count the changes of a plan."""
        renamed = plan.before is not None and plan.before.path != plan.after.path
        self.add("files_added" if plan.before is None else "files_renamed" if renamed else "files_changed")
        for name in CHANGES:
            self.add(f"chunks_{name}", len(getattr(plan, name)))
        self.add("chunks_kept", plan.kept)

    def add_redacted(self, redacted: Mapping[str, int], path: str) -> None:
        """Count the masked secrets of a file."""
        if redacted:
            self.redacted_in[path] = None
        for rule, number in redacted.items():
            self.redacted[rule] = self.redacted.get(rule, 0) + number

    def skip(self, path: str, reason: str, root: str, *, taken: bool) -> None:
        """Record a skipped file, or a remark on a stored one."""
        self.skipped[remarked(path, reason, root) if taken else SkippedFile(path, reason, root)] = None

    def skip_kinds(self, kinds: Mapping[str, int]) -> None:
        """Count the files of a root skipped for their suffix."""
        self.skipped_kinds = kinds_merged([self.skipped_kinds, kinds])

    def report(self, roots: Sequence[str], took_s: float, *, dry_run: bool = False) -> SyncReport:
        """Return the report."""
        known = {field.name for field in fields(SyncReport)}
        assert known >= self.counts.keys()
        # A file read with a remark may still be impossible to store.
        out = {(file.root, file.path) for file in self.skipped if not file.taken}
        skipped = dict.fromkeys(
            file._replace(taken=file.taken and (file.root, file.path) not in out) for file in self.skipped
        )
        return SyncReport(
            roots=tuple(roots), skipped=tuple(skipped), problems=tuple(self.problems), redacted=self.redacted,
            redacted_in=tuple(self.redacted_in), reindexed=tuple(self.reindexed), took_s=took_s, complete=self.complete,
            skipped_kinds=self.skipped_kinds, dry_run=dry_run, **self.counts,
        )  # fmt: skip


def remarked(path: str, problem: str, root: str) -> SkippedFile:
    """Return the warning for a stored file."""
    # Files with these reasons have a row but no text.
    return SkippedFile(path, problem, root, taken=problem not in LEFT_OUT)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


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
