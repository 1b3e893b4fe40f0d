"""Web-search syntax: quotes, minus, plus, ``field:value`` and a trailing star; no query is an error."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from septet.errors import QueryError
from septet.query.filters import parse_where
from septet.query.words import Web, indexed_words

#: Fields in a query, and their names in a filter.
FIELDS: Mapping[str, str] = {
    **{name: name for name in ("domain", "type", "severity", "kind", "source", "trust", "parent", "id", "path")},
    **dict.fromkeys(("tag", "tags"), "tags"),
    **dict.fromkeys(("created", "created_at"), "created_at"),
    **dict.fromkeys(("updated", "updated_at"), "updated_at"),
}
#: Fields with a fixed set of values, all lower case.
_LABELS = frozenset({"severity", "trust"})
_DATES = frozenset({"created_at", "updated_at"})
#: Maximum operators of a query, characters of an operator, and characters that are scanned for operators; the
#: rest of the query is plain text.
MOST_OPERATORS, MOST_CHARS, MOST_READ = 32, 100, 20_000

_QUOTES = '"\u201c\u201d\u201e'
#: Sign, field, and quoted text or word.
_TOKEN = re.compile(rf"([+-]?)(?:([^\W\d][^\s:{_QUOTES}]*):)?(?:[{_QUOTES}]([^{_QUOTES}]*)[{_QUOTES}]|(\S+))")
_BLANK = re.compile(r"\s*")
_DATE = re.compile(r"([<>]=?)?([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_NUMBER = re.compile(r"([<>]=?)?(-?[0-9]{1,15}(?:\.[0-9]{1,15})?)")
_ORDERING = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}


class _Tokens:
    """Tokens of a query, by their meaning."""

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
    """Parse a query; malformed or unknown operators are plain text.

    Operators start a word: ``"two words"`` is a phrase, ``+word`` is required, ``-word`` and ``-"two words"`` are
    excluded, ``begin*`` is a prefix, ``field:value`` and ``field:"a value"`` filter, ``-field:value`` excludes. Fields
    are those of `FIELDS` and ``attrs.NAME``. ``created`` and ``updated`` take a year, month or day in UTC, also after
    ``<``, ``<=``, ``>`` or ``>=``; attrs take numbers in the same way. Repeated single-valued fields match any of the
    values, repeated tags and attrs all of them.
    """
    if not query.isascii():
        query = query.encode("utf-8", "replace").decode("utf-8")
    tokens, at, last = _Tokens(), 0, False
    while True:
        at = _end(_BLANK, query, at)
        if at >= len(query):
            break
        if at > MOST_READ or tokens.operators >= MOST_OPERATORS:
            tokens.text.append(query[at:])
            last = not query[-1:].isspace()
            break
        token = _TOKEN.match(query, at)
        if token is None:  # pragma: no cover - any non-blank starts a word
            break
        at = token.end()
        plain = not _add_token(tokens, *token.groups())
        if plain:
            tokens.text.append(token[0])
        last = plain and at == len(query)
    where = _where(tokens)
    return Web(
        query,
        " ".join(tokens.text),
        **{name: tuple(words) for name, words in tokens.words.items()},
        where=where,
        filters={f"query {name.removeprefix('where ')}": item for name, item in parse_where(where).items()},
        open=last,
    )


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def _add_token(tokens: _Tokens, sign: str, field: str | None, quoted: str | None, word: str | None) -> bool:
    """Add a token if it is an operator; return True if so."""
    value = (quoted if word is None else word) or ""
    if not value or len(value) > MOST_CHARS:
        return False
    if field is not None:
        return _add_field(tokens, sign, field, value)
    if word is not None:
        return _add_word(tokens, sign, word)
    if not indexed_words(value):
        return False
    if sign == "-":
        tokens.words["must_not"][value] = None
    else:
        tokens.words["phrases"][value] = None
        tokens.text.append(value)
    return True


def _add_word(tokens: _Tokens, sign: str, word: str) -> bool:
    if word[0] in "+-" + _QUOTES:
        return False
    prefix = word[:-1] if word.endswith("*") else None
    indexed = indexed_words(word)
    if prefix and len(indexed) == 1 and indexed_words(prefix[-1]):
        tokens.words["without" if sign == "-" else "prefixes"][prefix] = None
        return True
    if not sign or not indexed:
        return False
    if sign == "-":
        tokens.words["must_not"][word] = None
    else:
        # `state-of-the-art` is a phrase.
        tokens.words["must" if len(indexed) == 1 else "phrases"][word] = None
        tokens.text.append(word)
    return True


def _add_field(tokens: _Tokens, sign: str, field: str, value: str) -> bool:
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
        tokens.denied.append({name: condition})
    else:
        tokens.conditions.append((name, condition))
    return True


def _condition(name: str, value: str) -> Any:
    """Return the condition on a field; None if the value does not fit."""
    if name in _DATES:
        return dated(value)
    if not name.startswith("attrs."):
        return {"$eq": value}
    number = _NUMBER.fullmatch(value)
    if number is not None:
        parsed = float(number[2]) if "." in number[2] else int(number[2])
        return {_ORDERING[number[1]]: parsed} if number[1] else {"$in": [value, parsed]}
    if value.lower() in ("true", "false"):
        return {"$in": [value, value.lower() == "true"]}
    return {"$eq": value}


def dated(value: str) -> dict[str, float] | None:
    """Return the condition for a time in, before or after a year, month or day; None if the value is not a date."""
    match = _DATE.fullmatch(value)
    if match is None:
        return None
    sign, year, month, day = match.groups()
    try:
        first = datetime(int(year), int(month or 1), int(day or 1), tzinfo=timezone.utc)
        # The first of a month + 32 days is in the next month; January 1 + 366 days is in the next year.
        after = first + timedelta(days=1 if day else 32 if month else 366)
    except (ValueError, OverflowError):
        return None
    after = after if day else after.replace(day=1)
    start, end = first.timestamp(), (after if month else after.replace(month=1)).timestamp()
    return {
        None: {"$gte": start, "$lt": end},
        "<": {"$lt": start},
        "<=": {"$lt": end},
        ">": {"$gte": end},
        ">=": {"$gte": start},
    }[sign]


def _where(tokens: _Tokens) -> dict[str, Any]:
    """Combine the conditions of all fields into one filter."""
    parts: list[dict[str, Any]] = []
    either: dict[str, list[str]] = {}
    for name, condition in tokens.conditions:
        if name in _DATES or name == "tags" or name.startswith("attrs."):
            if {name: condition} not in parts:
                parts.append({name: condition})
        else:
            either.setdefault(name, []).append(condition["$eq"])
    for name, values in either.items():
        distinct: Sequence[str] = [*dict.fromkeys(values)]
        parts.append({name: distinct[0] if len(distinct) == 1 else {"$in": distinct}})
    if tokens.denied:
        parts.append({"$nor": tokens.denied})
    if len({name for part in parts for name in part}) < len(parts):
        return {"$and": parts}
    return {name: _plain(condition) for part in parts for name, condition in part.items()}


def _plain(condition: Any) -> Any:
    return condition["$eq"] if isinstance(condition, dict) and condition.keys() == {"$eq"} else condition
