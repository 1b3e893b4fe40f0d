"""A plan gets its query vectors: the query is embedded once per model, and every tier gets the vector of its space."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import replace
from typing import NamedTuple

from septet.embedding.embedder import Kind
from septet.embedding.embeddings import Embeddings
from septet.embedding.query.query_embedder import WITHOUT, QueryEmbedder
from septet.embedding.query.selection import Selection
from septet.errors import SeptetError
from septet.model.results import Note
from septet.model.vector import QueryVector
from septet.query.deadline import Deadline
from septet.query.plan import Plan, QueryEmbedding

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
    if plan.query.vague and "text" in plan.legs:
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
    asked = _asked(plan, tiers, embedders, pool, kind)
    embeddings_of, refusals = {}, []
    for name, one in asked.items():
        selection, answer = one.selection, one.answer
        trouble = tiers[name].trouble if selection.notes else ()
        several = len(tiers[name].chain) > 1
        notes += [replace(n, tier=name) for n in (*_told(one, several), *trouble)]
        if selection.space is None or answer is None:
            continue
        if isinstance(answer, Note):
            if not (several and selection.space.model in one.failed):
                refusals.append(answer)
            continue
        space = selection.space
        if answer.scan.size != space.dimensions:
            cause = f"the query has {answer.scan.size} dimensions, the vectors of {space.model} {space.dimensions}"
            notes.append(Note("vector_mismatch", cause, "call embed() to embed again", name))
            continue
        embeddings_of[name] = QueryEmbedding(space, answer)
    # Tiers whose vectors are of one model are told once that it does not answer.
    return plan._replace(embeddings=embeddings_of, notes=(*plan.notes, *notes, *dict.fromkeys(refusals)))


class _Asked(NamedTuple):
    """What a tier has got: its space, the query's vector there or why there is none, and models that failed before."""

    selection: Selection
    answer: QueryVector | Note | None
    failed: Mapping[str, Note]


def _asked(
    plan: Plan,
    tiers: Mapping[str, Embeddings],
    embedders: Mapping[str, QueryEmbedder],
    pool: Executor | None,
    kind: Kind,
) -> dict[str, _Asked]:
    """Embed the query for each tier; where a model fails, by the next one of its chain that has vectors there."""
    found: dict[str, _Asked] = {}
    answers: dict[str, QueryVector | Note] = {}
    waiting, left = dict(tiers), dict(embedders)
    while waiting:
        dimensions = _dimensions(left)
        selections: dict[str, Selection] = {}
        for name, embeddings in waiting.items():
            try:
                selections[name] = embeddings.select(dimensions)
            except SeptetError:
                # The search itself meets the same error and reports it.
                continue
        models = dict.fromkeys(s.space.model for s in selections.values() if s.space is not None)
        new = {model: left[model] for model in models if model not in answers}
        answers |= _answers(plan.query.text, new, pool, kind, plan.deadline)
        failed = {model: answer for model, answer in answers.items() if isinstance(answer, Note)}
        left = {model: one for model, one in left.items() if model not in failed}
        for name, selection in selections.items():
            answer = None if selection.space is None else answers[selection.space.model]
            before = {model: note for model, note in failed.items() if model in tiers[name].chain}
            found[name] = _Asked(selection, answer, before)
        waiting = {
            name: tiers[name]
            for name in selections
            if isinstance(found[name].answer, Note) and any(model in left for model in tiers[name].chain)
        }
    return found


def _told(one: _Asked, several: bool) -> list[Note]:
    """Return what is said of a tier's choice: which models failed, and what answers in their place.

    Args:
        several: whether its chain has several models, so that each reason says whose it is.
    """
    notes = list(one.selection.notes)
    if not one.failed:
        return notes
    failed = [replace(note, cause=f"{model}: {note.cause}") if several else note for model, note in one.failed.items()]
    if isinstance(one.answer, Note):
        # Of a single model it is told once for all tiers.
        return [*failed, *notes] if several else notes
    if one.selection.space is None:
        return [*failed, *(note for note in notes if note.code not in ("other_model", "no_vectors"))]
    model = one.selection.space.model
    reasons = "; ".join(note.cause.removesuffix(WITHOUT) for note in failed)
    cause = f"{reasons}; searched by {model}"
    return [Note("embedding_fallback", cause, "it is tried again automatically"), *notes]


def can_embed_queries(tiers: Mapping[str, Embeddings]) -> bool:
    """Say whether a query would be embedded now: a space answers, and its embedder is not backing off."""
    embedders = _query_embedders(tiers)
    answering = {model: one for model, one in embedders.items() if not one.backing_off}
    for embeddings in tiers.values():
        try:
            if answering and embeddings.select(_dimensions(answering)).space is not None:
                return True
        except SeptetError:
            continue
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
