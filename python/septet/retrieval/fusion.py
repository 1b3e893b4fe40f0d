"""Fusion of ranked lists into one, by rank or by score; pure functions, independent of corpora.

Fusion by rank (`rrf`) needs no comparable scores. Fusion by score (`convex`, `calibrated`, `dbsf`) uses the distances
between scores too, so these must be comparable or be normalised.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from septet.errors import QueryError
from septet.inputs.arguments import listed, real, shown, whole
from septet.model.entry import Shown
from septet.model.results import Hit
from septet.retrieval.corpus import Item, RankedList

#: The legs that produced an item.
Evidence: TypeAlias = Literal["unknown", "vector", "full_text", "hybrid"]

#: Cormack, Clarke and Buettcher 2009.
RRF_K = 60.0
#: Bounds of k in a policy.
LEAST_K = 1.0
MOST_K = 500.0
#: Weight of the cosine beside BM25 that measured best for the profile ``septet``: 0.78 of 0.78 + 0.15 + 0.07.
CALIBRATED_WEIGHT = 0.78
#: Scores map to 0 to 1 over this many standard deviations on each side of the mean.
_DEVIATIONS = 3.0
#: Maximum weight; sums of weights up to this lose no precision.
_MOST_WEIGHT = 1e9
#: Share of each score if all are equal.
_EVEN = 0.5


class _Blank(Shown):
    """A mutable `Hit` under construction: setting fields of a frozen value takes twice as long."""

    __slots__ = Hit.__slots__


_part, _score, _read = itemgetter(2), attrgetter("score"), object.__getattribute__


class Fused(NamedTuple):
    """One item of several lists.

    Attributes:
        key: its identity.
        score: the sum of its contributions; higher is better.
        parts: place of the list, rank in it, and contribution, for each list that contains the key.
    """

    key: str
    score: float
    parts: tuple[tuple[int, int, float], ...]


class FusedItem(NamedTuple):
    """One hit of several lists.

    Attributes:
        item: its key, and the hit with the score of the fusion.
        fused: the contribution of each list.
    """

    item: Item
    fused: Fused


def rrf(
    lists: Iterable[Iterable[str]],
    weights: Sequence[float] | None = None,
    *,
    k: float = RRF_K,
    first_rank: int = 0,
) -> list[Fused]:
    """Fuse ranked lists of keys, best first, by reciprocal rank: the sum of ``weight / (k + rank)``.

    Ties keep first-seen order, list by list. A key repeated in a list counts once, at its best rank. The sums are
    exact, so the order of the lists affects ties only. Lists of weight 0 are skipped.

    Args:
        lists: keys, the best first.
        weights: one for each list, 0 to 1e9; None for 1 each.
        k: damping of the first ranks; ``k + first_rank`` is above 0. 60 by Cormack, Clarke and Buettcher.
        first_rank: rank of the first item, 0 or 1.

    Raises:
        QueryError: a weight or ``k`` is out of range, or the number of weights differs from the number of lists.
    """
    ranked = [list(keys) for keys in lists]
    counted = _weights(weights, len(ranked))
    first = whole(first_rank, "first_rank", QueryError, 0, 1)
    at = real(k, "k", QueryError, 0)
    if at + first <= 0:
        raise QueryError(f"k is {shown(k)}: wanted a number above 0, where ranks are counted from 0")
    return fused_ranks(ranked, counted, at, first)


def fused_ranks(lists: Iterable[Iterable[str]], weights: Iterable[float], k: float, first_rank: int) -> list[Fused]:
    """Fuse as `rrf`, from checked numbers."""
    parts: dict[str, list[tuple[int, int, float]]] = {}
    for place, (keys, weight) in enumerate(zip(lists, weights)):
        if not weight:
            continue
        met = set()
        for rank, key in enumerate(keys, first_rank):
            if key not in met:
                met.add(key)
                parts.setdefault(key, []).append((place, rank, weight / (k + rank)))
    return _sorted(parts)


def fused_lists(lists: Sequence[RankedList], *, k: float = RRF_K, first_rank: int = 0) -> list[FusedItem]:
    """Fuse the lists of corpora and phrasings by reciprocal rank, each with its weight; see `rrf`.

    A hit of several lists is merged from all of them (`merged_hits`).
    """
    return items_of(fused_ranks(map(keys_of, lists), map(attrgetter("weight"), lists), k, first_rank), lists)


def keys_of(ranked: RankedList) -> list[str]:
    """Return the keys of a list, best first."""
    return [item[0] for item in ranked.items]


def items_of(fused: Sequence[Fused], lists: Iterable[RankedList]) -> list[FusedItem]:
    """Return fused keys with their hits, scored by the fusion."""
    hits: dict[str, Hit] = {}
    for ranked in lists:
        for key, hit in ranked.items:
            known = hits.get(key)
            hits[key] = hit if known is None or known is hit else merged_hits(known, hit)
    copies = unsealed([hits[entry.key] for entry in fused])
    for copy, entry in zip(copies, fused):
        copy.score = entry.score
    return [FusedItem(Item(entry.key, hit), entry) for entry, hit in zip(fused, sealed(copies))]


def merged_hits(first: Hit, other: Hit) -> Hit:
    """Return one hit from two lists' hits of the same text.

    It is the first one, or the other if its entry was updated later, with the higher confidence and the raw values of
    both; a missing entry, source or snippet comes from the other.
    """
    if first is other:
        return first
    if first.entry is not None and other.entry is not None and other.entry.updated_at > first.entry.updated_at:
        first, other = other, first
    changes: dict[str, object] = {}
    if other.confidence > first.confidence:
        changes["confidence"] = other.confidence
    if other.raw and other.raw != first.raw:
        known = {name: value for name, value in first.raw.items() if value is not None}
        changes["raw"] = {**first.raw, **other.raw, **known}
    if first.entry is None and other.entry is not None:
        changes["entry"] = other.entry
    if first.source is None and other.source is not None:
        changes["source"] = other.source
    # Hits of a search build their snippets lazily, from an entry with text.
    if first._origin is None and not first.snippet:
        changes |= {"snippet": other.snippet, "_origin": other._origin}
    return changed_hit(first, **changes) if changes else first


def changed_hit(hit: Hit, **changes: object) -> Hit:
    """Return a hit with other values; does not build a lazy snippet."""
    (copy,) = unsealed((hit,))
    for name, value in changes.items():
        setattr(copy, name, value)
    copy.__class__ = Hit
    return cast("Hit", copy)


def unsealed(hits: Iterable[Hit]) -> list[Any]:
    """Return copies of hits whose fields can be set, until `sealed` makes them hits."""
    copies = []
    for hit in hits:
        copy: Any = _Blank()
        # Field by field: a loop over their names takes five times as long.
        copy.id, copy.title, copy.score, copy.type = hit.id, hit.title, hit.score, hit.type
        copy.domain, copy.severity, copy.tags, copy.kind = hit.domain, hit.severity, hit.tags, hit.kind
        copy.token_estimate, copy.tier = hit.token_estimate, hit.tier
        copy.breakdown, copy.signals = hit.breakdown, hit.signals
        copy.confidence, copy.raw, copy.entry, copy.parent = hit.confidence, hit.raw, hit.entry, hit.parent
        copy.source, copy.trust, copy.parts, copy._origin = hit.source, hit.trust, hit.parts, hit._origin
        try:  # noqa: SIM105 - `suppress` is two calls for each hit
            copy.snippet = _read(hit, "snippet")
        except AttributeError:
            # It stays lazy.
            pass
        copies.append(copy)
    return copies


def sealed(copies: list[Any]) -> list[Hit]:
    """Return the copies of `unsealed` as hits; they cannot be changed any more."""
    for copy in copies:
        copy.__class__ = Hit
    return copies


def bounded_k(k: float) -> float:
    """Return k clamped to 1 to 500, the documented bounds of a policy."""
    return min(MOST_K, max(LEAST_K, k))


def convex(vector: Mapping[str, float], text: Mapping[str, float], weight: float) -> list[Fused]:
    """Fuse the scores of two legs as documented: ``vector * weight + text * (1 - weight)`` if both have the key.

    A key of one leg keeps its score, so both legs need similar scales; see `calibrated`. NaN means unknown: the key is
    skipped in that leg. In the parts, vectors are list 0, words list 1.

    Raises:
        QueryError: the weight is outside 0 to 1, or a score is infinite.
    """
    share = real(weight, "weight", QueryError, 0, 1)
    legs = (_known(vector, "vector"), _known(text, "text"))
    parts: dict[str, list[tuple[int, int, float]]] = {}
    for place, (leg, other, part) in enumerate(((legs[0], legs[1], share), (legs[1], legs[0], 1 - share))):
        for rank, key in enumerate(_descending(leg)):
            parts.setdefault(key, []).append((place, rank, leg[key] * (part if key in other else 1.0)))
    return _sorted(parts, [*legs[0], *legs[1]])


def calibrated(
    vector: Mapping[str, float], text: Mapping[str, float], weight: float = CALIBRATED_WEIGHT
) -> list[Fused]:
    """Fuse cosines, -1 to 1, and BM25 on one scale from 0 to 1, as the profile ``septet`` does.

    The score is ``weight * (cosine + 1) / (highest cosine + 1) + (1 - weight) * bm25 / highest bm25``. A missing key or
    NaN contributes nothing: unlike in `convex`, a hit of both legs scores above a hit of one.

    Raises:
        QueryError: the weight is outside 0 to 1, or a score is infinite.
    """
    share = real(weight, "weight", QueryError, 0, 1)
    legs = ((_known(vector, "vector"), 1.0, share), (_known(text, "text"), 0.0, 1 - share))
    parts: dict[str, list[tuple[int, int, float]]] = {}
    for place, (leg, shift, part) in enumerate(legs):
        top = max(leg.values(), default=0.0) + shift
        for rank, key in enumerate(_descending(leg)):
            scaled = (leg[key] + shift) / top if top > 0 else 0.0
            parts.setdefault(key, []).append((place, rank, part * min(1.0, max(0.0, scaled))))
    return _sorted(parts, [*legs[0][0], *legs[1][0]])


def dbsf(lists: Iterable[Mapping[str, float]], weights: Sequence[float] | None = None) -> list[Fused]:
    """Fuse scores by their distribution: in each list, three deviations below its mean is 0, three above it 1.

    The sum over the lists is the score (distribution-based score fusion, Mazzeschi 2023; the deviation is that of a
    sample). A list of equal scores, or of a single one, gives 0.5 each. Outliers beyond three deviations fall below 0
    or above 1, so that every list keeps its order. NaN means unknown: the key is skipped in that list. Weights are as
    for `rrf`.

    Raises:
        QueryError: a weight is out of range, the number of weights differs from the number of lists, or a score is
            infinite.
    """
    scored = [_known(scores, f"list {place}") for place, scores in enumerate(lists)]
    counted = _weights(weights, len(scored))
    parts: dict[str, list[tuple[int, int, float]]] = {}
    order: list[str] = []
    for place, (scores, weight) in enumerate(zip(scored, counted)):
        if not weight:
            continue
        order += scores
        low, width = _span(list(scores.values()))
        for rank, key in enumerate(_descending(scores)):
            share = (scores[key] - low) / width if width > 0 else _EVEN
            parts.setdefault(key, []).append((place, rank, weight * share))
    return _sorted(parts, order)


def merged_evidence(first: Evidence, other: Evidence) -> Evidence:
    """Return the evidence of an item in two lists: vector and words make ``hybrid``; unknown adds nothing."""
    if "unknown" in (first, other) or first == other:
        return other if first == "unknown" else first
    return "hybrid"


def _weights(weights: Sequence[float] | None, count: int) -> list[float]:
    if weights is None:
        return [1.0] * count
    several = listed(weights, "weights", QueryError, "a number for each list")
    numbers = [real(weight, f"weights[{at}]", QueryError, 0, _MOST_WEIGHT) for at, weight in enumerate(several)]
    if len(numbers) != count:
        raise QueryError(f"{len(numbers)} weights for {count} lists: pass one weight per list")
    return numbers


def _known(scores: Mapping[str, float], name: str) -> dict[str, float]:
    known = {key: score for key, score in scores.items() if not math.isnan(score)}
    for key, score in known.items():
        if math.isinf(score):
            raise QueryError(f"{name} scores {shown(key)} {score}: wanted finite numbers, or NaN for unknown")
    return known


def _descending(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=scores.__getitem__, reverse=True)


def _span(scores: Sequence[float]) -> tuple[float, float]:
    """Return the low end and the width of a distribution; width 0 if all scores are equal."""
    if len(scores) < 2 or min(scores) == max(scores):
        return 0.0, 0.0
    mean = math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1))
    return mean - _DEVIATIONS * deviation, 2 * _DEVIATIONS * deviation


def _sorted(parts: Mapping[str, Sequence[tuple[int, int, float]]], order: Iterable[str] | None = None) -> list[Fused]:
    """Return items with their sums, highest first; ties in the given order, or first-seen."""
    keys = parts if order is None else dict.fromkeys(order)
    # Exact: the same contributions in another order give the same score, to the last bit.
    fused = [Fused(key, math.fsum(map(_part, parts[key])), tuple(parts[key])) for key in keys]
    fused.sort(key=_score, reverse=True)
    return fused
