"""Pooling: removes the vectors of long texts with an outdated pooling, for the pipeline to rebuild."""

from __future__ import annotations

from typing import Protocol, cast

from septet.embedding.embedder import Embedder, pooling_of, space_name
from septet.errors import EmbeddingError
from septet.store.protocol import Store

__all__ = ["forget_long"]

_PAGE = 1_000


class _LengthCheck(Protocol):
    def is_long(self, text: str) -> bool: ...


def forget_long(store: Store, embedder: Embedder, dimensions: int | None) -> int:
    """Remove the vectors of long texts from an embedder's space if its pooling has changed. Return their number.

    The space records its pooling, so texts are read once per change. Vectors of deleted texts are removed too, because
    their lengths are unknown.

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
            long += [key for key, text in page if cast("_LengthCheck", embedder).is_long(text)]
        except EmbeddingError:
            # The model is damaged: embedding reports it, and the next run retries.
            return 0
    with store.writing() as write:
        # Another process may have removed them since, and re-embedded some.
        if write.tables.texts.pooling(write, space) == pooling.name:
            return 0
        write.tables.texts.forget(write, space, long)
        write.tables.texts.set_pooling(write, space, pooling.name)
    return len(long)
