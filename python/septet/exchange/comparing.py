"""Compare two vaults: their entries, links, vectors and search results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from septet.model.results import Results
    from septet.ranking.pool import Candidate
    from septet.store.protocol import Reading

#: Entries per lookup, and the number of entries whose vectors and searches are compared.
BATCH, SAMPLE = 2_000, 200
#: Compared searches, and the hits of each.
SEARCHES, LIMIT = 20, 10
#: Words of an entry in a query.
WORDS = 6
#: Maximum reported differences.
MOST = 20
#: Scores that differ by less are equal.
TOLERANCE = 1e-9


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
        changed = [row.id for row in batch if row.id in known and _fields(known[row.id]) != _fields(row)]
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


def _fields(candidate: Candidate) -> tuple[Any, ...]:
    """Return the fields of an entry without its row number."""
    return tuple(candidate)[1:]


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
    row = getattr(vault._store, "vault", None)
    return row is not None and row.vectors == "halfvec"


def _alike(ours: bytes, theirs: bytes, near: float) -> bool:
    if ours == theirs:
        return True
    a, b = np.frombuffer(ours, "<f4"), np.frombuffer(theirs, "<f4")
    return bool(near and a.size == b.size and np.allclose(a, b, rtol=near, atol=near * float(np.abs(a).max())))


def _answers(source: Any, target: Any, probes: Sequence[Candidate]) -> Iterator[str]:
    now = source._clock()
    exact = not (_rounds(source) or _rounds(target))
    layouts = source._layouts() if exact and not any(map(_approximates, (source, target))) else {}
    layout = max(layouts, key=lambda key: layouts[key]) if layouts else None
    vectors = source._vectors_of([row.id for row in probes], layout) if layout else {}
    for row in probes:
        words = " ".join(f"{row.title} {row.description}".split()[:WORDS])
        # Recency depends on the time, so fix it; the vaults may have different profiles, and only one an embedder.
        options: dict[str, Any] = {"limit": LIMIT, "include_memories": True, "as_of": now, "profile": source._profile}
        if row.id in vectors and layout is not None:
            options |= {"query_vector": np.frombuffer(vectors[row.id], "<f4"), "model": layout[0]}
        else:
            options["legs"] = "text"
        ours, theirs = (vault.search(words, **options) for vault in (source, target))
        if not _same(ours, theirs):
            yield f"a search for {words!r} finds {ours.ids} here and {theirs.ids} there, or with other scores"


def _approximates(vault: Any) -> bool:
    """Return True if searches use a graph, which may miss near vectors."""
    return any(getattr(space, "hnsw", False) for space in vault.spaces())


def _same(ours: Results, theirs: Results) -> bool:
    if len(ours) != len(theirs):
        return False
    if any(abs(a.score - b.score) > TOLERANCE for a, b in zip(ours, theirs)):
        return False
    # Equal scores are in order of insertion, so the last hits may be different ones.
    last = ours[-1].score if len(ours) else 0.0
    return {hit.id for hit in ours if hit.score > last + TOLERANCE} == {
        hit.id for hit in theirs if hit.score > last + TOLERANCE
    }
