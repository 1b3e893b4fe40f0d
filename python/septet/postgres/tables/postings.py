"""Rows of `postings`: term frequencies by entry and column, written by binary COPY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from septet.postgres.store.analysis import GRAMS, TEXTS, PartTerms, PostingOrder
from septet.postgres.store.transactions import PostgresWriting
from septet.postgres.store.vaults import STRIDE, VaultRow

#: Columns of frequencies; those of grams are in the second.
COLUMNS = ("id", "title", "description", "context", "tags")
_GRAMS_COLUMN = COLUMNS.index("title")
#: Maximum entries to insert with the next round trip rather than by COPY, which takes two.
FEW = 48
#: Rows per block of COPY.
_BLOCK = 50_000

_COPY = (
    "COPY septet.postings (vault, bucket, part, term, row, memory, id, title, description, context, tags, tokens) "
    "FROM STDIN (FORMAT BINARY)"
)
_INSERT = (
    f"INSERT INTO septet.postings (vault, part, bucket, row, memory, term, {', '.join(COLUMNS)}, tokens) "
    "SELECT %s::integer, %s::smallint, w.* FROM unnest(%s::integer[], %s::bigint[], %s::boolean[], %s::text[], "
    "%s::integer[], %s::integer[], %s::integer[], %s::integer[], %s::integer[], %s::integer[]) AS w"
)
_REMOVE = (
    "DELETE FROM septet.postings p USING unnest(%s::integer[], %s::bigint[]) AS w (bucket, row) "
    "WHERE p.vault = %s AND p.bucket = w.bucket AND p.row = w.row"
)
#: Fields of a row before and after its term, each preceded by its length.
_HEAD = np.dtype([("fields", ">i2"), ("n1", ">i4"), ("vault", ">i4"), ("n2", ">i4"), ("bucket", ">i4"), ("n3", ">i4"),
                  ("part", ">i2")])  # fmt: skip
_TAIL = np.dtype([("n1", ">i4"), ("row", ">i8"), ("n2", ">i4"), ("memory", "u1"), ("numbers", ">i4", (6, 2))])
_FIELDS = 12
_BEGIN, _END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


def remove(write: PostgresWriting, rows: Sequence[int]) -> None:
    """Remove the postings of entries."""
    write.later(_REMOVE, ([write.vault.bucket_of_row(row) for row in rows], list(rows), write.vault.number))


def ordered(part: PartTerms, buckets: NDArray[np.int64]) -> PostingOrder:
    """Return the order of the postings of the last ``n`` entries of a part; ``buckets`` ``(n,)`` are theirs."""
    first = len(part.has) - len(buckets)
    pairs = np.flatnonzero(part.entry >= first)
    names = [len(data).to_bytes(4, "big") + data for data in map(str.encode, part.terms)]
    ranks = np.empty(len(names), dtype=np.int64)
    # The "C" collation sorts by UTF-8 bytes, thus by code point.
    ranks[sorted(range(len(names)), key=part.terms.__getitem__)] = np.arange(len(names))
    entries = part.entry[pairs] - first
    # Rows of new entries ascend in this order. Buckets are below 2^10, so keys fit into 63 bits.
    keys = ((buckets % STRIDE)[entries] * len(names) + ranks[part.term[pairs]]) * len(buckets) + entries
    return PostingOrder(names, pairs[np.argsort(keys)])


def put(
    write: PostgresWriting,
    texts: PartTerms,
    grams: PartTerms,
    rows: NDArray[np.int64],
    memories: NDArray[np.bool_],
    orders: tuple[PostingOrder, PostingOrder] | None = None,
) -> None:
    """Write the postings of the last ``n`` entries of both parts, with their rows, and True for memories ``(n,)``."""
    if len(rows) <= FEW:
        for part, number in ((texts, TEXTS), (grams, GRAMS)):
            _insert(write, part, number, rows, memories)
        return
    with write.sql.cursor().copy(_COPY) as copy:
        copy.write(_BEGIN)
        for at, (part, number) in enumerate(((texts, TEXTS), (grams, GRAMS))):
            order = ordered(part, rows % STRIDE) if orders is None else orders[at]
            for block in _blocks(part, number, order, write.vault.number, rows, memories):
                copy.write(block)
        copy.write(_END)


def expected(
    vault: VaultRow, texts: PartTerms, grams: PartTerms, rows: Sequence[int], memories: Sequence[bool]
) -> Iterator[tuple[object, ...]]:
    """Yield the expected postings of entries: row, part, term, bucket, memory, the columns, tokens."""
    for part, number in ((texts, TEXTS), (grams, GRAMS)):
        for entry, term, tf in zip(part.entry.tolist(), part.term.tolist(), part.counts.tolist()):
            columns = tf if number == TEXTS else [tf[0] if at == _GRAMS_COLUMN else 0 for at in range(len(COLUMNS))]
            row = rows[entry]
            tokens = int(part.tokens[entry])
            yield row, number, part.terms[term], vault.bucket_of_row(row), memories[entry], *columns, tokens


def _insert(
    write: PostgresWriting, part: PartTerms, number: int, rows: NDArray[np.int64], memories: NDArray[np.bool_]
) -> None:
    first = len(part.has) - len(rows)
    pairs = np.flatnonzero(part.entry >= first)
    if not len(pairs):
        return
    entries = part.entry[pairs] - first
    numbers = np.zeros((len(COLUMNS) + 1, len(pairs)), dtype=np.int64)
    numbers[_columns(number)] = part.counts[pairs].T
    numbers[-1] = part.tokens[part.entry[pairs]]
    vault, numbered = write.vault.number, rows[entries]
    buckets = vault * STRIDE + numbered % STRIDE
    terms = [part.terms[at] for at in part.term[pairs].tolist()]
    columns = (buckets.tolist(), numbered.tolist(), memories[entries].tolist(), terms, *numbers.tolist())
    write.later(_INSERT, (vault, number, *columns))


def _blocks(
    part: PartTerms, number: int, order: PostingOrder, vault: int, rows: NDArray[np.int64], memories: NDArray[np.bool_]
) -> Iterator[bytes]:
    """Yield rows of a part in the format of COPY."""
    first = len(part.has) - len(rows)
    buckets = vault * STRIDE + rows % STRIDE
    for start in range(0, len(order.pairs), _BLOCK):
        pairs = order.pairs[start : start + _BLOCK]
        entries = part.entry[pairs] - first
        head, tail = np.zeros(len(pairs), _HEAD), np.zeros(len(pairs), _TAIL)
        head["fields"], head["vault"], head["bucket"], head["part"] = _FIELDS, vault, buckets[entries], number
        head["n1"], head["n2"], head["n3"] = 4, 4, 2
        tail["row"], tail["memory"], tail["n1"], tail["n2"] = rows[entries], memories[entries], 8, 1
        tail["numbers"][:, :, 0] = 4
        tail["numbers"][:, _columns(number), 1] = part.counts[pairs]
        tail["numbers"][:, len(COLUMNS), 1] = part.tokens[first + entries]
        spelt = [order.names[at] for at in part.term[pairs].tolist()]
        yield b"".join(chain.from_iterable(zip(_bytes(head), spelt, _bytes(tail))))


def _columns(part: int) -> slice:
    """Return the columns that have the frequencies of a part."""
    return slice(len(COLUMNS)) if part == TEXTS else slice(_GRAMS_COLUMN, _GRAMS_COLUMN + 1)


def _bytes(records: NDArray[np.void]) -> list[bytes]:
    """Return each record as bytes."""
    items: list[bytes] = records.view(f"V{records.dtype.itemsize}").tolist()
    return items
