"""Phrasings: a query said in other words, taken from what a model answers, and put in order to be searched."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from septet.errors import QueryError
from septet.inputs.arguments import exact, shown

__all__ = ["MOST_PHRASINGS", "MOST_PHRASING_CHARS", "phrasings_in", "variants_of"]

#: So many beside the query itself, unless configured otherwise.
MOST_PHRASINGS = 3
#: What is longer is no phrasing of a query, but an answer to it.
MOST_PHRASING_CHARS = 1_000
#: So many values of an iterable, which may have no end, are looked at.
MOST_GIVEN = 100
#: A reply is read so far, and at so many brackets at most: reading from each may take as long as the reply is.
MOST_REPLY_CHARS, MOST_BRACKETS = 65_536, 100

_JSON = json.JSONDecoder(strict=False)
_THOUGHTS = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHTS_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


def phrasings_in(reply: str) -> list[str] | None:
    """Return the strings of the first JSON array that has any, wherever it stands in a reply.

    A code fence or prose around it does not matter, nor do values of the array that are no strings. What a model thinks
    aloud before it answers, between ``<think>`` and ``</think>``, is passed over.

    Returns:
        No strings if no array has any; None if there is no array at all.
    """
    reply = _answer(reply[:MOST_REPLY_CHARS])
    found: list[str] | None = None
    for bracket in islice(re.finditer(r"\[", reply), MOST_BRACKETS):
        try:
            values, _ = _JSON.raw_decode(reply, bracket.start())
        except (ValueError, RecursionError):
            continue
        found = [value for value in values if isinstance(value, str) and value.strip()]
        if found:
            break
    return found


def _answer(reply: str) -> str:
    ends = list(_THOUGHTS_END.finditer(reply))
    if ends:
        return reply[ends[-1].end() :]
    return "" if _THOUGHTS.match(reply) else reply


def variants_of(query: str, others: Iterable[object], most: int = MOST_PHRASINGS) -> tuple[str, ...]:
    """Return a query and its other phrasings: the query first and as it is, then those that differ from it.

    Each is on one line, without blanks around it. Left out are empty ones, those of more than 1,000 characters, and
    those that differ from one before only in case or in blanks.

    Args:
        others: of any number; the first 100 are looked at.
        most: so many at most beside the query.

    Raises:
        QueryError: `others` is no collection of texts.
    """
    if isinstance(others, (str, bytes, bytearray, Mapping)) or not isinstance(others, Iterable):
        raise QueryError(f"{shown(others)}: wanted a list of texts")
    found = [query]
    seen = {_folded(query)}
    for other in islice(others, MOST_GIVEN):
        if len(found) > most:
            break
        phrasing = _clean(other)
        if phrasing and len(phrasing) <= MOST_PHRASING_CHARS and _folded(phrasing) not in seen:
            seen.add(_folded(phrasing))
            found.append(phrasing)
    return tuple(found)


def _clean(value: Any) -> str:
    if not isinstance(value, str):
        raise QueryError(f"{shown(value)} among the phrasings: wanted texts")
    text: str = exact(value)
    # More is not needed to see that it is too long. Lone surrogates are no text, and NUL is no word.
    text = text[: 16 * MOST_PHRASING_CHARS].encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
    return " ".join(text.split())


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
