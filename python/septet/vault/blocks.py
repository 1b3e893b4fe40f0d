"""Bulk loading in blocks: lists and frames of plain rows, with a matrix of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from septet._core import unit_rows
from septet.errors import SeptetError, VectorError
from septet.model.vector import MOST, MOST_DIMENSIONS, numbers
from septet.store.rows import EntryRow
from septet.vault.batch import BATCH_ROWS, Batch, item_fields, stopped, words_a_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A transaction is a whole number of blocks.
BLOCK = 500


def checked_matrix(vectors: object, count: int) -> NDArray[np.generic]:
    """Return vectors as a numeric matrix of ``count`` rows; values are not checked.

    Raises:
        VectorError: a wrong shape, or not numeric.
    """
    expected = f"an array of shape ({count}, d), a vector for each entry"
    matrix = numbers(vectors, "vectors", expected)  # type: ignore[arg-type]
    if matrix.ndim != 2 or len(matrix) != count or not 0 < matrix.shape[1] <= MOST_DIMENSIONS:
        at_most = f"of at most {MOST_DIMENSIONS:,} numbers"
        raise VectorError(f"vectors has shape {matrix.shape}: wanted {expected}, {at_most}")
    return matrix


def add_blocks(
    items: Any,
    matrix: NDArray[np.generic] | None,
    model: str | None,
    *,
    words: int | None,
    clock: Callable[[], float],
    write: Callable[[Batch], None],
    prepare: Callable[[Sequence[EntryRow]], object] | None,
) -> Iterator[list[str]]:
    """Store items with their vectors; yield the ids of each transaction.

    A block of plain rows is checked by one native call per row; other blocks take the checks of single entries.

    Args:
        items: a list, or another sequence with slices and a length.
        prepare: see `septet.store.protocol.Store`; a thread prepares the next batches during a write.

    Raises:
        BatchError: as `septet.Vault.add_many`.
    """
    batches = _batches(items, matrix, model, words, clock)
    if prepare is not None and len(items) > BATCH_ROWS:
        from septet.system.threads import worked_ahead

        batches = worked_ahead(partial(Batch.prepare, prepare=prepare), batches, 2, discard=_keep)
    written = 0
    for batch in batches:
        try:
            write(batch)
        except SeptetError as fault:
            raise stopped(written, written, fault) from fault
        written += len(batch.rows)
        yield [row.id for row in batch.rows]


def each_of(items: Any) -> Iterator[Any]:
    """Yield the items of a list, or of another sequence with slices and a length."""
    for start in range(0, len(items), BLOCK):
        yield from items[start : start + BLOCK]


def gather_item(batch: Batch, item: object, row: Any, model: Any, words: int | None, now: float) -> int | None:
    """Append an item to a batch, with its row of the matrix or None; return the maximum words per part.

    Raises:
        EntryError: it cannot be stored.
        VectorError: its vector cannot be stored.
    """
    fields = item_fields(item)
    vector, own_model = fields.pop("vector", None), fields.pop("model", None)
    if row is not None and (vector is not None or own_model is not None):
        raise VectorError("it has a vector or a model of its own beside vectors=: leave one out")
    if row is not None:
        vector, own_model = row, model
    item_words = words_a_part(fields.pop("split")) if "split" in fields else words
    batch.gather(fields, vector, own_model, now=now, words=item_words)
    return item_words


def _batches(
    items: Any, matrix: NDArray[np.generic] | None, model: str | None, words: int | None, clock: Callable[[], float]
) -> Iterator[Batch]:
    """Yield one batch per transaction."""
    before, batch = 0, Batch()
    for start in range(0, len(items), BLOCK):
        block = items[start : start + BLOCK]
        rows = None if matrix is None else matrix[start : start + BLOCK]
        vectors = None if rows is None else _float32(rows)
        plain = words is None and (rows is None or vectors is not None)
        if not plain or not batch.take_block(block, vectors, model, now=clock()):
            for number, item in enumerate(block):
                try:
                    gather_item(batch, item, None if rows is None else rows[number], model, words, clock())
                except Exception as fault:
                    # An item may raise anything; the caller must learn how many are stored.
                    raise stopped(before, start + number, fault) from fault
                if batch.full:
                    before += len(batch.rows)
                    yield batch
                    batch = Batch()
        if batch.full:
            before += len(batch.rows)
            yield batch
            batch = Batch()
    if batch.rows:
        yield batch


def _keep(batch: Batch) -> None:
    """Discard a batch: nothing to release."""


def _float32(rows: NDArray[np.generic]) -> NDArray[np.float32] | None:
    """Return rows as float32; None if a row is not a valid vector, for the checks of single entries to report."""
    with np.errstate(all="ignore"):
        if not np.abs(rows).max() <= MOST:
            return None
        values = np.array(rows, dtype=np.float32, order="C")
    try:
        unit_rows(values)
    except ValueError:
        return None
    return values
