"""Vault: one SQLite file of knowledge, and everything that can be done with it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from septet import portable
from septet.entry import Entry, utf8
from septet.profiles import ProfileLike, resolve
from septet.searchable import Searchable
from septet.storage import entries, feedback, links
from septet.storage import vectors as stored_vectors
from septet.storage.connection import MEMORY
from septet.storage.keeper import Keeper
from septet.storage.links import Link
from septet.storage.store import Store
from septet.storage.vectors import Space
from septet.tiers import LocalTier
from septet.writable import Progress, Writable

__all__ = ["Stats", "Vault"]


@dataclass(frozen=True, slots=True)
class Stats:
    """What a vault holds. ``spaces`` counts vectors by model and dimension; ``size_bytes`` is the file's."""

    path: str
    entries: int
    kinds: Mapping[str, int]
    links: int
    feedback: Mapping[str, int]
    spaces: Sequence[Space]
    generation: int
    size_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        return {
            "path": self.path,
            "entries": self.entries,
            "kinds": dict(self.kinds),
            "links": self.links,
            "feedback": dict(self.feedback),
            "spaces": [{"model": s.model, "dimensions": s.dimensions, "entries": s.entries} for s in self.spaces],
            "generation": self.generation,
            "size_bytes": self.size_bytes,
        }


class Vault(Searchable, Writable):
    """One SQLite file of knowledge. Threads and processes may share it.

    Args:
        path: the file, made on first use; ``":memory:"`` for a vault that goes with the process.
        read_only: open for reading; the file must exist.
        clock: returns the present in epoch seconds.
        profile: how searches rank unless they say otherwise, and how many vectors per entry are kept.

    Raises:
        StoreError: the file cannot be used; see its subclasses for why.
        ProfileError: an unknown or malformed profile.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
        profile: ProfileLike = "septet",
    ) -> None:
        self._now = clock
        self._profile = resolve(profile)
        self._store = Store(os.fspath(path), read_only=read_only)
        self._tier = LocalTier("vault", 1.0, self._store, Keeper())
        #: The generation and what was counted at it.
        self._feedback: tuple[int, Mapping[str, int]] = (-1, {})

    @property
    def path(self) -> str:
        """The file's path as it was given."""
        return self._store.path

    def __repr__(self) -> str:
        return f"Vault({self.path!r})"

    def __enter__(self) -> Vault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; using the vault afterwards raises `Closed`. Closing twice is fine."""
        self._store.close()

    # -- reading -----------------------------------------------------------------------------------------------------

    def get(self, id: str) -> Entry | None:
        """Return an entry, or None when there is none of that id."""
        found = self.load([id])
        return found[0] if found else None

    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries by id, in the order asked; ids that do not exist are left out."""
        wanted = [ids] if isinstance(ids, str) else list(ids)
        with self._store.reading() as read:
            found = entries.find(read, wanted)
        return [found[i].to_entry() for i in wanted if i in found]

    def links(self, id: str) -> list[Link]:
        """Return the links from and to an entry."""
        with self._store.reading() as read:
            return links.links_of(read, utf8(id, "id"))

    def stats(self) -> Stats:
        """Count what the vault holds."""
        with self._store.reading() as read:
            return Stats(
                path=self.path,
                entries=entries.count(read),
                kinds=entries.kinds(read),
                links=links.count(read),
                feedback=feedback.counts(read),
                spaces=stored_vectors.spaces(read),
                generation=read.generation,
                size_bytes=0 if self.path == MEMORY else Path(self.path).stat().st_size,
            )

    def __bool__(self) -> bool:
        # An empty vault is a vault: `vault or Vault(...)` must not open another.
        return True

    def __len__(self) -> int:
        with self._store.reading() as read:
            return entries.count(read)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.get(id) is not None

    # -- copies ------------------------------------------------------------------------------------------------------

    def backup(self, path: str | os.PathLike[str], *, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy the vault to another file while it is in use; the copy appears when it is complete.

        Args:
            progress: called with pages copied and pages in all.
        """
        self._store.backup(os.fspath(path), progress)

    def export(self, target: str | os.PathLike[str] | IO[str]) -> int:
        """Write everything (entries, memories, vectors, links, feedback) as JSON lines; return the number of lines."""
        return portable.export(self._store, target)

    def import_(
        self, source: str | os.PathLike[str] | Iterable[str], *, progress: Progress | None = None
    ) -> portable.Imported:
        """Read JSON lines, those of `export` or plain entries, and return what was stored.

        Raises:
            BatchError: a line that cannot be stored; ``written`` entries are.
        """
        return portable.import_lines(self, source, progress)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _clock(self) -> float:
        return float(self._now())

    def _tiers(self) -> Sequence[LocalTier]:
        return [self._tier]

    def _as_tier(self, name: str, priority: float) -> LocalTier:
        return LocalTier(name, priority, self._store, self._tier.keeper)

    def _feedback_counts(self) -> Mapping[str, int]:
        with self._store.reading() as read:
            generation, counts = self._feedback
            if generation != read.generation:
                counts = feedback.counts(read)
                self._feedback = (read.generation, counts)
            return counts
