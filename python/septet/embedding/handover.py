"""Handover: which spaces of a store answer once one is complete, and which are given up."""

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
    """Activate a space once it lacks only hopeless texts, and give up those that it replaces.

    Args:
        hopeless: texts that its model refuses.
        memories: they are embedded too.
        per_model: keep what other models made.
        mates: the models of the same chain, whose vectors are kept, whoever made them.
        leads: whether the space is of the first model of the chain: then its mates stand by, and others are given up.

    Raises:
        StoreError: the store cannot be read or written.
    """
    others = {model for model in mates if model != space.model}
    with store.reading() as read:
        everything = read.tables.texts.text_spaces(read)
        filling = any(t.state in ("filling", "standby") for t in everything if t.space == space)
        relieved = leads and [
            t.space for t in everything if t.stands_in and t.space.model in mates and t.space != space
        ]
        ready = (filling or relieved) and read.tables.texts.count_missing(read, space, memories=memories) <= hopeless
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
    """Delete the vectors of abandoned spaces in small transactions, so that no writer waits long.

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
