"""Check postings and counts against the entries, for `septet doctor`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from septet.errors import StoreError
from septet.postgres.store.analysis import GRAMS, MEMORIES, TEXTS, TFIDF, TRIGRAMS, WORDS, analysed, differences
from septet.postgres.store.transactions import PostgresReading
from septet.postgres.tables import blocks
from septet.postgres.tables.counts import FEEDBACK, PartCounts, everything
from septet.postgres.tables.fragments import numbered, scalar
from septet.postgres.tables.indexing import INDEXED, IndexedEntry, indexed
from septet.postgres.tables.postings import expected

_OF_TEXTS = (TEXTS, GRAMS, TRIGRAMS, TFIDF, WORDS)
_PARTS = (*_OF_TEXTS, *(part + MEMORIES for part in _OF_TEXTS), FEEDBACK)
#: Maximum entries per page.
PAGE_ROWS = 1_000

_LIVE = f"SELECT {INDEXED} FROM septet.entries e WHERE e.vault = %s AND e.live ORDER BY e.row"
_POSTINGS = (
    "SELECT p.row, p.part, p.term, p.bucket, p.memory, p.id, p.title, p.description, p.context, p.tags, p.tokens "
    "FROM unnest(%s::bigint[]) AS w (row) JOIN septet.postings p "
    "ON p.vault = %s AND p.bucket = %s + (w.row & 1023)::integer AND p.row = w.row"
)
_NUMBER = "SELECT count(*) FROM septet.postings WHERE vault = %s"
_FEEDBACK = "SELECT action, count(*) FROM septet.feedback WHERE vault = %s GROUP BY action"


def faults(read: PostgresReading) -> list[str]:
    """Return the faults of postings and counts, empty if there are none. Reads all entries."""
    right, faults = _check(read)
    stored = everything(read)
    for part in _PARTS:
        if right.totals.get(part) != stored.totals.get(part):
            faults.append(f"part {part} has totals {stored.totals.get(part)}, expected {right.totals.get(part)}")
    for part in _PARTS:
        terms, counted = right.counts.get(part, {}), stored.counts.get(part, {})
        wrong = [term for term in {**terms, **counted} if terms.get(term, 0) != counted.get(term, 0)]
        if wrong:
            faults.append(f"part {part} has wrong counts for {len(wrong)} terms")
    return faults


def _check(read: PostgresReading) -> tuple[PartCounts, list[str]]:
    """Return the counts of all entries, and the faults of postings."""
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    totals: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    postings, faults = 0, []
    checksum = [0, 0]
    for page in _pages(read):
        parts = analysed([entry.texts for entry in page])
        memories = np.fromiter((entry.memory for entry in page), dtype=bool, count=len(page))
        for number, part in parts.items():
            for offset, mask in ((0, ~memories), (MEMORIES, memories)):
                terms, total = differences(part, mask.astype(np.int64))
                counts[number + offset].update(terms)
                totals[number + offset] = [a + b for a, b in zip(totals[number + offset], total)]
        rows = np.fromiter((entry.row for entry in page), dtype=np.int64, count=len(page))
        checksum = [a + b for a, b in zip(checksum, blocks.checksum(parts, rows, memories))]
        right = {*expected(read.vault, parts[TEXTS], parts[GRAMS], rows.tolist(), memories.tolist())}
        stored = {*read.sql.execute(_POSTINGS, numbered(read.vault, rows))}
        postings += len(right)
        if wrong := {row for row, *_ in right ^ stored}:
            faults.append(
                f"postings of {len(wrong)} entries in rows {page[0].row} to {page[-1].row} do not match their texts"
            )
    if (number := scalar(read, _NUMBER, (read.vault.number,))) != postings:
        faults.append(f"{number} postings are stored, expected {postings}")
    try:
        sound = blocks.stored_checksum(read) == (checksum[0], checksum[1] % 2**64)
    except StoreError as fault:
        faults.append(str(fault))
    else:
        if not sound:
            faults.append("blocks of postings do not match the texts of the entries")
    for action, number in read.sql.execute(_FEEDBACK, (read.vault.number,)):
        counts[FEEDBACK][action] = number
        totals[FEEDBACK][0] += number
    return PartCounts.of(counts, totals), faults


def _pages(read: PostgresReading) -> Iterator[list[IndexedEntry]]:
    with read.sql.cursor(name="septet_check") as cursor:
        cursor.execute(_LIVE, (read.vault.number,))
        while page := cursor.fetchmany(PAGE_ROWS):
            entries = [entry for values in page if (entry := indexed(*values)) is not None]
            if entries:
                yield entries
