"""Orders the replies of a wave by the rules of a profile; the contributions to each place stay known.

Ranks of different corpora are not comparable: the best hit of a corpus without an answer has the same rank as the best
hit of the corpus that has it. Confidence is measured the same way in every vault, so `by_confidence` orders the hits of
all corpora by how likely they answer the query.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from septet.model.results import Hit
from septet.retrieval.corpus import Item, RankedList
from septet.retrieval.fusion import (
    Fused,
    FusedItem,
    bounded_k,
    convex,
    fused_lists,
    fused_ranks,
    items_of,
    keys_of,
    sealed,
    unsealed,
)

if TYPE_CHECKING:
    from septet.retrieval.waves import Reply

#: k and the weight of the confidence order when it is fused with lists without confidence: its first five items precede
#: the first of such a list. With ten irrelevant paths beside the corpora of the standard library, nDCG@10 fell from
#: 0.626 to 0.618; with a weight of 1 to 0.559.
CONFIDENCE_K = 10.0
CONFIDENCE_WEIGHT = 1.5
#: Evidence for another phrasing weighs less than evidence for the query: the phrasing may mean something else. At 0.5,
#: hits of a phrasing ranked below hits of the query that matched only a word or two.
PHRASING_SHARE = 0.75
#: A probability of 1 would leave no share to the other lists.
_MOST = 1 - 1e-12
#: Confidences above 0.999 are ordered by rank: they do not discriminate, and without the cap no certain hit of another
#: phrasing could precede the last certain hit of the query.
_SURE_NATS = -math.log1p(-0.999)
#: The rank and the contribution of a part.
_RANK, _NATS = itemgetter(1), itemgetter(2)


def by_confidence(lists: Sequence[RankedList], *, k: float = CONFIDENCE_K) -> list[FusedItem]:
    """Fuse the lists of corpora by the confidence of their hits.

    Lists of one name are one kind of evidence: the highest confidence counts once, whichever phrasing or corpus it
    comes from. The kinds are fused by noisy or (Pearl 1988), other phrasings at three quarters of their weight. The
    order within a list stays: hits whose confidences contradict their order get the mean of these. Ties, such as
    confidences above 0.999, are ordered by best rank. Lists without confidence, such as paths, are fused with the
    resulting order by reciprocal rank.

    The score is the probability, or the sum of reciprocal ranks if any list has no confidence.
    """
    places, confident_places, unrated = [], [], []
    for place, ranked in enumerate(lists):
        if ranked.items and ranked.weight:
            places.append((place, ranked))
            for item in ranked.items:
                if item.hit.confidence > 0:
                    confident_places.append(place)
                    break
            else:
                unrated.append((place, ranked))
    if len(places) < 2 or not confident_places:
        return items_of(_ranked(places, k), lists)
    likely = _likely(lists, confident_places)
    return items_of(_mixed(likely, unrated, k) if unrated else likely, lists)


def _likely(lists: Sequence[RankedList], places: Sequence[int]) -> list[Fused]:
    """Return the items of the given lists by confidence; their parts name the lists."""
    best: dict[str, dict[str, tuple[float, int, int]]] = {}
    for place in places:
        ranked = lists[place]
        kind = best.setdefault(ranked.name, {})
        share = PHRASING_SHARE if ranked.variant else 1.0
        likely = _descending([min(max(item.hit.confidence, 0.0), _MOST) for item in ranked.items])
        for rank, (key, _) in enumerate(ranked.items):
            # A weight is the multiplicity of the evidence.
            nats = ranked.weight * min(_SURE_NATS, -share * math.log1p(-likely[rank]))
            if key not in kind or nats > kind[key][0]:
                kind[key] = (nats, place, rank)
    parts: dict[str, list[tuple[int, int, float]]] = {}
    for place in places:
        for key, _ in lists[place].items:
            parts.setdefault(key, [])
    for by_key in best.values():
        for key, (nats, place, rank) in by_key.items():
            parts[key].append((place, rank, nats))
    order = []
    for at, (key, several) in enumerate(parts.items()):
        # The probability, divided among the lists by their nats.
        nats = math.fsum(map(_NATS, several))
        score, shares = -math.expm1(-nats), []
        for place, rank, part in sorted(several):
            shares.append((place, rank, score * part / nats if nats > 0 else 0.0))
        order.append((-score, min(map(_RANK, several), default=0), at, Fused(key, score, tuple(shares))))
    order.sort()
    return [fused for *_, fused in order]


def _descending(values: Sequence[float]) -> list[float]:
    """Return the nearest non-increasing values (isotonic regression): values in the wrong order get their mean."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while blocks and blocks[-1][0] * count < total * blocks[-1][1]:
            before = blocks.pop()
            total, count = total + before[0], count + before[1]
        blocks.append((total, count))
    return [total / count for total, count in blocks for _ in range(count)]


