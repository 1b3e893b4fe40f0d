"""Bulk loading from async iterables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from septet.errors import BatchError, EntryError
from septet.model.entry import Entry
from septet.vault.alike import KEEP, SIMILARITY
from septet.vault.batch import BATCH_BYTES, BATCH_ROWS, stopped
from septet.watch.progress import Progress, Report, shown_progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from septet.model.fields import EntryItem, FrameLike, OnSimilar, Split

#: Items between yields to the event loop, in case the source never waits.
PAUSE = 64


class Feeding:
    """A store with `add_many` for async iterables too."""

    #: Stores the items of a plain iterable.
    _add_many: Callable[..., Awaitable[list[str]]]

    async def add_many(
        self,
        items: Iterable[Entry | EntryItem | Mapping[str, object]]
        | AsyncIterable[Entry | EntryItem | Mapping[str, object]]
        | FrameLike,
        *,
        vectors: ArrayLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        progress: Progress | None = None,
        on_similar: OnSimilar = KEEP,
        similarity: float = SIMILARITY,
    ) -> list[str]:
        """Store many entries, also from an async iterable; see `Vault.add_many`.

        Raises:
            BatchError: an item could not be stored, or ``items`` raised; ``written`` is the number of stored entries.
            EntryError: ``progress`` is not a plain function, or ``vectors`` is passed with an async iterable.
            Unreachable: a server did not answer; entries of earlier calls are stored.
        """
        options: Any = {"split": split, "on_similar": on_similar, "similarity": similarity}
        if not isinstance(items, AsyncIterable):
            return await self._add_many(items, vectors=vectors, model=model, progress=progress, **options)
        if vectors is not None or model is not None:
            raise EntryError("vectors= requires a list or a frame of items: make a list first")
        with shown_progress(progress, "add_many", "entries", EntryError) as report:
            return await _add_each(items, self._add_many, report, options)


async def _add_each(
    source: AsyncIterable[Any],
    add_many: Callable[..., Awaitable[list[str]]],
    report: Report | None,
    options: Mapping[str, Any],
) -> list[str]:
    """Store the items of an async iterable by transactions; return the ids. No thread is blocked by the source."""
    ids: list[str] = []

    async def store(items: list[Any]) -> None:
        before = len(ids)
        shifted = None if report is None else (lambda stored, _: report(before + stored, None))
        try:
            ids.extend(await add_many(items, progress=shifted, **options))
        except BatchError as fault:
            if not before or not isinstance(fault.__cause__, Exception):
                raise
            raise stopped(before + fault.written, before + fault.index, fault.__cause__) from fault.__cause__

    items: list[Any] = []
    size_bytes = 0
    try:
        async for item in source:
            items.append(item)
            size_bytes += _size(item)
            if len(items) == BATCH_ROWS or size_bytes >= BATCH_BYTES:
                full, items, size_bytes = items, [], 0
                await store(full)
            if len(items) % PAUSE == 0:
                await asyncio.sleep(0)
    except BatchError:
        raise
    except Exception as fault:
        # The source may raise anything; the caller must learn how many are stored.
        raise stopped(len(ids), len(ids) + len(items), fault) from fault
    if items:
        await store(items)
    return ids


def _size(item: object) -> int:
    """Return the approximate size of an item in bytes; 0 for other values, which `add_many` refuses."""
    if isinstance(item, Entry):
        return len(item.title) + len(item.description) + len(item.context)
    if not isinstance(item, dict):
        return 0
    return sum(len(value) if isinstance(value, str) else getattr(value, "nbytes", 0) for value in item.values())
