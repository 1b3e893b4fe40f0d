"""A plan gets its query vectors: the query is embedded once per model, and every tier gets the vector of its space."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import replace

from septet.embedding.embedder import Kind
from septet.embedding.embeddings import Embeddings
from septet.embedding.query.query_embedder import QueryEmbedder
from septet.errors import SeptetError
from septet.query.deadline import Deadline
from septet.query.plan import Plan, QueryEmbedding
from septet.results import Note
from septet.spaces import Space
from septet.vector import QueryVector

__all__ = ["can_embed_queries", "with_query_vectors"]


def with_query_vectors(
    plan: Plan, tiers: Mapping[str, Embeddings], pool: Executor | None, kind: Kind = "query"
) -> Plan:
    """Return the plan with a query vector for each tier with vectors of an available model, and notes on the others.

    A tier may use another tier's embedder when its vectors are of that model. Never raises: a search uses what it has.

    Args:
        kind: ``document`` embeds the query as entries are.
    """
    if plan.vector is not None or "vector" not in plan.legs or not plan.query.text.strip():
        return plan
    embedders = _query_embedders(tiers)
    if plan.model is not None:
        embedders = {model: one for model, one in embedders.items() if model == plan.model}
    notes = [replace(n, tier=name) for name, e in tiers.items() for n in e.faults]
    if plan.model is not None and not embedders:
        cause = f"no embedder of the model {plan.model!r} is available; searched without vectors"
        notes.append(Note("no_embedder", cause, "give query_vector=, or leave out model="))
    if not embedders:
        return plan._replace(notes=(*plan.notes, *notes))
    dimensions = _dimensions(embedders)
    spaces: dict[str, Space] = {}
    for name, embeddings in tiers.items():
        try:
            selection = embeddings.select(dimensions)
        except SeptetError:
            # The search itself meets the same error and reports it.
            continue
        trouble = embeddings.trouble if selection.notes else ()
        notes += [replace(n, tier=name) for n in (*selection.notes, *trouble)]
        if selection.space is not None:
            spaces[name] = selection.space
    answers = _answers(
        plan.query.text, {s.model: embedders[s.model] for s in spaces.values()}, pool, kind, plan.deadline
    )
    notes += [answer for answer in answers.values() if isinstance(answer, Note)]
    embeddings_of = {}
    for name, space in spaces.items():
        answer = answers[space.model]
        if isinstance(answer, Note):
            continue
        if answer.scan.size != space.dimensions:
            cause = f"the query has {answer.scan.size} dimensions, the vectors of {space.model} {space.dimensions}"
            notes.append(Note("vector_mismatch", cause, "call embed() to embed again", name))
            continue
        embeddings_of[name] = QueryEmbedding(space, answer)
    return plan._replace(embeddings=embeddings_of, notes=(*plan.notes, *notes))


def can_embed_queries(tiers: Mapping[str, Embeddings]) -> bool:
    """Say whether a query would be embedded now: a space answers, and its embedder is not backing off."""
    embedders = _query_embedders(tiers)
    for embeddings in tiers.values():
        try:
            space = embeddings.select(_dimensions(embedders)).space if embedders else None
        except SeptetError:
            continue
        if space is not None and not embedders[space.model].backing_off:
            return True
    return False


def _query_embedders(tiers: Mapping[str, Embeddings]) -> dict[str, QueryEmbedder]:
    """Return the available query embedders by model; of several for one model, the first tier's."""
    found: dict[str, QueryEmbedder] = {}
    for embeddings in tiers.values():
        found = {**embeddings.query_embedders, **found}
    return found


def _dimensions(embedders: Mapping[str, QueryEmbedder]) -> dict[str, int | None]:
    return {model: one.embedder.dimensions for model, one in embedders.items()}


def _answers(
    text: str, embedders: Mapping[str, QueryEmbedder], pool: Executor | None, kind: Kind, deadline: Deadline | None
) -> dict[str, QueryVector | Note]:
    # What is found without vectors must still be found in time: half of it is left for that, however many queries ask.
    within_s = None if deadline is None else max(0.0, deadline.left_s - deadline.timeout_s / 2)
    if pool is None or len(embedders) < 2:
        return {model: one.embed(text, kind, within_s) for model, one in embedders.items()}
    # In parallel, so that all share one deadline.
    return dict(zip(embedders, pool.map(lambda one: one.embed(text, kind, within_s), embedders.values())))
