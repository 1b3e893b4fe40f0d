"""Vector coverage: exact counts of entries with vectors, and copies of a text's vector in the buckets of its entries.

Two invariants hold after every write. In spaces keyed by text, each entry's bucket has the vector of its text if any
bucket has it, except in spaces being emptied. And for each space the counts equal the number of findable entries with
a vector in it:

- writers of entries, under their shared lock, call `differences`;
- writers of vectors of texts lock the vault exclusively (`locks.hold_all`), so that no entry is added or removed, and
  call `note`;
- vectors given with entries are stored and removed while their entries are locked, with `note(…, by_entry=True)`.

Counts are by *level*, the number of leading zeros of a vector's sample key. A sample of a space consists of the vectors
from some level up, so sums of their keys detect its changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from septet.postgres.store.packing import COLUMNS
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables import counts
from septet.postgres.tables.counts import NONE_NUMBERED, Numbered, PartCounts
from septet.postgres.tables.fragments import FINDABLE

if TYPE_CHECKING:
    from septet.model.vector import Space
    from septet.postgres.store.transactions import PostgresReading, PostgresWriting
    from septet.postgres.store.vaults import VaultRow

#: Parts of the counts by ``space:level``: the number of entries with a vector, and the sum of their sample keys; and
#: the offset of the parts of memories.
VECTORS, SAMPLES, MEMORIES = 5, 6, 16
_PARTS = (VECTORS, SAMPLES, VECTORS + MEMORIES, SAMPLES + MEMORIES)
LEVELS = 20
#: Minimum rows of a sample; it has less than twice as many. See rust/core/src/vectors/sample.rs.
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
_OF_VECTORS = f"""
SELECT e.kind = 'memory', w.space, w.sample
FROM unnest(%s::integer[], %s::integer[], %s::text[], %s::bigint[]) AS w (space, bucket, key, sample)
JOIN septet.entries e ON e.vault = %s AND {{keyed}} AND {FINDABLE}
"""
_OF_TEXTS = _OF_VECTORS.format(keyed='e.text_hash = w.key COLLATE "C" AND e.bucket = w.bucket')
_OF_GIVEN = _OF_VECTORS.format(
    keyed="e.bucket = w.bucket AND e.id = substr(w.key, strpos(w.key, ':') + 1) "
    "AND e.text_hash = split_part(w.key, ':', 1)"
)


class CoveredEntry(NamedTuple):
    """A findable entry and the key of its vectors."""

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


class SpaceCoverage(NamedTuple):
    """Coverage of the searched entries by vectors of a space.

    Attributes:
        entries: number of entries with a vector.
        missing: number of entries without one.
        population: number of entries that rows are sampled from.
        memories: True if memories are sampled too.
        shift: halvings of the population; see `limit`.
        digest: changes if the sample changes.
    """

    entries: int
    missing: int
    population: int
    memories: bool
    shift: int
    digest: tuple[int, ...]


def differences(
    write: PostgresWriting,
    removed: Sequence[CoveredEntry],
    added: Sequence[CoveredEntry],
    spaces: Mapping[int, str] | None = None,
) -> dict[int, Counter[str]]:
    """Return the differences of counts by a write of entries, by part; copy vectors of their texts to their buckets.

    Args:
        removed, added: entries, and changed ones before and after the change.
        spaces: the key of each space, by number, if known.
    """
    same = set(removed).intersection(added)
    removed, added = [e for e in removed if e not in same], [e for e in added if e not in same]
    if not (removed or added):
        return {}
    if spaces is None:
        spaces = dict(write.sql.execute(_SPACES, (write.vault.number,)).fetchall())
    if not spaces:
        return {}
    bucket_of, text_spaces = write.vault.bucket_of_row, [s for s, keyed_by in spaces.items() if keyed_by == "text"]
    if text_spaces and added:
        _copy(write, {(space, e.text_hash, bucket_of(e.row)) for e in added for space in text_spaces})
    entries = [*removed, *added]
    keyed = [
        (at, space, f"{e.text_hash}:{e.id}" if keyed_by == "entry" else e.text_hash, bucket_of(e.row))
        for at, e in enumerate(entries)
        for space, keyed_by in spaces.items()
    ]
    changed: dict[int, Counter[str]] = {}
    (having,) = write.settle(Statement(_HAVING, (*map(list, zip(*keyed)), write.vault.number)))
    for at, space, sample in having:
        _count(changed, entries[at].memory, space, sample, -1 if at < len(removed) else 1)
    return changed


def note(write: PostgresWriting, changes: Sequence[Change], sign: int, *, by_entry: bool = False) -> None:
    """Count stored (1) or removed (-1) vectors: of texts, for each entry with the text in that bucket; or given ones.

    Those given with entries count if the entries still have their texts.
    """
    if changes:
        statement = _OF_GIVEN if by_entry else _OF_TEXTS
        parameters = (*map(list, zip(*changes)), write.vault.number)
        changed: dict[int, Counter[str]] = {}
        (rows,) = write.settle(Statement(statement, parameters))
        for memory, space, sample in rows:
            _count(changed, memory, space, sample, sign)
        counts.add(write, changes[0].bucket, changed, {})


def needed(vault: VaultRow, spaces: Sequence[Space]) -> Numbered:
    """Return the counts that `covered` needs."""
    if not spaces:
        return NONE_NUMBERED
    buckets = {bucket for space in spaces for bucket in _buckets(vault, space.space)}
    return Numbered(sorted({str(space.space) for space in spaces}), _PARTS, sorted(buckets))


def covered(counted: PartCounts, space: Space, *, memories: bool) -> SpaceCoverage:
    """Return the coverage of a space, with memories if ``memories``, from the counts of `needed` and all totals."""
    rows = {m: counted.totals[m].rows if m in counted.totals else 0 for m in (0, MEMORIES)}
    vectors = {m: _levels(counted, VECTORS + m, space) for m in (0, MEMORIES)}
    samples = {m: _levels(counted, SAMPLES + m, space) for m in (0, MEMORIES)}
    # Memories must not change the sample that entries are compared with.
    sampled = (0, MEMORIES) if memories or not rows[0] else (0,)
    searched = (0, MEMORIES) if memories else (0,)
    entries = sum(sum(vectors[m]) for m in searched)
    population = sum(sum(vectors[m]) for m in sampled)
    shift = (population // _ENOUGH).bit_length() - 1 if population >= _ENOUGH else 0
    first = min(shift, LEVELS)
    digest = (shift, *(sum(levels[m][first:]) for levels in (vectors, samples) for m in sampled))
    missing = sum(rows[m] for m in searched) - entries
    return SpaceCoverage(entries, missing, population, len(sampled) > 1, shift, digest)


def of(read: PostgresReading | PostgresWriting, spaces: Sequence[Space], *, memories: bool) -> list[SpaceCoverage]:
    """Return the coverage of each space, in one round trip."""
    counted = counts.fetch(read, {}, needed(read.vault, spaces))
    return [covered(counted, space, memories=memories) for space in spaces]


def limit(shift: int) -> int:
    """Return the largest sample key in a sample."""
    return (1 << _KEY_BITS) - 1 >> shift


def _levels(counted: PartCounts, part: int, space: Space) -> list[int]:
    terms = counted.counts.get(part, {})
    return [terms.get(term, 0) for term in _terms(space.space)]


# Used by each search.
@lru_cache
def _terms(space: int) -> list[str]:
    return [f"{space}:{level}" for level in range(LEVELS + 1)]


@lru_cache
def _buckets(vault: VaultRow, space: int) -> list[int]:
    return [counts.bucket_of_term(vault, term) for term in _terms(space)]


def _count(changed: dict[int, Counter[str]], memory: bool, space: int, sample: int, sign: int) -> None:
    """Add an entry to the counts (1), or subtract it (-1)."""
    term = f"{space}:{min(_KEY_BITS - sample.bit_length(), LEVELS)}"
    part = VECTORS + (MEMORIES if memory else 0)
    changed.setdefault(part, Counter())[term] += sign
    changed.setdefault(part + SAMPLES - VECTORS, Counter())[term] += sign * sample


def _copy(write: PostgresWriting, places: set[tuple[int, str, int]]) -> None:
    """Copy vectors of texts from other buckets to those that lack them, by space, key and bucket."""
    column, vault = COLUMNS[write.vault.vectors], write.vault.number
    lacking = places.difference(write.sql.execute(_THERE, (*map(list, zip(*places)), vault)).fetchall())
    if not lacking:
        return
    spaces, keys, _ = (sorted({*values}) for values in zip(*lacking))
    copies = write.sql.execute(_COPIES.format(column=column), (vault, spaces, keys), binary=True)
    stored = {(space, key): values for space, key, *values in copies}
    rows = [
        (vault, bucket, space, key, *stored[space, key])
        for space, key, bucket in sorted(lacking)
        if (space, key) in stored
    ]
    if rows:
        write.sql.cursor().executemany(_COPY.format(column=column), rows)
