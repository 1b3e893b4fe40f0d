"""Copy a vault into another one, local or on a server: entries, vectors, links and feedback, in batches.

Equal entries are skipped, so an interrupted copy can be resumed and a later copy writes only the changes. The target
stores the progress: if the source has not changed, the next copy resumes there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from septet._core import text_hash
from septet.exchange.comparing import differences
from septet.model.codec import as_dict

if TYPE_CHECKING:
    from septet.model.spaces import Space
    from septet.ranking.pool import Candidate
    from septet.store.protocol import Reading

#: Entries per transaction.
BATCH = 2_000
#: Links or rows of feedback per transaction.
ROWS = 5_000
#: Key of the progress mark in the target.
MARK = "copy"
#: Called with the number of copied entries and the total.
Progress = Callable[[int, int], None]


class Copy(NamedTuple):
    """The result of a copy.

    Attributes:
        entries: number of entries of the source, memories included; all are in the target now.
        written: number of written entries; the others were equal already.
        vectors: number of written vectors of providers; vectors given by the caller are part of their entries.
        links: number of written links.
        feedback: number of written rows of feedback.
        compared: number of searches run on both vaults.
        differences: differences between the vaults, as sentences; empty after a complete copy.
        notes: data that was not copied, as sentences.
    """

    entries: int
    written: int
    vectors: int
    links: int
    feedback: int
    compared: int
    differences: tuple[str, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        return as_dict(self)


def copy_vault(source: Any, target: Any, *, progress: Progress | None = None) -> Copy:
    """Copy all contents of a vault into another one, and check the copy.

    Args:
        source: an open `Vault` or `PostgresVault`; concurrent writes to it are left to the next copy.
        target: another vault, open for writing. Entries with the same id are overwritten, others are not touched.
        progress: called after each batch with the number of copied entries and the total.

    Raises:
        BatchError: an entry cannot be stored; the entries before it are.
        SeptetError: a vault cannot be read or written; stored entries stay, and the next copy resumes.
    """
    with source._store.reading() as read:
        run = _VaultCopy(source, target, read, progress or (lambda done, total: None))
        with target._loading():
            run.entries()
            links, feedback = run.links(), run.feedback()
            run.states()
        # Remove the mark: the next copy checks everything again, and so repairs any difference found below.
        run.finished()
        compared, unequal = differences(source, target, read)
        versions = read.tables.history.count_older(read, inf, None)
    notes = (f"{versions:,} earlier versions of entries are not copied",) if versions else ()
    return Copy(run.done, run.written, run.vectors, links, feedback, compared, tuple(unequal), notes)


class _VaultCopy:
    """A running copy, which reads the source in one transaction."""

    def __init__(self, source: Any, target: Any, read: Reading, progress: Progress) -> None:
        self.source, self.target, self.read, self.progress = source, target, read, progress
        self.total, self.done = read.tables.entries.count(read), 0
        self.written = self.vectors = 0
        spaces = read.tables.vectors.all_spaces(read)
        self.given: list[Space] = [space for space in spaces if space.keyed_by == "entry"]
        self.of_texts: list[Space] = [space for space in spaces if space.keyed_by == "text"]
        with target._store.reading() as target_read:
            mark = target_read.tables.marks.get(target_read, MARK)
            empty = not target_read.tables.texts.text_spaces(target_read)
        known = json.loads(mark) if mark else {}
        self.known = known if known.get("generation") == read.generation else {}
        #: True if the target had no vectors of providers when this copy began: then the states of spaces are copied.
        self.fresh = bool(self.known.get("fresh", empty))
        #: Digest of all copied entries.
        self.digest = blake2b(digest_size=16)

    def entries(self) -> None:
        """Copy the entries with their vectors."""
        rows = self._remaining()
        self.progress(self.done, self.total)
        while batch := list(islice(rows, BATCH)):
            stored = self.target.import_([*self._records(batch)])
            self.written += stored.entries - stored.unchanged
            for space in self.of_texts:
                self.vectors += self._put(space, batch)
            self.done += len(batch)
            self._digest(batch)
            self._mark()
            self.progress(self.done, self.total)

    def _remaining(self) -> Iterator[Candidate]:
        """Return the entries after those that an earlier copy of the same generation wrote."""
        rows: Iterator[Candidate] = self.read.tables.entries.live(self.read)
        if not self.known:
            return rows
        for _ in range(int(self.known["entries"])):
            self._digest(batch := [*islice(rows, 1)])
            self.done += len(batch)
        if self.digest.hexdigest() != self.known["digest"]:
            # Another vault with the same generation.
            self.done, self.digest = 0, blake2b(digest_size=16)
            rows = self.read.tables.entries.live(self.read)
        return rows

    def _digest(self, batch: Sequence[Candidate]) -> None:
        for row in batch:
            self.digest.update(repr(tuple(row)).encode("utf-8", "surrogatepass"))

    def links(self) -> int:
        """Copy the missing links; return their number."""
        with self.target._store.reading() as target_read:
            known = set(target_read.tables.links.all_links(target_read))
        missing = (link for link in self.read.tables.links.all_links(self.read) if link not in known)
        return sum(self.target.link_many(page) for page in _pages(missing))

    def feedback(self) -> int:
        """Copy the missing rows of feedback; return their number."""
        with self.target._store.reading() as target_read:
            known = Counter(target_read.tables.feedback.all_rows(target_read))
        missing = Counter(self.read.tables.feedback.all_rows(self.read)) - known
        pages = _pages(row._asdict() for row in missing)
        return sum(self._restore(page) for page in pages)

    def states(self) -> None:
        """Copy the states of the spaces to a target that had none."""
        if not (self.fresh and self.of_texts):
            return
        spaces = self.read.tables.texts.text_spaces(self.read)
        with self.target._store.writing() as write:
            tables = write.tables.texts
            for stored in spaces:
                counterpart = tables.find_space(write, stored.space.model, stored.space.dimensions)
                if counterpart is not None:
                    tables.move(write, counterpart, stored.state)

    def finished(self) -> None:
        """Remove the progress mark."""
        with self.target._store.bookkeeping() as write:
            write.tables.marks.put(write, MARK, None)

    def _records(self, batch: Sequence[Candidate]) -> Iterator[dict[str, Any]]:
        vectors: list[dict[str, Any]] = [{} for _ in batch]
        for space in self.given:
            for number, blob in self.read.tables.vectors.of_rows(
                self.read, space, [candidate.row for candidate in batch]
            ):
                vectors[number][space.model] = np.frombuffer(blob, "<f4")
        for candidate, by_model in zip(batch, vectors):
            record = {"record": "entry", **candidate.to_entry().to_dict()}
            yield {**record, "vector": by_model} if by_model else record

    def _put(self, space: Space, batch: Sequence[Candidate]) -> int:
        """Copy a provider's vectors of the texts of entries; return the number of missing ones."""
        vectors = self.read.tables.vectors.of_rows(self.read, space, [candidate.row for candidate in batch])
        rows = {
            text_hash(batch[number].title, batch[number].description, batch[number].context): blob
            for number, blob in vectors
        }
        if not rows:
            return 0
        pooling = self.read.tables.texts.pooling(self.read, space)
        with self.target._store.writing() as write:
            tables = write.tables.texts
            target_space = tables.make_space(write, space.model, space.dimensions, self.target._clock(), pooling)
            keys = tables.lacking(write, target_space, list(rows))
            if keys:
                tables.put(write, target_space, keys, np.stack([np.frombuffer(rows[key], "<f4") for key in keys]))
        return len(keys)

    def _restore(self, page: Sequence[dict[str, Any]]) -> int:
        self.target._restore_feedback(page)
        return len(page)

    def _mark(self) -> None:
        mark = {
            "generation": self.read.generation,
            "entries": self.done,
            "digest": self.digest.hexdigest(),
            "fresh": self.fresh,
        }
        with self.target._store.bookkeeping() as write:
            write.tables.marks.put(write, MARK, json.dumps(mark))


def _pages(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while page := list(islice(rows, ROWS)):
        yield page
