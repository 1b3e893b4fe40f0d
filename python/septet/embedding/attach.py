"""Adds query vectors to a plan: embeds the query once per model, and gives each tier the vector of its space."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import replace
from typing import NamedTuple

from septet.embedding.embedder import MULTILINGUAL, Kind, unknown_script_of
from septet.embedding.embeddings import Embeddings
from septet.embedding.query.query_embedder import WITHOUT, QueryEmbedder
from septet.embedding.query.selection import SpaceSelection
from septet.errors import SeptetError
from septet.model.results import Reranking
from septet.model.vector import QueryVector
from septet.notes import Note
from septet.query.plan import QueryEmbedding, SearchPlan
from septet.query.refine import Deadline


def with_query_vectors(
    plan: SearchPlan, tiers: Mapping[str, Embeddings], pool: Executor | None, kind: Kind = "query"
) -> SearchPlan:
    """Return the plan with a query vector for each tier with vectors of an available model, and notes on the others.

    A tier may use another tier's embedder of the same model. Never raises: the search degrades with a note. The kind
    ``document`` embeds the query like an entry.
    """
    if plan.vector is not None or "vector" not in plan.legs or not plan.query.text.strip():
        return plan
    if plan.query.vague and "text" in plan.legs:
        return plan
    embedders = _query_embedders(tiers)
    if plan.model is not None:
        embedders = {model: embedder for model, embedder in embedders.items() if model == plan.model}
    notes = [replace(n, tier=name) for name, e in tiers.items() for n in e.faults]
    if plan.model is not None and not embedders:
        cause = f"no embedder of the model {plan.model!r} is available; searched without vectors"
        notes.append(Note("no_embedder", cause, "give query_vector=, or leave out model="))
    if not embedders:
        return plan._replace(notes=(*plan.notes, *notes))
    vectors = _embed_for_tiers(plan, tiers, embedders, pool, kind)
    embeddings_of, refusals = {}, []
    for name, result in vectors.items():
        selection, answer = result.selection, result.answer
        trouble = tiers[name].trouble if selection.notes else ()
        several = len(tiers[name].chain) > 1
        notes += [replace(n, tier=name) for n in (*_selection_notes(result, several), *trouble)]
        if selection.space is None or answer is None:
            continue
        if isinstance(answer, Note):
            if not (several and selection.space.model in result.failed):
                refusals.append(answer)
            continue
        space = selection.space
        if answer.scan.size != space.dimensions:
            cause = f"the query has {answer.scan.size} dimensions, but those of {space.model} have {space.dimensions}"
            notes.append(Note("vector_mismatch", cause, "call embed() to embed again", name))
            continue
        embeddings_of[name] = QueryEmbedding(space, answer)
        script = unknown_script_of(embedders[space.model].embedder, plan.query.text)
        if script is not None:
            cause = f"{space.model} was not made for {script}, so its vectors say little about this query"
            refusals.append(Note("unknown_script", cause, MULTILINGUAL))
    # Report the failure of a model once for all its tiers.
    return plan._replace(embeddings=embeddings_of, notes=(*plan.notes, *notes, *dict.fromkeys(refusals)))


class _TierVector(NamedTuple):
    """A tier's space, the query's vector there or the note on its absence, and the notes of models that failed."""

    selection: SpaceSelection
    answer: QueryVector | Note | None
    failed: Mapping[str, Note]


def _embed_for_tiers(
    plan: SearchPlan,
    tiers: Mapping[str, Embeddings],
    embedders: Mapping[str, QueryEmbedder],
    pool: Executor | None,
    kind: Kind,
) -> dict[str, _TierVector]:
    """Embed the query for each tier; if a model fails, by the next model of its chain with vectors there."""
    results: dict[str, _TierVector] = {}
    answers: dict[str, QueryVector | Note] = {}
    pending, working = dict(tiers), dict(embedders)
    while pending:
        dimensions = _dimensions(working)
        selections: dict[str, SpaceSelection] = {}
        for name, embeddings in pending.items():
            try:
                selections[name] = embeddings.select(dimensions)
            except SeptetError:
                # The search itself raises the same error and reports it.
                continue
        models = dict.fromkeys(s.space.model for s in selections.values() if s.space is not None)
        new = {model: working[model] for model in models if model not in answers}
        answers |= _answers(plan.query.text, new, pool, kind, plan.deadline)
        failed = {model: answer for model, answer in answers.items() if isinstance(answer, Note)}
        working = {model: embedder for model, embedder in working.items() if model not in failed}
        for name, selection in selections.items():
            answer = None if selection.space is None else answers[selection.space.model]
            failures = {model: note for model, note in failed.items() if model in tiers[name].chain}
            results[name] = _TierVector(selection, answer, failures)
        pending = {
            name: tiers[name]
            for name in selections
            if isinstance(results[name].answer, Note) and any(model in working for model in tiers[name].chain)
        }
    return results


def _selection_notes(result: _TierVector, several: bool) -> list[Note]:
    """Return the notes on a tier's selection; if `several`, the causes of failed models start with their names."""
    space, answer, notes = result.selection.space, result.answer, list(result.selection.notes)
    if not result.failed:
        return notes
    failed = [replace(n, cause=f"{model}: {n.cause}") if several else n for model, n in result.failed.items()]
    if isinstance(answer, Note):
        # The caller reports a single model once for all tiers.
        return [*failed, *notes] if several else notes
    if space is None:
        return [*failed, *(note for note in notes if note.code not in ("other_model", "no_vectors"))]
    reasons = "; ".join(note.cause.removesuffix(WITHOUT) for note in failed)
    cause = f"{reasons}; searched by {space.model}"
    return [Note("embedding_fallback", cause, "it is retried automatically"), *notes]


