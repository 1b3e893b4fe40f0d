"""Whether postings and counts are those of the entries: what `septet doctor` asks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from septet.errors import StoreError
from septet.postgres.store.analysis import GRAMS, MEMORIES, TEXTS, TFIDF, TRIGRAMS, WORDS, Part, analysed, differences
from septet.postgres.store.transactions import PostgresReading
from septet.postgres.tables import blocks
from septet.postgres.tables.counts import FEEDBACK, Counted, everything
from septet.postgres.tables.indexing import Indexed, indexed
from septet.postgres.tables.postings import expected

__all__ = ["faults", "rebuilt"]

_OF_TEXTS = (TEXTS, GRAMS, TRIGRAMS, TFIDF, WORDS)
_PARTS = (*_OF_TEXTS, *(part + MEMORIES for part in _OF_TEXTS), FEEDBACK)
#: Entries that are analysed at once.
PAGE_ROWS = 1_000

_LIVE = (
    "SELECT e.row, e.live, e.kind, e.parent, e.id, e.title, e.description, e.context, e.tags, e.grams "
    "FROM septet.entries e WHERE e.vault = %s AND e.live ORDER BY e.row"
)
_POSTINGS = (
    "SELECT p.row, p.part, p.term, p.bucket, p.memory, p.id, p.title, p.description, p.context, p.tags, p.tokens "
    "FROM unnest(%s::bigint[]) AS w (row) JOIN septet.postings p "
    "ON p.vault = %s AND p.bucket = %s + (w.row & 1023)::integer AND p.row = w.row"
)
_NUMBER = "SELECT count(*) FROM septet.postings WHERE vault = %s"
_FEEDBACK = "SELECT action, count(*) FROM septet.feedback WHERE vault = %s GROUP BY action"


def rebuilt(read: PostgresReading) -> Counted:
    """Return the counts that a vault should have, made anew from all its entries."""
    return _checked(read)[0]


def faults(read: PostgresReading) -> list[str]:
    """Return what is wrong with postings and counts; empty when they are sound. All entries are read."""
    wanted, found = _checked(read)
    stored = everything(read)
    for part in _PARTS:
        if wanted.totals.get(part) != stored.totals.get(part):
            found.append(f"part {part} has the totals {stored.totals.get(part)} for {wanted.totals.get(part)}")
    for part in _PARTS:
        own, counted = wanted.counts.get(part, {}), stored.counts.get(part, {})
        wrong = [term for term in {**own, **counted} if own.get(term, 0) != counted.get(term, 0)]
        if wrong:
            found.append(f"part {part} has wrong counts of {len(wrong)} terms")
    return found


def _checked(read: PostgresReading) -> tuple[Counted, list[str]]:
    """Return the counts of all entries, and which postings are wrong."""
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    totals: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    postings, found = 0, []
    in_blocks = [0, 0]
    for page in _pages(read):
        parts = analysed([one.texts for one in page])
        memories = np.fromiter((one.memory for one in page), dtype=bool, count=len(page))
        for number, part in parts.items():
            for more, which in ((0, ~memories), (MEMORIES, memories)):
                terms, total = differences(part, which.astype(np.int64))
                counts[number + more].update(terms)
                totals[number + more] = [one + other for one, other in zip(totals[number + more], total)]
        rows = np.fromiter((one.row for one in page), dtype=np.int64, count=len(page))
        in_blocks = [one + other for one, other in zip(in_blocks, blocks.checksum(parts, rows, memories))]
        wrong, here = _wrong_postings(read, page, parts[TEXTS], parts[GRAMS])
        postings += here
        if wrong:
            found.append(
                f"{wrong} entries from row {page[0].row} to {page[-1].row} have other postings than their texts"
            )
    stored = read.sql.execute(_NUMBER, (read.vault.number,)).fetchone()
    if stored is not None and stored[0] != postings:
        found.append(f"there are {stored[0]} postings for {postings}")
    try:
        sound = blocks.stored_checksum(read) == (in_blocks[0], in_blocks[1] % 2**64)
    except StoreError as fault:
        found.append(str(fault))
    else:
        if not sound:
            found.append("blocks have other postings than the texts of the entries")
    for action, number in read.sql.execute(_FEEDBACK, (read.vault.number,)):
        counts[FEEDBACK][action] = number
        totals[FEEDBACK][0] += number
    return Counted.of(counts, totals), found


def _wrong_postings(read: PostgresReading, page: Sequence[Indexed], texts: Part, grams: Part) -> tuple[int, int]:
    """Return how many entries have other postings than they should have, and how many postings there should be."""
    rows = [one.row for one in page]
    wanted = {*expected(read.vault, texts, grams, rows, [one.memory for one in page])}
    stored = {*read.sql.execute(_POSTINGS, (rows, read.vault.number, read.vault.first_bucket))}
    return len({posting[0] for posting in wanted ^ stored}), len(wanted)


def _pages(read: PostgresReading) -> Iterator[list[Indexed]]:
    with read.sql.cursor(name="septet_check") as cursor:
        cursor.execute(_LIVE, (read.vault.number,))
        while page := cursor.fetchmany(PAGE_ROWS):
            found = [one for values in page if (one := indexed(*values)) is not None]
            if found:
                yield found
