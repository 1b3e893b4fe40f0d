"""Handover: activates a complete space, and abandons those that it replaces."""

from __future__ import annotations

from collections.abc import Collection

from septet.model.spaces import Space
from septet.store.protocol import Store

__all__ = ["hand_over", "prune"]

PRUNED_ROWS = 1_000


def hand_over(
    store: Store,
    space: Space,
    hopeless: int,
    *,
    memories: bool,
    per_model: bool,
    mates: Collection[str] = (),
    leads: bool = True,
) -> None:
    """Activate a space if it lacks only hopeless texts, and abandon those that it replaces.

    Args:
        hopeless: number of texts that its model refuses.
        memories: True if memories are embedded too.
        per_model: keep the spaces of other models.
        mates: the models of the same chain, whose spaces are kept.
        leads: True for the first model of the chain: its mates become standby, and other spaces are abandoned.

    Raises:
        StoreError: the store cannot be read or written.
    """
    others = {model for model in mates if model != space.model}
    with store.reading() as read:
        spaces = read.tables.texts.text_spaces(read)
        filling = any(t.state in ("filling", "standby") for t in spaces if t.space == space)
        stand_ins = leads and [t.space for t in spaces if t.stands_in and t.space.model in mates and t.space != space]
        ready = (filling or stand_ins) and read.tables.texts.count_missing(read, space, memories=memories) <= hopeless
    if not ready:
        return
    with store.writing() as write:
        if filling:
            write.tables.texts.move(write, space, "active")
        for other in write.tables.texts.text_spaces(write):
            if not leads or other.space == space:
                continue
            if other.space.model in others:
                if other.stands_in:
                    write.tables.texts.move(write, other.space, "standby")
            elif filling and not per_model and other.state in ("active", "standby"):
                write.tables.texts.move(write, other.space, "left")


def prune(store: Store) -> None:
    """Delete the vectors of abandoned spaces, in small transactions that do not block writers for long.

    Raises:
        StoreError: the store cannot be read or written.
    """
    with store.reading() as read:
        spaces = read.tables.texts.left_spaces(read)
    for space in spaces:
        removed = PRUNED_ROWS
        while removed == PRUNED_ROWS:
            with store.writing() as write:
                removed = write.tables.texts.empty(write, space, PRUNED_ROWS)
