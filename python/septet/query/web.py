"""The syntax of web searches: quotes, minus, plus, ``field:value`` and a star, in a query that can never be wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from septet.errors import QueryError
from septet.query.filters import parse_where
from septet.query.words import Web, indexed_words

__all__ = ["dated", "understood"]

#: What a field is called in a query, and in a filter.
FIELDS: Mapping[str, str] = {
    **{name: name for name in ("domain", "type", "severity", "kind", "source", "trust", "parent", "id", "path")},
    **dict.fromkeys(("tag", "tags"), "tags"),
    **dict.fromkeys(("created", "created_at"), "created_at"),
    **dict.fromkeys(("updated", "updated_at"), "updated_at"),
}
#: Fields of a few values, which are all lower case.
_LABELS = frozenset({"severity", "trust"})
_DATES = frozenset({"created_at", "updated_at"})
#: So many operators a query may have, each of so many characters, and so far they are looked for: what is beyond is
#: ordinary text. Each is looked up by itself.
MOST_OPERATORS, MOST_CHARS, MOST_READ = 32, 100, 20_000

_QUOTES = '"\u201c\u201d\u201e'
#: A sign, a field, and a quoted text or a word.
_TOKEN = re.compile(rf"([+-]?)(?:([^\W\d][^\s:{_QUOTES}]*):)?(?:[{_QUOTES}]([^{_QUOTES}]*)[{_QUOTES}]|(\S+))")
_BLANK = re.compile(r"\s*")
_DATE = re.compile(r"([<>]=?)?([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_NUMBER = re.compile(r"([<>]=?)?(-?[0-9]{1,15}(?:\.[0-9]{1,15})?)")
_ORDERING = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}


class _Read:
    """What was read of a query so far."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.words: dict[str, dict[str, None]] = {
            name: {} for name in ("must", "must_not", "phrases", "prefixes", "without")
        }
        self.conditions: list[tuple[str, dict[str, Any]]] = []
        self.denied: list[dict[str, Any]] = []

    @property
    def operators(self) -> int:
        return sum(map(len, self.words.values())) + len(self.conditions) + len(self.denied)


def understood(query: str) -> Web:
    """Return what a query asks; what is malformed or unknown is ordinary text, so that no query is an error.

    Operators stand at the beginning of a word: ``"two words"`` in a row, ``+word`` must be held, ``-word`` and
    ``-"two words"`` must not, ``begin*`` is the beginning of a word, ``field:value`` and ``field:"a value"`` filter and
    ``-field:value`` leaves out. Fields are those of `FIELDS` and ``attrs.NAME``. ``created`` and ``updated`` take a
    year, a month or a day of UTC, behind ``<``, ``<=``, ``>`` or ``>=`` too; attrs take numbers so. Of a field with one
    value, any of those that are named is right; of tags and attrs all are wanted.
    """
    if not query.isascii():
        query = query.encode("utf-8", "replace").decode("utf-8")
    read, at, last = _Read(), 0, False
    while True:
        at = _end(_BLANK, query, at)
        if at >= len(query):
            break
        if at > MOST_READ or read.operators >= MOST_OPERATORS:
            read.text.append(query[at:])
            last = not query[-1:].isspace()
            break
        token = _TOKEN.match(query, at)
        if token is None:  # pragma: no cover - whatever is no blank begins a word
            break
        at = token.end()
        plain = not _taken(read, *token.groups())
        if plain:
            read.text.append(token[0])
        last = plain and at == len(query)
    where = _where(read)
    return Web(
        query,
        " ".join(read.text),
        **{name: tuple(words) for name, words in read.words.items()},
        where=where,
        filters={f"query {name.removeprefix('where ')}": one for name, one in parse_where(where).items()},
        open=last,
    )


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _taken(read: _Read, sign: str, field: str | None, quoted: str | None, word: str | None) -> bool:
    """Take a token as an operator; say whether it is one."""
    value = (quoted if word is None else word) or ""
    if not value or len(value) > MOST_CHARS:
        return False
    if field is not None:
        return _takes_field(read, sign, field, value)
    if word is not None:
        return _takes_word(read, sign, word)
    if not indexed_words(value):
        return False
    if sign == "-":
        read.words["must_not"][value] = None
    else:
        read.words["phrases"][value] = None
        read.text.append(value)
    return True


