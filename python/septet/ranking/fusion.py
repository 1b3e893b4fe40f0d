"""Fusion: expressions over columns that yield a column, and passes besides, as data in a profile.

A column is a float64 array with one value per candidate; NaN is unknown. Higher is better in every column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

from septet.inputs.checked import LARGE, SMALL, Bounds, Checked
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler

Missing: TypeAlias = Literal["zero", "share"]
#: A number from 0 to 1.
Share: TypeAlias = Annotated[float, Bounds(ge=0, le=1)]
#: Within these bounds, sums and products stay finite, and counts fit SQLite's integers.
Positive: TypeAlias = Annotated[float, Bounds(ge=1e-9, le=1e9)]
NotNegative: TypeAlias = Annotated[float, Bounds(ge=0, le=1e9)]
Bounded: TypeAlias = Annotated[float, Bounds(ge=-1e9, le=1e9)]
Count: TypeAlias = Annotated[int, Bounds(ge=0, le=2**31 - 1)]
AtLeastOne: TypeAlias = Annotated[int, Bounds(ge=1, le=2**31 - 1)]
Few: TypeAlias = Annotated[int, Bounds(ge=1, le=10_000)]


class Col(Checked):
    """A column by name, for example ``{"col": "bm25"}``."""

    col: str


class Const(Checked):
    """The same value for every candidate."""

    const: Annotated[float, Bounds(ge=-LARGE, le=LARGE)]


class Only(Checked):
    """An expression for candidates of one kind, unknown for all others."""

    only: str
    of: Expression


class Scale(Checked):
    """``(x + shift) / max(x + shift)`` over the candidates; 0 if no value is positive, unknown stays unknown."""

    scale: Expression
    shift: Annotated[float, Bounds(ge=-LARGE, le=LARGE)] = 0.0


class Above(Checked):
    """``x - min(x)`` over the candidates; unknown stays unknown. For facts: a value shared by all adds nothing."""

    above: Expression


class Clamp(Checked):
    """``min(max(x, least), most)``; unknown stays unknown."""

    clamp: Expression
    least: Annotated[float, Bounds(ge=-LARGE, le=LARGE)] = 0.0
    most: Annotated[float, Bounds(ge=-LARGE, le=LARGE)] = 1.0

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ValueError(f"least is {self.least:g} and most {self.most:g}: wanted least <= most")


class Log1p(Checked):
    """``ln(1 + max(x, 0))``. For counts, with diminishing returns."""

    log1p: Expression


class Decay(Checked):
    """``2 ** (-max(x, 0) / half_life)``. For ages: 1 when new, halved after each half-life."""

    decay: Expression
    half_life: Annotated[float, Bounds(ge=SMALL, le=LARGE)]


class Saturate(Checked):
    """``x / (1 + x)`` with ``x = max(x, 0)``. For BM25, which is unbounded: 0 to 1, independent of other candidates."""

    saturate: Expression


class Found(Checked):
    """1 above 0, else 0; unknown stays unknown. For BM25: 1 if any word matched."""

    found: Expression


class Linear(Checked):
    """``times * x + plus``; unknown stays unknown."""

    linear: Expression
    times: Annotated[float, Bounds(ge=-LARGE, le=LARGE)] = 1.0
    plus: Annotated[float, Bounds(ge=-LARGE, le=LARGE)] = 0.0


class Unless(Checked):
    """An expression where another is unknown or 0, else unknown: an age, unless the candidate never ages."""

    unless: Expression
    of: Expression


class Top(Checked):
    """The highest values, as many as a leg takes candidates, else unknown: the list of that leg alone.

    A candidate of one leg may have a value in the other leg's column, too: ``bm25`` and ``cosine``.
    """

    top: Expression


class Estimate(Checked):
    """A cosine if it is known, else an estimate, for entries without a vector yet.

    ``mean + deviation * (intercept + slope * t) + r``: mean and deviation are those of the query's cosines over the
    space (columns ``cosine_mean`` and ``cosine_deviation``), ``t`` is the value of ``by``, and ``r`` is the sum
    of the residuals of estimates of known cosines, over the candidates with a positive ``t``, divided by their number +
    ``doubt``. An entry whose title equals the query has the estimate 1.
    """

    estimate: Expression
    by: Expression
    intercept: Annotated[float, Bounds(ge=-LARGE, le=LARGE)]
    slope: Annotated[float, Bounds(ge=-LARGE, le=LARGE)]
    doubt: Annotated[float, Bounds(ge=0, le=LARGE)]


class Standing(Checked):
    """z-score of a cosine: ``(x - mean) / deviation`` of the query's cosines over its space.

    It is comparable between models with high and low cosines. Unknown mean and deviation (columns ``cosine_mean`` and
    ``cosine_deviation``) count as 0 and 0.1.
    """

    standing: Expression


class Term(Checked):
    """A weighted term of a `Sum` or `Rrf`."""

    weight: Annotated[float, Bounds(ge=0, le=LARGE)]
    of: Expression


class Sum(Checked):
    """The weighted mean of its terms.

    ``missing="zero"`` counts unknown values as 0; ``"share"`` also redistributes the weight of terms that are unknown
    for *every* candidate to the others.
    """

    sum: Annotated[tuple[Term, ...], Bounds(min_length=1)]
    missing: Missing = "share"

    def __post_init__(self) -> None:
        if sum(t.weight for t in self.sum) < SMALL:
            raise ValueError("all weights of the sum are 0")


class Rrf(Checked):
    """Reciprocal rank fusion, ``sum(weight / (k + rank))``.

    A candidate whose value is unknown or 0 (no word of the query matches) has no rank, and gets nothing from that list.
    """

    rrf: Annotated[tuple[Term, ...], Bounds(min_length=1)]
    k: Annotated[float, Bounds(ge=0, le=LARGE)] = 60.0
    first_rank: Literal[0, 1] = 1

    def __post_init__(self) -> None:
        if self.k + self.first_rank <= 0:
            raise ValueError("k and first_rank are both 0: the first rank would get an infinite score")


class _ByKey:
    """Selects the expression type in pydantic by the dict's discriminating key."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        from pydantic_core import core_schema

        wanted = f"wanted an expression: a dict with one of the keys {', '.join(_KINDS)}"
        choices = {key: handler.generate_schema(kind) for key, kind in _KINDS.items()}
        return core_schema.tagged_union_schema(
            choices, _key_of, custom_error_type="expression", custom_error_message=wanted
        )


