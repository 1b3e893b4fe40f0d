"""Export a vault as JSON lines, or copy it into another one, local or on a server.

Equal entries are skipped, so an interrupted copy can be resumed and a later copy writes only the changes. The target
stores the progress: if the source has not changed, the next copy resumes there. At the end both vaults are compared.
"""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from itertools import islice
from math import inf
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from septet._core import text_hash
from septet.errors import StoreError
from septet.model.codec import as_dict
from septet.sqlite.store.mending import set_aside
from septet.sqlite.store.store import SqliteStore as LocalStore
from septet.store.protocol import Reading, Store
from septet.system.target import complete_file
from septet.watch import log

if TYPE_CHECKING:
    from septet.model.results import Results
    from septet.model.vector import Space
    from septet.ranking.pool import Candidate

#: Entries per transaction or lookup.
BATCH = 2_000
#: Links or rows of feedback per transaction.
ROWS = 5_000
#: Key of the progress mark in the target.
MARK = "copy"
#: Called with the number of copied entries and the total.
Progress = Callable[[int, int], None]
#: Number of entries whose vectors and searches are compared.
SAMPLE = 200
#: Compared searches, and the hits of each.
SEARCHES, LIMIT = 20, 10
#: Words of an entry in a query.
WORDS = 6
#: Maximum reported differences.
MOST = 20
#: Scores that differ by less are equal.
TOLERANCE = 1e-9


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
        with target._store.bookkeeping() as write:
            # The next copy checks everything again, and so repairs any difference found below.
            write.tables.marks.put(write, MARK, None)
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
        for page in _pages(row._asdict() for row in missing):
            self.target._restore_feedback(page)
        return len(missing)

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

    def _records(self, batch: Sequence[Candidate]) -> Iterator[dict[str, Any]]:
        vectors: list[dict[str, Any]] = [{} for _ in batch]
        for space in self.given:
            for number, blob in self._stored(space, batch):
                vectors[number][space.model] = np.frombuffer(blob, "<f4")
        for candidate, by_model in zip(batch, vectors):
            record = {"record": "entry", **candidate.to_entry().to_dict()}
            yield {**record, "vector": by_model} if by_model else record

    def _stored(self, space: Space, batch: Sequence[Candidate]) -> Sequence[tuple[int, Any]]:
        """Return the vectors of entries, with their places in the batch."""
        return self.read.tables.vectors.of_rows(self.read, space, [candidate.row for candidate in batch])

    def _put(self, space: Space, batch: Sequence[Candidate]) -> int:
        """Copy a provider's vectors of the texts of entries; return the number of missing ones."""
        rows = {
            text_hash(batch[number].title, batch[number].description, batch[number].context): blob
            for number, blob in self._stored(space, batch)
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


def differences(source: Any, target: Any, read: Reading) -> tuple[int, list[str]]:
    """Compare two vaults; return the number of compared searches and the differences.

    Vectors and searches are compared only if the source has not changed since ``read``, searches only if the target has
    no other entries: these change every score.

    Args:
        read: the state of the source to compare with.
    """
    unequal: list[str] = []
    total = 0
    sample: list[Candidate] = []
    count = read.tables.entries.count(read)
    rows = read.tables.entries.live(read)
    step = max(1, count // SAMPLE)
    while batch := list(islice(rows, BATCH)):
        with target._store.reading() as target_read:
            known = target_read.tables.entries.find(target_read, [row.id for row in batch])
        total += len(batch)
        missing = [row.id for row in batch if row.id not in known]
        unequal += [f"entry {id!r} is missing" for id in missing[: MOST - len(unequal)]]
        sample += [row for number, row in enumerate(batch, total - len(batch)) if number % step == 0]
        # The first field is the row number.
        changed = [row.id for row in batch if row.id in known and tuple(known[row.id])[1:] != tuple(row)[1:]]
        unequal += [f"entry {id!r} has other fields" for id in changed[: max(0, MOST - len(unequal))]]
    unequal += _counts(target, read)
    with target._store.reading() as target_read:
        alone = target_read.tables.entries.count(target_read) == count
    with source._store.reading() as now:
        # Vectors and searches read the current state of the source.
        moved = now.generation != read.generation
    unequal += [] if moved else _vectors(source, target, sample)
    if not alone or moved or unequal:
        return 0, unequal[:MOST]
    probes = sample[:: max(1, len(sample) // SEARCHES)][:SEARCHES]
    for vault in (source, target):
        # Until its index is in memory, full text of a large file is ranked differently.
        vault._settle()
    return len(probes), [*_answers(source, target, probes)][:MOST]


def _counts(target: Any, read: Reading) -> Iterator[str]:
    """Yield the numbers of missing links and feedback."""
    with target._store.reading() as target_read:
        links = set(read.tables.links.all_links(read)), set(target_read.tables.links.all_links(target_read))
        rows = set(read.tables.feedback.all_rows(read)), set(target_read.tables.feedback.all_rows(target_read))
    for name, (ours, theirs) in (("links", links), ("rows of feedback", rows)):
        if missing := len(ours - theirs):
            yield f"{missing:,} of {len(ours):,} {name} are missing"


def _vectors(source: Any, target: Any, sample: Sequence[Candidate]) -> Iterator[str]:
    """Yield the layouts whose vectors differ: bit for bit, or beyond the rounding of a server."""
    ids = [row.id for row in sample]
    for layout in source._layouts():
        ours, theirs = source._vectors_of(ids, layout), target._vectors_of(ids, layout)
        # A server may store half-precision floats.
        tolerance = 1e-3 if _rounds(target) or _rounds(source) else 0.0
        wrong = [id for id, blob in ours.items() if id not in theirs or not _alike(blob, theirs[id], tolerance)]
        if wrong:
            yield f"{len(wrong):,} of {len(ours):,} vectors of {layout[0]} differ, such as that of {wrong[0]!r}"


def _rounds(vault: Any) -> bool:
    return getattr(getattr(vault._store, "vault", None), "vectors", None) == "halfvec"


def _alike(ours: bytes, theirs: bytes, near: float) -> bool:
    if ours == theirs:
        return True
    a, b = np.frombuffer(ours, "<f4"), np.frombuffer(theirs, "<f4")
    return bool(near and a.size == b.size and np.allclose(a, b, rtol=near, atol=near * float(np.abs(a).max())))


def _answers(source: Any, target: Any, probes: Sequence[Candidate]) -> Iterator[str]:
    exact = not (_rounds(source) or _rounds(target))
    # A graph may miss near vectors.
    exact &= not any(
        getattr(space, "hnsw", False) for vault in (source, target) for space in vault.embedding_status().spaces
    )
    layouts = source._layouts() if exact else {}
    layout = max(layouts, key=lambda key: layouts[key]) if layouts else None
    vectors = source._vectors_of([row.id for row in probes], layout) if layout else {}
    for row in probes:
        words = " ".join(f"{row.title} {row.description}".split()[:WORDS])
        # Recency depends on the time, so fix it; the vaults may have different profiles, and only one an embedder.
        options: dict[str, Any] = {
            "limit": LIMIT,
            "include_memories": True,
            "as_of": source._clock(),
            "profile": source._profile,
        }
        if row.id in vectors and layout is not None:
            options |= {"query_vector": np.frombuffer(vectors[row.id], "<f4"), "model": layout[0]}
        else:
            options["legs"] = "text"
        ours, theirs = (vault.search(words, **options) for vault in (source, target))
        if not _same(ours, theirs):
            yield f"a search for {words!r} finds {ours.ids} here and {theirs.ids} there, or with other scores"


def _same(ours: Results, theirs: Results) -> bool:
    if len(ours) != len(theirs) or any(abs(a.score - b.score) > TOLERANCE for a, b in zip(ours, theirs)):
        return False
    # Equal scores are in order of insertion, so the last hits may be different ones.
    least = (ours[-1].score if len(ours) else 0.0) + TOLERANCE
    return {hit.id for hit in ours if hit.score > least} == {hit.id for hit in theirs if hit.score > least}


def export(store: Store, target: str | os.PathLike[str] | IO[str]) -> int:
    """Write one JSON object per line: entries (with their vectors), links, feedback; return the number of lines.

    Rows damaged by another program are skipped.
    """
    lines = 0
    cure = "name a file, or give an open stream such as sys.stdout"
    try:
        with ExitStack() as stack:
            if isinstance(target, (str, os.PathLike)):
                # A file gets its name only when it is complete.
                part = stack.enter_context(complete_file(target, of="" if store.in_memory else store.file, cure=cure))
                out: IO[str] = stack.enter_context(
                    open(part.descriptor, "w", encoding="utf-8", newline="\n", closefd=False)
                )
            else:
                out = target
            if isinstance(store, LocalStore):
                # A stream cannot be rewound, so all rows are checked before the first is written.
                set_aside(store, store.left_out)
                for row in store.left_out:
                    log.say("export", log.WARNING, "%s: skipped in the export: %s", store.path, row)
                read: Reading = stack.enter_context(store.begin_reading())
            else:
                read = stack.enter_context(store.reading())
            for record in _records(read):
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
                lines += 1
    except OSError as fault:
        raise StoreError(f"the export stopped after {lines} lines: {fault.strerror or fault}") from fault
    return lines


def _records(read: Reading) -> Iterator[dict[str, Any]]:
    vectors = _given_vectors(read)
    for candidate in read.tables.entries.live(read):
        entry = candidate.to_entry()
        record = {"record": "entry", **entry.to_dict()}
        if entry.id in vectors:
            record["vector"] = vectors[entry.id]
        yield record
    for link in read.tables.links.all_links(read):
        yield {"record": "link", **link._asdict()}
    for row in read.tables.feedback.all_rows(read):
        yield {"record": "feedback", **row._asdict()}


def _given_vectors(read: Reading) -> dict[str, dict[str, str]]:
    """Return each entry's vectors given by the caller, by model, as base64 of little-endian float32."""
    vectors: dict[str, dict[str, str]] = {}
    for entry_id, model, blob in read.tables.vectors.given(read):
        vectors.setdefault(entry_id, {})[model] = base64.b64encode(blob).decode("ascii")
    # Sorted, so that equal vaults have equal exports.
    return {entry_id: dict(sorted(by_model.items())) for entry_id, by_model in vectors.items()}
