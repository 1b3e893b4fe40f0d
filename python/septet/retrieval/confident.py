"""Fusion by confidence: what is likeliest to answer comes first, whichever corpus it is from.

Ranks of corpora that hold different texts say nothing of each other: the best of a corpus that answers nothing counts
like the best of the one that does. Confidence is measured the same way in every vault.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from septet.errors import QueryError
from septet.inputs.arguments import real, shown
from septet.retrieval.corpus import RankedList
from septet.retrieval.fusion import Fused, FusedItem, items_of, rrf

__all__ = ["CONFIDENCE_K", "CONFIDENCE_WEIGHT", "PHRASING_SHARE", "by_confidence", "confident"]

#: Of the fusion with lists that tell no confidence, and what the order by confidence counts there: five of it come
#: before the first of another list. With ten paths that answer nothing beside the corpora of the standard library,
#: nDCG@10 fell from 0.626 to 0.618 so, to 0.559 with a weight of 1.
CONFIDENCE_K = 10.0
CONFIDENCE_WEIGHT = 1.5
#: Evidence for another phrasing is less than evidence for the query: it may not say the same. With half of it what a
#: phrasing names stood behind what the query finds by a word or two.
PHRASING_SHARE = 0.75
#: No evidence is certain: a certain one would leave nothing to the others.
_MOST = 1 - 1e-12
#: A confidence above 0.999 does not tell which of two is likelier, so ranks do: else nothing that another phrasing is
#: sure of could stand before the last thing that the query itself is sure of.
_SURE_NATS = -math.log1p(-0.999)


def confident(lists: Iterable[Mapping[str, float]], weights: Sequence[float] | None = None) -> list[Fused]:
    """Fuse probabilities: ``1 - product of (1 - p) ** weight``, as if each list were evidence of its own.

    What one list alone holds keeps its probability (Pearl 1988 calls the rule noisy or). Equal scores keep the order in
    which their keys were first met. NaN is unknown: as if the list did not hold the key.

    Args:
        lists: probabilities by key, 0 to 1.
        weights: how often each list counts, 0 to 1e9; None for 1 each.

    Returns:
        The keys, the likeliest first; the parts of a score are shares of it.

    Raises:
        QueryError: a probability or a weight is out of range, or there is not one weight for each list.
    """
    several = [_probabilities(scores, place) for place, scores in enumerate(lists)]
    counted = [1.0] * len(several) if weights is None else list(weights)
    if len(counted) != len(several):
        raise QueryError(f"there are {len(counted)} weights for {len(several)} lists: wanted one for each")
    told: dict[str, list[tuple[int, int, float]]] = {}
    for place, (scores, given) in enumerate(zip(several, counted)):
        weight = real(given, f"weights[{place}]", QueryError, 0, 1e9)
        order = sorted(scores, key=lambda key: -scores[key])
        ranks = {key: rank for rank, key in enumerate(order)}
        for key, likely in scores.items() if weight else ():
            # How much doubt is taken away, in nats: these add up.
            told.setdefault(key, []).append((place, ranks[key], -weight * math.log1p(-min(likely, _MOST))))
    return sorted((_fused(key, parts) for key, parts in told.items()), key=lambda one: -one.score)


def by_confidence(lists: Sequence[RankedList], *, k: float = CONFIDENCE_K) -> list[FusedItem]:
    """Fuse the lists of corpora by the confidence of their hits.

    Lists of one name are one kind of evidence, of which the highest counts once, whichever phrasing or corpus brought
    it; the kinds are fused as by `confident`, other phrasings with three quarters of their weight. A list keeps its
    order: where hits stand against their confidence, each counts the mean of theirs. Equal scores, as of all that is
    surer than 0.999, stand by their best rank. Lists without any confidence, as of paths, are fused with the order that
    results by reciprocal rank.

    Args:
        lists: of any corpora, each with its weight.
        k: of the fusion by rank.

    Returns:
        The items, the best first. The score is the probability, or the sum of reciprocal ranks where a list tells none.

    Raises:
        QueryError: a weight or ``k`` is out of range.
    """
    filled = [place for place, one in enumerate(lists) if one.items and one.weight]
    told = [place for place in filled if any(item.hit.confidence > 0 for item in lists[place].items)]
    if len(filled) < 2 or not told:
        return items_of(_ranked([(place, lists[place]) for place in filled], k), lists)
    likely = _likely(lists, told)
    if len(told) == len(filled):
        return items_of(likely, lists)
    silent = [(place, lists[place]) for place in filled if place not in told]
    return items_of(_mixed(likely, silent, k), lists)


def _likely(lists: Sequence[RankedList], places: Sequence[int]) -> list[Fused]:
    """Return the items of some lists by confidence, with the places of the lists that told it."""
    best: dict[str, dict[str, tuple[float, int, int]]] = {}
    for place in places:
        one = lists[place]
        kind = best.setdefault(one.name, {})
        share = PHRASING_SHARE if one.variant else 1.0
        likely = _descending([min(max(item.hit.confidence, 0.0), _MOST) for item in one.items])
        for rank, (key, _) in enumerate(one.items):
            # A weight is how often the evidence counts.
            nats = one.weight * min(_SURE_NATS, -share * math.log1p(-likely[rank]))
            if key not in kind or nats > kind[key][0]:
                kind[key] = (nats, place, rank)
    parts: dict[str, list[tuple[int, int, float]]] = {}
    for place in places:
        for key, _ in lists[place].items:
            parts.setdefault(key, [])
    for own in best.values():
        for key, (nats, place, rank) in own.items():
            parts[key].append((place, rank, nats))
    fused = [_fused(key, sorted(several)) for key, several in parts.items()]
    return sorted(fused, key=lambda one: (-one.score, min((rank for _, rank, _ in one.parts), default=0)))


def _descending(values: Sequence[float]) -> list[float]:
    """Return the nearest values that never rise: those in the wrong order have their mean (isotonic regression)."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while blocks and blocks[-1][0] * count < total * blocks[-1][1]:
            before = blocks.pop()
            total, count = total + before[0], count + before[1]
        blocks.append((total, count))
    return [total / count for total, count in blocks for _ in range(count)]


