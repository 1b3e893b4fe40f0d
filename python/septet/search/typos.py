"""Misspelled words: guess corrections, and search for them if nothing else matches."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from septet._core import words
from septet.model.results import Results
from septet.notes import Note
from septet.query.parse import parse, with_words
from septet.query.plan import SearchPlan
from septet.tiers.protocol import Tier, TierCandidates


def guessed(answers: Sequence[TierCandidates]) -> Mapping[str, str]:
    """Return the best guess for each word of a query that no tier contains."""
    guesses: dict[str, str] = {}
    for word in answers[0].guesses:
        if all(word in answer.guesses for answer in answers):
            near: dict[str, tuple[int, int]] = {}
            for guess, edits, rows in (guess for answer in answers for guess in answer.guesses[word]):
                near[guess] = edits, near.get(guess, (0, 0))[1] + rows
            if near:
                # Fewest edits, then most frequent.
                guesses[word] = min(near, key=lambda guess: (near[guess][0], -near[guess][1], guess))
    return guesses


def guess_note(guesses: Mapping[str, str], *, used: bool) -> Note:
    """Return the note on words that no entry contains.

    Args:
        used: True if the guesses were searched for, because nothing else matched.
    """
    unknown = ", ".join(map(repr, guesses))
    meant = ", ".join(map(repr, guesses.values()))
    if used:
        return Note(
            "did_you_mean",
            f"no entry holds {unknown}: searched for {meant} instead",
            "pass typos=False to turn off correction",
        )
    return Note("did_you_mean", f"no entry holds {unknown}", f"did you mean {meant}?")


def corrected(
    tiers: Sequence[Tier],
    started: float,
    plan: SearchPlan,
    guesses: Mapping[str, str],
    results: Results,
    run: Callable[[Sequence[Tier], Sequence[SearchPlan]], Sequence[Results]],
) -> Results:
    """Search with guesses in place of unknown words.

    Args:
        started: start of the search, by `time.perf_counter`.
        results: returned if the guesses match nothing either.
        run: searches the tiers.
    """
    rules = plan.profile.text
    query = parse(" ".join(guesses.get(word, word) for word in words(plan.query.text)), rules)
    if plan.required is not None:
        query = with_words(query, plan.required, rules)
    (corrected_results,) = run(tiers, [plan._replace(query=query, typos=False)])
    if not corrected_results.total:
        return results
    notes = (guess_note(guesses, used=True), *corrected_results.notes)
    return replace(corrected_results, query=results.query, notes=notes, took_ms=(time.perf_counter() - started) * 1e3)
