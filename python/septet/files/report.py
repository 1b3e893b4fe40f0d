"""What a sync did, and which roots a vault follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.files.trees import LEFT_OUT, kinds_said, merged

if TYPE_CHECKING:
    from septet.files.planning import Plan

__all__ = ["PendingFile", "RootInfo", "SkippedFile", "SyncReport", "Tally", "counted", "remarked"]


class SkippedFile(NamedTuple):
    """A file that is not in the vault, or that is in it with something odd about it.

    Attributes:
        path: below the root, or absolute where no root has it.
        reason: one word where it has one (``symlink``, ``symlink_cycle``, ``broken_symlink``, ``duplicate``,
            ``unreadable``, ``binary``, ``encrypted``, ``damaged``, ``too_large``, ``not_a_file``, ``changing``,
            ``vanished``, ``missing``, ``ending``, ``name``), else a sentence.
        root: the name of the root.
        taken: whether it is in the vault all the same; then ``reason`` says what was odd, such as bytes that are not
            UTF-8.
    """

    path: str
    reason: str
    root: str = ""
    taken: bool = False


class PendingFile(NamedTuple):
    """A transcript of which too little is new to be read without being asked for.

    Attributes:
        path: below the root.
        bytes: so many are new.
        messages: so many lines are.
    """

    path: str
    bytes: int
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RootInfo:
    """A folder, or one file, that a vault keeps in step with.

    Attributes:
        name: the ``source`` of its chunks.
        path: absolute, links resolved.
        options: which files, and how they are read, as given to `Vault.sync`.
        files: how many are in the vault.
        chunks: how many they were made into.
        synced_at: when the last whole sync ended, epoch seconds; None if none did.
        problem: why the last sync of it failed; None if it did not.
    """

    name: str
    path: str
    options: Mapping[str, Any]
    files: int
    chunks: int
    synced_at: float | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a sync did.

    Attributes:
        roots: the names of the roots it looked at.
        files_seen: files that are there.
        files_added: those that the vault did not have.
        files_changed: those whose bytes changed, or whose chunks were replaced by those made in another way.
        files_renamed: those that have another path, and the same bytes; they count as neither added nor removed.
        files_removed: those that are gone from the disk, and from the vault now.
        files_unchanged: those that the vault had as they are.
        files_left: those that were not reached in ``timeout_s``, or that another process brought in meanwhile.
        files_staged: those read in another way, whose new chunks wait beside those that answer.
        chunks_added: chunks stored.
        chunks_changed: chunks whose text stayed, and whose heading, tags or other fields did not.
        chunks_kept: chunks of the files that were read which stayed as they were.
        chunks_moved: chunks of which only the lines or the path changed.
        chunks_removed: chunks erased.
        bytes: read.
        reindexed: roots whose chunks were all made in another way, and took the place of those before at once.
        skipped: files left out, with the reason, and those that were ``taken`` all the same, with what was odd.
        skipped_kinds: how many files are left out because of their ending alone, or for want of the extra ``files``, by
            ending, the most first; rare ones and those without are ``other``. What is hidden, or what rules and globs
            leave out, does not count.
        problems: what else went wrong, in sentences: a root that is not there, no room on the disk.
        redacted: how many secrets were masked, by rule.
        redacted_in: the files in which they stand; ``redact=False`` leaves them.
        took_s: from the call to the return.
        complete: whether the vault equals the disk as it was when the sync began, apart from what ``skipped`` names.
        dry_run: nothing was written: all this is what a sync would do.
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
        """How many chunks were written or erased."""
        return self.chunks_added + self.chunks_changed + self.chunks_moved + self.chunks_removed

    def __str__(self) -> str:
        parts = [counted(self.files_seen, "file")]
        became = ((name, getattr(self, f"files_{name}")) for name in ("added", "changed", "renamed", "removed"))
        parts += (f"{number:,} {name}" for name, number in became if number)
        if self.chunks_added or self.chunks_removed:
            parts.append(f"{counted(self.chunks_added, 'chunk')} in, {self.chunks_removed:,} out")
        if self.files_staged:
            parts.append(f"{self.files_staged:,} made anew")
        parts += (f"{name} reindexed" for name in self.reindexed)
        if self.redacted:
            parts.append(f"{counted(sum(self.redacted.values()), 'secret')} masked")
        if out := sum(not one.taken for one in self.skipped):
            parts.append(f"{out:,} skipped")
        if odd := len({(one.root, one.path) for one in self.skipped if one.taken}):
            parts.append(f"{odd:,} with a remark")
        if self.skipped_kinds:
            parts.append(f"skipped {kinds_said(self.skipped_kinds)}")
        if self.problems:
            parts.append(counted(len(self.problems), "problem"))
        if not self.complete:
            parts.append(f"{counted(self.files_left, 'file')} left" if self.files_left else "not complete")
        return f"{', '.join(parts)} in {self.took_s:.2f} s"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        skipped = [one._asdict() for one in self.skipped]
        return values | {
            "roots": list(self.roots),
            "reindexed": list(self.reindexed),
            "redacted_in": list(self.redacted_in),
            "skipped": skipped,
            "skipped_kinds": dict(self.skipped_kinds),
            "problems": list(self.problems),
            "redacted": dict(self.redacted),
        }


class Tally:
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
        #: What could not begin for want of room on the disk.
        self.no_room: list[str] = []

    def add(self, name: str, number: int = 1) -> None:
        """Count something."""
        if number:
            self.counts[name] = self.counts.get(name, 0) + number

    def add_plan(self, plan: Plan) -> None:
        """Count what becomes of a file and its chunks."""
        renamed = plan.before is not None and plan.before.path != plan.after.path
        self.add("files_added" if plan.before is None else "files_renamed" if renamed else "files_changed")
        for name in ("added", "changed", "moved", "removed"):
            self.add(f"chunks_{name}", len(getattr(plan, name)))
        self.add("chunks_kept", plan.kept)

    def add_redacted(self, redacted: Mapping[str, int], path: str) -> None:
        """Count secrets that were masked in a file, by rule."""
        if redacted:
            self.redacted_in[path] = None
        for rule, number in redacted.items():
            self.redacted[rule] = self.redacted.get(rule, 0) + number

    def skip(self, path: str, reason: str, root: str, *, taken: bool) -> None:
        """Note a file that is left out, or that is taken in with a remark."""
        self.skipped[remarked(path, reason, root) if taken else SkippedFile(path, reason, root)] = None

    def skip_kinds(self, kinds: Mapping[str, int]) -> None:
        """Count files of a root that are left out because of their ending."""
        self.skipped_kinds = merged([self.skipped_kinds, kinds])

    def report(self, roots: Sequence[str], took_s: float, *, dry_run: bool = False) -> SyncReport:
        """Return everything as a report."""
        known = {one.name for one in fields(SyncReport)}
        assert known >= self.counts.keys()
        # What was read with a remark may still be what the vault cannot hold.
        out = {(one.root, one.path) for one in self.skipped if not one.taken}
        skipped = dict.fromkeys(
            one._replace(taken=one.taken and (one.root, one.path) not in out) for one in self.skipped
        )
        return SyncReport(
            roots=tuple(roots), skipped=tuple(skipped), problems=tuple(self.problems), redacted=self.redacted,
            redacted_in=tuple(self.redacted_in), reindexed=tuple(self.reindexed), took_s=took_s, complete=self.complete,
            skipped_kinds=self.skipped_kinds, dry_run=dry_run, **self.counts,
        )  # fmt: skip


def remarked(path: str, problem: str, root: str) -> SkippedFile:
    """Return a file of the vault that there is something to say of."""
    # Of these it has no text: it only knows that they need not be read again.
    return SkippedFile(path, problem, root, taken=problem not in LEFT_OUT)


def counted(number: int, noun: str) -> str:
    """Return a number with what it counts, as it is said."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
