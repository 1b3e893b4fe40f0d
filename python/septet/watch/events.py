"""Events passed to hooks: a finished search or write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from septet.notes import Note

#: The methods of a vault or a federation that search.
SearchMethod: TypeAlias = Literal["search", "search_many", "recall", "similar", "explain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEvent:
    """A finished search.

    Attributes:
        method: name of the called method.
        query: query text, for your own code; neither `repr` nor `to_dict` shows it. For ``search_many`` the first
            query, for ``similar`` the id or the text.
        query_chars: length of ``query``.
        queries: number of queries.
        took_ms: duration of the call in milliseconds.
        stages: milliseconds by stage: ``plan``, ``embed`` (the query), ``open`` (read transaction and snapshot),
            ``recall``, ``merge`` (several tiers), ``rank``, ``graph`` (links), ``read``, ``hits``. Skipped stages are
            missing; ``search_many`` and ``explain`` record only some.
        candidates: number of ranked candidates, over all tiers and queries.
        hits: number of returned hits.
        generation: generation of the highest tier; 0 if it did not answer.
        profile: name of the profile; empty after an error.
        notes: distinct notes of the results.
        error: exception raised by the call, or None.
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
        """Return a JSON-ready dict without the query; notes are their codes, the error is its class name."""
        return _plain(self, without="query") | {"notes": [note.code for note in self.notes]}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteEvent:
    """A finished write.

    Attributes:
        method: name of the called method, such as ``add_many``.
        count: number of entries, links or rows written; 0 after an error or a dry run.
        took_ms: duration of the call in milliseconds.
        generation: last generation written by the vault; 0 if it wrote none, and for a federation.
        error: exception raised by the call, or None.
    """

    method: str
    count: int
    took_ms: float
    generation: int
    error: Exception | None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; the error is its class name."""
        return _plain(self)


def _plain(event: SearchEvent | WriteEvent, without: str = "") -> dict[str, Any]:
    values = {name: getattr(event, name) for name in event.__dataclass_fields__ if name != without}
    return values | {"error": None if event.error is None else type(event.error).__name__}
