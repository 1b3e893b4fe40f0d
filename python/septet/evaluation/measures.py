"""Measures of a ranking against judgements, each with its definition. They equal those of ``trec_eval``.

The grade of an entry is a number; above 0 it is relevant (``trec_eval`` reads whole ones, so that it is from 1 on). An
entry without a judgement is not relevant; Bpref alone tells it from one with grade 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from septet.errors import QueryError
from septet.inputs.arguments import listed, shown

__all__ = ["MEASURES", "UNJUDGED", "Measure", "measures_of"]

#: Of each returned entry, best first, its grade; and the grades of all judged entries, best first.
Grades: TypeAlias = Sequence[float]

#: What `septet.evaluate` measures unless it is told otherwise.
MEASURES = ("nDCG@10", "MRR@10", "P@5", "R@100", "MAP@100", "Success@1")
#: How deep a measure without ``@k`` looks, as runs at TREC do.
DEEPEST = 1_000
MOST_MEASURES = 100
#: The grade of an entry without a judgement.
UNJUDGED = -1
_SPELLING = re.compile(r"([A-Za-z]+)(?:@([0-9]{1,5}))?")


def ndcg(found: Grades, judged: Grades, at: int) -> float:
    """Return the gain of the first ``at``, discounted by rank, as a share of the most that is possible.

    ``DCG = sum of max(grade, 0) / log2(rank + 1)``; nDCG is DCG by the DCG of the judged entries in the best order.
    (Järvelin and Kekäläinen 2002, with the grade itself as the gain, as ``trec_eval`` has it.)
    """
    most = _dcg(judged[:at])
    return _dcg(found[:at]) / most if most else 0.0


def average_precision(found: Grades, judged: Grades, at: int) -> float:
    """Return the mean, over all relevant entries, of the precision at each one's rank; 0 for those not found."""
    relevant = _relevant(judged)
    total, hits = 0.0, 0
    for rank, grade in enumerate(found[:at], start=1):
        if grade > 0:
            hits += 1
            total += hits / rank
    return total / relevant if relevant else 0.0


def reciprocal_rank(found: Grades, judged: Grades, at: int) -> float:
    """Return 1 / the rank of the first relevant entry; 0 if there is none."""
    return next((1 / rank for rank, grade in enumerate(found[:at], start=1) if grade > 0), 0.0)


def precision(found: Grades, judged: Grades, at: int) -> float:
    """Return the share of ``at`` that is relevant; fewer results leave the rest of the places irrelevant."""
    return _relevant(found[:at]) / at


def recall(found: Grades, judged: Grades, at: int) -> float:
    """Return the share of the relevant entries that is among the first ``at``."""
    relevant = _relevant(judged)
    return _relevant(found[:at]) / relevant if relevant else 0.0


def success(found: Grades, judged: Grades, at: int) -> float:
    """Return 1 if a relevant entry is among the first ``at``, otherwise 0."""
    return float(any(grade > 0 for grade in found[:at]))


def bpref(found: Grades, judged: Grades, at: int) -> float:
    """Return the mean, over all relevant entries, of how few entries judged irrelevant stand before each one found.

    ``1 - min(those before it, R) / min(all of them, R)`` with R relevant entries; 0 for those not found. Entries
    without a judgement, or with a grade below 0, count for nothing. (Buckley and Voorhees 2004, as ``trec_eval``.)
    """
    relevant, others = _relevant(judged), sum(grade == 0 for grade in judged)
    total, before = 0.0, 0
    for grade in found[:at]:
        if grade > 0:
            total += 1 - min(before, relevant) / min(others, relevant) if before else 1.0
        before += grade == 0
    return total / relevant if relevant else 0.0


def _dcg(grades: Grades) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1) if grade > 0)


def _relevant(grades: Grades) -> int:
    return sum(grade > 0 for grade in grades)


#: By lower-case name: the function, and whether it means nothing without a rank to stop at.
_KNOWN: Mapping[str, tuple[Callable[[Grades, Grades, int], float], bool]] = {
    "ndcg": (ndcg, False),
    "map": (average_precision, False),
    "ap": (average_precision, False),
    "mrr": (reciprocal_rank, False),
    "rr": (reciprocal_rank, False),
    "p": (precision, True),
    "precision": (precision, True),
    "r": (recall, True),
    "recall": (recall, True),
    "success": (success, True),
    "bpref": (bpref, False),
}


class Measure(NamedTuple):
    """A measure as it was named, and how many results of a query it looks at."""

    name: str
    function: Callable[[Grades, Grades, int], float]
    at: int

    def of(self, ids: Sequence[str], grades: Mapping[str, float]) -> float:
        """Return the value for one query, 0 to 1.

        Args:
            ids: what the search returned, best first.
            grades: the judgements of the query.
        """
        found = [grades.get(id, UNJUDGED) for id in ids[: self.at]]
        return self.function(found, sorted(grades.values(), reverse=True), self.at)


def measures_of(names: object) -> list[Measure]:
    """Return measures by their names: ``nDCG@10``, ``MAP``, ``MRR@10``, ``P@5``, ``R@100``, ``Success@1``.

    Raises:
        QueryError: no list of names, or one that is not known.
    """
    given = [names] if isinstance(names, str) else names
    wanted = listed(given, "measures", QueryError, 'names such as ["nDCG@10", "MAP"]', MOST_MEASURES)
    if not wanted:
        raise QueryError(f"measures is empty: name one or more, such as {', '.join(MEASURES)}")
    return list({name: _measure(name) for name in wanted}.values())


def _measure(name: object) -> Measure:
    spelled = _SPELLING.fullmatch(name) if isinstance(name, str) else None
    kind = None if spelled is None else _KNOWN.get(spelled[1].lower())
    if spelled is None or kind is None:
        raise QueryError(
            f"unknown measure {shown(name)}: known are nDCG, MAP, MRR, P, R, Success and Bpref, as in nDCG@10"
        )
    function, needs_rank = kind
    if spelled[2] is None and needs_rank:
        raise QueryError(f"the measure {shown(name)} needs a rank to stop at, as in {spelled[1]}@10")
    at = DEEPEST if spelled[2] is None else int(spelled[2])
    if not 1 <= at <= 10_000:
        raise QueryError(f"the measure {shown(name)} stops at {at}: wanted a rank from 1 to 10,000")
    return Measure(str(name), function, at)
