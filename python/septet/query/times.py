"""Times that a question asks for, in English: spans such as `last week`, and the first or latest of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from septet.query.conversation import MOST_QUERY_CHARS

if TYPE_CHECKING:
    from septet.query.spans import Order, TimeSpan

#: Parts of words: each phrase of a time has one of them, and each question for an order one of the others.
_PARTS = (
    "day", "week", "month", "year", "night", "morning", "noon", "evening", "20", "19",
    *"jan feb mar apr may jun jul aug sep oct nov dec".split(),
)  # fmt: skip
_ORDER_PARTS = ("first", "last", "latest", "recent", "originally", "initially", "beginning")


def asked_spans(query: str, now: float) -> list[TimeSpan]:
    """Return the spans of time that a question about the past names; empty if it names none.

    Days are those of the process's own zone. A date without a year is the last one before ``now``, a weekday the last
    such day, and a week begins on Monday.
    """
    query = query[:MOST_QUERY_CHARS]
    if not _has_any(query, _PARTS):
        return []
    # Imported here and below: few questions name a time.
    from septet.query.spans import named_spans

    return named_spans(query, now)


def without_spans(query: str) -> str:
    """Return a query without its phrases that count from now, which are words of other times in a text."""
    if len(query) > MOST_QUERY_CHARS or not _has_any(query, _PARTS):
        return query
    from septet.query.spans import without_relative

    return without_relative(query)


def asked_order(query: str) -> Order | None:
    """Return ``oldest`` if a question asks what was first, ``newest`` if for the latest; None if for neither."""
    query = query[:MOST_QUERY_CHARS]
    if not _has_any(query, _ORDER_PARTS):
        return None
    from septet.query.spans import named_order

    return named_order(query)


def _has_any(query: str, parts: tuple[str, ...]) -> bool:
    lower = query.lower()
    return any(part in lower for part in parts)
