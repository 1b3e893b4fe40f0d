"""Notes shared by all kinds of tiers, on what a search excluded or assumed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.notes import Note

if TYPE_CHECKING:
    from septet.query.plan import SearchPlan
    from septet.sqlite.store.soundness import Unsound

#: Maximum count of excluded memories.
MOST_MEMORIES = 100


def constants_of_fts5(tier: str) -> Note:
    """Return the note that the BM25 constants of a profile were not used."""
    cause = "FTS5 ranked the full text of this query, by its own k1 = 1.2 and b = 0.75"
    cure = "nothing once the index is in memory; a term that FTS5 splits into several always needs it"
    return Note("constants_of_fts5", cause, cure, tier)


def memories_left_out(count: int, tier: str) -> Note:
    """Return the note on matching memories excluded from a search."""
    number = f"{MOST_MEMORIES} or more memories" if count >= MOST_MEMORIES else f"{count} memories"
    cause = f"{number if count > 1 else '1 memory'} with a word of the query {'were' if count > 1 else 'was'} left out"
    return Note("memories_left_out", cause, "ask with include_memories=True (--memories), or recall()", tier)


def no_vectors(tier: str) -> Note:
    """Return the note that a query vector had no vectors to be compared with."""
    cause = "a query vector was given, but this vault holds no vectors"
    return Note("no_vectors", cause, "add entries with vector=", tier)


def vectors_incomplete(plan: SearchPlan, missing: int, of: int, tier: str) -> Note:
    """Return the note that some entries have no vector yet."""
    effect = "their similarity was estimated" if plan.profile.estimates else "they count as not near"
    cause = f"{missing} of {of} entries have no vector yet; {effect}"
    return Note("vectors_incomplete", cause, "embed(), or add entries with vector=", tier)


def vectors_disagree(model: str, tier: str) -> Note:
    """Return the note that the vectors of a space disagree with words."""
    cause = f"the vectors of {model!r} barely separate related entries from unrelated ones: results are ranked by words"
    return Note("vectors_disagree", cause, "check that all come from this model, and add those that do not again", tier)


def model_assumed(model: str, others: Sequence[str], tier: str) -> Note:
    """Return the note that vectors of one model were compared, and not of others."""
    cause = f"compared with vectors of model {model!r}, not of {', '.join(map(repr, others))}"
    return Note("model_assumed", cause, "name the query vector's model=", tier)


def rows_left_out(rows: Sequence[Unsound], tier: str) -> Note:
    """Return the note on rows with invalid content, which were excluded."""
    more = f" and {len(rows) - 1:,} more" if len(rows) > 1 else ""
    cause = f"skipped rows that are damaged or were written by another program: {rows[0]}{more}"
    return Note("rows_left_out", cause, "see `septet doctor`, restore a backup, or store them again", tier)
