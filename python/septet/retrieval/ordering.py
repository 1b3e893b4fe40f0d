"""Orders the replies of a wave by the rules of a profile; the contributions to each place stay known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.model.results import Hit
from septet.retrieval.confident import by_confidence
from septet.retrieval.corpus import Item, RankedList
from septet.retrieval.fusion import FusedItem, bounded_k, changed_hit, convex, fused_lists

if TYPE_CHECKING:
    from septet.retrieval.waves import Reply

#: The list fused from the words and the vectors of one corpus.
HYBRID = "hybrid"
#: The lists of the legs.
TEXT = "text"
VECTOR = "vector"


class Ordered(NamedTuple):
    """The fused order.

    Attributes:
        items: all items, best first; their parts name places in ``lists``.
        lists: the lists that were fused.
        k: of the fusion by rank.
        first_rank: rank of the first item of a list, 0 or 1.
        inner: the lists that were merged into one of ``lists``, by its label.
    """

    items: Sequence[FusedItem]
    lists: Sequence[RankedList]
    k: float
    first_rank: int
    inner: Mapping[str, Sequence[RankedList]] = {}


def answered_lists(answers: Sequence[Reply]) -> list[RankedList]:
    """Return all lists of the replies, by corpus and phrasing."""
    return [ranked for reply in answers if reply.answered is not None for ranked in reply.answered.lists]


def by_rank(lists: Sequence[RankedList], *, k: float, first_rank: int) -> Ordered:
    """Return the order by reciprocal rank over all lists."""
    return Ordered(fused_lists(lists, k=k, first_rank=first_rank), lists, k, first_rank)


def by_likelihood(lists: Sequence[RankedList], *, k: float) -> Ordered:
    """Return the order by the confidence of hits; lists without confidence count by rank."""
    return Ordered(by_confidence(lists, k=k), lists, k, 0)


def within_corpora(lists: Sequence[RankedList], weights: Mapping[str, float], *, k: float) -> Ordered:
    """Return the documented order of a planned retrieval.

    The words and the vectors of a corpus make one list by ``vector * weight + text * (1 - weight)``, and the lists of
    all corpora one order by reciprocal rank, counted from 1.

    Args:
        weights: of the vectors, by corpus; without one, both lists count by rank.
        k: clamped to 1 to 500.
    """
    outer: list[RankedList] = []
    inner: dict[str, Sequence[RankedList]] = {}
    legs: dict[tuple[str, int], dict[str, RankedList]] = {}
    for ranked in lists:
        if ranked.name in (TEXT, VECTOR) and ranked.corpus in weights:
            legs.setdefault((ranked.corpus, ranked.variant), {}).setdefault(ranked.name, ranked)
    for ranked in lists:
        pair = legs.get((ranked.corpus, ranked.variant), {})
        if pair.get(ranked.name) is not ranked or len(pair) == 1:
            outer.append(ranked)
        elif next(iter(pair)) == ranked.name:
            fused = _convex(pair[VECTOR], pair[TEXT], weights[ranked.corpus])
            outer.append(fused)
            inner[_label(fused)] = [pair[TEXT], pair[VECTOR]]
    return by_rank(outer, k=bounded_k(k), first_rank=1)._replace(inner=inner)


def labels_of(lists: Sequence[RankedList]) -> list[str]:
    """Return a name for each list, ``corpus.list``, and the number of the phrasing if it is not the original."""
    seen: dict[str, int] = {}
    labels = []
    for ranked in lists:
        label = _label(ranked)
        seen[label] = again = seen.get(label, 0) + 1
        labels.append(label if again == 1 else f"{label}~{again}")
    return labels


def hits_of(ordered: Ordered, items: Sequence[FusedItem]) -> tuple[Hit, ...]:
    """Return items as hits: the breakdown has the contribution of each list, the signals the rank in it."""
    labels = labels_of(ordered.lists)
    hits = []
    for item, fused in items:
        breakdown = {labels[place]: part for place, _, part in fused.parts}
        signals = {labels[place]: float(rank - ordered.first_rank + 1) for place, rank, _ in fused.parts}
        hits.append(changed_hit(item.hit, score=fused.score, breakdown=breakdown, signals=signals))
    return tuple(hits)


def _label(ranked: RankedList) -> str:
    return f"{ranked.corpus}.{ranked.name}" + (f"#{ranked.variant}" if ranked.variant else "")


def _convex(vector: RankedList, text: RankedList, weight: float) -> RankedList:
    scores = [{item.key: item.hit.score for item in ranked.items} for ranked in (vector, text)]
    hits = {item.key: item.hit for ranked in (text, vector) for item in reversed(ranked.items)}
    fused = convex(scores[0], scores[1], weight)
    items = [Item(entry.key, changed_hit(hits[entry.key], score=entry.score)) for entry in fused]
    # The merged list has the weight that each of the two had.
    return RankedList(HYBRID, text.corpus, items, min(vector.weight, text.weight), text.variant)
