"""The context of a prompt: the text, the reason for each entry in it, and what was left out."""

from __future__ import annotations

from typing import Literal, TypeAlias

from septet.model.codec import Plain
from septet.model.results import Hit
from septet.notes import Note
from septet.system.records import NamedTuple, dataclass

#: Reasons for an entry: it has the tag ``always``; the query has a name of it; it answers the query.
ContextCode: TypeAlias = Literal["pinned", "alias", "matches"]
#: Reasons against an entry: no room; another one says the same; a newer one says it; it hardly answers the query.
LeftOutCode: TypeAlias = Literal["budget", "same", "older", "below"]


class ContextItem(NamedTuple):
    """An entry in a `Context`.

    Attributes:
        hit: the entry with its scores; an entry that does not match the query has score and confidence 0.
        code: ``pinned``, ``alias`` or ``matches``.
        reason: the same in a short clause.
        tokens: (characters in the text) / 4, rounded up, without the lines that all entries share.
    """

    hit: Hit
    code: ContextCode
    reason: str
    tokens: int


class LeftOutEntry(NamedTuple):
    """An entry that was considered for a `Context`.

    Attributes:
        id: of the entry.
        code: ``budget``, ``same``, ``older`` or ``below``.
        reason: the same in a short clause.
    """

    id: str
    code: LeftOutCode
    reason: str


@dataclass(frozen=True, slots=True)
class Context(Plain):
    """The text that belongs into the prompt of a language model, and no more; see `Vault.context`.

    Attributes:
        text: the entries as `Results.to_prompt` writes them; empty if there are none.
        items: the entries in it, in its order: pins, names, matches.
        left_out: entries that were considered and are not in it.
        tokens: (characters of the text) / 4, rounded up.
        confidence: probability that the vault has an answer, 0 to 1, as of `Results`.
        profile: the ranking profile.
        notes: deviations and failures of the search.
    """

    text: str
    items: tuple[ContextItem, ...]
    left_out: tuple[LeftOutEntry, ...]
    tokens: int
    confidence: float
    profile: str
    notes: tuple[Note, ...] = ()

    @property
    def ids(self) -> list[str]:
        """The ids of the entries, in the order of the text."""
        return [item.hit.id for item in self.items]
