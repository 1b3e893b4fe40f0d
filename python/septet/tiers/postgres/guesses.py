"""Guesses: the words of a vault that may be meant by a word that no entry holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from septet.query.plan import Plan
    from septet.tiers.postgres.view import PostgresView

__all__ = ["guesses_of"]


def guesses_of(view: PostgresView, plan: Plan) -> Mapping[str, Sequence[tuple[str, int, int]]]:
    """Return the words of a query that no entry holds, each with the words near it, the nearest first."""
    return {}
