"""Fusion: expressions over columns that yield a column, as data in a profile.

A column is a float64 array with one value per candidate; NaN is unknown. Higher is better in every column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.inputs.checked import LARGE, SMALL, Bounds, Checked

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler

Column: TypeAlias = NDArray[np.float64]
#: Weights of the three word features; intercept of words; half information; weights of words and cosine and intercept
#: if both are known; weight of the cosine and intercept without words; number of agreeing candidates.
ConfidenceNumbers: TypeAlias = tuple[
    tuple[float, float, float], float, float, tuple[float, float, float], tuple[float, float], int
]
Missing: TypeAlias = Literal["zero", "share"]


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


_KINDS = {
    "col": Col,
    "const": Const,
    "only": Only,
    "scale": Scale,
    "above": Above,
    "clamp": Clamp,
    "log1p": Log1p,
    "decay": Decay,
    "saturate": Saturate,
    "found": Found,
    "linear": Linear,
    "unless": Unless,
    "top": Top,
    "estimate": Estimate,
    "standing": Standing,
    "sum": Sum,
    "rrf": Rrf,
}

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


class Columns(NamedTuple):
    """Input of an expression: named columns of equal length, and each candidate's kind."""

    values: Mapping[str, Column]
    kinds: Sequence[str]


def formula(
    signals: Sequence[Expression],
    missing: Missing,
    confidence: ConfidenceNumbers | None = None,
    balance: tuple[int, int, float] | None = None,
    smoothing: tuple[Sequence[int], float, int, int, Sequence[float]] | None = None,
    adjustment: tuple[Sequence[Expression], tuple[Expression, float] | None, Expression | None] | None = None,
) -> _core.Formula:
    """Compile signals to a native formula, which evaluates all of them in one call.

    Args:
        confidence: numbers of `septet.ranking.profile.Confidence`.
        balance: positions of the word and the vector signal, and the factor of `Balance`.
        smoothing: positions of signals, share, neighbours, most, and (lead, covered, prominence) of `Smoothing`.
        adjustment: factors, the floor expression with its score, and the pinned expression.
    """
    adjustment_parts = None
    if adjustment is not None:
        factors, floor, pinned = adjustment
        floor_parts = None if floor is None else (_parts(floor[0]), floor[1])
        adjustment_parts = ([_parts(e) for e in factors], floor_parts, None if pinned is None else _parts(pinned))
    return _core.Formula(
        [_parts(e) for e in signals],
        missing=missing,
        confidence=confidence,
        balance=balance,
        smoothing=smoothing,
        adjustment=adjustment_parts,
    )


def evaluate(expression: Expression, columns: Columns) -> Column:
    """Return the value of an expression for every candidate, shape ``(m,)``, NaN where unknown."""
    values: Column = formula((expression,), "share").evaluate(columns.values, columns.kinds)[0]
    return values


def names(expression: Expression) -> frozenset[str]:
    """Return the names of all columns that an expression reads."""
    if isinstance(expression, Col):
        return frozenset({expression.col})
    return frozenset().union(*map(names, _inside(expression)))


def estimates(expression: Expression) -> bool:
    """Return True if an expression contains an `Estimate`."""
    return isinstance(expression, Estimate) or any(map(estimates, _inside(expression)))


def takes_top(expression: Expression) -> bool:
    """Return True if an expression contains a `Top`."""
    return isinstance(expression, Top) or any(map(takes_top, _inside(expression)))


def _inside(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct sub-expressions."""
    match expression:
        case Only(of=inner) | Scale(scale=inner) | Clamp(clamp=inner) | Log1p(log1p=inner) | Decay(decay=inner):
            return (inner,)
        case (
            Above(above=inner)
            | Saturate(saturate=inner)
            | Found(found=inner)
            | Linear(linear=inner)
            | Top(top=inner)
            | Standing(standing=inner)
        ):
            return (inner,)
        case Unless(unless=other, of=inner):
            return (other, inner)
        case Estimate(estimate=inner, by=by):
            return (inner, by)
        case Sum(sum=terms) | Rrf(rrf=terms):
            return tuple(term.of for term in terms)
    return ()


def _parts(e: Expression) -> tuple[Any, ...]:
    """Convert an expression to nested tuples."""
    if isinstance(e, Col):
        return ("col", e.col)
    if isinstance(e, Const):
        return ("const", e.const)
    if isinstance(e, Only):
        return ("only", e.only, _parts(e.of))
    if isinstance(e, Scale):
        return ("scale", _parts(e.scale), e.shift)
    if isinstance(e, Above):
        return ("above", _parts(e.above))
    if isinstance(e, Clamp):
        return ("clamp", _parts(e.clamp), e.least, e.most)
    if isinstance(e, Log1p):
        return ("log1p", _parts(e.log1p))
    if isinstance(e, Decay):
        return ("halve", _parts(e.decay), e.half_life)
    if isinstance(e, Saturate):
        return ("saturate", _parts(e.saturate))
    if isinstance(e, Found):
        return ("found", _parts(e.found))
    if isinstance(e, Linear):
        return ("linear", _parts(e.linear), e.times, e.plus)
    if isinstance(e, Top):
        return ("top", _parts(e.top))
    if isinstance(e, Unless):
        return ("unless", _parts(e.of), _parts(e.unless))
    if isinstance(e, Estimate):
        return ("estimate", _parts(e.estimate), _parts(e.by), (e.intercept, e.slope, e.doubt))
    if isinstance(e, Standing):
        return ("standing", _parts(e.standing))
    if isinstance(e, Sum):
        return ("sum", [(t.weight, _parts(t.of)) for t in e.sum], e.missing)
    return ("rrf", [(t.weight, _parts(t.of)) for t in e.rrf], e.k, e.first_rank)
