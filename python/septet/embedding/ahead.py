"""Embeds staged texts before they become entries."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, cast

from septet.embedding.pipeline import Pipeline
from septet.embedding.report import Tally
from septet.sqlite.tables import staged
from septet.store.owners import new_owner

if TYPE_CHECKING:
    from septet.sqlite.store.store import SqliteReading


def embed_staged(
    pipeline: Pipeline, *, stopped: Callable[[], bool] = lambda: False, skip: Collection[str] = ()
) -> Tally:
    """Embed staged texts, as `Pipeline.run` embeds those of entries, and return the counters of the run.

    Skips texts claimed by others. Ends early if the provider refuses, or five batches in a row have failed: the
    remaining texts are embedded after they have become entries.

    Args:
        stopped: called before each batch; True ends it.
        skip: hashes of texts to skip.

    Raises:
        StoreError: the store cannot be read or written.
    """
    tally, owner = Tally(), new_owner()
    if not pipeline.begun():
        return tally
    pipeline.prepare(tally, begin=False)
    batching = pipeline.of_embedder
    after = -1
    try:
        while not stopped() and tally.stopped_by is None:
            with pipeline.store.reading() as read:
                space = pipeline.space(read, tally)
                # Staged texts are chunks of folders, which only a store in a file follows.
                after, page = staged.texts_of(cast("SqliteReading", read), space, after=after, limit=batching.texts)
            if not page:
                break
            texts = {key: text for key, text in page if not (key in tally.failed or key in skip)}
            claimed = pipeline.claim(tally, owner, list(texts)) if texts else []
            for at, run in enumerate(batching.runs([texts[key] for key in claimed])):
                # The loop has checked `stopped` for the first batch of the page.
                if tally.stopped_by is None and not (at and stopped()):
                    pipeline.fill(tally, [(key, texts[key]) for key in claimed[run.start : run.stop]])
    finally:
        pipeline.release(owner)
    return tally