def _takes_word(read: _Read, sign: str, word: str) -> bool:
    if word[0] in "+-" + _QUOTES:
        return False
    begun = word[:-1] if word.endswith("*") else None
    found = indexed_words(word)
    if begun and len(found) == 1 and indexed_words(begun[-1]):
        read.words["without" if sign == "-" else "prefixes"][begun] = None
        return True
    if not sign or not found:
        return False
    if sign == "-":
        read.words["must_not"][word] = None
    else:
        # Parts of `state-of-the-art` belong together.
        read.words["must" if len(found) == 1 else "phrases"][word] = None
        read.text.append(word)
    return True


def _takes_field(read: _Read, sign: str, field: str, value: str) -> bool:
    name = field if field.startswith("attrs.") else FIELDS.get(field.lower())
    if name is None:
        return False
    condition = _condition(name, value.lower() if name in _LABELS else value)
    try:
        if condition is None or not parse_where({name: condition}):
            return False
    except QueryError:
        return False
    if sign == "-":
        read.denied.append({name: condition})
    else:
        read.conditions.append((name, condition))
    return True


def _condition(name: str, value: str) -> Any:
    """Return what a field is compared with; None if the value does not fit."""
    if name in _DATES:
        return dated(value)
    if not name.startswith("attrs."):
        return {"$eq": value}
    number = _NUMBER.fullmatch(value)
    if number is not None:
        given = float(number[2]) if "." in number[2] else int(number[2])
        return {_ORDERING[number[1]]: given} if number[1] else {"$in": [value, given]}
    if value.lower() in ("true", "false"):
        return {"$in": [value, value.lower() == "true"]}
    return {"$eq": value}


def dated(value: str) -> dict[str, float] | None:
    """Return the condition that a time is in a year, a month or a day, before or behind it; None for no date."""
    found = _DATE.fullmatch(value)
    if found is None:
        return None
    sign, year, month, day = found.groups()
    try:
        first = datetime(int(year), int(month or 1), int(day or 1), tzinfo=timezone.utc)
        # 32 days behind the first of a month is the next month, 366 behind the first of January the next year.
        behind = first + timedelta(days=1 if day else 32 if month else 366)
    except (ValueError, OverflowError):
        return None
    behind = behind if day else behind.replace(day=1)
    start, end = first.timestamp(), (behind if month else behind.replace(month=1)).timestamp()
    return {
        None: {"$gte": start, "$lt": end},
        "<": {"$lt": start},
        "<=": {"$lt": end},
        ">": {"$gte": end},
        ">=": {"$gte": start},
    }[sign]


def _where(read: _Read) -> dict[str, Any]:
    """Return the filter that all fields together ask for."""
    parts: list[dict[str, Any]] = []
    either: dict[str, list[str]] = {}
    for name, condition in read.conditions:
        if name in _DATES or name == "tags" or name.startswith("attrs."):
            if {name: condition} not in parts:
                parts.append({name: condition})
        else:
            either.setdefault(name, []).append(condition["$eq"])
    for name, values in either.items():
        wanted: Sequence[str] = [*dict.fromkeys(values)]
        parts.append({name: wanted[0] if len(wanted) == 1 else {"$in": wanted}})
    if read.denied:
        parts.append({"$nor": read.denied})
    if len({name for part in parts for name in part}) < len(parts):
        return {"$and": parts}
    return {name: _plain(condition) for part in parts for name, condition in part.items()}


def _plain(condition: Any) -> Any:
    return condition["$eq"] if isinstance(condition, dict) and condition.keys() == {"$eq"} else condition
