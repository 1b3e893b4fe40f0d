"""Evaluates an expression of a profile over columns, and scores a pool by its columns alone."""

from typing import NamedTuple

from septet import _core
from septet.ranking.fusion import parts


class Columns(NamedTuple):
    """Named columns of equal length, and each candidate's kind."""

    values: dict
    kinds: list


def evaluate(expression, columns):
    """Return the value of an expression for every candidate, shape ``(m,)``, NaN where unknown."""
    return _core.Formula([parts(expression)], missing="share").evaluate(columns.values, columns.kinds)[0]


def score(pool, profile, weights):
    """Evaluate a profile's signals over a pool's columns, fuse them by the weights, and sort by the sums."""
    return profile.formula.rank(pool, profile.signal_names, [weights[name] for name in profile.signals])
