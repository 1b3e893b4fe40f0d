"""Estimates of embedding runs, before they send and pay."""

from __future__ import annotations

from septet.embedding.cache import namespace_of
from septet.embedding.embedder import usage_of
from septet.embedding.pipeline import Pipeline, Progress, job_notes
from septet.embedding.report import EmbedEstimate, EmbedReport, Tally


def estimate(pipeline: Pipeline, progress: Progress | None, *, batch: bool) -> EmbedReport:
    """Return the report of a pipeline's dry run. Sends and writes nothing.

    Long texts that a change of pooling makes a run embed again are not counted: a run finds them by removing them.

    Args:
        progress: called after each batch with the numbers of processed texts and of all texts.
        batch: estimate the price of the provider's batch API.
    """
    embedder, tally, after = pipeline.embedder, Tally(), ""
    usage = usage_of(embedder, (), batch=batch)
    processed = cached = 0
    with pipeline.store.reading() as read:
        total = pipeline.count_missing(read, pipeline.space(read, tally))
        notes = job_notes(read.tables.jobs.count_texts(read, pipeline.model))
    while True:
        with pipeline.store.reading() as read:
            page = pipeline.next_batch(read, tally, after)
        if not page:
            break
        after = page[-1][0]
        texts = [text for _, text in page]
        if pipeline.cache is not None and embedder.dimensions is not None:
            known = pipeline.cache.get(namespace_of(embedder, "document"), embedder.dimensions, texts)
            texts = [text for text in texts if text not in known]
        cached += len(page) - len(texts)
        processed += len(page)
        usage = usage.plus(usage_of(embedder, texts, batch=batch))
        if progress is not None:
            progress(processed, max(total, processed))
    return EmbedReport(
        model=pipeline.model,
        dimensions=embedder.dimensions,
        embedded=0,
        cached=0,
        failed=0,
        missing=processed,
        requests=0,
        notes=(*notes, *(() if pipeline.cache is None else pipeline.cache.notes)),
        estimate=EmbedEstimate(texts=processed - cached, cached=cached, **usage._asdict()),
    )
