"""Masking what a vault keeps: rows of entries and what they were, and texts that were cut into pieces."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from septet._core import gram_text, text_hash
from septet.files.redaction import Redacted, Redactor
from septet.files.sessions import SESSION
from septet.files.transcripts import MOST_UNITS
from septet.model.entry import MAX_ID_CHARS, json_of, tags_of
from septet.ranking.pool import json_text
from septet.sqlite.tables.entries import EntryRow
from septet.sqlite.tables.files import CHUNK

__all__ = [
    "HIDDEN",
    "Counts",
    "Laid",
    "Masker",
    "asked_of",
    "cut_texts",
    "laid_out",
    "laid_parts",
    "refreshed",
    "runs_of",
]

#: What stands in place of a secret.
HIDDEN = "***"
#: Columns of an entry that are texts of one line or many; those of a name have a bound.
_TEXTS = ("title", "description", "context", "path", "source")
_NAMES = ("kind", "type", "domain")
#: How a line of a session begins, and the units that the rest of it has when it was cut in the middle of a word.
_SAID = re.compile(r"\n(?:User|Assistant): ")
_FULL = MOST_UNITS - 1
#: A longer run of letters and digits, out of a secret, is looked for in ids made of titles.
_RUN = re.compile(r"[^\W_]{8,}")


class Counts(dict[str, int]):
    """How many secrets each rule found."""

    def count(self, found: dict[str, int]) -> None:
        """Add what was found in a text."""
        for name, number in found.items():
            self[name] = self.get(name, 0) + number


class Masker:
    """Masks texts by a redactor; what was learned of many at once is not asked again."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._known: dict[str, Redacted | None] = {}

    def learn(self, texts: Iterable[str]) -> None:
        """Look at many texts in one native call, and forget those before."""
        asked = list(dict.fromkeys(texts))
        self._known = dict.fromkeys(asked)
        self._known.update((asked[at], found) for at, found in self.redactor.redact_all(asked))

    def text(self, text: str, counts: Counts) -> str:
        """Return a text without its secrets."""
        found = self._known[text] if text in self._known else self.redactor.redact(text)
        if found is None or not found.counts:
            return text
        counts.count(found.counts)
        return found.text

    def value(self, value: Any, counts: Counts, name: str = "") -> Any:
        """Return a value of JSON without the secrets in its texts and names, at any depth.

        A text is looked at beside its name too: ``{"password": "…"}`` holds a secret that looks like none.
        """
        if isinstance(value, str):
            made = self.text(value, counts)
            if name and made == value:
                made = self._named(name, value, counts)
            return made
        if isinstance(value, list):
            return [self.value(one, counts) for one in value]
        if not isinstance(value, dict):
            return value
        masked: dict[str, Any] = {}
        for key, one in value.items():
            own = wanted = self.text(key, counts)
            number = 1
            while own in masked or (own != key and own in value):
                number += 1
                own = f"{wanted} {number}"
            masked[own] = self.value(one, counts, key)
        return masked

    def _named(self, name: str, value: str, counts: Counts) -> str:
        said = _beside(name, value)
        found: Counts = Counts()
        made = self.text(said, found)
        if made == said:
            return value
        counts.count(found)
        try:
            return str(json.loads(f"{{{made}}}").popitem()[1])
        except (ValueError, KeyError):
            return HIDDEN

    def row(self, row: EntryRow, counts: Counts, *, keep: frozenset[str] = frozenset()) -> EntryRow:
        """Return an entry without its secrets; ids stay.

        Args:
            keep: columns that stay too.
        """
        made: dict[str, Any] = {}
        for name in (*_TEXTS, *_NAMES):
            text = getattr(row, name)
            if text and name not in keep:
                masked = self.text(text, counts)
                made[name] = masked[:MAX_ID_CHARS] if name in _NAMES else masked
        if row.tags != "[]":
            made["tags"] = self.tags(row.tags, counts)
        if row.attrs != "{}":
            made["attrs"] = self.attrs(row.attrs, counts)
        masked_row = row._replace(**made)
        return row if masked_row == row else refreshed(masked_row)

    def tags(self, text: str, counts: Counts) -> str:
        """Return tags, as JSON, without secrets; two that become one are one."""
        own = tags_of(text)
        masked = [self.text(tag, counts) for tag in own]
        return text if masked == list(own) else json_text(list(dict.fromkeys(masked)))

    def attrs(self, text: str, counts: Counts) -> str:
        """Return attrs, as JSON, without secrets."""
        value = json_of(text, dict)
        masked = self.value(value, counts)
        return text if masked == value else json_text(masked)

    def columns(self, text: str, counts: Counts) -> str:
        """Return columns that an entry had, as the history has them, without secrets."""
        held = json_of(text, dict)
        made = dict(held)
        for name, value in held.items():
            if not isinstance(value, str):
                continue
            if name in ("tags", "attrs"):
                made[name] = getattr(self, name)(value, counts)
            elif name in _TEXTS or name in _NAMES:
                made[name] = self.text(value, counts)
        return text if made == held else json.dumps(made, ensure_ascii=False, separators=(",", ":"))

    def document(self, laid: Laid, counts: Counts) -> dict[int, str]:
        """Return those pieces of a text that hold secrets, or a part of one, by their numbers, without them."""
        found = [*self._spans(laid.text, counts)]
        # Once more with what was cut in the middle of a line put together; what both ways find counts once.
        for cuts in (_wraps(laid.text) if laid.said else [], *laid.soft):
            if not cuts:
                continue
            text, places = _without(laid.text, cuts)
            more: Counts = Counts()
            spans = self._spans(text, more)
            found += ((_place(places, start), _place(places, end - 1) + 1) for start, end in spans)
            for name, number in more.items():
                counts[name] = max(counts.get(name, 0), number)
        if not found:
            return {}
        merged, made = _merged(found), {}
        for number, (text, start) in enumerate(zip(laid.pieces, laid.starts)):
            end = start + len(text)
            own = [(max(a, start) - start, min(b, end) - start) for a, b in merged if a < end and b > start]
            if own:
                made[number] = hidden(text, own)
        return made

    def _spans(self, text: str, counts: Counts) -> Iterator[tuple[int, int]]:
        spans, found = self.redactor.spans(text)
        counts.count(found)
        return iter(spans)


