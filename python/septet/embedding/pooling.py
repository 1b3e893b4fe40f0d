"""Pooling: vectors of long texts that were made otherwise leave their space once, and are made anew."""

from __future__ import annotations

from typing import Protocol, cast

from septet.embedding.embedder import Embedder, pooling_of, space_name
from septet.errors import EmbeddingError
from septet.store.protocol import Store

__all__ = ["forget_long"]

_PAGE = 1_000


class _Measures(Protocol):
    def is_long(self, text: str) -> bool: ...


def forget_long(store: Store, embedder: Embedder, dimensions: int | None) -> int:
    """Remove the vectors of long texts from an embedder's space unless they were pooled as it pools; return how many.

    The space notes how it is pooled, so this reads texts once. Vectors of texts that no entry has any more go too:
    nobody can say how long those were.

    Raises:
        StoreError: the store cannot be read or written.
    """
    pooling = pooling_of(embedder)
    if pooling is None:
        return 0
    with store.reading() as read:
        space = read.tables.texts.find_space(read, space_name(embedder), dimensions)
        if space is None or read.tables.texts.pooling(read, space) == pooling.name:
            return 0
    long: list[str] = []
    after, page = "", [("", "")]
    while page:
        with store.reading() as read:
            page = read.tables.texts.embedded(read, space, over_bytes=pooling.whole_bytes, after=after, limit=_PAGE)
        after = page[-1][0] if page else after
        try:
            long += [key for key, text in page if cast("_Measures", embedder).is_long(text)]
        except EmbeddingError:
            # A damaged model: embedding will say so, and the next run comes here again.
            return 0
    with store.writing() as write:
        # Another process may have done it meanwhile, and embedded some anew.
        if write.tables.texts.pooling(write, space) == pooling.name:
            return 0
        write.tables.texts.forget(write, space, long)
        write.tables.texts.set_pooling(write, space, pooling.name)
    return len(long)
