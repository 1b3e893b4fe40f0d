"""Inspection of single entries: words and vector to compare, and reports of legs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from septet.model.explanation import LegReport
from septet.model.vector import Space
from septet.store.protocol import Reading
from septet.store.rules import joined
from septet.tiers.protocol import Likeness

if TYPE_CHECKING:
    from septet.query.parse import TextQuery
    from septet.query.plan import SearchPlan


#: Preference among an entry's vectors, by state of their space.
ORDER = {"active": 0, "given": 1, "standby": 2, "filling": 3, "left": 4}


def likeness_of(read: Reading, entry_id: str, model: str | None) -> Likeness | None:
    """Return the words and vector of an entry for comparison; None if the store does not contain it."""
    tables = read.tables
    candidate = tables.entries.find(read, [entry_id]).get(entry_id)
    if candidate is None:
        return None
    ids = frozenset([entry_id, *tables.parts.of(read, [entry_id])])
    document = joined((candidate.title, candidate.description, candidate.context))
    space = _space_of(read, candidate.row, model)
    if space is None:
        return Likeness(ids, candidate.text, document, None, None)
    blob = tables.vectors.of_rows(read, space, [candidate.row])[0].vector
    row = np.frombuffer(blob, dtype="<f4").astype(np.float32)
    return Likeness(ids, candidate.text, document, space.model, row)


def _space_of(read: Reading, row: int, model: str | None) -> Space | None:
    """Return the space of the preferred vector of an entry; None without vectors."""
    tables = read.tables
    states = {text.space.space: text.state for text in tables.texts.text_spaces(read)}
    spaces = [
        space
        for space in tables.vectors.all_spaces(read)
        if model in (None, space.model) and tables.vectors.of_rows(read, space, [row])
    ]
    if len(spaces) > 1:
        filled = {space.space: space.entries for space in tables.vectors.spaces(read)}
        spaces.sort(key=lambda s: (ORDER[states.get(s.space, "given")], -filled.get(s.space, 0), s.space))
    return spaces[0] if spaces else None


def text_detail(
    query: TextQuery, hit: Sequence[str], words: Sequence[str], by_parts: float, whole: int, *, has_all: bool
) -> str:
    """Describe the place of an entry in full text.

    Args:
        hit: terms of the query in the entry.
        words: those that are whole words of it.
        by_parts: share of BM25 from parts of words and names.
        whole: number of matches that have every needed word.
        has_all: True if the entry has every needed word.
    """
    detail = _matched(list(dict.fromkeys(query.terms)), hit, words, by_parts)
    if not (hit and query.needed):
        return detail
    entries = "1 entry" if whole == 1 else f"{whole} entries"
    return detail + ("; strict wave: every word" if has_all else f"; relaxed wave, behind {entries} with every word")


def answering_step(query: TextQuery, step: int | None) -> str:
    """Describe the step of the cascade with matches; None if no step has any."""
    if step is None:
        return "no step of the cascade has an answer"
    name, every, words = query.steps[step]
    condition = "any word" if not every else "all words" if step == 0 else " and ".join(query.terms[at] for at in words)
    return f"the step that returned results, {name!r}, requires {condition}"


def _matched(terms: Sequence[str], held: Sequence[str], words: Sequence[str], by_parts: float) -> str:
    if not held:
        return f"holds none of {', '.join(terms)}"
    parts = [term for term in held if term not in words]
    of_words = [f"matches {', '.join(words)}"] if words else []
    of_parts = [f"{'in parts' if words else 'matches parts'} of words and names: {', '.join(parts)}"] if parts else []
    of_score = [f"{by_parts:.4f} of the score by parts"] if by_parts > 0.0 else []
    return "; ".join(of_words + of_parts + of_score)


def memory_place(plan: SearchPlan, rank: int | None, of: int) -> LegReport:
    """Report the rank of a memory among ``of`` matching ones, for memories of fixed score; None if it has none."""
    detail = "memories have a fixed score" if rank else f"holds none of {', '.join(dict.fromkeys(plan.query.terms))}"
    return LegReport("memories", rank is not None, rank, of, plan.candidates, None, detail)


def nothing_compared(plan: SearchPlan, mismatch: object) -> LegReport:
    """Report that no vectors were compared, with the mismatch of existing vectors, if any."""
    cause = "the vault holds no vectors" if mismatch is None else str(mismatch)
    return LegReport("vector", False, None, 0, plan.candidates, None, cause)
