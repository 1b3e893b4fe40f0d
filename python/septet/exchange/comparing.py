"""Whether one vault holds what another does, and answers as it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from septet.model.results import Results
    from septet.ranking.pool import Candidate
    from septet.store.protocol import Reading

__all__ = ["differences"]

#: Entries that are looked for at a time, and those that are compared in whole.
BATCH, SAMPLE = 2_000, 200
#: Searches that are asked of both, and hits of each.
SEARCHES, LIMIT = 20, 10
#: So many words of an entry make a question.
WORDS = 6
#: Differences that are told.
MOST = 20
#: Scores that differ by less are equal.
TOLERANCE = 1e-9


def differences(source: Any, target: Any, read: Reading) -> tuple[int, list[str]]:
    """Compare what a vault holds with another one; return how many searches were compared, and what is not the same.

    Vectors and searches are compared only while nobody writes to the source, searches only where the target holds
    nothing else: other entries change every score.

    Args:
        read: the state of the source that the target is to have.
    """
    unlike: list[str] = []
    total = 0
    sample: list[Candidate] = []
    count = read.tables.entries.count(read)
    rows = read.tables.entries.live(read)
    step = max(1, count // SAMPLE)
    while batch := list(islice(rows, BATCH)):
        with target._store.reading() as there:
            known = there.tables.entries.find(there, [one.id for one in batch])
        total += len(batch)
        missing = [one.id for one in batch if one.id not in known]
        unlike += [f"entry {id!r} is missing" for id in missing[: MOST - len(unlike)]]
        sample += [one for number, one in enumerate(batch, total - len(batch)) if number % step == 0]
        changed = [one.id for one in batch if one.id in known and _fields(known[one.id]) != _fields(one)]
        unlike += [f"entry {id!r} has other fields" for id in changed[: max(0, MOST - len(unlike))]]
    unlike += _counts(target, read)
    with target._store.reading() as there:
        alone = there.tables.entries.count(there) == count
    with source._store.reading() as now:
        # What is asked next is what the source holds by now.
        moved = now.generation != read.generation
    unlike += [] if moved else _vectors(source, target, sample)
    if not alone or moved or unlike:
        return 0, unlike[:MOST]
    asked = sample[:: max(1, len(sample) // SEARCHES)][:SEARCHES]
    for vault in (source, target):
        # Full text of a large file is ranked otherwise until its index is in memory.
        vault._settle()
    return len(asked), [*_answers(source, target, asked)][:MOST]


def _fields(candidate: Candidate) -> tuple[Any, ...]:
    """Return an entry's fields, without the number of its row."""
    return tuple(candidate)[1:]


def _counts(target: Any, read: Reading) -> Iterator[str]:
    """Compare the links and feedback of the source with those that the target has."""
    with target._store.reading() as there:
        links = set(read.tables.links.all_links(read)), set(there.tables.links.all_links(there))
        rows = set(read.tables.feedback.all_rows(read)), set(there.tables.feedback.all_rows(there))
    for name, (ours, theirs) in (("links", links), ("rows of feedback", rows)):
        if missing := len(ours - theirs):
            yield f"{missing:,} of {len(ours):,} {name} are missing"


def _vectors(source: Any, target: Any, sample: Sequence[Candidate]) -> Iterator[str]:
    """Compare the vectors of some entries, bit for bit, or as the target rounds them."""
    ids = [one.id for one in sample]
    for layout in source._layouts():
        ours, theirs = source._vectors_of(ids, layout), target._vectors_of(ids, layout)
        # A server may keep halves of floats.
        near = 1e-3 if _rounds(target) or _rounds(source) else 0.0
        wrong = [id for id, row in ours.items() if id not in theirs or not _alike(row, theirs[id], near)]
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


def _answers(source: Any, target: Any, asked: Sequence[Candidate]) -> Iterator[str]:
    now = source._clock()
    exact = not (_rounds(source) or _rounds(target))
    layouts = source._layouts() if exact and not any(map(_approximates, (source, target))) else {}
    layout = max(layouts, key=lambda one: layouts[one]) if layouts else None
    vectors = source._vectors_of([one.id for one in asked], layout) if layout else {}
    for one in asked:
        words = " ".join(f"{one.title} {one.description}".split()[:WORDS])
        # At one time, as what is newer ranks higher; the two may have other profiles, and one of them an embedder.
        options: dict[str, Any] = {"limit": LIMIT, "include_memories": True, "as_of": now, "profile": source._profile}
        if one.id in vectors and layout is not None:
            options |= {"query_vector": np.frombuffer(vectors[one.id], "<f4"), "model": layout[0]}
        else:
            options["legs"] = "text"
        ours, theirs = (vault.search(words, **options) for vault in (source, target))
        if not _same(ours, theirs):
            yield f"a search for {words!r} finds {ours.ids} here and {theirs.ids} there, or with other scores"


def _approximates(vault: Any) -> bool:
    """Return whether searches of a vault go by a graph, which may leave out near vectors."""
    return any(getattr(space, "hnsw", False) for space in vault.spaces())


def _same(ours: Results, theirs: Results) -> bool:
    if len(ours) != len(theirs):
        return False
    if any(abs(a.score - b.score) > TOLERANCE for a, b in zip(ours, theirs)):
        return False
    # Among equal scores the order is that of arrival, and at the end one may stand for another.
    last = ours[-1].score if len(ours) else 0.0
    return {hit.id for hit in ours if hit.score > last + TOLERANCE} == {
        hit.id for hit in theirs if hit.score > last + TOLERANCE
    }
