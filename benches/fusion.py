"""Reciprocal ranks of several lists, side by side with a dict and a loop: the same ids, the same scores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import peers
from race import Competitor, Run, medians, race
from septet import _core
from table import Row, faster

TITLE = "Fusion"
ABOUT = "Reciprocal ranks, k = 60, all ids in order. Each side is given what suits it: arrays here, lists there."
#: Lists, ids in each, and the wanted ratio.
SHAPES = ((2, 30, 3.0), (8, 1_000, 5.0))
#: Calls in what is timed once: a single one is shorter than what the clock adds.
CALLS = 50
QUESTIONS = 20

Lists = list[list[int]]
Question = tuple[list[np.ndarray], Lists]


def rows(run: Run) -> Iterator[Row]:
    for lists, ids, bar in SHAPES:
        yield compare(lists, ids, bar, run.rounds(60))


def compare(lists: int, ids: int, bar: float, rounds: int) -> Row:
    rng = np.random.default_rng(lists)
    drawn = [[rng.permutation(3 * ids)[:ids] for _ in range(lists)] for _ in range(QUESTIONS)]
    questions: list[Question] = [(arrays, [array.tolist() for array in arrays]) for arrays in drawn]
    weights = np.ones(lists)
    answers: dict[str, list[tuple[int, float]]] = {}

    def ours(question: Question) -> object:
        for _ in range(CALLS):
            found = _core.rrf(question[0], weights)
        return found

    def theirs(question: Question) -> object:
        for _ in range(CALLS):
            found = peers.dict_rrf(question[1])
        return found

    def check(_: Question, name: str, found: list[tuple[int, float]]) -> None:
        answers[name] = found if name == "dict" else list(zip(*(column.tolist() for column in found)))
        if len(answers) == 2:
            assert answers["septet"] == answers["dict"]
            answers.clear()

    who = [Competitor("septet", ours), Competitor("dict", theirs)]
    middle = medians(race(who, questions, rounds, check=check))
    micro = {name: 1e3 * took / CALLS for name, took in middle.items()}
    return faster(f"RRF of {lists} x {ids:,} hits", micro["septet"], micro["dict"], "dict loop", bar, "µs")


if __name__ == "__main__":
    from run import main

    main(["--only", "fusion"])
