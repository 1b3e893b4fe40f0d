"""Fusion: an expression over columns that yields one column, written as data so that a profile can hold it.

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

__all__ = [
    "Above",
    "Clamp",
    "Col",
    "Columns",
    "ConfidenceNumbers",
    "Const",
    "Decay",
    "Estimate",
    "Expression",
    "Found",
    "Linear",
    "Log1p",
    "Missing",
    "Only",
    "Rrf",
    "Saturate",
    "Scale",
    "Standing",
    "Sum",
    "Term",
    "Top",
    "Unless",
    "estimates",
    "evaluate",
    "formula",
    "names",
    "takes_top",
]

Column: TypeAlias = NDArray[np.float64]
#: What three parts of words count; where nothing is matched; information; words, a cosine and the rest where both are
#: known; a cosine and the rest without words; how many candidates agree.
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
    """``(x + shift) / max(x + shift)`` over the candidates; 0 where nothing is positive, unknown stays unknown."""

    scale: Expression
    shift: Annotated[float, Bounds(ge=-LARGE, le=LARGE)] = 0.0


class Above(Checked):
    """``x - min(x)`` over the candidates; unknown stays unknown: of facts, so that one that all share adds nothing."""

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
    """``ln(1 + x)``, 0 for what is under 0: of counts, where ten more mean less the more there are."""

    log1p: Expression


class Decay(Checked):
    """``2 ** (-x / half_life)``, 1 for what is under 0: of ages, 1 when new and half as much after each half-life."""

    decay: Expression
    half_life: Annotated[float, Bounds(ge=SMALL, le=LARGE)]


class Saturate(Checked):
    """``x / (1 + x)``, 0 for what is under 0: of BM25, which has no most, from 0 towards 1 whatever else was found."""

    saturate: Expression


class Found(Checked):
    """1 for what is above 0, else 0; unknown stays unknown: of BM25, whether words found the candidate."""

    found: Expression


class Linear(Checked):
    """``times * x + plus``; unknown stays unknown."""

    linear: Expression
    times: Annotated[float, Bounds(ge=-LARGE, le=LARGE)] = 1.0
    plus: Annotated[float, Bounds(ge=-LARGE, le=LARGE)] = 0.0


class Unless(Checked):
    """An expression where another is unknown or 0, unknown elsewhere: an age, unless the candidate never ages."""

    unless: Expression
    of: Expression


class Top(Checked):
    """The highest values, as many as each leg takes candidates; unknown elsewhere: what that leg alone would list.

    A candidate that one leg found may have a value in the other leg's column, too: ``bm25`` and ``cosine``.
    """

    top: Expression


class Estimate(Checked):
    """A cosine where it is known, and an estimate where the vector has not come yet.

    ``mean + deviation * (intercept + slope * t) + r``: mean and deviation are those of the query's cosines over the
    space (columns ``cosine_mean`` and ``cosine_deviation``), ``t`` is the value of ``by``, and ``r`` is what estimates
    of the known cosines lack, summed over the candidates with a positive ``t`` and divided by their number + ``doubt``.
    An entry whose title is the query is taken to be as near as can be, 1.
    """

    estimate: Expression
    by: Expression
    intercept: Annotated[float, Bounds(ge=-LARGE, le=LARGE)]
    slope: Annotated[float, Bounds(ge=-LARGE, le=LARGE)]
    doubt: Annotated[float, Bounds(ge=0, le=LARGE)]


class Standing(Checked):
    """How far a cosine stands out: ``(x - mean) / deviation`` of the query's cosines over its space.

    So it is the same for models whose cosines are all high or all low. Where mean and deviation (the columns
    ``cosine_mean`` and ``cosine_deviation``) are unknown they are taken for 0 and 0.1.
    """

    standing: Expression


class Term(Checked):
    """A weighted part of a `Sum`."""

    weight: Annotated[float, Bounds(ge=0, le=LARGE)]
    of: Expression


class Sum(Checked):
    """The weighted mean of its terms.

    ``missing="zero"`` counts unknown values as 0; ``"share"`` also leaves out the weight of terms that are unknown for
    *every* candidate, so that the others share it.
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
    """Tells pydantic which expression is meant: the one whose telling key is there."""

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
    """The candidates an expression is evaluated over: named columns of one length, and each candidate's kind."""

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
    """Return signals in the form that evaluates them all in one call.

    Args:
        confidence: the numbers of `septet.ranking.profile.Confidence`.
        balance: the places of two signals, of words and of vectors, and the factor of `Balance`.
        smoothing: the places of signals, share, neighbours, most, and (lead, covered, prominence) of `Smoothing`.
        adjustment: factors, what is raised and to what score, and what is pinned.
    """
    changes = None
    if adjustment is not None:
        factors, floor, pinned = adjustment
        raised = None if floor is None else (_parts(floor[0]), floor[1])
        changes = ([_parts(e) for e in factors], raised, None if pinned is None else _parts(pinned))
    return _core.Formula(
        [_parts(e) for e in signals],
        missing=missing,
        confidence=confidence,
        balance=balance,
        smoothing=smoothing,
        adjustment=changes,
    )


def evaluate(expression: Expression, columns: Columns) -> Column:
    """Return the value of an expression for every candidate, shape ``(m,)``, NaN where unknown."""
    found: Column = formula((expression,), "share").evaluate(columns.values, columns.kinds)[0]
    return found


def names(expression: Expression) -> frozenset[str]:
    """Return the names of all columns that an expression reads."""
    if isinstance(expression, Col):
        return frozenset({expression.col})
    return frozenset().union(*map(names, _inside(expression)))


def estimates(expression: Expression) -> bool:
    """Say whether a part of an expression is an `Estimate`."""
    return isinstance(expression, Estimate) or any(map(estimates, _inside(expression)))


def takes_top(expression: Expression) -> bool:
    """Say whether a part of an expression is a `Top`."""
    return isinstance(expression, Top) or any(map(takes_top, _inside(expression)))


def _inside(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions that one is made of."""
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
    """Return an expression as nested tuples."""
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
