"""What the ranking loses without one of its parts, on a collection with judgements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranking_steps import words_of
from septet import Evaluation, Profile, Vault, evaluate
from septet.profiles import BUILTIN
from septet.ranking.fusion import Scale, Sum

__all__ = ["MEASURE", "Part", "ablation"]

MEASURE = "nDCG@10"
_S = BUILTIN["septet"]


@dataclass(frozen=True)
class Part:
    """The measure without a part, its change with the 95 % interval over the questions, and p."""

    name: str
    value: float
    change: float
    low: float
    high: float
    p: float


def without_words(profile: Profile) -> Profile:
    """Give all of the two signals' weight to the vectors."""
    hybrid = dict(profile.weights["hybrid"])
    hybrid["vector"] += hybrid["semantic"]
    hybrid["semantic"] = 0.0
    return replace(profile, weights={**profile.weights, "hybrid": hybrid}, balance=None)


def without_terms(*numbers: int) -> Profile:
    """Take terms out of the signal of words."""
    left = tuple(term for i, term in enumerate(words_of(_S)) if i not in numbers)
    return replace(_S, signals={**_S.signals, "semantic": Scale(scale=Sum(sum=left))})


def variants(mode: str) -> Iterator[tuple[str, Profile, dict[str, Any]]]:
    """Yield what is left out, the profile, and the options of the search."""
    if mode == "hybrid":
        yield "vectors", _S, {"query_vectors": None}
        yield "words", without_words(_S), {"legs": "vector"}
        yield "smoothing", replace(_S, smoothing=None), {}
        yield "balance", replace(_S, balance=None), {}
    yield "BM25", without_terms(0), {}
    yield "trigrams", without_terms(1), {}
    yield "titles", without_terms(2, 3), {}


def ablation(
    vault: Vault, queries: Any, qrels: Any, vectors: NDArray[np.float32] | None
) -> Iterator[tuple[str, float, list[Part]]]:
    """Yield each mode with the measure of the whole profile, and of the profile without each part."""
    for mode, rows in (("hybrid", vectors), ("text", None)):
        if mode == "hybrid" and vectors is None:
            continue

        def asked(profile: Profile, rows: Any = rows, **options: Any) -> Evaluation:
            return evaluate(vault, queries, qrels, MEASURE, **{"query_vectors": rows, "profile": profile, **options})

        whole = asked(_S)
        parts = []
        for name, profile, options in variants(mode):
            change = asked(profile, **options).compare(whole)[MEASURE]
            parts.append(Part(name, change.after, change.difference, change.low, change.high, change.p))
        yield mode, whole[MEASURE], parts
