"""What hooks are told: a search, or a write, that is over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from septet.notes import Note

__all__ = ["SearchEvent", "SearchMethod", "WriteEvent"]

#: The methods of a vault or a federation that search.
SearchMethod: TypeAlias = Literal["search", "search_many", "recall", "similar", "explain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEvent:
    """A search that is over.

    Attributes:
        method: the method that was called.
        query: the text, for your own code; neither `repr` nor `to_dict` shows it. Of ``search_many`` the first one,
            of ``similar`` the id or the text.
        query_chars: its length.
        queries: how many there were.
        took_ms: from the call to the return.
        stages: milliseconds by stage: ``plan``, ``embed`` (the query), ``open`` (read transaction and snapshot),
            ``recall``, ``merge`` (several tiers), ``rank``, ``graph`` (links), ``read``, ``hits``. Those that a search
            does not come through are missing; ``search_many`` and ``explain`` count few.
        candidates: how many were ranked, over all tiers and queries.
        hits: how many were returned.
        generation: of the highest tier; 0 if it did not answer.
        profile: the name of the profile; empty after an error.
        notes: of the results, each once.
        error: what the call raised; None otherwise.
    """

    method: SearchMethod
    query: str = field(repr=False)
    query_chars: int
    queries: int
    took_ms: float
    stages: Mapping[str, float]
    candidates: int
    hits: int
    generation: int
    profile: str
    notes: tuple[Note, ...]
    error: Exception | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the query, JSON-ready; of the notes the codes, of the error the name of its class."""
        return _plain(self, without="query") | {"notes": [note.code for note in self.notes]}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteEvent:
    """A write that is over.

    Attributes:
        method: the method that was called, as ``add_many``.
        count: how many entries, links or rows it says it wrote; 0 after an error and for a dry run.
        took_ms: from the call to the return.
        generation: the last one that the vault wrote; 0 if it wrote none, and for a federation.
        error: what the call raised; None otherwise.
    """

    method: str
    count: int
    took_ms: float
    generation: int
    error: Exception | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready; of the error the name of its class."""
        return _plain(self)


def _plain(event: SearchEvent | WriteEvent, without: str = "") -> dict[str, Any]:
    values = {name: getattr(event, name) for name in event.__dataclass_fields__ if name != without}
    return values | {"error": None if event.error is None else type(event.error).__name__}
