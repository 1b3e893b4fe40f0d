"""Fusion: an expression over columns that yields one column, written as data so that a profile can hold it.

A column is a float64 array with one value per candidate; NaN is unknown. Higher is better in every column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from septet import _core

__all__ = [
    "Col",
    "Columns",
    "Const",
    "Expression",
    "Missing",
    "Only",
    "Rrf",
    "Scale",
    "Sum",
    "Term",
    "evaluate",
    "formula",
    "names",
]

Column: TypeAlias = NDArray[np.float64]
Missing: TypeAlias = Literal["zero", "share"]


class _Node(BaseModel):
    # The schema is built when a profile comes as a dict: the built-in ones need none.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class Col(_Node):
    """A column by name, for example ``{"col": "bm25"}``."""

    col: str


class Const(_Node):
    """The same value for every candidate."""

    const: float


class Only(_Node):
    """An expression for candidates of one kind, unknown for all others."""

    only: str
    of: Expression


class Scale(_Node):
    """``(x + shift) / max(x + shift)`` over the candidates; 0 where nothing is positive, unknown stays unknown."""

    scale: Expression
    shift: float = 0.0


class Term(_Node):
    """A weighted part of a `Sum`."""

    weight: float = Field(ge=0)
    of: Expression


class Sum(_Node):
    """The weighted mean of its terms.

    ``missing="zero"`` counts unknown values as 0; ``"share"`` also leaves out the weight of terms that are unknown for
    *every* candidate, so that the others share it.
    """

    sum: tuple[Term, ...] = Field(min_length=1)
    missing: Missing = "share"

    @model_validator(mode="after")
    def _weighs_something(self) -> Sum:
        if not any(t.weight for t in self.sum):
            raise ValueError("all weights of the sum are 0")
        return self


class Rrf(_Node):
    """Reciprocal rank fusion, ``sum(weight / (k + rank))``.

    A candidate whose value is unknown or 0 (no word of the query matches) has no rank, and gets nothing from that list.
    """

    rrf: tuple[Term, ...] = Field(min_length=1)
    k: float = Field(default=60.0, ge=0)
    first_rank: Literal[0, 1] = 1

    @model_validator(mode="after")
    def _finite_at_the_top(self) -> Rrf:
        if self.k + self.first_rank <= 0:
            raise ValueError("k and first_rank are both 0: the first rank would get an infinite score")
        return self


def _kind_of(node: object) -> str | None:
    """Return which expression is meant, by its telling key."""
    if isinstance(node, BaseModel):
        return type(node).__name__.lower()
    return next((k for k in _KINDS if k in node), None) if isinstance(node, Mapping) else None


_KINDS = ("col", "const", "only", "scale", "sum", "rrf")

Expression: TypeAlias = Annotated[
    Annotated[Col, Tag("col")]
    | Annotated[Const, Tag("const")]
    | Annotated[Only, Tag("only")]
    | Annotated[Scale, Tag("scale")]
    | Annotated[Sum, Tag("sum")]
    | Annotated[Rrf, Tag("rrf")],
    Discriminator(
        _kind_of,
        custom_error_type="expression",
        custom_error_message="wanted an expression: a dict with one of the keys col, const, only, scale, sum, rrf",
    ),
]


@dataclass(frozen=True, slots=True)
class Columns:
    """The candidates an expression is evaluated over: named columns of one length, and each candidate's kind."""

    values: Mapping[str, Column]
    kinds: Sequence[str]


def formula(signals: Sequence[Expression], missing: Missing) -> _core.Formula:
    """Return signals in the form that evaluates them all in one call."""
    return _core.Formula([_parts(e) for e in signals], missing=missing)


def evaluate(expression: Expression, columns: Columns) -> Column:
    """Return the value of an expression for every candidate, shape ``(m,)``, NaN where unknown."""
    found: Column = formula((expression,), "share").evaluate(columns.values, columns.kinds)[0]
    return found


def names(expression: Expression) -> frozenset[str]:
    """Return the names of all columns that an expression reads."""
    if isinstance(expression, Col):
        return frozenset({expression.col})
    if isinstance(expression, Only):
        return names(expression.of)
    if isinstance(expression, Scale):
        return names(expression.scale)
    if isinstance(expression, Sum):
        return frozenset().union(*(names(t.of) for t in expression.sum))
    if isinstance(expression, Rrf):
        return frozenset().union(*(names(t.of) for t in expression.rrf))
    return frozenset()


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
    if isinstance(e, Sum):
        return ("sum", [(t.weight, _parts(t.of)) for t in e.sum], e.missing)
    return ("rrf", [(t.weight, _parts(t.of)) for t in e.rrf], e.k, e.first_rank)
