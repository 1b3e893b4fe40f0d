"""Presenting: results and passages as text of a bounded size for a model's prompt; better ones get more space."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypedDict

from septet.errors import QueryError
from septet.inputs.arguments import flag, listed, real, shown, utf8, whole
from septet.model.prompt import ShownHit, sections_of, text_of
from septet.model.results import Hit
from septet.retrieval.planning.policy import Policy, policy_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The extent of a result's text, by its score relative to the best.
Detail: TypeAlias = Literal["strong", "supporting", "peripheral"]

#: Share of space for one result, by corpus.
CORPUS_SHARES: Mapping[str, float] = {"knowledge": 1.0}
OTHER_SHARE = 0.8
#: Each detail: minimum share of the best score, factor of the space, and heading.
_DETAILS: tuple[tuple[Detail, float, float, str], ...] = (
    ("strong", 0.6, 3.0, "Strong matches"),
    ("supporting", 0.3, 1.5, "Supporting"),
    ("peripheral", 0.0, 0.7, "Peripheral"),
)
_FACTORS = {name: factor for name, _, factor, _ in _DETAILS}
LEAST_CHARS, MOST_CHARS = 80, 1_200
#: Bounds of arguments.
MOST_BUDGET, MOST_RESULTS = 100_000_000, 1_000_000
MOST_PASSAGES = 100_000
#: End of a sentence: before a blank, or in scripts without blanks.
_END = re.compile(r"[.!?](?=\s)|[。！？]")
_DOTS = "..."


class Presented(NamedTuple):
    """The shown part of one result.

    Attributes:
        hit: the result; its id fetches the whole entry.
        detail: extent of the text.
        text: the shown text.
        chars: its maximum characters.
        is_cut: True if the text is cut.
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
    """Return the shown texts of results, best first.

    Results below ``relevance_floor`` times the best score and beyond ``max_results`` are dropped, but never the
    first ``at_least``. SpaceOptions is proportional to the share of the corpus, times 3 for scores of at least 0.6 of
    the best, 1.5 from 0.3, else 0.7; it is 80 to 1,200 characters. If the sum exceeds the budget, the last results are
    dropped. Texts are cut at the end of a sentence.

    Args:
        hits: results, best first.
        char_budget: maximum characters of all texts, at least 80; a cut text may have three dots in addition.
        relevance_floor: a share of the best score, 0 to 1.
        max_results: maximum results, rounded down.
        at_least: the number of best results that are never dropped by score.
        shares: by corpus (`Hit.tier`), above 0; None for the documented ones: knowledge 1, others 0.8.

    Raises:
        QueryError: an argument is out of range.
    """
    budget = real(char_budget, "char_budget", QueryError, LEAST_CHARS, MOST_BUDGET)
    floor = real(relevance_floor, "relevance_floor", QueryError, 0, 1)
    most = int(real(max_results, "max_results", QueryError, 1, MOST_RESULTS))
    least = whole(at_least, "at_least", QueryError, 0)
    corpus_shares = CORPUS_SHARES if shares is None else shares
    if not isinstance(corpus_shares, Mapping):
        raise QueryError(f"shares is {shown(shares)}: wanted numbers by names of corpora, as a dict")
    results = list(hits)
    top = max((hit.score for hit in results), default=0.0)
    shown_hits = [hit for at, hit in enumerate(results) if at < least or hit.score >= floor * top or top <= 0][:most]
    details = [_detail(hit.score, top) for hit in shown_hits]
    portions = [
        real(corpus_shares.get(hit.tier, OTHER_SHARE), "a share", QueryError, 1e-6, 1e6) * _FACTORS[detail]
        for hit, detail in zip(shown_hits, details)
    ]
    total, spent = sum(portions), 0
    presented = []
    for hit, detail, share in zip(shown_hits, details, portions):
        chars = min(MOST_CHARS, max(LEAST_CHARS, int(budget * share / total)))
        spent += chars
        if spent > budget:
            break
        text = text_of(hit)
        presented.append(Presented(hit, detail, cut_at_sentence(text, chars), chars, len(text) > chars))
    return presented


class SpaceOptions(TypedDict, total=False):
    """The keyword arguments of `present`."""

    char_budget: float
    relevance_floor: float
    max_results: float
    at_least: int
    shares: Mapping[str, float] | None


