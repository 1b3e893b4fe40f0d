"""Selects the space that answers a search, among those of the models that can embed its query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from septet.embedding.automatic import SpaceStatus
from septet.model.vector import Space
from septet.notes import Note
from septet.store.protocol import Reading

if TYPE_CHECKING:
    from septet.store.rows import TextSpace

#: A model of a chain answers if its space covers at least this share of the entries that the chain's best covers.
NEARLY = 0.9


@dataclass(frozen=True, slots=True)
class SpaceSelection:
    """The space that answers, or None, and notes on the selection."""

    space: Space | None
    notes: tuple[Note, ...] = ()


def select(
    read: Reading, chain: Sequence[str], available: Mapping[str, int | None], *, memories: bool
) -> SpaceSelection:
    """Select the space that answers.

    The first of: the current model's space, once it has been complete; any active space of an available model; the
    current model's space if it covers half of the entries. Below that, full text alone ranks better: entries without a
    vector would come last.

    The current model of a chain is the first available one whose space covers nearly as many entries (`NEARLY`) as the
    best of the available ones, and at least half. Entries are not counted while the first model is available and no
    other model's space is in use.

    Args:
        chain: the models of the vault's embedder and its fallbacks, in order.
        available: models that can embed queries, with their dimensions if known.
        memories: True if memories are embedded too.
    """
    spaces = [t for t in read.tables.texts.text_spaces(read) if t.has_vectors and t.state != "left"]
    current = _current_model(read, chain, spaces, available, memories)
    if current.complete:
        for candidate in spaces:
            if candidate.state == "active" and candidate.space.model == current.model and _fits(candidate, available):
                return SpaceSelection(candidate.space, current.notes)
    for candidate in spaces:
        model = candidate.space.model
        if candidate.state == "active" and model in available and model not in chain and _fits(candidate, available):
            return SpaceSelection(candidate.space)
    filling = next((t for t in spaces if t.space.model == current.model and _fits(t, available)), None)
    if filling is not None:
        partial = _partial(read, filling.space, memories)
        return SpaceSelection(partial.space, (*current.notes, *partial.notes) if partial.space else partial.notes)
    return SpaceSelection(None, _no_space_notes(read, current.model, spaces, memories))


class _CurrentModel(NamedTuple):
    """The current model of a chain; None if none is available.

    Attributes:
        complete: True if it answers as soon as its space is active; False if only with half of the entries.
        notes: the reason why it is not the first model.
    """

    model: str | None
    complete: bool = True
    notes: tuple[Note, ...] = ()


def _current_model(
    read: Reading,
    chain: Sequence[str],
    spaces: Sequence[TextSpace],
    available: Mapping[str, int | None],
    memories: bool,
) -> _CurrentModel:
    ready = [model for model in chain if model in available]
    if not ready:
        return _CurrentModel(None)
    by_model = {t.space.model: t for t in reversed(spaces) if t.space.model in chain}
    others = [t for model, t in by_model.items() if model != chain[0]]
    if not others or (ready[0] == chain[0] and chain[0] in by_model and not any(t.stands_in for t in others)):
        return _CurrentModel(ready[0])
    candidates = [by_model[model].space for model in ready if model in by_model and _fits(by_model[model], available)]
    if not candidates:
        return _CurrentModel(ready[0])
    covered = {space.model: read.tables.texts.coverage(read, space, memories=memories) for space in candidates}
    minimum = NEARLY * max(filled for filled, _ in covered.values())
    model = next(space.model for space in candidates if covered[space.model][0] >= minimum)
    filled, missing = covered[model]
    complete = filled >= missing or len(by_model) == 1
    if model == ready[0] or ready[0] != chain[0]:
        return _CurrentModel(model, complete)
    first_filled, _ = covered.get(chain[0], (0, 0))
    coverage = f"{chain[0]} has vectors of {first_filled} of {filled + missing} entries, {model} of {filled}"
    note = Note("embedding_fallback", f"{coverage}: {model} is used", "call embed(), or wait for the next write")
    return _CurrentModel(model, complete, (note,))


def _fits(candidate: TextSpace, available: Mapping[str, int | None]) -> bool:
    return available.get(candidate.space.model) in (None, candidate.space.dimensions)


def _partial(read: Reading, space: Space, memories: bool) -> SpaceSelection:
    filled, missing = read.tables.texts.coverage(read, space, memories=memories)
    if not missing:
        return SpaceSelection(space)
    cause = f"{space.model} has vectors of {filled} of {filled + missing} entries so far"
    if filled >= missing:
        return SpaceSelection(space, (Note("space_incomplete", cause, "call embed() until nothing is missing"),))
    cause += ", and no other embedder is available whose space is complete; searched without vectors"
    return SpaceSelection(None, (Note("space_incomplete", cause, "call embed(), or give previous_embedder="),))


def _no_space_notes(
    read: Reading, current: str | None, spaces: Collection[TextSpace], memories: bool
) -> tuple[Note, ...]:
    if spaces:
        models = ", ".join(sorted({f"{t.space.model} ({t.space.dimensions})" for t in spaces}))
        cause = f"the vectors were made with {models}, for which no embedder is available; searched without vectors"
        change = f"call embed() to change to {current}, or give previous_embedder="
        return (Note("other_model", cause, "give that embedder" if current is None else change),)
    if not read.tables.entries.any_searchable(read, memories=memories):
        return ()
    cause = "no entry has a vector yet; searched without vectors"
    return (Note("no_vectors", cause, "give the vault an embedder" if current is None else "call embed()"),)


def statuses(read: Reading, current: tuple[str, int | None] | None, *, memories: bool) -> tuple[SpaceStatus, ...]:
    """Return every space with vectors, and the current model's, active ones first.

    Args:
        current: model and dimension of the vault's embedder, listed even before it has a space.
        memories: True if memories are embedded too.
    """
    listed = []
    states = {t.space.space: t.state for t in read.tables.texts.text_spaces(read)}
    for space in read.tables.vectors.all_spaces(read):
        supplied = space.keyed_by == "entry"
        filled, missing = read.tables.texts.coverage(read, space, memories=memories)
        state = "active" if supplied else states[space.space]
        if state == "left" or (supplied and not filled):
            continue
        status = _status(space.model, space.dimensions, filled, missing, state == "active", supplied)
        listed.append(replace(status, standby=True) if state == "standby" else status)
    embedded = [s for s in listed if not s.given]
    if current is not None and not any(s.model == current[0] and current[1] in (None, s.dimensions) for s in embedded):
        total = read.tables.entries.count_searchable(read, memories=memories)
        listed.append(_status(*current, 0, total, not any(s.active for s in embedded), False))
    return tuple(sorted(listed, key=lambda s: (not s.active, -s.entries)))


def _status(model: str, d: int | None, entries: int, missing: int, active: bool, supplied: bool) -> SpaceStatus:
    return SpaceStatus(model=model, dimensions=d, entries=entries, missing=missing, active=active, given=supplied)
