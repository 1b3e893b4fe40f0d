"""Which entries have vectors: what keeps the counts of them exact, and copies of a text's vector where its entries are.

Two rules hold after every write. In spaces keyed by text, each entry's own bucket has the vector of its text if any
bucket has it, but for spaces that are being emptied. And the counts say of each space how many of the entries that
searches find have a vector in it:

- whoever changes entries, under the lock that every writer of entries shares, asks `differences`;
- whoever stores or removes vectors of texts locks the vault alone (`locks.hold_all`), so that no entry comes or goes,
  and notes what that changes;
- vectors given with entries are stored and removed while their entries are locked, and noted too.

Counts are by *level*, the number of zeros that the sample key of a vector begins with: a sample of a space is made of
the vectors of some levels and those above, so that the sums of their keys tell whether it is still the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from septet.postgres.store.packing import COLUMNS
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables import counts
from septet.postgres.tables.counts import NONE_NUMBERED, Counted, Numbered
from septet.postgres.tables.fragments import FINDABLE

if TYPE_CHECKING:
    from septet.model.spaces import Space
    from septet.postgres.store.transactions import PostgresReading, PostgresWriting
    from septet.postgres.store.vaults import VaultRow

__all__ = ["Change", "Covered", "Entry", "covered", "differences", "limit", "note", "note_given", "of", "wanted"]

#: Parts of the counts: how many entries have a vector, by ``space:level``, and the sums of its sample keys; and what a
#: part is numbered higher for memories.
VECTORS, SAMPLES, MEMORIES = 5, 6, 16
_PARTS = (VECTORS, SAMPLES, VECTORS + MEMORIES, SAMPLES + MEMORIES)
#: The entries themselves: rows of the part of texts.
_TEXTS = 0
LEVELS = 20
#: A sample has so many rows, or up to twice as many; see rust/vectors/sample.rs.
_ENOUGH = 256
_KEY_BITS = 32

_SPACES = "SELECT s.space, s.keyed_by FROM septet.spaces s WHERE s.vault = %s"
_THERE = """
SELECT v.space, v.key, v.bucket FROM unnest(%s::integer[], %s::text[], %s::integer[]) AS w (space, key, bucket)
JOIN septet.vectors v ON v.vault = %s AND v.space = w.space AND v.key = w.key COLLATE "C" AND v.bucket = w.bucket
"""
_HAVING = """
SELECT w.at, v.space, v.sample
FROM unnest(%s::integer[], %s::integer[], %s::text[], %s::integer[]) AS w (at, space, key, bucket)
JOIN septet.vectors v ON v.vault = %s AND v.space = w.space AND v.key = w.key COLLATE "C" AND v.bucket = w.bucket
"""
_COPIES = """
SELECT v.space, v.key, v.{column}, v.sample, v.generation FROM septet.vectors v
WHERE v.vault = %s AND v.space = ANY(%s::integer[]) AND v.key = ANY(%s::text[])
"""
# Another writer may copy the same text into the same bucket.
_COPY = """
INSERT INTO septet.vectors (vault, bucket, space, key, {column}, sample, generation)
VALUES (%s, %s, %s, %s, %b, %s, %s) ON CONFLICT DO NOTHING
"""
_OF_TEXTS = f"""
SELECT e.kind = 'memory', w.space, w.sample
FROM unnest(%s::integer[], %s::integer[], %s::text[], %s::bigint[]) AS w (space, bucket, key, sample)
JOIN septet.entries e ON e.vault = %s AND e.text_hash = w.key COLLATE "C" AND e.bucket = w.bucket AND {FINDABLE}
"""
_OF_GIVEN = f"""
SELECT e.kind = 'memory', w.space, w.sample
FROM unnest(%s::integer[], %s::integer[], %s::text[], %s::bigint[]) AS w (space, bucket, key, sample)
JOIN septet.entries e ON e.vault = %s AND e.bucket = w.bucket AND e.id = substr(w.key, strpos(w.key, ':') + 1)
    AND e.text_hash = split_part(w.key, ':', 1) AND {FINDABLE}
