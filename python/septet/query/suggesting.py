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


class EntryClaims:
    """An entry and its claims, which are read when they are first compared."""

    __slots__ = ("_read", "entry")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self._read: dict[bool, _Stated] = {}

    def stated(self, topics: bool) -> _Stated:
        """Return its claims; after its topics, as their subject, if wanted."""
        if topics not in self._read:
            self._read[topics] = _stated(self.entry, self.entry.tags if topics else ())
        return self._read[topics]


def suggested(id: str, new: EntryClaims, others: Iterable[EntryClaims]) -> Suggestion:
    """Return the relation of a new entry to others: the same one, else the likeliest change, else none.

    Args:
        id: the id that the new entry would have.
    """
    verdicts: list[tuple[Entry, Verdict]] = []
    tags = new.entry.tags
    for statement in others:
        other = statement.entry
        # Topics tell subjects apart only where the two have none in common.
        apart = bool(tags and other.tags) and not {*tags} & {*other.tags}
        verdict = _judged(new.stated(apart), statement.stated(apart))
        if verdict.verdict in _REPLACING and begun(new.entry) < begun(other):
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
