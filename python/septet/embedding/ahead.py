"""Vectors ahead of their entries: staged texts, which are about to take the place of others, are embedded before."""

from __future__ import annotations

from collections.abc import Callable

from septet.embedding.pipeline import Pipeline
from septet.embedding.report import Tally
from septet.storage.tables import claims, staged

__all__ = ["embed_staged"]


def embed_staged(pipeline: Pipeline, *, stopped: Callable[[], bool] = lambda: False) -> Tally:
    """Embed staged texts, as `Pipeline.run` embeds those of entries, and return what was done.

    Texts that others have claimed are left to them. It ends early when the provider refuses, or five batches in a row
    have failed: what is staged does not wait for a provider that is away, and is embedded when it has become entries.

    Args:
        stopped: called before each batch; True ends it.

    Raises:
        StoreError: the store cannot be read or written.
    """
    tally, owner = Tally(), claims.new_owner()
    if not pipeline.begun():
        return tally
    pipeline.prepare(tally, begin=False)
    size = max(1, min(pipeline.batch_texts, pipeline.embedder.batch_size))
    after = -1
    try:
        while not stopped() and tally.stopped_by is None:
            with pipeline.store.reading() as read:
                last, page = staged.texts_of(read, pipeline.space(read, tally), after=after, limit=size)
            if last == after:
                break
            after = last
            mine = set(pipeline.claim(tally, owner, list(dict(page))))
            batch = [(key, text) for key, text in dict(page).items() if key in mine and key not in tally.failed]
            if batch:
                pipeline.fill(tally, batch)
    finally:
        pipeline.release(owner)
    return tally