def formatted(
    hits: Sequence[Hit], *, citations: bool = True, boundary: str | None = None, **space: Unpack[SpaceOptions]
) -> str:
    """Return results as text for the prompt of a model, under a heading for each detail.

    As in `Results.to_prompt`, each passage is enclosed in a boundary that occurs in no text, its lines begin with a
    mark, and a line of JSON names its source; ``cut`` there means that the id fetches more. The budget excludes
    headings and source lines.

    Args:
        hits: as for `present`, as is ``space``.
        citations: number the passages, and request these numbers as citations.
        boundary: as for `Results.to_prompt`.

    Raises:
        QueryError: an argument is out of range, or the boundary occurs in a text.
    """
    flag(citations, "citations", QueryError)
    results = list(hits)
    presented = present(results, **space)
    if not presented:
        return "No passages were retrieved.\n"
    scores = [passage.hit.score for passage in presented]
    head = f"Results: {len(results)} found, {len(presented)} shown, scores from {max(scores):.3g} to {min(scores):.3g}."
    sections = [
        (
            heading,
            [
                ShownHit(passage.hit, passage.text, {"cut": True} if passage.is_cut else {})
                for passage in presented
                if passage.detail == name
            ],
        )
        for name, _, _, heading in _DETAILS
    ]
    return sections_of(sections, head=head, citations=citations, boundary=boundary)


def cut_at_sentence(text: str, most: int) -> str:
    """Return a text cut to a maximum number of characters.

    It ends after the last sentence in their second half; else before the last blank there, or at the maximum,
    with three dots in addition.
    """
    if len(text) <= most:
        return text
    half = most / 2
    ends = [match.end() for match in _END.finditer(text, 0, most + 1) if half < match.end() <= most]
    if ends:
        return text[: ends[-1]]
    blank = max(text.rfind(" ", 0, most), text.rfind("\n", 0, most))
    if blank > half:
        return text[:blank] + _DOTS
    # A combining mark stays with its letter.
    while 0 < most < len(text) and (unicodedata.combining(text[most]) or text[most] in "\u200d\ufe0f"):
        most -= 1
    return text[:most] + _DOTS


def _detail(score: float, top: float) -> Detail:
    if top <= 0:
        return "strong"
    return next(name for name, least, _, _ in _DETAILS if score >= least * top or least == 0)


class Passage(NamedTuple):
    """A candidate text for a context.

    Attributes:
        id: identifier of the passage.
        text: the whole text.
        score: higher is better.
    """

    id: str
    text: str
    score: float


class Selected(NamedTuple):
    """A selected passage.

    Attributes:
        id: of the passage.
        text: the whole text, or its beginning.
        truncated: True if the end is cut off.
    """

    id: str
    text: str
    truncated: bool


def selected_passages(
    passages: Iterable[Passage],
    *,
    max_chunks: int | None = None,
    max_chars: int | None = None,
    policy: Policy | None = None,
) -> list[Selected]:
    """Return the best passages that fit, the last one cut to the remaining budget.

    Ties keep the order of the passages, and empty ones are skipped. The maxima are by default those of the policy, 8
    passages and 8,000 characters.

    Raises:
        QueryError: a budget is negative, a text is not a string, or a score is not finite.
    """
    policy = policy_of(policy)
    most = policy.context_max_chunks if max_chunks is None else whole(max_chunks, "max_chunks", QueryError, 0)
    budget = policy.context_max_chars if max_chars is None else whole(max_chars, "max_chars", QueryError, 0)
    candidates = listed(passages, "passages", QueryError, "texts, as Passage values", MOST_PASSAGES, of=Passage)
    if wrong := [passage for passage in candidates if not isinstance(passage, Passage)]:
        raise QueryError(f"passages has {shown(wrong[0])}: wanted Passage(id, text, score)")
    ordered = sorted(candidates, key=lambda passage: -real(passage.score, "a score", QueryError))
    selected: list[Selected] = []
    for passage in ordered:
        text = utf8(passage.text, "a passage", QueryError)
        if len(selected) >= most or budget <= 0:
            break
        if text:
            selected.append(Selected(passage.id, text[:budget], len(text) > budget))
            budget -= len(text)
    return selected
