"""Which of a vault's spaces answers a search, given the models that queries can be embedded with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from septet.results import Note
from septet.spaces import Space
from septet.storage.store import Reading
from septet.storage.tables import entries, texts, vectors
from septet.storage.tables.texts import TextSpace

__all__ = ["Selection", "SpaceStatus", "select", "statuses"]


@dataclass(frozen=True, slots=True)
class Selection:
    """The space that answers, None if there is none, and notes about the choice."""

    space: Space | None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceStatus:
    """A space: a model with a dimension, and how far it is filled.

    Attributes:
        model: ``provider/model``, or the name that the caller gave to their own vectors.
        dimensions: None before the first vector if the embedder does not know it.
        entries: entries with a vector, memories among them unless the profile fixes their score.
        missing: entries without one.
        active: whether searches may use it; an inactive space is still being filled.
        given: whether the caller provided the vectors.
    """

    model: str
    dimensions: int | None
    entries: int
    missing: int
    active: bool
    given: bool


def select(read: Reading, own: str | None, available: Mapping[str, int | None], *, memories: bool) -> Selection:
    """Choose the space that answers.

    The first of: the own model's space, once it has been complete; any active space whose model is available; the own
    model's space as soon as it covers half of the entries. Below that, full text alone answers better: entries without
    a vector would rank behind all others.

    Args:
        own: the model of the vault's embedder; None when it has none.
        available: models that queries can be embedded with, and their dimensions where known.
        memories: they are embedded too.
    """
    held = [t for t in texts.text_spaces(read) if t.has_vectors and t.state != "left"]
    for models in ([own] if own is not None else [], available):
        for one in held:
            if one.state == "active" and one.space.model in models and _fits(one, available):
                return Selection(one.space)
    filling = next((t for t in held if t.space.model == own and _fits(t, available)), None)
    if filling is not None:
        return _partial(read, filling.space, memories)
    return Selection(None, _nothing(read, own, held, memories))


def _fits(one: TextSpace, available: Mapping[str, int | None]) -> bool:
    return available.get(one.space.model) in (None, one.space.dimensions)


def _partial(read: Reading, space: Space, memories: bool) -> Selection:
    filled, missing = texts.coverage(read, space, memories=memories)
    cause = f"{space.model} has vectors of {filled} of {filled + missing} entries so far"
    if filled >= missing:
        return Selection(space, (Note("space_incomplete", cause, "call embed() until nothing is missing"),))
    cause += ", and the previous space's embedder is not available; searched without vectors"
    return Selection(None, (Note("space_incomplete", cause, "call embed(), or give previous_embedder="),))


def _nothing(read: Reading, own: str | None, held: Collection[TextSpace], memories: bool) -> tuple[Note, ...]:
    if held:
        models = ", ".join(sorted({f"{t.space.model} ({t.space.dimensions})" for t in held}))
        cause = f"the vectors are of {models}, and no query can be embedded with that; searched without vectors"
        cure = "give that embedder" if own is None else f"call embed() to change to {own}, or give previous_embedder="
        return (Note("other_model", cause, cure),)
    if not entries.any_searchable(read, memories=memories):
        return ()
    cause = "no entry has a vector yet; searched without vectors"
    return (Note("no_vectors", cause, "give the vault an embedder" if own is None else "call embed()"),)


def statuses(read: Reading, own: tuple[str, int | None] | None, *, memories: bool) -> list[SpaceStatus]:
    """Return every space that holds vectors or is to be filled, active ones first.

    Args:
        own: model and dimension of the vault's embedder, which is listed even before it has a space.
        memories: they are embedded too.
    """
    found = []
    states = {t.space.space: t.state for t in texts.text_spaces(read)}
    for space in vectors.all_spaces(read):
        given = space.keyed_by == "entry"
        filled, missing = texts.coverage(read, space, memories=memories)
        state = "active" if given else states[space.space]
        if state == "left" or (given and not filled):
            continue
        found.append(_status(space.model, space.dimensions, filled, missing, state == "active", given))
    if own is not None and not any(s.model == own[0] and own[1] in (None, s.dimensions) for s in found if not s.given):
        total = entries.count_searchable(read, memories=memories)
        found.append(_status(*own, 0, total, not any(s.active and not s.given for s in found), False))
    return sorted(found, key=lambda s: (not s.active, -s.entries))


def _status(model: str, d: int | None, entries: int, missing: int, active: bool, given: bool) -> SpaceStatus:
    return SpaceStatus(model=model, dimensions=d, entries=entries, missing=missing, active=active, given=given)
