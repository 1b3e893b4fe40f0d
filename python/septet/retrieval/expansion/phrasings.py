"""Phrasings: extracts rephrased queries from a model's reply, and prepares them for the search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from septet.errors import QueryError
from septet.inputs.arguments import exact, shown

#: Default maximum beside the query itself.
MOST_PHRASINGS = 3
#: A longer text is an answer, not a phrasing.
MOST_PHRASING_CHARS = 1_000
#: Maximum values read from an iterable, which may be endless.
MOST_GIVEN = 100
#: Maximum characters read from a reply, and maximum brackets tried: parsing from each may take time linear in the
#: reply.
MOST_REPLY_CHARS, MOST_BRACKETS = 65_536, 100

_JSON = json.JSONDecoder(strict=False)
_THOUGHTS = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHTS_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


def phrasings_in(reply: str) -> list[str] | None:
    """Return the strings of the first JSON array in a reply that contains any.

    A code fence or prose around it and values that are not strings are ignored, and so are a model's thoughts between
    ``<think>`` and ``</think>``.

    Returns:
        An empty list if no array has strings; None if there is no array.
    """
    reply = _answer(reply[:MOST_REPLY_CHARS])
    strings: list[str] | None = None
    for bracket in islice(re.finditer(r"\[", reply), MOST_BRACKETS):
        try:
            values, _ = _JSON.raw_decode(reply, bracket.start())
        except (ValueError, RecursionError):
            continue
        strings = [value for value in values if isinstance(value, str) and value.strip()]
        if strings:
            break
    return strings


def _answer(reply: str) -> str:
    ends = list(_THOUGHTS_END.finditer(reply))
    if ends:
        return reply[ends[-1].end() :]
    return "" if _THOUGHTS.match(reply) else reply


def variants_of(query: str, others: Iterable[object], most: int = MOST_PHRASINGS) -> tuple[str, ...]:
    """Return the unchanged query, then its other phrasings.

    Each is on one line, stripped. Phrasings are skipped if empty, longer than 1,000 characters, or equal to an earlier
    one except for case and blanks.

    Args:
        others: of any number; only the first 100 are read.
        most: maximum phrasings beside the query.

    Raises:
        QueryError: `others` is not a collection of texts.
    """
    if isinstance(others, (str, bytes, bytearray, Mapping)) or not isinstance(others, Iterable):
        raise QueryError(f"{shown(others)}: wanted a list of texts")
    variants = [query]
    seen = {_folded(query)}
    for other in islice(others, MOST_GIVEN):
        if len(variants) > most:
            break
        phrasing = _clean(other)
        if phrasing and len(phrasing) <= MOST_PHRASING_CHARS and _folded(phrasing) not in seen:
            seen.add(_folded(phrasing))
            variants.append(phrasing)
    return tuple(variants)


def _clean(value: Any) -> str:
    if not isinstance(value, str):
        raise QueryError(f"{shown(value)} among the phrasings: wanted texts")
    text: str = exact(value)
    # This much shows that it is too long. Lone surrogates are not text, and NUL is not part of a word.
    text = text[: 16 * MOST_PHRASING_CHARS].encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
    return " ".join(text.split())


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
