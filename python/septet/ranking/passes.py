"""Passes of a profile besides weighted signals: balance, smoothing, confidence; and its number types."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, NamedTuple, TypeAlias

from septet.inputs.checked import Bounds, Checked
from septet.ranking.fusion import ConfidenceNumbers

#: A number from 0 to 1.
Share: TypeAlias = Annotated[float, Bounds(ge=0, le=1)]
#: Within these bounds, sums and products stay finite, and counts fit SQLite's integers.
Positive: TypeAlias = Annotated[float, Bounds(ge=1e-9, le=1e9)]
NotNegative: TypeAlias = Annotated[float, Bounds(ge=0, le=1e9)]
Bounded: TypeAlias = Annotated[float, Bounds(ge=-1e9, le=1e9)]
Count: TypeAlias = Annotated[int, Bounds(ge=0, le=2**31 - 1)]
AtLeastOne: TypeAlias = Annotated[int, Bounds(ge=1, le=2**31 - 1)]
Few: TypeAlias = Annotated[int, Bounds(ge=1, le=10_000)]


class Balance(Checked):
    """Shifts weight from vectors to words if no cosine stands out: words count ``factor * sqrt(2 ln n) / z`` times.

    ``z`` is the z-score of the best cosine among the query's cosines over the ``n`` vectors of the space. The sum of
    the two weights stays; the factor of words is clipped to 1/4 … 4.
    """

    words: str = "semantic"
    vectors: str = "vector"
    factor: Positive = 1.1


class Agreement(NamedTuple):
    """Agreement of vectors with words: entries that share rare words are nearer by the vectors of a working model.

    Attributes:
        entries: sample size.
        nearest: neighbours of a sampled entry: the best by BM25 over its rarest words.
        rarest: number of words searched per entry.
        common: words in more than one of this many entries are ignored.
        least_near: minimum neighbours of a counted entry.
        least_entries: minimum counted entries.
        same: minimum cosine of duplicates, which any model rates as equal.
        far: quantile of the entries' mean cosines that is evaluated.
        none: z-score of that quantile, against random pairs, up to which agreement is 0.
        full: z-score from which agreement is 1.
        low: agreement below which a search has the note ``vectors_disagree``.
    """

    entries: int = 48
    nearest: int = 5
    rarest: int = 12
    common: int = 8
    least_near: int = 2
    least_entries: int = 32
    same: float = 0.999
    far: float = 0.4
    none: float = 0.2
    full: float = 0.9
    low: float = 0.25


class Smoothing(Checked):
    """Candidates whose vectors are near share their signals: ``(1 - share) * own + share * mean of the nearest``.

    Attributes:
        signals: smoothed signals.
        neighbours: number of nearest candidates.
        most: number of best candidates that take part.
        lead: no smoothing if the best candidate leads the next by this fraction of its score.
        covered: share of the query's information in a candidate from which smoothing decreases.
        prominence: no smoothing if the z-score of the best cosine is below this fraction of ``sqrt(2 ln n)``.
    """

    signals: tuple[str, ...] = ("semantic", "vector")
    share: Share = 0.4
    neighbours: Few = 5
    most: Few = 100
    # The answer of a known-item search is a single entry: these three numbers exempt such searches.
    lead: Share = 0.15
    covered: Share = 0.85
    prominence: NotNegative = 0.8


class Confidence(Checked):
    """Logistic model of confidence, the probability that a candidate answers the query.

    The logit of words is ``words_intercept + reach_weight * reach + share * (information_weight * i / (i +
    half_information) - share_penalty)``: ``share`` is the matched share of the query's information (the IDF of its
    terms), ``i`` that information in nats, ``reach`` the share times BM25 as a fraction of the maximum of the matched
    terms. A cosine counts as ``x = (cosine - mean) / (1 - mean)``, with the mean cosine of two vectors of the space,
    so that models with generally high cosines are comparable. If both are known the logit is ``intercept +
    words_weight * words + cosine_weight * x``, without words ``cosine_only_intercept + cosine_only_weight * x``. Fitted
    on questions of eight collections against those of others, in vaults of 20 to 20,000 entries.

    Attributes:
        agreeing: number of best candidates averaged with the best, in the confidence of all results.
    """

    words_intercept: Bounded = -2.9
    reach_weight: NotNegative = 18.4
    information_weight: NotNegative = 46.8
    half_information: NotNegative = 12.0
    share_penalty: NotNegative = 24.2
    intercept: Bounded = 0.3
    words_weight: NotNegative = 1.6
    cosine_weight: NotNegative = 7.5
    cosine_only_intercept: Bounded = -1.5
    cosine_only_weight: NotNegative = 9.2
    agreeing: AtLeastOne = 5

    @cached_property
    def _numbers(self) -> ConfidenceNumbers:
        """The numbers in the order of the formula."""
        return (
            (self.reach_weight, self.information_weight, self.share_penalty),
            self.words_intercept,
            self.half_information,
            (self.words_weight, self.cosine_weight, self.intercept),
            (self.cosine_only_weight, self.cosine_only_intercept),
            self.agreeing,
        )
