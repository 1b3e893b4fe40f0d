"""Ordering: the answers of a wave as one order, by the rules of a profile; each place can be taken apart again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.model.results import Hit
from septet.retrieval.confident import by_confidence
from septet.retrieval.corpus import Item, RankedList
from septet.retrieval.fusion import FusedItem, bounded_k, changed_hit, convex, fused_lists

if TYPE_CHECKING:
    from septet.retrieval.waves import Answer

__all__ = [
    "HYBRID",
    "TEXT",
    "VECTOR",
    "Ordered",
    "answered_lists",
    "by_likelihood",
    "by_rank",
    "hits_of",
    "labels_of",
    "within_corpora",
]

#: The list that the words and the vectors of one corpus make together.
HYBRID = "hybrid"
#: The lists of the legs.
TEXT = "text"
VECTOR = "vector"


class Ordered(NamedTuple):
    """One order of everything that was found.

    Attributes:
        found: best first, uncut; the parts of each name places in ``lists``.
        lists: those that were fused.
        k: of the fusion by rank.
        first_rank: the rank of the best of a list, 0 or 1.
        inner: the lists of each corpus of which one of ``lists`` was made, by the label of that one.
    """

    found: Sequence[FusedItem]
    lists: Sequence[RankedList]
    k: float
    first_rank: int
    inner: Mapping[str, Sequence[RankedList]] = {}


def answered_lists(answers: Sequence[Answer]) -> list[RankedList]:
    """Return every list that was answered, by corpus and phrasing."""
    return [one for answer in answers if answer.found is not None for one in answer.found.lists]


def by_rank(lists: Sequence[RankedList], *, k: float, first_rank: int) -> Ordered:
    """Return the order by reciprocal rank over all lists."""
    return Ordered(fused_lists(lists, k=k, first_rank=first_rank), lists, k, first_rank)


def by_likelihood(lists: Sequence[RankedList], *, k: float) -> Ordered:
    """Return the order by the confidence of hits; lists that tell none count by rank."""
    return Ordered(by_confidence(lists, k=k), lists, k, 0)


def within_corpora(lists: Sequence[RankedList], weights: Mapping[str, float], *, k: float) -> Ordered:
    """Return the documented order of a planned retrieval.

    The words and the vectors of a corpus make one list by ``vector * weight + text * (1 - weight)``, and the lists of
    all corpora one order by reciprocal rank, counted from 1.

    Args:
        weights: of the vectors, by corpus; where there is none, both lists count by rank.
        k: brought between 1 and 500.
    """
    outer: list[RankedList] = []
    inner: dict[str, Sequence[RankedList]] = {}
    legs: dict[tuple[str, int], dict[str, RankedList]] = {}
    for one in lists:
        if one.name in (TEXT, VECTOR) and one.corpus in weights:
            legs.setdefault((one.corpus, one.variant), {}).setdefault(one.name, one)
    for one in lists:
        pair = legs.get((one.corpus, one.variant), {})
        if pair.get(one.name) is not one or len(pair) == 1:
            outer.append(one)
        elif next(iter(pair)) == one.name:
            made = _convex(pair[VECTOR], pair[TEXT], weights[one.corpus])
            outer.append(made)
            inner[_label(made)] = [pair[TEXT], pair[VECTOR]]
    return by_rank(outer, k=bounded_k(k), first_rank=1)._replace(inner=inner)


def labels_of(lists: Sequence[RankedList]) -> list[str]:
    """Return a name for each list, ``corpus.list``, and the number of the phrasing if it is not the original."""
    seen: dict[str, int] = {}
    labels = []
    for one in lists:
        label = _label(one)
        seen[label] = again = seen.get(label, 0) + 1
        labels.append(label if again == 1 else f"{label}~{again}")
    return labels


def hits_of(ordered: Ordered, found: Sequence[FusedItem]) -> tuple[Hit, ...]:
    """Return what was found as hits: the breakdown has what each list contributed, the signals the rank in it."""
    labels = labels_of(ordered.lists)
    hits = []
    for item, fused in found:
        breakdown = {labels[place]: part for place, _, part in fused.parts}
        signals = {labels[place]: float(rank - ordered.first_rank + 1) for place, rank, _ in fused.parts}
        hits.append(changed_hit(item.hit, score=fused.score, breakdown=breakdown, signals=signals))
    return tuple(hits)


def _label(one: RankedList) -> str:
    return f"{one.corpus}.{one.name}" + (f"#{one.variant}" if one.variant else "")


def _convex(vector: RankedList, text: RankedList, weight: float) -> RankedList:
    scores = [{item.key: item.hit.score for item in one.items} for one in (vector, text)]
    hits = {item.key: item.hit for one in (text, vector) for item in reversed(one.items)}
    fused = convex(scores[0], scores[1], weight)
    items = [Item(one.key, changed_hit(hits[one.key], score=one.score)) for one in fused]
    # A list of its corpus like any other: a weight of both counts as it would for each of them.
    return RankedList(HYBRID, text.corpus, items, min(vector.weight, text.weight), text.variant)
