"""From a plan to a plan with the question's vectors: asked once per model, given to every tier in its own space."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import replace

from septet.embedding.embeddings import Embeddings
from septet.embedding.query.query_embedder import Questions
from septet.errors import SeptetError
from septet.query.plan import Plan, QueryEmbedding
from septet.results import Note
from septet.storage.tables.vectors import Space
from septet.vector import QueryVector

__all__ = ["answering", "with_questions"]


def with_questions(plan: Plan, tiers: Mapping[str, Embeddings], pool: Executor | None) -> Plan:
    """Return the plan with a query vector for each tier that has vectors of a model at hand, and notes on the others.

    A tier may use another tier's embedder, when its vectors are of that model. Nothing raises: a search goes on with
    what it has.
    """
    if plan.vector is not None or "vector" not in plan.legs or not plan.query.text.strip():
        return plan
    at_hand = _at_hand(tiers)
    if plan.model is not None:
        at_hand = {model: q for model, q in at_hand.items() if model == plan.model}
    notes = [replace(n, tier=name) for name, e in tiers.items() for n in e.faults]
    if plan.model is not None and not at_hand:
        cause = f"no embedder of the model {plan.model!r} is at hand; searched without vectors"
        notes.append(Note("no_embedder", cause, "give query_vector=, or leave model= out"))
    if not at_hand:
        return plan._replace(notes=(*plan.notes, *notes))
    dimensions = _dimensions(at_hand)
    chosen: dict[str, Space] = {}
    for name, embeddings in tiers.items():
        try:
            selection = embeddings.select(dimensions)
        except SeptetError:
            # The search itself meets it, and says so.
            continue
        why = embeddings.trouble if selection.notes else ()
        notes += [replace(n, tier=name) for n in (*selection.notes, *why)]
        if selection.space is not None:
            chosen[name] = selection.space
    answers = _answers(plan.query.text, {s.model: at_hand[s.model] for s in chosen.values()}, pool)
    notes += [a for a in answers.values() if isinstance(a, Note)]
    asked = {}
    for name, space in chosen.items():
        answer = answers[space.model]
        if isinstance(answer, Note):
            continue
        if answer.scan.size != space.dimensions:
            cause = f"the question has {answer.scan.size} dimensions, the vectors of {space.model} {space.dimensions}"
            notes.append(Note("vector_mismatch", cause, "call embed() to embed anew", name))
            continue
        asked[name] = QueryEmbedding(space, answer)
    return plan._replace(asked=asked, notes=(*plan.notes, *notes))


def answering(tiers: Mapping[str, Embeddings]) -> bool:
    """Say whether a question would be embedded now: a space answers, and its embedder did not fail just before."""
    at_hand = _at_hand(tiers)
    for embeddings in tiers.values():
        try:
            space = embeddings.select(_dimensions(at_hand)).space if at_hand else None
        except SeptetError:
            continue
        if space is not None and not at_hand[space.model].resting:
            return True
    return False


def _at_hand(tiers: Mapping[str, Embeddings]) -> dict[str, Questions]:
    """Return what questions can be embedded with, by model; of equal models the first tier's."""
    found: dict[str, Questions] = {}
    for embeddings in tiers.values():
        found = {**embeddings.questions, **found}
    return found


def _dimensions(at_hand: Mapping[str, Questions]) -> dict[str, int | None]:
    return {model: one.embedder.dimensions for model, one in at_hand.items()}


def _answers(text: str, questions: Mapping[str, Questions], pool: Executor | None) -> dict[str, QueryVector | Note]:
    if pool is None or len(questions) < 2:
        return {model: one.ask(text) for model, one in questions.items()}
    # Side by side, so that the deadline is one for all.
    return dict(zip(questions, pool.map(lambda one: one.ask(text), questions.values())))
