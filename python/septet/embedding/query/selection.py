"""Which of a vault's spaces answers a search, given the models that queries can be embedded with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from septet.model.results import Note
from septet.model.spaces import Space
from septet.store.protocol import Reading

if TYPE_CHECKING:
    from septet.sqlite.tables.texts import TextSpace

__all__ = ["Selection", "SpaceStatus", "select", "statuses"]

#: A model of a chain answers if its space has at least this share of the entries that the best one of the chain has.
NEARLY = 0.9


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
        active: whether searches may use it; an inactive space is still being filled, or stands by.
        given: whether the caller provided the vectors.
        standby: whether it is of a fallback, and answers only while the models before it do not.
    """

    model: str
    dimensions: int | None
    entries: int
    missing: int
    active: bool
    given: bool
    standby: bool = False


def select(read: Reading, chain: Sequence[str], available: Mapping[str, int | None], *, memories: bool) -> Selection:
    """Choose the space that answers.

    The first of: the own model's space, once it has been complete; any active space whose model is available; the own
    model's space as soon as it covers half of the entries. Below that, full text alone answers better: entries without
    a vector would rank behind all others.

    Of a chain the own model is the first available one whose space covers nearly as many entries (`NEARLY`) as the best
    of the available ones, and at least half. Nothing is counted while the first model is available and no other one's
    space is in use.

    Args:
        chain: the models of the vault's embedder and its fallbacks, in order.
        available: models that queries can be embedded with, and their dimensions where known.
        memories: they are embedded too.
    """
    held = [t for t in read.tables.texts.text_spaces(read) if t.has_vectors and t.state != "left"]
    choice = _of_chain(read, chain, held, available, memories)
    if choice.complete:
        for one in held:
            if one.state == "active" and one.space.model == choice.model and _fits(one, available):
                return Selection(one.space, choice.notes)
    for one in held:
        model = one.space.model
        if one.state == "active" and model in available and model not in chain and _fits(one, available):
            return Selection(one.space)
    filling = next((t for t in held if t.space.model == choice.model and _fits(t, available)), None)
    if filling is not None:
        partial = _partial(read, filling.space, memories)
        return Selection(partial.space, (*choice.notes, *partial.notes) if partial.space else partial.notes)
    return Selection(None, _nothing(read, choice.model, held, memories))


class _Choice(NamedTuple):
    """The model of a chain that may answer; None if none is available.

    Attributes:
        complete: whether it may answer as soon as its space is active; if not, only with half of the entries.
        notes: why it is not the first one of the chain.
    """

    model: str | None
    complete: bool = True
    notes: tuple[Note, ...] = ()


def _of_chain(
    read: Reading,
    chain: Sequence[str],
    held: Sequence[TextSpace],
    available: Mapping[str, int | None],
    memories: bool,
) -> _Choice:
    ready = [model for model in chain if model in available]
    if not ready:
        return _Choice(None)
    spaces = {t.space.model: t for t in reversed(held) if t.space.model in chain}
    others = [t for model, t in spaces.items() if model != chain[0]]
    if not others or (ready[0] == chain[0] and chain[0] in spaces and not any(t.stands_in for t in others)):
        return _Choice(ready[0])
    mine = [spaces[model] for model in ready if model in spaces and _fits(spaces[model], available)]
    if not mine:
        return _Choice(ready[0])
    covered = {one.space.model: read.tables.texts.coverage(read, one.space, memories=memories) for one in mine}
    least = NEARLY * max(filled for filled, _ in covered.values())
    model = next(one.space.model for one in mine if covered[one.space.model][0] >= least)
    filled, missing = covered[model]
    complete = filled >= missing or len(spaces) == 1
    if model == ready[0] or ready[0] != chain[0]:
        return _Choice(model, complete)
    behind, _ = covered.get(chain[0], (0, 0))
    cause = f"{chain[0]} has vectors of {behind} of {filled + missing} entries, and {model} of {filled}: those answer"
    note = Note("embedding_fallback", cause, "what is missing is embedded after a write, or by embed()")
    return _Choice(model, complete, (note,))


def _fits(one: TextSpace, available: Mapping[str, int | None]) -> bool:
    return available.get(one.space.model) in (None, one.space.dimensions)


def _partial(read: Reading, space: Space, memories: bool) -> Selection:
    filled, missing = read.tables.texts.coverage(read, space, memories=memories)
    if not missing:
        return Selection(space)
    cause = f"{space.model} has vectors of {filled} of {filled + missing} entries so far"
    if filled >= missing:
        return Selection(space, (Note("space_incomplete", cause, "call embed() until nothing is missing"),))
    cause += ", and no other embedder is available whose space is complete; searched without vectors"
    return Selection(None, (Note("space_incomplete", cause, "call embed(), or give previous_embedder="),))


def _nothing(read: Reading, own: str | None, held: Collection[TextSpace], memories: bool) -> tuple[Note, ...]:
    if held:
        models = ", ".join(sorted({f"{t.space.model} ({t.space.dimensions})" for t in held}))
        cause = f"the vectors are of {models}, and no query can be embedded with that; searched without vectors"
        cure = "give that embedder" if own is None else f"call embed() to change to {own}, or give previous_embedder="
        return (Note("other_model", cause, cure),)
    if not read.tables.entries.any_searchable(read, memories=memories):
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
    states = {t.space.space: t.state for t in read.tables.texts.text_spaces(read)}
    for space in read.tables.vectors.all_spaces(read):
        given = space.keyed_by == "entry"
        filled, missing = read.tables.texts.coverage(read, space, memories=memories)
        state = "active" if given else states[space.space]
        if state == "left" or (given and not filled):
            continue
        one = _status(space.model, space.dimensions, filled, missing, state == "active", given)
        found.append(replace(one, standby=True) if state == "standby" else one)
    if own is not None and not any(s.model == own[0] and own[1] in (None, s.dimensions) for s in found if not s.given):
        total = read.tables.entries.count_searchable(read, memories=memories)
        found.append(_status(*own, 0, total, not any(s.active and not s.given for s in found), False))
    return sorted(found, key=lambda s: (not s.active, -s.entries))


def _status(model: str, d: int | None, entries: int, missing: int, active: bool, given: bool) -> SpaceStatus:
    return SpaceStatus(model=model, dimensions=d, entries=entries, missing=missing, active=active, given=given)
