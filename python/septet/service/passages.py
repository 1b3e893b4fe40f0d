"""Passages of hits in pieces, so that who shows them can mark matches without markup in between."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from septet.model.results import Hit, Results

__all__ = ["with_passages"]

#: What the passage of a hit is cut into: a text, and whether it is a word of the query.
Piece = tuple[str, bool]


def with_passages(found: Results, chars: int) -> dict[str, Any]:
    """Return the results as a dict whose hits have ``marked``: title and passage in pieces.

    Args:
        chars: how many characters a passage has at most.
    """
    answer = found.to_dict()
    for hit, told in zip(found, answer["hits"]):
        told["marked"] = {"title": _told(_of_title(hit)), "passage": _told(_of_passage(hit, chars))}
    return answer


def _of_title(hit: Hit) -> Iterable[Piece]:
    at = 0
    for match in hit.matches:
        if match.field == "title" and match.start >= at:
            yield hit.title[at : match.start], False
            yield hit.title[match.start : match.end], True
            at = match.end
    yield hit.title[at:], False


def _of_passage(hit: Hit, chars: int) -> Iterable[Piece]:
    texts: list[str] = []

    def keep(text: str) -> str:
        texts.append(text)
        return text

    # `escape` sees each text between marks: every other one is a match. Only the signs for what was left out are not.
    whole = hit.excerpt(chars, marks=("", ""), escape=keep)
    before, _, after = whole.partition("".join(texts)) if whole else ("", "", "")
    yield before, False
    yield from ((text, bool(place % 2)) for place, text in enumerate(texts))
    yield after, False


def _told(pieces: Iterable[Piece]) -> list[dict[str, Any]]:
    return [{"text": text, "match": match} for text, match in pieces if text]
