"""A vault is copied into another one, here or on a server: entries, vectors, links and feedback, in batches.

What is there and equal is skipped, so a copy that ended anywhere goes on, and a later one brings in what changed. How
far a copy has come is kept in the target: where the source is still the same, the next one begins behind that.
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

if TYPE_CHECKING:
    from septet.model.spaces import Space
    from septet.ranking.pool import Candidate
    from septet.store.protocol import Reading

__all__ = ["Copy", "copy_vault"]

#: Entries that are read, and written in one transaction.
BATCH = 2_000
#: Links and rows of feedback that are written in one transaction.
ROWS = 5_000
#: Under which the target keeps how far a copy has come.
MARK = "copy"
#: Called with the entries that are there so far, and all of them.
Progress = Callable[[int, int], None]


class Copy(NamedTuple):
    """What a copy did.

    Attributes:
        entries: entries of the source, memories among them; all of them are in the target now.
        written: those that were written; the others were there just so.
        vectors: a provider's vectors that were written; those that were given come with their entries.
        links: links that were written.
        feedback: rows of feedback that were written.
        compared: searches that were asked of both.
        differences: what is not the same on both sides, in words; none after a copy that came through.
        notes: what a copy does not carry, where there is any of it.
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
        return self._asdict() | {"differences": list(self.differences), "notes": list(self.notes)}


def copy_vault(source: Any, target: Any, *, progress: Progress | None = None) -> Copy:
    """Copy everything that a vault holds into another one, and check it.

    Args:
        source: an open `Vault` or `PostgresVault`; what is written to it meanwhile is left to the next copy.
        target: another one, open for writing. Entries with the same id are overwritten, others stay as they are.
        progress: called after each batch with the number of entries that are there, and of all.

    Raises:
        BatchError: an entry cannot be stored; those before it are.
        SeptetError: a vault cannot be read or written; what was stored stays, and the next copy goes on.
    """
    with source._store.reading() as read:
        run = _Run(source, target, read, progress or (lambda done, total: None))
        with target._loading():
            run.entries()
            links, feedback = run.links(), run.feedback()
            run.states()
        # The next copy looks at everything again: whatever is found now may be mended by it.
        run.finished()
        compared, unlike = differences(source, target, read)
        earlier = read.tables.history.count_older(read, inf, None)
    notes = (f"{earlier:,} earlier versions of entries are not copied",) if earlier else ()
    return Copy(run.done, run.written, run.vectors, links, feedback, compared, tuple(unlike), notes)


