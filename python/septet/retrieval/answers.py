"""Answers: what a corpus returned is what it should be, before anything is made of it; it may be foreign code."""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any

from septet.inputs.arguments import exact, real, utf8, whole
from septet.model.results import Hit
from septet.notes import Note
from septet.retrieval.corpus import Answered, Item, RankedList

__all__ = ["NoAnswer", "checked_answer"]

#: As of weights in a fusion.
MOST_WEIGHT = 1e9
MOST_NAME = 1_000


class NoAnswer(Exception):
    """What a corpus answered instead of an answer."""


def checked_answer(found: object) -> Answered:
    """Return an answer with lists in it; a confidence that is NaN is unknown. Nothing else is repaired.

    Raises:
        NoAnswer: it is none.
    """
    if found is None:
        raise NoAnswer("it answered nothing")
    if not isinstance(found, Answered):
        raise NoAnswer(f"it answered a {type(found).__name__}, and an Answered is wanted")
    try:
        return Answered(
            [_list(one) for one in found.lists],
            [_name(one) for one in found.backends],
            [_note(one) for one in found.notes],
            None if found.step is None else _name(found.step),
            bool(found.fallback),
            whole(found.contradictions, "contradictions", NoAnswer, 0),
            _confidence(exact(found.confidence)),
        )
    except TypeError:
        raise NoAnswer("it answered an Answered of something else than lists, backends and notes") from None


def _list(one: object) -> RankedList:
    if not isinstance(one, RankedList):
        raise NoAnswer(f"it answered a list that is a {type(one).__name__}, and a RankedList is wanted")
    for text in (one.name, one.corpus):
        _name(text)
    real(one.weight, "the weight of a list", NoAnswer, 0.0, MOST_WEIGHT)
    whole(one.variant, "the variant of a list", NoAnswer, 0)
    items = [*one.items]
    if not all(isinstance(item, Item) and isinstance(item.key, str) and isinstance(item.hit, Hit) for item in items):
        raise NoAnswer("it answered a RankedList of something else than Item(key, hit)")
    if not all(isfinite(item.hit.score) for item in items):
        raise NoAnswer("it answered a hit with a score that is no finite number")
    return one._replace(items=items)


def _confidence(value: Any) -> float | None:
    if value is None or (isinstance(value, float) and isnan(value)):
        return None
    return real(value, "its confidence", NoAnswer, 0.0, 1.0)


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise NoAnswer(f"it answered a {type(value).__name__} as the name of a list, a backend or a step")
    return utf8(value, "a name", NoAnswer, MOST_NAME)


def _note(one: object) -> Note:
    if not isinstance(one, Note):
        raise NoAnswer("it answered notes that are none")
    for text in (one.code, one.cause, one.cure, one.tier):
        utf8(text, "a note", NoAnswer)
    return one
