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

    The evidence of a cosine is ``(cosine - floor) / (1 - floor)``, where the floor lies ``spread`` deviations under the
    mean cosine of two random vectors of the space, and not under 0. The evidence of words is ``(share * matched +
    title * matched by the title + reach * reached) * i / (i + information)``: the matched share of the query's
    information (the IDF of its terms), the share that the title matches, BM25 as a part of the most it can be, and the
    matched information ``i`` in nats. At ``..._at`` an answer is as likely as none; fitted on questions of four
    collections against those of the others.

    Attributes:
        cosine_at, cosine_steep: for the evidence of a cosine.
        words_at, words_steep: for the evidence of words alone.
        words_beside: how steep words are beside a cosine.
        agreeing: so many of the best candidates are averaged with the best, in the confidence of all results.
    """

    spread: NotNegative = 1.64
    cosine_at: Bounded = 0.36
    cosine_steep: Positive = 16.0
    words_at: Bounded = 0.117
    words_steep: Positive = 40.0
    words_beside: NotNegative = 12.0
    share: Share = 0.4
    title: Share = 0.3
    reach: Share = 0.3
    information: NotNegative = 12.0
    agreeing: AtLeastOne = 5

    @cached_property
    def _numbers(self) -> ConfidenceNumbers:
        """The numbers as the formula takes them."""
        return (
            self.spread,
            (self.cosine_at, self.cosine_steep),
            (self.words_at, self.words_steep),
            self.words_beside,
            (self.share, self.title, self.reach),
            self.information,
            self.agreeing,
        )
