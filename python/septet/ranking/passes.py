"""What a profile does beside weighing signals: balance, smoothing, confidence; and the types of a profile's numbers."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, TypeAlias

from septet.checked import Bounds, Checked
from septet.ranking.fusion import ConfidenceNumbers

__all__ = [
    "AtLeastOne",
    "Balance",
    "Bounded",
    "Confidence",
    "Count",
    "Few",
    "NotNegative",
    "Positive",
    "Share",
    "Smoothing",
]

#: A number from 0 to 1.
Share: TypeAlias = Annotated[float, Bounds(ge=0, le=1)]
#: Sums and products of numbers within these bounds stay far from infinity, and counts fit SQLite's integers.
Positive: TypeAlias = Annotated[float, Bounds(ge=1e-9, le=1e9)]
NotNegative: TypeAlias = Annotated[float, Bounds(ge=0, le=1e9)]
Bounded: TypeAlias = Annotated[float, Bounds(ge=-1e9, le=1e9)]
Count: TypeAlias = Annotated[int, Bounds(ge=0, le=2**31 - 1)]
AtLeastOne: TypeAlias = Annotated[int, Bounds(ge=1, le=2**31 - 1)]
Few: TypeAlias = Annotated[int, Bounds(ge=1, le=10_000)]


class Balance(Checked):
    """Vectors that single nothing out give way to words, which count ``factor * sqrt(2 ln n) / z`` times.

    ``z`` is how many deviations the best cosine lies above the mean of the query's cosines over the ``n`` vectors of
    the space. The two signals share the weight that both have; words count 4 times at most, and a quarter at least.
    """

    words: str = "semantic"
    vectors: str = "vector"
    factor: Positive = 1.1


class Smoothing(Checked):
    """Candidates whose vectors are near share their signals: ``(1 - share) * own + share * mean of the nearest``.

    Attributes:
        signals: those that are shared.
        neighbours: how many candidates are the nearest.
        most: so many of the best candidates take part.
        lead: nothing is shared when the best candidate is ahead of the next by this part of what it has.
        covered: the share of the query's information from which on less is shared the more of it a candidate holds.
        prominence: nothing is shared when the best cosine stands out less than this part of ``sqrt(2 ln n)``
            deviations.
    """

    signals: tuple[str, ...] = ("semantic", "vector")
    share: Share = 0.4
    neighbours: Few = 5
    most: Few = 100
    # A question for one thing is answered by one entry: the three numbers keep known-item searches as they are.
    lead: Share = 0.15
    covered: Share = 0.85
    prominence: NotNegative = 0.8


class Confidence(Checked):
    """How evidence becomes confidence: the probability that a candidate answers the query, by a logistic model.

    The logit of words is ``reached * reach + told * matched * i / (i + information) - against * matched - nothing``:
    ``matched`` is the matched share of the query's information (the IDF of its terms), ``i`` that information in nats,
    ``reach`` is ``matched`` times BM25 as a part of the most that the matched terms can give. A cosine counts as
    ``x = (cosine - mean) / (1 - mean)``, with the mean cosine of two vectors of the space, so that models whose cosines
    are all high are judged alike. Where both are known the logit is ``beside * words + cosine * x + rest``, without
    words ``alone * x - doubt``. Fitted on questions of eight collections against those of others, in vaults of 20 to
    20,000 entries.

    Attributes:
        agreeing: so many of the best candidates are averaged with the best, in the confidence of all results.
    """

    reached: NotNegative = 18.4
    told: NotNegative = 46.8
    against: NotNegative = 24.2
    nothing: NotNegative = 2.9
    information: NotNegative = 12.0
    beside: NotNegative = 1.6
    cosine: NotNegative = 7.5
    rest: Bounded = 0.3
    alone: NotNegative = 9.2
    doubt: NotNegative = 1.5
    agreeing: AtLeastOne = 5

    @cached_property
    def _numbers(self) -> ConfidenceNumbers:
        """The numbers as the formula takes them."""
        return (
            (self.reached, self.told, self.against),
            -self.nothing,
            self.information,
            (self.beside, self.cosine, self.rest),
            (self.alone, -self.doubt),
            self.agreeing,
        )
