"""Measures of a ranking against judgements, with their definitions, and heuristics for written answers.

Values of measures equal those of ``trec_eval``. Entries with a grade above 0 are relevant (``trec_eval`` has integer
grades, so from 1). Unjudged entries are not relevant; only Bpref distinguishes them from grade 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from septet.errors import QueryError
from septet.inputs.arguments import listed, shown, utf8

#: Grades of the returned entries in rank order, or of all judged entries, best first.
Grades: TypeAlias = Sequence[float]

#: Default measures of `septet.evaluate`.
MEASURES = ("nDCG@10", "MRR@10", "P@5", "R@100", "MAP@100", "Success@1")
#: Rank cutoff of a measure without ``@k``, as in TREC runs.
DEEPEST = 1_000
MOST_MEASURES = 100
#: The grade of an entry without a judgement.
UNJUDGED = -1
_SPELLING = re.compile(r"([A-Za-z]+)(?:@([0-9]{1,5}))?")
#: Maximum bytes (UTF-8) of a reference word, or a sentence, that is ignored, as documented.
SHORT_WORD, SHORT_SENTENCE = 3, 10
#: Maximum words of a sentence to match, and their minimum bytes, as documented.
MOST_WORDS, LONG_WORD = 5, 5
#: Maximum references, or pieces of evidence, of one answer.
MOST_TEXTS = 10_000
#: Quantile of the normal distribution that 95 % lie within.
_Z = 1.959964
_WORD = re.compile(r"[^\W_]+")


def ndcg(ranked: Grades, judged: Grades, at: int) -> float:
    """Return the discounted cumulative gain of the first ``at``, divided by that of the ideal ranking.

    ``DCG = sum of max(grade, 0) / log2(rank + 1)``; nDCG is DCG divided by the DCG of the judged entries, best first
    (Järvelin and Kekäläinen 2002, with the grade as the gain, as in ``trec_eval``).
    """
    most = _dcg(judged[:at])
    return _dcg(ranked[:at]) / most if most else 0.0


def average_precision(ranked: Grades, judged: Grades, at: int) -> float:
    """Return the mean, over all relevant entries, of the precision at their ranks; 0 for those not returned."""
    relevant = _relevant(judged)
    total, hits = 0.0, 0
    for rank, grade in enumerate(ranked[:at], start=1):
        if grade > 0:
            hits += 1
            total += hits / rank
    return total / relevant if relevant else 0.0


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share, after ``hits`` in a number of trials (Wilson 1927)."""
    if not of:
        return 0.0, 1.0
    share, spread = hits / of, _Z * _Z / of
    middle, width = share + spread / 2, _Z * math.sqrt((share * (1 - share) + spread / 4) / of)
    low, high = (middle - width) / (1 + spread), (middle + width) / (1 + spread)
    # Sums are rounded.
    return (low if hits else 0.0), (high if hits < of else 1.0)


def reciprocal_rank(ranked: Grades, judged: Grades, at: int) -> float:
    """Return 1 / the rank of the first relevant entry; 0 without one."""
    return next((1 / rank for rank, grade in enumerate(ranked[:at], start=1) if grade > 0), 0.0)


def precision(ranked: Grades, judged: Grades, at: int) -> float:
    """Return the number of relevant entries among the first ``at``, divided by ``at``, even with fewer results."""
    return _relevant(ranked[:at]) / at


def recall(ranked: Grades, judged: Grades, at: int) -> float:
    """Return the share of the relevant entries that are among the first ``at``."""
    relevant = _relevant(judged)
    return _relevant(ranked[:at]) / relevant if relevant else 0.0


def success(ranked: Grades, judged: Grades, at: int) -> float:
    """Return 1 if a relevant entry is among the first ``at``, otherwise 0."""
    return float(any(grade > 0 for grade in ranked[:at]))


