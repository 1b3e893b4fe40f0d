"""The relation of a new entry to similar ones: new, the same, a change, or a contradiction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.model.suggestion import Suggestion
from septet.query.comparing import Verdict, compared
from septet.query.statements import Claim, statement_of

if TYPE_CHECKING:
    from septet.model.entry import Entry

#: Entries that are compared: the most similar by words, and by vectors.
COMPARED = 10
#: Maximum characters of a text whose words are searched for.
MOST_SOUGHT = 2_000
_REPLACING = ("changes", "contradicts")


class _Stated(NamedTuple):
    """The claims of an entry: its title, and its whole text; one claim if it has no more than a title."""

    title: Claim
    whole: Claim


def suggested(id: str, new: Entry, others: Iterable[Entry]) -> Suggestion:
    """Return the relation of a new entry to others: the same one, else the likeliest change, else none.

    Args:
        id: the id that the new entry would have.
    """
    verdicts: list[tuple[Entry, Verdict]] = []
    stated = _stated(new, ())
    for other in others:
        # Topics tell subjects apart only where the two have none in common.
        apart = bool(new.tags and other.tags) and not {*new.tags} & {*other.tags}
        mine = _stated(new, new.tags) if apart else stated
        verdict = _judged(mine, _stated(other, other.tags if apart else ()))
        if verdict.verdict in _REPLACING and begun(new) < begun(other):
            # An older statement ends none that is newer, however they differ.
            verdict = verdict._replace(
                verdict="new",
                reason="it is older than what it differs from",
                probabilities={**verdict.probabilities, "new": verdict.probability},
            )
        verdicts.append((other, verdict))
    for names in (("same",), _REPLACING):
        likely = [pair for pair in verdicts if pair[1].verdict in names]
        if likely:
            other, verdict = max(likely, key=lambda pair: pair[1].probability)
            name: Any = verdict.verdict
            return Suggestion(name, id, other.id, verdict.probability, verdict.reason)
    if not verdicts:
        return Suggestion("new", id, None, 1.0, "no entry is about the same")
    _, nearest = min(verdicts, key=lambda pair: pair[1].probabilities["new"])
    return Suggestion("new", id, None, nearest.probabilities["new"], nearest.reason)


def _stated(entry: Entry, topics: tuple[str, ...]) -> _Stated:
    """Return the claims of an entry, after topics as their subject."""
    subject = "".join(f"{topic}: " for topic in topics)
    title = statement_of(subject + entry.title)
    if not entry.description:
        return _Stated(title, title)
    # Titles of imported texts are their first words.
    repeats = entry.description.startswith(entry.title.rstrip("…. "))
    return _Stated(title, statement_of(f"{subject}{'' if repeats else entry.title} {entry.description}"))


def _judged(new: _Stated, old: _Stated) -> Verdict:
    """Return the verdict on the whole texts; of a bare title, the best of the old title and the old text."""
    whole = compared(new.whole, old.whole)
    if new.whole is not new.title or whole.verdict != "new" or old.whole is old.title:
        return whole
    return compared(new.title, old.title)


def begun(entry: Entry) -> float:
    """Return the time from which an entry holds, in epoch seconds."""
    return entry.created_at if entry.valid_from is None else entry.valid_from
