"""Words that no entry holds: what may be meant, and the search for it where nothing else matches."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from septet._core import words
from septet.model.results import Note, Results
from septet.query.parse import parse, with_words
from septet.query.plan import Plan
from septet.tiers.protocol import Recalled, Tier

__all__ = ["corrected", "guess_note", "guessed"]


def guessed(recalled: Sequence[Recalled]) -> Mapping[str, str]:
    """Return the best guess for each word of a query that no tier holds."""
    found: dict[str, str] = {}
    for word in recalled[0].guesses:
        if all(word in one.guesses for one in recalled):
            near: dict[str, tuple[int, int]] = {}
            for guess, edits, rows in (guess for one in recalled for guess in one.guesses[word]):
                near[guess] = edits, near.get(guess, (0, 0))[1] + rows
            if near:
                # The nearest, of those the most frequent.
                found[word] = min(near, key=lambda guess: (near[guess][0], -near[guess][1], guess))
    return found


def guess_note(guesses: Mapping[str, str], *, used: bool) -> Note:
    """Return the note about words that no entry holds.

    Args:
        used: they were searched for, because nothing else matches.
    """
    unknown = ", ".join(map(repr, guesses))
    meant = ", ".join(map(repr, guesses.values()))
    if used:
        return Note("did_you_mean", f"no entry holds {unknown}: searched for {meant} instead", "typos=False does not")
    return Note("did_you_mean", f"no entry holds {unknown}", f"did you mean {meant}?")


def corrected(
    tiers: Sequence[Tier],
    started: float,
    plan: Plan,
    guesses: Mapping[str, str],
    found: Results,
    run: Callable[[Sequence[Tier], Sequence[Plan]], Sequence[Results]],
) -> Results:
    """Return the results of a plan with guesses in place of unknown words; everything else stays.

    Args:
        started: when the search began.
        found: what is returned if these match nothing either.
        run: searches the tiers.
    """
    rules = plan.profile.text
    query = parse(" ".join(guesses.get(word, word) for word in words(plan.query.text)), rules)
    if plan.asked is not None:
        query = with_words(query, plan.asked, rules)
    (instead,) = run(tiers, [plan._replace(query=query, typos=False)])
    if not instead.total:
        return found
    notes = (guess_note(guesses, used=True), *instead.notes)
    return replace(instead, query=found.query, notes=notes, took_ms=(time.perf_counter() - started) * 1e3)