def can_embed_queries(tiers: Mapping[str, Embeddings]) -> bool:
    """Return True if a query would be embedded now: a space answers, and its embedder is not backing off."""
    embedders = _query_embedders(tiers)
    answering = {model: embedder for model, embedder in embedders.items() if not embedder.backing_off}
    for embeddings in tiers.values():
        try:
            if answering and embeddings.select(_dimensions(answering)).space is not None:
                return True
        except SeptetError:
            continue
    return False


def _query_embedders(tiers: Mapping[str, Embeddings]) -> dict[str, QueryEmbedder]:
    """Return the available query embedders by model; of several for one model, the first tier's."""
    embedders: dict[str, QueryEmbedder] = {}
    for embeddings in tiers.values():
        embedders = {**embeddings.query_embedders, **embedders}
    return embedders


def _dimensions(embedders: Mapping[str, QueryEmbedder]) -> dict[str, int | None]:
    return {model: embedder.embedder.dimensions for model, embedder in embedders.items()}


def _answers(
    text: str, embedders: Mapping[str, QueryEmbedder], pool: Executor | None, kind: Kind, deadline: Deadline | None
) -> dict[str, QueryVector | Note]:
    # Keep half of the time for the search without vectors.
    within_s = None if deadline is None else max(0.0, deadline.left_s - deadline.timeout_s / 2)
    if pool is None or len(embedders) < 2:
        return {model: embedder.embed(text, kind, within_s) for model, embedder in embedders.items()}
    # In parallel: all share one deadline.
    return dict(zip(embedders, pool.map(lambda embedder: embedder.embed(text, kind, within_s), embedders.values())))


def loaded_reranker(rerank: object) -> object:
    """Return the option ``rerank`` of a search with the folder of a local model replaced by its reranker.

    Raises:
        EmbeddingConfigError: the folder has no usable model.
    """
    source = rerank.function if isinstance(rerank, Reranking) else rerank
    if not isinstance(source, (str, os.PathLike)):
        return rerank
    from septet.embedding.local.reranker import reranker_of

    reranker = reranker_of(os.fsdecode(source))
    return rerank._replace(function=reranker) if isinstance(rerank, Reranking) else reranker