#: A place in a text where something stands between what belongs together: start, end, and what should stand there.
Cut: TypeAlias = tuple[int, int, str]


class Laid(NamedTuple):
    """A text that was cut into pieces, put together again.

    Attributes:
        text: the whole.
        pieces: what it was cut into; they may overlap.
        starts: where each begins.
        said: it is a session, whose messages are lines.
        soft: line breaks, as start, end and what stands there without them, that cutting a long line has made; where
            these are cannot be told for sure, so each is one way to see it.
    """

    text: str
    pieces: tuple[str, ...]
    starts: tuple[int, ...]
    said: bool = False
    soft: tuple[Sequence[Cut], ...] = ()


def laid_out(pieces: Sequence[tuple[str, int, int]], *, said: bool = False) -> Laid:
    """Put the chunks of a file together again: texts with their first and last lines, in order.

    Each may begin with the end of the one before. Of two that stand in one line nothing is between.
    """
    parts: list[str] = []
    starts: list[int] = []
    first_breaks: dict[int, None] = {}
    last_breaks: dict[int, None] = {}
    size, tail, last = 0, "", -1
    for text, first_line, last_line in pieces:
        shared = _shared(tail, text)
        if parts and not shared and first_line > last:
            parts.append("\n")
            size += 1
        starts.append(size - shared)
        parts.append(text[shared:])
        size += len(text) - shared
        more = text.count("\n") - (last_line - first_line)
        if more > 0:
            breaks = [starts[-1] + at for at, char in enumerate(text) if char == "\n"]
            first_breaks.update(dict.fromkeys(breaks[:more]))
            last_breaks.update(dict.fromkeys(breaks[-more:]))
        # An overlap is a part of the piece before.
        tail, last = text, max(last, last_line)
    soft = tuple([(at, at + 1, "") for at in sorted(breaks)] for breaks in (first_breaks, last_breaks) if breaks)
    return Laid("".join(parts), tuple(text for text, _, _ in pieces), tuple(starts), said, soft)


def laid_parts(whole: str, pieces: Sequence[str]) -> Laid:
    """Return a text with the parts that it was split into; one that does not stand in it is left out by its place."""
    starts, at = [], 0
    for text in pieces:
        found = whole.find(text, at)
        found = whole.find(text) if found < 0 else found
        starts.append(len(whole) if found < 0 else found)
        at = at if found < 0 else found + len(text)
    return Laid(whole, (whole, *pieces), (0, *starts))


def cut_texts(rows: Sequence[EntryRow]) -> tuple[Laid, list[int]] | None:
    """Return the text that entries with one parent were cut from, and which of them; None if they were not.

    A text that was split stands first, before its parts.
    """
    whole = next((number for number, row in enumerate(rows) if row.parent == row.id), None)
    if whole is not None:
        numbers = [number for number, row in enumerate(rows) if _is_part(row, rows[whole].id)]
        laid = laid_parts(rows[whole].description, [rows[number].description for number in numbers])
        return laid, [whole, *numbers]
    numbers = [number for number, row in enumerate(rows) if row.kind == CHUNK and row.parent]
    if not numbers:
        return None
    pieces = [(rows[n].description, rows[n].first_line or 0, rows[n].last_line or 0) for n in numbers]
    return laid_out(pieces, said=any(rows[n].type == SESSION for n in numbers)), numbers


def refreshed(row: EntryRow) -> EntryRow:
    """Return a row whose texts changed with what is made of them."""
    grams = gram_text(row.id, row.title, (row.description, row.context, *tags_of(row.tags)))
    return row._replace(grams=grams, text_hash=text_hash(row.title, row.description, row.context))


def hidden(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text with spans masked; line breaks stay."""
    made: list[str] = []
    at = 0
    for start, end in spans:
        made += (text[at:start], HIDDEN, "\n" * text.count("\n", start, end))
        at = end
    return "".join((*made, text[at:]))


def asked_of(row: EntryRow) -> Iterator[str]:
    """Yield the texts that masking a row will ask about."""
    for name in (*_TEXTS, *_NAMES):
        if text := getattr(row, name):
            yield text
    if row.tags != "[]":
        yield from tags_of(row.tags)
    if row.attrs != "{}":
        yield from _asked_of(json_of(row.attrs, dict))


def _asked_of(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        yield value
        if name:
            yield _beside(name, value)
    elif isinstance(value, list):
        for one in value:
            yield from _asked_of(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _asked_of(one, key)


def _beside(name: str, value: str) -> str:
    return f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"


def _is_part(row: EntryRow, whole: str) -> bool:
    number = row.id.removeprefix(f"{whole}#")
    return row.id != whole and number != row.id and number.isdecimal() and number.isascii()


def runs_of(secret: str) -> list[str]:
    """Return the runs of letters and digits of a secret that tell it, folded."""
    return [found.casefold() for found in _RUN.findall(secret)]


def _shared(before: str, text: str) -> int:
    """Return how many characters at the beginning of a text are the end of the one before."""
    probe = text[:16]
    at = before.find(probe) if len(probe) == 16 else -1
    while at >= 0:
        if text.startswith(before[at:]):
            return len(before) - at
        at = before.find(probe, at + 1)
    return next((size for size in range(min(15, len(text), len(before)), 0, -1) if before.endswith(text[:size])), 0)


def _wraps(text: str) -> list[Cut]:
    """Return where messages of a session were wrapped."""
    cuts = []
    for found in _SAID.finditer(text):
        begun = text.rfind("\n", 0, found.start()) + 1
        line, rest = text[begun : found.start()], text[found.end() : found.end() + MOST_UNITS]
        label = found.group()[1:]
        if not (line.startswith(label) or begun == 0):
            continue
        units = _units(line.removeprefix(label))
        word = rest.partition("\n")[0].partition(" ")[0]
        if units + 1 + _units(word) > MOST_UNITS:
            cuts.append((found.start(), found.end(), "" if units >= _FULL else " "))
    return cuts


def _without(text: str, cuts: Sequence[Cut]) -> tuple[str, list[tuple[int, int]]]:
    """Return a text with cuts in it closed, and places in it beside those in the text."""
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    at = size = 0
    for start, end, between in cuts:
        places.append((size, at))
        parts += (text[at:start], between)
        size += start - at + len(between)
        at = end
    return "".join((*parts, text[at:])), [*places, (size, at)]


def _place(places: Sequence[tuple[int, int]], at: int) -> int:
    here, there = places[bisect_right(places, at, key=lambda one: one[0]) - 1]
    return there + at - here


def _units(text: str) -> int:
    return len(text) + sum(char > "\uffff" for char in text)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((start, end))
    return made