def bpref(ranked: Grades, judged: Grades, at: int) -> float:
    """Return binary preference: the mean, over all R relevant entries, of ``1 - min(n, R) / min(N, R)``.

    n is the number of entries with grade 0 ranked before the entry, N the number of all entries with grade 0; an entry
    that is not returned counts 0. Unjudged entries and grades below 0 are ignored (Buckley and Voorhees 2004, as in
    ``trec_eval``).
    """
    relevant, others = _relevant(judged), sum(grade == 0 for grade in judged)
    total, before = 0.0, 0
    for grade in ranked[:at]:
        if grade > 0:
            total += 1 - min(before, relevant) / min(others, relevant) if before else 1.0
        before += grade == 0
    return total / relevant if relevant else 0.0


def _dcg(grades: Grades) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1) if grade > 0)


def _relevant(grades: Grades) -> int:
    return sum(grade > 0 for grade in grades)


#: By lower-case name: the function, and True if it requires a rank.
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
    """A measure: its name as given, its function and its rank cutoff."""

    name: str
    function: Callable[[Grades, Grades, int], float]
    at: int

    def of(self, ids: Sequence[str], grades: Mapping[str, float]) -> float:
        """Return the value for one query, 0 to 1, from the ids of its results, best first, and its judgements."""
        ranked = [grades.get(id, UNJUDGED) for id in ids[: self.at]]
        return self.function(ranked, sorted(grades.values(), reverse=True), self.at)


def measures_of(names: object) -> list[Measure]:
    """Return measures by their names, such as ``nDCG@10`` and ``MAP``; raise QueryError for an unknown one."""
    names = [names] if isinstance(names, str) else names
    checked = listed(names, "measures", QueryError, 'names such as ["nDCG@10", "MAP"]', MOST_MEASURES)
    if not checked:
        raise QueryError(f"measures is empty: name one or more, such as {', '.join(MEASURES)}")
    return list({name: _measure(name) for name in checked}.values())


def _measure(name: object) -> Measure:
    spelled = _SPELLING.fullmatch(name) if isinstance(name, str) else None
    kind = None if spelled is None else _KNOWN.get(spelled[1].lower())
    if spelled is None or kind is None:
        raise QueryError(
            f"unknown measure {shown(name)}; available: nDCG, MAP, MRR, P, R, Success and Bpref, as in nDCG@10"
        )
    function, needs_rank = kind
    if spelled[2] is None and needs_rank:
        raise QueryError(f"measure {shown(name)} requires a rank, as in {spelled[1]}@10")
    at = DEEPEST if spelled[2] is None else int(spelled[2])
    if not 1 <= at <= 10_000:
        raise QueryError(f"measure {shown(name)} has rank {at}: wanted 1 to 10,000")
    return Measure(str(name), function, at)


def term_recall(answer: str, references: Iterable[str]) -> float:
    """Return the share of the references' words that occur in an answer, ignoring case; 1 without words.

    Words of three bytes or less are ignored. As documented, a match inside a longer word counts, and repeated words
    count each time.

    Raises:
        QueryError: the answer or a reference is not a text.
    """
    text = utf8(answer, "answer", QueryError).lower()
    words = [word for reference in _texts(references, "references") for word in _WORD.findall(reference.lower())]
    long = [word for word in words if len(word.encode()) > SHORT_WORD]
    return sum(word in text for word in long) / len(long) if long else 1.0


def groundedness(answer: str, evidence: Iterable[str]) -> float:
    """Return the share of an answer's sentences that share a word with the evidence; 0 without sentences.

    Sentences of ten bytes or less are ignored; of the others, the first five words of five bytes or more are matched.
    This is a heuristic: a sentence of known words may still be wrong.

    Raises:
        QueryError: the answer or a piece of evidence is not a text.
    """
    known = " ".join(_texts(evidence, "evidence")).lower()
    pieces = re.split(r"[.!?。！？\n]", utf8(answer, "answer", QueryError).lower())
    sentences = [piece for piece in pieces if len(piece.strip().encode()) > SHORT_SENTENCE]
    words = ([word for word in _WORD.findall(sentence) if len(word.encode()) >= LONG_WORD] for sentence in sentences)
    supported = sum(any(word in known for word in of_sentence[:MOST_WORDS]) for of_sentence in words)
    return supported / len(sentences) if sentences else 0.0


def _texts(values: Iterable[str], name: str) -> list[str]:
    texts = listed(values, name, QueryError, "a list of texts", MOST_TEXTS, of=str)
    return [utf8(value, name, QueryError) for value in texts]