class _Run:
    """One copy on its way; the source is read in one transaction."""

    def __init__(self, source: Any, target: Any, read: Reading, progress: Progress) -> None:
        self.source, self.target, self.read, self.progress = source, target, read, progress
        self.total, self.done = read.tables.entries.count(read), 0
        self.written = self.vectors = 0
        spaces = read.tables.vectors.all_spaces(read)
        self.given: list[Space] = [one for one in spaces if one.keyed_by == "entry"]
        self.of_texts: list[Space] = [one for one in spaces if one.keyed_by == "text"]
        with target._store.reading() as there:
            said = there.tables.marks.get(there, MARK)
            empty = not there.tables.texts.text_spaces(there)
        known = json.loads(said) if said else {}
        self.known = known if known.get("generation") == read.generation else {}
        #: Whether the target had no vectors of a provider when this copy began: then the states of spaces come along.
        self.fresh = bool(self.known.get("fresh", empty))
        #: Of all entries that are there.
        self.digest = blake2b(digest_size=16)

    def entries(self) -> None:
        """Copy the entries with their vectors."""
        rows = self._behind_those_known()
        self.progress(self.done, self.total)
        while batch := list(islice(rows, BATCH)):
            stored = self.target.import_([*self._records(batch)])
            self.written += stored.entries - stored.unchanged
            for space in self.of_texts:
                self.vectors += self._put(space, batch)
            self.done += len(batch)
            self._read_on(batch)
            self._mark()
            self.progress(self.done, self.total)

    def _behind_those_known(self) -> Iterator[Candidate]:
        """Return the entries behind those that an earlier copy of this very state of the source left in the target."""
        rows: Iterator[Candidate] = self.read.tables.entries.live(self.read)
        if not self.known:
            return rows
        for _ in range(int(self.known["entries"])):
            self._read_on(one := [*islice(rows, 1)])
            self.done += len(one)
        if self.digest.hexdigest() != self.known["digest"]:
            # Another vault in the same generation.
            self.done, self.digest = 0, blake2b(digest_size=16)
            rows = self.read.tables.entries.live(self.read)
        return rows

    def _read_on(self, batch: Sequence[Candidate]) -> None:
        for one in batch:
            self.digest.update(repr(tuple(one)).encode("utf-8", "surrogatepass"))

    def links(self) -> int:
        """Copy the links that are not there; return how many."""
        with self.target._store.reading() as there:
            known = set(there.tables.links.all_links(there))
        wanted = (link for link in self.read.tables.links.all_links(self.read) if link not in known)
        return sum(self.target.link_many(page) for page in _pages(wanted))

    def feedback(self) -> int:
        """Copy the rows of feedback that are not there; return how many."""
        with self.target._store.reading() as there:
            known = Counter(there.tables.feedback.all_rows(there))
        missing = Counter(self.read.tables.feedback.all_rows(self.read)) - known
        pages = _pages(row._asdict() for row in missing)
        return sum(self._restored(page) for page in pages)

    def states(self) -> None:
        """Give the spaces of a target that had none the states that they have in the source."""
        if not (self.fresh and self.of_texts):
            return
        wanted = self.read.tables.texts.text_spaces(self.read)
        with self.target._store.writing() as write:
            tables = write.tables.texts
            for one in wanted:
                space = tables.find_space(write, one.space.model, one.space.dimensions)
                if space is not None:
                    tables.move(write, space, one.state)

    def finished(self) -> None:
        """Forget how far the copy came: the next one looks at everything."""
        with self.target._store.bookkeeping() as write:
            write.tables.marks.put(write, MARK, None)

    def _records(self, batch: Sequence[Candidate]) -> Iterator[dict[str, Any]]:
        vectors: list[dict[str, Any]] = [{} for _ in batch]
        for space in self.given:
            for at, row in self.read.tables.vectors.of_rows(self.read, space, [one.row for one in batch]):
                vectors[at][space.model] = np.frombuffer(row, "<f4")
        for candidate, own in zip(batch, vectors):
            record = {"record": "entry", **candidate.to_entry().to_dict()}
            yield {**record, "vector": own} if own else record

    def _put(self, space: Space, batch: Sequence[Candidate]) -> int:
        """Copy a provider's vectors of the texts of entries; return how many were not there."""
        found = self.read.tables.vectors.of_rows(self.read, space, [one.row for one in batch])
        rows = {text_hash(batch[at].title, batch[at].description, batch[at].context): row for at, row in found}
        if not rows:
            return 0
        pooling = self.read.tables.texts.pooling(self.read, space)
        with self.target._store.writing() as write:
            tables = write.tables.texts
            here = tables.make_space(write, space.model, space.dimensions, self.target._clock(), pooling)
            keys = tables.lacking(write, here, list(rows))
            if keys:
                tables.put(write, here, keys, np.stack([np.frombuffer(rows[key], "<f4") for key in keys]))
        return len(keys)

    def _restored(self, page: Sequence[dict[str, Any]]) -> int:
        self.target._restore_feedback(page)
        return len(page)

    def _mark(self) -> None:
        said = {
            "generation": self.read.generation,
            "entries": self.done,
            "digest": self.digest.hexdigest(),
            "fresh": self.fresh,
        }
        with self.target._store.bookkeeping() as write:
            write.tables.marks.put(write, MARK, json.dumps(said))


def _pages(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while page := list(islice(rows, ROWS)):
        yield page