def _fused(key: str, parts: Sequence[tuple[int, int, float]]) -> Fused:
    """Return an item with its probability, shared among the lists as they take doubt away."""
    nats = math.fsum(part for _, _, part in parts)
    score = -math.expm1(-nats)
    shares = [(place, rank, score * part / nats if nats > 0 else 0.0) for place, rank, part in parts]
    return Fused(key, score, tuple(shares))


def _ranked(placed: Sequence[tuple[int, RankedList]], k: float) -> list[Fused]:
    found = rrf([[item.key for item in one.items] for _, one in placed], [one.weight for _, one in placed], k=k)
    return [one._replace(parts=tuple((placed[at][0], rank, part) for at, rank, part in one.parts)) for one in found]


def _mixed(likely: Sequence[Fused], silent: Sequence[tuple[int, RankedList]], k: float) -> list[Fused]:
    """Fuse the order by confidence, as one list, with others by rank; its part of a score is shared as it was made."""
    orders = [[one.key for one in likely], *([item.key for item in one.items] for _, one in silent)]
    of = {one.key: one for one in likely}
    made = []
    for one in rrf(orders, [CONFIDENCE_WEIGHT, *(ranked.weight for _, ranked in silent)], k=k):
        parts: list[tuple[int, int, float]] = []
        for at, rank, part in one.parts:
            if at:
                parts.append((silent[at - 1][0], rank, part))
            else:
                own = of[one.key]
                # Without any confidence the first list that holds it has put it there.
                shares = [share / own.score for _, _, share in own.parts] if own.score > 0 else [1.0]
                parts += [(place, there, part * share) for (place, there, _), share in zip(own.parts, shares)]
        made.append(one._replace(parts=tuple(sorted(parts))))
    return made


def _probabilities(scores: Mapping[str, float], place: int) -> dict[str, float]:
    known = {key: score for key, score in scores.items() if not math.isnan(score)}
    for key, score in known.items():
        if not 0 <= score <= 1:
            raise QueryError(
                f"list {place} gives {shown(key)} {score}: wanted a probability, 0 to 1, or NaN for unknown"
            )
    return known