def _key_of(node: object) -> str | None:
    if isinstance(node, Checked):
        return type(node).__name__.lower()
    return next((k for k in _KINDS if k in node), None) if isinstance(node, Mapping) else None


Expression: TypeAlias = Annotated[
    Col
    | Const
    | Only
    | Scale
    | Above
    | Clamp
    | Log1p
    | Decay
    | Saturate
    | Found
    | Linear
    | Unless
    | Top
    | Estimate
    | Standing
    | Sum
    | Rrf,
    _ByKey(),
]
#: The types of expressions by their discriminating keys.
_KINDS = {kind.__name__.lower(): kind for kind in get_args(get_args(Expression)[0])}


def names(expression: Checked) -> frozenset[str]:
    """Return the names of all columns that an expression reads."""
    if isinstance(expression, Col):
        return frozenset({expression.col})
    return frozenset().union(*map(names, _inside(expression)))


def contains(expression: Checked, kind: type[Checked]) -> bool:
    """Return True if an expression is, or has inside, one of a kind."""
    return isinstance(expression, kind) or any(contains(inner, kind) for inner in _inside(expression))


def _inside(expression: Checked) -> Iterator[Checked]:
    """Yield the direct sub-expressions."""
    for value in _values(expression):
        if isinstance(value, tuple):
            yield from (term.of for term in value)
        elif isinstance(value, Checked):
            yield value


def _values(expression: Checked) -> list[Any]:
    return [getattr(expression, name) for name in expression.__dataclass_fields__]


def parts(expression: Checked) -> tuple[Any, ...]:
    """Convert an expression to nested tuples: its key, and its fields in order."""
    values: list[Any] = []
    for value in _values(expression):
        if isinstance(value, tuple):
            values.append([(term.weight, parts(term.of)) for term in value])
        else:
            values.append(parts(value) if isinstance(value, Checked) else value)
    if isinstance(expression, Unless):
        values.reverse()
    elif isinstance(expression, Estimate):
        values[2:] = [tuple(values[2:])]
    return ("halve" if isinstance(expression, Decay) else type(expression).__name__.lower(), *values)


# -- passes ------------------------------------------------------------------------------------------------------------


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
    words_weight * words + cosine_weight * x``, without words ``cosine_only_intercept + cosine_only_weight * x``, there
    with the middle of that mean and the mean of the query's cosines over the space, if it is lower. Fitted on questions
    of eight collections against those of others, in vaults of 20 to 20,000 entries.

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
