"""Rankings as the tools of the TREC conferences read them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from math import inf, nextafter

from septet.errors import QueryError
from septet.inputs.arguments import shown, utf8

#: Maximum characters of a name in a run.
MOST_NAME_CHARS = 1_000


def run_lines(qid: object, ranked: Iterable[tuple[str, float]], tag: object) -> str:
    """Return one query's lines of a run for hits, best first; see `Results.to_trec`."""
    query, tag = _column(qid, "qid"), _column(tag, "tag")
    lines, last = [], inf
    for rank, (id, score) in enumerate(ranked, start=1):
        last = _below(score, last)
        lines.append(f"{query} Q0 {_column(id, 'the id of a hit')} {rank} {last:.9g} {tag}\n")
    return "".join(lines)


def _column(name: object, what: str) -> str:
    text = utf8(name, what, QueryError, MOST_NAME_CHARS)
    if text.split() != [text]:
        raise QueryError(f"{what} is {shown(text)}: wanted text without blanks, which separate columns")
    return text


def _below(score: float, last: float) -> float:
    """Return the float32 nearest to a score that is below the last one.

    ``trec_eval`` keeps scores as float32 and orders by them alone; equal ones it orders by id.
    """
    near = _float32(score)
    if near < last:
        return near
    # Steps of a float64 until the rounding leaves the value: half a step of a float32, and a bit more.
    step = max(abs(last) * 2.0**-24, 2.0**-149)
    below = last - step
    while (rounded := _float32(below)) >= last:
        below = nextafter(below - step / 2, -inf)
    return rounded


def _float32(value: float) -> float:
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded
