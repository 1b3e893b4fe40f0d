"""Mask the secrets in stored entries, their history, and texts split into chunks."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from septet._core import gram_text, text_hash
from septet.files.redaction import Redacted, Redactor
from septet.files.sessions import SESSION
from septet.files.transcripts import MOST_UNITS
from septet.model.entry import MAX_ID_CHARS, json_of, tags_of
from septet.ranking.pool import json_text
from septet.sqlite.tables.files import CHUNK
from septet.store.rows import EntryRow

#: Replacement of a secret.
HIDDEN = "***"
#: Text columns of an entry; names have a maximum length.
_TEXTS = ("title", "description", "context", "path", "source")
_NAMES = ("kind", "type", "domain")
#: Start of a message of a session, and the minimum units of a line cut in the middle of a word.
_MESSAGE = re.compile(r"\n(?:User|Assistant): ")
_FULL = MOST_UNITS - 1


class Masker:
    """Masks texts with a redactor, with a cache filled in batches."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._known: dict[str, Redacted | None] = {}

    def learn(self, texts: Iterable[str]) -> None:
        """Redact many texts in one native call, replacing the cache."""
        unique = list(dict.fromkeys(texts))
        self._known = dict.fromkeys(unique)
        self._known.update((unique[number], redacted) for number, redacted in self.redactor.redact_all(unique))

    def text(self, text: str, counts: Counter[str]) -> str:
        """Return a text without its secrets."""
        redacted = self._known[text] if text in self._known else self.redactor.redact(text)
        if redacted is None or not redacted.counts:
            return text
        counts.update(redacted.counts)
        return redacted.text

    def value(self, value: Any, counts: Counter[str], name: str = "") -> Any:
        """Return a JSON value without the secrets in its texts and keys, at any depth.

        A text is also checked together with its key: in ``{"password": "…"}`` only the key reveals the secret.
        """
        if isinstance(value, str):
            text = self.text(value, counts)
            return self._named(name, value, counts) if name and text == value else text
        if isinstance(value, list):
            return [self.value(item, counts) for item in value]
        if not isinstance(value, dict):
            return value
        masked: dict[str, Any] = {}
        for key, item in value.items():
            masked_key = base = self.text(key, counts)
            number = 1
            while masked_key in masked or (masked_key != key and masked_key in value):
                number += 1
                masked_key = f"{base} {number}"
            masked[masked_key] = self.value(item, counts, key)
        return masked

    def _named(self, name: str, value: str, counts: Counter[str]) -> str:
        pair = _beside(name, value)
        more = Counter[str]()
        masked = self.text(pair, more)
        if masked == pair:
            return value
        counts.update(more)
        try:
            return str(json.loads(f"{{{masked}}}").popitem()[1])
        except (ValueError, KeyError):
            return HIDDEN

    def row(self, row: EntryRow, counts: Counter[str], *, keep: frozenset[str] = frozenset()) -> EntryRow:
        """Return an entry without its secrets; ids stay.

        Args:
            keep: columns that stay too.
        """
        columns: dict[str, Any] = {}
        for name in (*_TEXTS, *_NAMES):
            text = getattr(row, name)
            if text and name not in keep:
                masked = self.text(text, counts)
                columns[name] = masked[:MAX_ID_CHARS] if name in _NAMES else masked
        if row.tags != "[]":
            columns["tags"] = self.tags(row.tags, counts)
        if row.attrs != "{}":
            columns["attrs"] = self.attrs(row.attrs, counts)
        masked_row = row._replace(**columns)
        return row if masked_row == row else refreshed(masked_row)

    def tags(self, text: str, counts: Counter[str]) -> str:
        """Return tags, as JSON, without secrets and duplicates."""
        tags = tags_of(text)
        masked = [self.text(tag, counts) for tag in tags]
        return text if masked == list(tags) else json_text(list(dict.fromkeys(masked)))

    def attrs(self, text: str, counts: Counter[str]) -> str:
        """Return attrs, as JSON, without secrets."""
        value = json_of(text, dict)
        masked = self.value(value, counts)
        return text if masked == value else json_text(masked)

    def columns(self, text: str, counts: Counter[str]) -> str:
        """Return the columns of a version in the history, as JSON, without secrets."""
        before = json_of(text, dict)
        after = dict(before)
        for name, value in before.items():
            if not isinstance(value, str):
                continue
            if name in ("tags", "attrs"):
                after[name] = getattr(self, name)(value, counts)
            elif name in _TEXTS or name in _NAMES:
                after[name] = self.text(value, counts)
        return text if after == before else json.dumps(after, ensure_ascii=False, separators=(",", ":"))

    def document(self, laid: AssembledText, counts: Counter[str]) -> dict[int, str]:
        """Return the masked pieces of a text that contain a secret or a part of one, by number."""
        secrets = [*self._spans(laid.text, counts)]
        # Search again with wrapped lines joined; a secret found both ways counts once.
        for cuts in (_wraps(laid.text) if laid.is_session else [], *laid.soft):
            if not cuts:
                continue
            text, places = _without(laid.text, cuts)
            more = Counter[str]()
            spans = self._spans(text, more)
            secrets += ((_place(places, start), _place(places, end - 1) + 1) for start, end in spans)
            counts |= more
        if not secrets:
            return {}
        merged, masked = _merged(secrets), {}
        for number, (text, start) in enumerate(zip(laid.pieces, laid.starts)):
            end = start + len(text)
            inside = [(max(a, start) - start, min(b, end) - start) for a, b in merged if a < end and b > start]
            if inside:
                masked[number] = hidden(text, inside)
        return masked

    def _spans(self, text: str, counts: Counter[str]) -> Iterator[tuple[int, int]]:
        spans, by_rule = self.redactor.spans(text)
        counts.update(by_rule)
        return iter(spans)


#: An interruption of a text: start, end, and the text to put in its place.
Cut: TypeAlias = tuple[int, int, str]


class AssembledText(NamedTuple):
    """A text reassembled from its pieces.

    Attributes:
        text: the whole text.
        pieces: the pieces, which may overlap.
        starts: offset of each piece.
        is_session: True for a session, whose messages are lines.
        soft: line breaks inserted by splitting long lines, in two alternative guesses, as their places are ambiguous.
    """

    text: str
    pieces: tuple[str, ...]
    starts: tuple[int, ...]
    is_session: bool = False
    soft: tuple[Sequence[Cut], ...] = ()


def laid_out(pieces: Sequence[tuple[str, int, int]], *, is_session: bool = False) -> AssembledText:
    """Reassemble the chunks of a file from texts with first and last lines, in order.

    A chunk may begin with the end of the previous one. Pieces of the same line are joined without a line break.
    """
    parts: list[str] = []
    starts: list[int] = []
    early_breaks: dict[int, None] = {}
    late_breaks: dict[int, None] = {}
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
            breaks = [starts[-1] + offset for offset, char in enumerate(text) if char == "\n"]
            early_breaks.update(dict.fromkeys(breaks[:more]))
            late_breaks.update(dict.fromkeys(breaks[-more:]))
        # An overlap is part of the previous piece.
        tail, last = text, max(last, last_line)
    soft = tuple(
        [(offset, offset + 1, "") for offset in sorted(breaks)] for breaks in (early_breaks, late_breaks) if breaks
    )
    return AssembledText("".join(parts), tuple(text for text, _, _ in pieces), tuple(starts), is_session, soft)


def cut_texts(rows: Sequence[EntryRow]) -> tuple[AssembledText, list[int]] | None:
    """Return the text that entries with one parent were split from, and their numbers; None if they were not.

    A split text is first, before its parts.
    """
    first = next((number for number, row in enumerate(rows) if row.parent == row.id), None)
    if first is not None:
        numbers = [number for number, row in enumerate(rows) if _is_part(row, rows[first].id)]
        whole, parts = rows[first].description, [rows[number].description for number in numbers]
        starts, position = [0], 0
        for text in parts:
            start = whole.find(text, position)
            start = whole.find(text) if start < 0 else start
            # A part that is not in the text is placed at its end.
            starts.append(len(whole) if start < 0 else start)
            position = position if start < 0 else start + len(text)
        return AssembledText(whole, (whole, *parts), tuple(starts)), [first, *numbers]
    numbers = [number for number, row in enumerate(rows) if row.kind == CHUNK and row.parent]
    if not numbers:
        return None
    pieces = [(rows[n].description, rows[n].first_line or 0, rows[n].last_line or 0) for n in numbers]
    return laid_out(pieces, is_session=any(rows[n].type == SESSION for n in numbers)), numbers


def refreshed(row: EntryRow) -> EntryRow:
    """Return a changed row with its derived columns recomputed."""
    grams = gram_text(row.id, row.title, (row.description, row.context, *tags_of(row.tags)))
    return row._replace(grams=grams, text_hash=text_hash(row.title, row.description, row.context))


def hidden(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text with masked spans; line breaks stay."""
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += (text[position:start], HIDDEN, "\n" * text.count("\n", start, end))
        position = end
    return "".join((*parts, text[position:]))


def checked_texts(row: EntryRow) -> Iterator[str]:
    """Yield the texts to be checked when a row is masked."""
    for name in (*_TEXTS, *_NAMES):
        if text := getattr(row, name):
            yield text
    if row.tags != "[]":
        yield from tags_of(row.tags)
    if row.attrs != "{}":
        yield from _checked_texts(json_of(row.attrs, dict))


def _checked_texts(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        yield value
        if name:
            yield _beside(name, value)
    elif isinstance(value, list):
        for item in value:
            yield from _checked_texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _checked_texts(item, key)


def _beside(name: str, value: str) -> str:
    return f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"


def _is_part(row: EntryRow, whole: str) -> bool:
    number = row.id.removeprefix(f"{whole}#")
    return row.id != whole and number != row.id and number.isdecimal() and number.isascii()


def _shared(before: str, text: str) -> int:
    """Return the length of the overlap: characters at the start of a text that end the previous one."""
    probe = text[:16]
    at = before.find(probe) if len(probe) == 16 else -1
    while at >= 0:
        if text.startswith(before[at:]):
            return len(before) - at
        at = before.find(probe, at + 1)
    return next((size for size in range(min(15, len(text), len(before)), 0, -1) if before.endswith(text[:size])), 0)


def _wraps(text: str) -> list[Cut]:
    """Return the places where messages of a session were wrapped."""
    cuts = []
    for match in _MESSAGE.finditer(text):
        line_start = text.rfind("\n", 0, match.start()) + 1
        line, rest = text[line_start : match.start()], text[match.end() : match.end() + MOST_UNITS]
        label = match.group()[1:]
        if not (line.startswith(label) or line_start == 0):
            continue
        units = _units(line.removeprefix(label))
        word = rest.partition("\n")[0].partition(" ")[0]
        if units + 1 + _units(word) > MOST_UNITS:
            cuts.append((match.start(), match.end(), "" if units >= _FULL else " "))
    return cuts


def _without(text: str, cuts: Sequence[Cut]) -> tuple[str, list[tuple[int, int]]]:
    """Return a text without its cuts, and pairs of offsets in it and in the original."""
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    position = size = 0
    for start, end, between in cuts:
        places.append((size, position))
        parts += (text[position:start], between)
        size += start - position + len(between)
        position = end
    return "".join((*parts, text[position:])), [*places, (size, position)]


def _place(places: Sequence[tuple[int, int]], at: int) -> int:
    joined, original = places[bisect_right(places, at, key=lambda pair: pair[0]) - 1]
    return original + at - joined


def _units(text: str) -> int:
    return len(text) + sum(char > "\uffff" for char in text)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    union: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(end, union[-1][1]))
        else:
            union.append((start, end))
    return union
