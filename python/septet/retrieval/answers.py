"""Checks of what a corpus returned: it may be foreign code."""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any

from septet.inputs.arguments import exact, real, utf8, whole
from septet.model.results import Hit
from septet.notes import Note
from septet.retrieval.corpus import Answered, Item, RankedList

#: The same maximum as for the weights of a fusion.
MOST_WEIGHT = 1e9
MOST_NAME = 1_000


class InvalidAnswer(Exception):
    """A corpus returned something other than a valid `Answered`."""


def checked_answer(answer: object) -> Answered:
    """Return the answer with its lists checked; a NaN confidence becomes None. Nothing else is repaired.

    Raises:
        InvalidAnswer: the answer is invalid.
    """
    if answer is None:
        raise InvalidAnswer("it returned None: return an Answered")
    if not isinstance(answer, Answered):
        raise InvalidAnswer(f"it returned {type(answer).__name__} instead of an Answered")
    try:
        return Answered(
            [_list(value) for value in answer.lists],
            [_name(value) for value in answer.backends],
            [_note(value) for value in answer.notes],
            None if answer.step is None else _name(answer.step),
            bool(answer.fallback),
            whole(answer.contradictions, "contradictions", InvalidAnswer, 0),
            _confidence(exact(answer.confidence)),
        )
    except TypeError:
        raise InvalidAnswer(
            "its Answered has fields of the wrong type: lists, backends and notes are sequences"
        ) from None


def _list(ranked: object) -> RankedList:
    if not isinstance(ranked, RankedList):
        raise InvalidAnswer(f"its lists contain {type(ranked).__name__} instead of RankedList")
    for text in (ranked.name, ranked.corpus):
        _name(text)
    real(ranked.weight, "the weight of a list", InvalidAnswer, 0.0, MOST_WEIGHT)
    whole(ranked.variant, "the variant of a list", InvalidAnswer, 0)
    items = [*ranked.items]
    if not all(isinstance(item, Item) and isinstance(item.key, str) and isinstance(item.hit, Hit) for item in items):
        raise InvalidAnswer("a RankedList of it contains something other than Item(key, hit)")
    if not all(isfinite(item.hit.score) for item in items):
        raise InvalidAnswer("a hit of it has a score that is not finite")
    return ranked._replace(items=items)


def _confidence(value: Any) -> float | None:
    if value is None or (isinstance(value, float) and isnan(value)):
        return None
    return real(value, "its confidence", InvalidAnswer, 0.0, 1.0)


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidAnswer(f"the name of a list, backend or step is {type(value).__name__} instead of str")
    return utf8(value, "a name", InvalidAnswer, MOST_NAME)


def _note(note: object) -> Note:
    if not isinstance(note, Note):
        raise InvalidAnswer(f"its notes contain {type(note).__name__} instead of Note")
    for text in (note.code, note.cause, note.cure, note.tier):
        utf8(text, "a note", InvalidAnswer)
    return note
