"""Handover: activates complete spaces, abandons those that they replace, and removes outdated vectors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, cast

from septet.embedding.embedder import Embedder, pooling_of, space_name
from septet.errors import EmbeddingError
from septet.model.vector import Space
from septet.store.protocol import Store

#: Rows per transaction.
_PAGE = 1_000


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
    """Delete the vectors of abandoned spaces, in small transactions that do not block writers for long."""
    with store.reading() as read:
        spaces = read.tables.texts.left_spaces(read)
    for space in spaces:
        removed = _PAGE
        while removed == _PAGE:
            with store.writing() as write:
                removed = write.tables.texts.empty(write, space, _PAGE)


class _LengthCheck(Protocol):
    def is_long(self, text: str) -> bool: ...


def forget_long(store: Store, embedder: Embedder, dimensions: int | None) -> int:
    """Remove the vectors of long texts from an embedder's space if its pooling has changed. Return their number.

    The space records its pooling, so texts are read once per change. Vectors of deleted texts are removed too, because
    their lengths are unknown.
    """
    pooling = pooling_of(embedder)
    if pooling is None:
        return 0
    with store.reading() as read:
        space = read.tables.texts.find_space(read, space_name(embedder), dimensions)
        if space is None or read.tables.texts.pooling(read, space) == pooling.name:
            return 0
    long: list[str] = []
    after, page = "", [("", "")]
    while page:
        with store.reading() as read:
            page = read.tables.texts.embedded(read, space, over_bytes=pooling.whole_bytes, after=after, limit=_PAGE)
        after = page[-1][0] if page else after
        try:
            long += [key for key, text in page if cast("_LengthCheck", embedder).is_long(text)]
        except EmbeddingError:
            # The model is damaged: embedding reports it, and the next run retries.
            return 0
    with store.writing() as write:
        # Another process may have removed them since, and re-embedded some.
        if write.tables.texts.pooling(write, space) == pooling.name:
            return 0
        write.tables.texts.forget(write, space, long)
        write.tables.texts.set_pooling(write, space, pooling.name)
    return len(long)
