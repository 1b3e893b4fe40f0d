"""Presenting: results as text of a bounded size, more of the good ones than of the others, for a model's prompt."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from septet.errors import QueryError
from septet.inputs.arguments import flag, real, shown, whole
from septet.model.prompt import Shown, sections_of, text_of
from septet.model.results import Hit

__all__ = ["CORPUS_SHARES", "OTHER_SHARE", "Detail", "Presented", "cut_at_sentence", "formatted", "present"]

#: How much of a result is shown, by its score beside the best one.
Detail: TypeAlias = Literal["strong", "supporting", "peripheral"]

#: What one result of a corpus takes of the room, beside those of others.
CORPUS_SHARES: Mapping[str, float] = {"knowledge": 1.0}
OTHER_SHARE = 0.8
#: Each detail: from which part of the best score on, what it takes of the room, and its heading.
_DETAILS: tuple[tuple[Detail, float, float, str], ...] = (
    ("strong", 0.6, 3.0, "Strong matches"),
    ("supporting", 0.3, 1.5, "Supporting"),
    ("peripheral", 0.0, 0.7, "Peripheral"),
)
_FACTORS = {name: factor for name, _, factor, _ in _DETAILS}
LEAST_CHARS, MOST_CHARS = 80, 1_200
#: Bounds of arguments.
MOST_BUDGET, MOST_RESULTS = 100_000_000, 1_000_000
#: The end of a sentence: before a blank, or in scripts that have none.
_END = re.compile(r"[.!?](?=\s)|[。！？]")
_DOTS = "..."


class Presented(NamedTuple):
    """What is shown of one result.

    Attributes:
        hit: the result; its id fetches the whole entry.
        detail: how much of it is shown.
        text: what is shown.
        chars: the room that it has.
        is_cut: there is more of it than is shown.
    """

    hit: Hit
    detail: Detail
    text: str
    chars: int
    is_cut: bool


def present(
    hits: Iterable[Hit],
    *,
    char_budget: float = 12_000,
    relevance_floor: float = 0.15,
    max_results: float = 15,
    at_least: int = 3,
    shares: Mapping[str, float] | None = None,
) -> list[Presented]:
    """Choose what is shown of results, the best first.

    Results under ``relevance_floor`` times the best score are left out, and all behind ``max_results``, but of the
    first ``at_least`` none. Each has room in proportion to the share of its corpus, times 3 where its score is 0.6 of
    the best one's or more, 1.5 from 0.3 on, else 0.7; never less than 80 characters, nor more than 1,200. Where that is
    more than the budget, the last ones are left out. Texts are cut at the end of a sentence.

    Args:
        hits: results, the best first.
        char_budget: so many characters of texts in total; at least 80. A cut text may have three dots more.
        relevance_floor: a part of the best score, 0 to 1.
        max_results: so many at most; of a fraction the whole part counts.
        at_least: so many of the best are always shown, as far as there are so many.
        shares: by corpus (`Hit.tier`), above 0; None for the documented ones: knowledge 1, others 0.8.

    Raises:
        QueryError: an argument is out of range.
    """
    budget = real(char_budget, "char_budget", QueryError, LEAST_CHARS, MOST_BUDGET)
    floor = real(relevance_floor, "relevance_floor", QueryError, 0, 1)
    most = int(real(max_results, "max_results", QueryError, 1, MOST_RESULTS))
    least = whole(at_least, "at_least", QueryError, 0)
    of = CORPUS_SHARES if shares is None else shares
    if not isinstance(of, Mapping):
        raise QueryError(f"shares is {shown(shares)}: wanted numbers by names of corpora, as a dict")
    found = list(hits)
    top = max((hit.score for hit in found), default=0.0)
    kept = [hit for at, hit in enumerate(found) if at < least or hit.score >= floor * top or top <= 0][:most]
    details = [_detail(hit.score, top) for hit in kept]
    wanted = [
        real(of.get(hit.tier, OTHER_SHARE), "a share", QueryError, 1e-6, 1e6) * _FACTORS[detail]
        for hit, detail in zip(kept, details)
    ]
    total, spent = sum(wanted), 0
    presented = []
    for hit, detail, share in zip(kept, details, wanted):
        chars = min(MOST_CHARS, max(LEAST_CHARS, int(budget * share / total)))
        spent += chars
        if spent > budget:
            break
        text = text_of(hit)
        presented.append(Presented(hit, detail, cut_at_sentence(text, chars), chars, len(text) > chars))
    return presented


def formatted(
    hits: Sequence[Hit],
    *,
    char_budget: float = 12_000,
    relevance_floor: float = 0.15,
    max_results: float = 15,
    at_least: int = 3,
    shares: Mapping[str, float] | None = None,
    citations: bool = True,
    boundary: str | None = None,
) -> str:
    """Return results as text for the prompt of a model, under a heading for each detail.

    As in `Results.to_prompt`, each passage stands in a boundary that no text holds, its lines begin with a mark, and a
    line of JSON says where it comes from; ``cut`` there says that the id fetches more.

    Args:
        hits: as for `present`.
        char_budget: as for `present`; what is said of the passages comes on top.
        relevance_floor: as for `present`.
        max_results: as for `present`.
        at_least: as for `present`.
        shares: as for `present`.
        citations: number the passages, and ask for the numbers.
        boundary: as for `Results.to_prompt`.

    Raises:
        QueryError: an argument is out of range, or the boundary occurs in a text.
    """
    flag(citations, "citations", QueryError)
    found = list(hits)
    kept = present(
        found,
        char_budget=char_budget,
        relevance_floor=relevance_floor,
        max_results=max_results,
        at_least=at_least,
        shares=shares,
    )
    if not kept:
        return "No passages were retrieved.\n"
    scores = [one.hit.score for one in kept]
    head = f"Results: {len(found)} found, {len(kept)} shown, scores from {max(scores):.3g} to {min(scores):.3g}."
    sections = [
        (
            heading,
            [Shown(one.hit, one.text, {"cut": True} if one.is_cut else {}) for one in kept if one.detail == name],
        )
        for name, _, _, heading in _DETAILS
    ]
    return sections_of(sections, head=head, citations=citations, boundary=boundary)


def cut_at_sentence(text: str, most: int) -> str:
    """Return a text of at most so many characters, or its beginning.

    It ends behind the last sentence in the second half of them; else before the last blank there, or where it must,
    with three dots on top.
    """
    if len(text) <= most:
        return text
    half = most / 2
    ends = [found.end() for found in _END.finditer(text, 0, most + 1) if half < found.end() <= most]
    if ends:
        return text[: ends[-1]]
    blank = max(text.rfind(" ", 0, most), text.rfind("\n", 0, most))
    if blank > half:
        return text[:blank] + _DOTS
    # A mark goes with the letter before it.
    while 0 < most < len(text) and (unicodedata.combining(text[most]) or text[most] in "\u200d\ufe0f"):
        most -= 1
    return text[:most] + _DOTS


def _detail(score: float, top: float) -> Detail:
    if top <= 0:
        return "strong"
    return next(name for name, least, _, _ in _DETAILS if score >= least * top or least == 0)