def _ranked(placed: Sequence[tuple[int, RankedList]], k: float) -> list[Fused]:
    fused, places = [], [place for place, _ in placed]
    weights = [ranked.weight for _, ranked in placed]
    for key, score, parts in fused_ranks([keys_of(ranked) for _, ranked in placed], weights, k, 0):
        placed_parts = []
        for at, rank, part in parts:
            placed_parts.append((places[at], rank, part))
        fused.append(Fused(key, score, tuple(placed_parts)))
    return fused


def _mixed(likely: Sequence[Fused], unrated: Sequence[tuple[int, RankedList]], k: float) -> list[Fused]:
    """Fuse the confidence order with other lists by rank; its part of a score is divided among its sources."""
    orders = [[item.key for item in likely], *[keys_of(ranked) for _, ranked in unrated]]
    by_key = {item.key: item for item in likely}
    fused = []
    for item in fused_ranks(orders, [CONFIDENCE_WEIGHT, *[ranked.weight for _, ranked in unrated]], k, 0):
        parts: list[tuple[int, int, float]] = []
        for at, rank, part in item.parts:
            if at:
                parts.append((unrated[at - 1][0], rank, part))
            else:
                source = by_key[item.key]
                # An item without confidence has one part: the first list that contains it.
                shares = [share / source.score for _, _, share in source.parts] if source.score > 0 else [1.0]
                parts += [(place, rank_in, part * share) for (place, rank_in, _), share in zip(source.parts, shares)]
        fused.append(item._replace(parts=tuple(sorted(parts))))
    return fused


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
    all corpora one order by reciprocal rank, counted from 1, with ``k`` clamped to 1 to 500. Both lists of a corpus
    without a weight count by rank.
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
    labels, above = labels_of(ordered.lists), 1 - ordered.first_rank
    copies = unsealed([item.hit for item, _ in items])
    for hit, (_, fused) in zip(copies, items):
        hit.score, hit.breakdown, hit.signals = fused.score, {}, {}
        for place, rank, part in fused.parts:
            hit.breakdown[labels[place]], hit.signals[labels[place]] = part, float(rank + above)
    return tuple(sealed(copies))


def _label(ranked: RankedList) -> str:
    return f"{ranked.corpus}.{ranked.name}" + (f"#{ranked.variant}" if ranked.variant else "")


def _convex(vector: RankedList, text: RankedList, weight: float) -> RankedList:
    scores = [{item.key: item.hit.score for item in ranked.items} for ranked in (vector, text)]
    hits = {item.key: item.hit for ranked in (text, vector) for item in reversed(ranked.items)}
    fused = convex(scores[0], scores[1], weight)
    copies = unsealed([hits[entry.key] for entry in fused])
    for copy, entry in zip(copies, fused):
        copy.score = entry.score
    items = [Item(entry.key, hit) for entry, hit in zip(fused, sealed(copies))]
    # The merged list has the weight that each of the two had.
    return RankedList(HYBRID, text.corpus, items, min(vector.weight, text.weight), text.variant)
