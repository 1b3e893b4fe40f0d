"""The matches of a query in an entry, and the passage around the best of them; computed on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import field as member
from typing import NamedTuple

from septet._core import spans, stop_words
from septet.errors import QueryError
from septet.inputs.arguments import called, listed, shown, utf8, whole
from septet.model.codec import OMITTED, Plain
from septet.model.entry import SNIPPET_CHARS, Entry

#: Marks omitted text in a passage.
CUT = "..."
#: Weight of a stop word; other words have 1.
STOP_WORD = 0.1
#: Maximum characters of a passage.
MOST_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Match(Plain):
    """A match of a query's word, in any of its forms, in an entry.

    Attributes:
        field: ``title``, ``description``, ``context``, ``tags`` or ``id``.
        start: index of the first character in the field's text.
        end: index after the last character.
        term: the word of the query, in lower case; a part of a word if parts were searched.
        item: index of the tag; None in other fields.
    """

    field: str
    start: int
    end: int
    term: str
    item: int | None = member(default=None, metadata=OMITTED)


class Sought(NamedTuple):
    """The terms and prefixes of a query; ``grams`` is True if character pairs count."""

    terms: tuple[str, ...]
    begun: tuple[str, ...]
    grams: bool

    def places(self, texts: Sequence[str]) -> list[list[tuple[int, int, int]]]:
        """Return ``(start, end, term number)`` of each match, per text."""
        return spans(texts, self.all, len(self.terms), self.grams)

    @property
    def all(self) -> tuple[str, ...]:
        """Terms, then prefixes."""
        return self.terms + self.begun


def matches_of(entry: Entry, sought: Sought) -> tuple[Match, ...]:
    """Return every match in an entry, by field and position."""
    fields = ["title", "description", "context", *["tags"] * len(entry.tags), "id"]
    texts = [entry.title, entry.description, entry.context, *entry.tags, entry.id]
    items = [None, None, None, *range(len(entry.tags)), None]
    terms = sought.all
    return tuple(
        Match(field, start, end, terms[term], item)
        for field, item, places in zip(fields, items, sought.places(texts))
        for start, end, term in places
    )


def excerpt_of(entry: Entry, sought: Sought, chars: object, marks: object, escape: Callable[[str], str] | None) -> str:
    """Check the arguments and return the passage of an entry; see `septet.Hit.excerpt`."""
    escaped = called(escape, "escape", QueryError)
    most = whole(chars, "chars", QueryError, 1, MOST_CHARS)
    if marks is None:
        return passage_of(entry, sought, most, None, escaped)
    expected = "two texts, such as ('<b>', '</b>'), or None"
    texts = () if isinstance(marks, str) else listed(marks, "marks", QueryError, expected, 2, of=str)
    if len(texts) != 2:
        raise QueryError(f"marks is {shown(marks)}: wanted {expected}")
    before, after = (utf8(text, "marks", QueryError) for text in texts)
    return passage_of(entry, sought, most, (before, after), escaped)


def passage_of(
    entry: Entry,
    sought: Sought,
    chars: int = SNIPPET_CHARS,
    marks: tuple[str, str] | None = None,
    escape: Callable[[str], str] | None = None,
) -> str:
    """Return the passage of description or context with the most terms of the query; the beginning without matches."""
    texts = (entry.description, entry.context)
    of_description, of_context = sought.places(texts)
    common = frozenset(stop_words())
    weights = [STOP_WORD if term in common else 1.0 for term in sought.all]
    first, second = (_best(places, weights, chars) for places in (of_description, of_context))
    text, places, best = texts[0], of_description, first
    if second.score > first.score:
        text, places, best = texts[1], of_context, second
    start, end = _around(text, best.start, best.end, chars)
    return _written(text, start, end, places if marks else (), marks or ("", ""), escape)


class _Window(NamedTuple):
    """A window of matches: its weight and their number, and its characters."""

    score: tuple[float, int]
    start: int
    end: int


def _best(places: Sequence[tuple[int, int, int]], weights: Sequence[float], chars: int) -> _Window:
    """Return the best window of matches; the first of equals."""
    best = _Window((0.0, 0), 0, 0)
    counts: dict[int, int] = {}
    weight, last = 0.0, 0
    for first, (start, end, term) in enumerate(places):
        while last < len(places) and (places[last][1] - start <= chars or last == first):
            other = places[last][2]
            weight += 0.0 if counts.get(other) else weights[other]
            counts[other] = counts.get(other, 0) + 1
            last += 1
        if (round(weight, 6), last - first) > best.score:
            best = _Window((round(weight, 6), last - first), start, max(end, places[last - 1][1]))
        counts[term] -= 1
        weight -= 0.0 if counts[term] else weights[term]
    return best


def _around(text: str, start: int, end: int, chars: int) -> tuple[int, int]:
    """Return a passage centred on matches, cut between words if possible."""
    if len(text) <= chars:
        return 0, len(text)
    first = max(0, min(start - max(chars - (end - start), 0) // 2, len(text) - chars))
    last = first + chars
    if first and not (text[first - 1].isspace() or text[first].isspace()):
        # After the next blank, unless a match begins before it.
        blank = next((at for at in range(first, min(start, first + chars // 4)) if text[at].isspace()), None)
        first = first if blank is None else blank + 1
    if start > 0 and last < len(text) and not (text[last].isspace() or text[last - 1].isspace()):
        blank = next((at for at in range(last - 1, max(end, last - chars // 4) - 1, -1) if text[at].isspace()), None)
        last = last if blank is None else blank
    return first, last


def _written(
    text: str,
    start: int,
    end: int,
    places: Sequence[tuple[int, int, int]],
    marks: tuple[str, str],
    escape: Callable[[str], str] | None,
) -> str:
    pieces, at = [CUT if start else ""], start
    written = escape or str
    for first, last in _merged(places, start, end):
        pieces += (written(text[at:first]), marks[0], written(text[first:last]), marks[1])
        at = last
    return "".join((*pieces, written(text[at:end]), CUT if end < len(text) else ""))


def _merged(places: Sequence[tuple[int, int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Return the matches inside a passage, merging overlaps."""
    merged: list[tuple[int, int]] = []
    for first, last, _ in places:
        clipped = max(first, start), min(last, end)
        if clipped[0] >= clipped[1]:
            continue
        if merged and clipped[0] < merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], clipped[1])
        else:
            merged.append(clipped)
    return merged