"""


class Entry(NamedTuple):
    """An entry that searches find, as far as vectors are concerned."""

    row: int
    memory: bool
    id: str
    text_hash: str


class Change(NamedTuple):
    """A vector that was stored or removed."""

    space: int
    bucket: int
    key: str
    sample: int


class Covered(NamedTuple):
    """How many of the entries that a search looks at have a vector in a space.

    Attributes:
        entries: those with one.
        missing: those without.
        population: entries that rows are sampled from.
        memories: whether memories are sampled too.
        shift: by how many halvings rows are sampled: those of `limit`.
        digest: the same as long as the sample is.
    """

    entries: int
    missing: int
    population: int
    memories: bool
    shift: int
    digest: tuple[int, ...]


def differences(
    write: PostgresWriting, gone: Sequence[Entry], come: Sequence[Entry], spaces: Mapping[int, str] | None = None
) -> dict[int, Counter[str]]:
    """Return by how much a write of entries changes the counts, by part; copy vectors of their texts to their buckets.

    Args:
        gone: what changed or went, as it was.
        come: what changed or came, as it is.
        spaces: by number what each is keyed by, where that is known.
    """
    same = set(gone).intersection(come)
    gone, come = [one for one in gone if one not in same], [one for one in come if one not in same]
    if not (gone or come):
        return {}
    if spaces is None:
        spaces = dict(write.sql.execute(_SPACES, (write.vault.number,)).fetchall())
    if not spaces:
        return {}
    texts = [space for space, keyed_by in spaces.items() if keyed_by == "text"]
    if texts and come:
        _carry(write, {(space, one.text_hash, write.vault.bucket_of_row(one.row)) for one in come for space in texts})
    every = [*gone, *come]
    named = [
        (at, space, f"{one.text_hash}:{one.id}" if keyed_by == "entry" else one.text_hash, one.row)
        for at, one in enumerate(every)
        for space, keyed_by in spaces.items()
    ]
    if not named:
        return {}
    ats, numbers, keys, rows = map(list, zip(*named))
    buckets = [*map(write.vault.bucket_of_row, rows)]
    changed: dict[int, Counter[str]] = {}
    (having,) = write.settle(Statement(_HAVING, (ats, numbers, keys, buckets, write.vault.number)))
    for at, space, sample in having:
        _count(changed, every[at].memory, space, sample, -1 if at < len(gone) else 1)
    return changed


def note(write: PostgresWriting, changes: Sequence[Change], sign: int) -> None:
    """Note that vectors of texts were stored (1) or removed (-1): for each entry that has the text in that bucket."""
    _note_changes(write, _OF_TEXTS, changes, sign)


def note_given(write: PostgresWriting, changes: Sequence[Change], sign: int) -> None:
    """Note that vectors given with entries were stored (1) or removed (-1), if the entries still have their texts."""
    _note_changes(write, _OF_GIVEN, changes, sign)


def wanted(vault: VaultRow, spaces: Sequence[Space]) -> Numbered:
    """Return what `covered` has to know of the counts."""
    if not spaces:
        return NONE_NUMBERED
    buckets = {bucket for space in spaces for bucket in _buckets(vault, space.space)}
    return Numbered(sorted({str(space.space) for space in spaces}), _PARTS, sorted(buckets))


def covered(counted: Counted, space: Space, *, memories: bool) -> Covered:
    """Return which entries have a vector in a space, given the counts that are `wanted` and all totals.

    Args:
        memories: searches look at memories too.
    """
    there = {m: counted.totals[m].rows if m in counted.totals else 0 for m in (0, MEMORIES)}
    vectors = {m: _levels(counted, VECTORS + m, space) for m in (0, MEMORIES)}
    samples = {m: _levels(counted, SAMPLES + m, space) for m in (0, MEMORIES)}
    # Memories must not move what entries are compared with.
    sampled = (0, MEMORIES) if memories or not there[0] else (0,)
    looked = (0, MEMORIES) if memories else (0,)
    entries = sum(sum(vectors[m]) for m in looked)
    population = sum(sum(vectors[m]) for m in sampled)
    shift = (population // _ENOUGH).bit_length() - 1 if population >= _ENOUGH else 0
    first = min(shift, LEVELS)
    digest = (shift, *(sum(own[m][first:]) for own in (vectors, samples) for m in sampled))
    missing = sum(there[m] for m in looked) - entries
    return Covered(entries, missing, population, len(sampled) > 1, shift, digest)


def of(read: PostgresReading | PostgresWriting, spaces: Sequence[Space], *, memories: bool) -> list[Covered]:
    """Return which entries have a vector in each of some spaces, in one round trip."""
    counted = counts.asked(read, {}, wanted(read.vault, spaces))
    return [covered(counted, space, memories=memories) for space in spaces]


def limit(shift: int) -> int:
    """Return the largest key of the vectors that are sampled."""
    return (1 << _KEY_BITS) - 1 >> shift


def _levels(counted: Counted, part: int, space: Space) -> list[int]:
    own = counted.counts.get(part, {})
    return [own.get(term, 0) for term in _terms(space.space)]


# Each search asks for these.
@lru_cache
def _terms(space: int) -> list[str]:
    return [f"{space}:{level}" for level in range(LEVELS + 1)]


@lru_cache
def _buckets(vault: VaultRow, space: int) -> list[int]:
    return [counts.bucket_of_term(vault, term) for term in _terms(space)]


def _note_changes(write: PostgresWriting, statement: str, changes: Sequence[Change], sign: int) -> None:
    if changes:
        spaces, buckets, keys, samples = map(list, zip(*changes))
        changed: dict[int, Counter[str]] = {}
        (found,) = write.settle(Statement(statement, (spaces, buckets, keys, samples, write.vault.number)))
        for memory, space, sample in found:
            _count(changed, memory, space, sample, sign)
        counts.add(write, changes[0].bucket, changed, {})


def _count(changed: dict[int, Counter[str]], memory: bool, space: int, sample: int, sign: int) -> None:
    """Add an entry to the counts, or take it away."""
    term = f"{space}:{min(_KEY_BITS - sample.bit_length(), LEVELS)}"
    part = VECTORS + (MEMORIES if memory else 0)
    changed.setdefault(part, Counter())[term] += sign
    changed.setdefault(part + SAMPLES - VECTORS, Counter())[term] += sign * sample


def _carry(write: PostgresWriting, wanted: set[tuple[int, str, int]]) -> None:
    """Store vectors of texts in buckets that lack them, where others have them; by space, key and bucket."""
    column, vault = COLUMNS[write.vault.vectors], write.vault.number
    lacking = wanted.difference(write.sql.execute(_THERE, (*map(list, zip(*wanted)), vault)).fetchall())
    if not lacking:
        return
    spaces, keys = {space for space, _, _ in lacking}, sorted({key for _, key, _ in lacking})
    found = write.sql.execute(_COPIES.format(column=column), (vault, sorted(spaces), keys), binary=True)
    there = {(space, key): more for space, key, *more in found}
    rows = []
    for space, key, bucket in sorted(lacking):
        if (space, key) in there:
            vector, sample, generation = there[space, key]
            rows.append((vault, bucket, space, key, vector, sample, generation))
    if rows:
        write.sql.cursor().executemany(_COPY.format(column=column), rows)
