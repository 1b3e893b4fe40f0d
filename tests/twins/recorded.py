"""Functions of the recorded systems that Septet has in another form, or that no search of Septet needs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from septet.retrieval.fusion import Evidence, merged_evidence
from septet.retrieval.recall.recalling import kept_words

#: Minimum coefficient and shared words of duplicate titles.
_LEAST_SHARE, _LEAST_SHARED = 0.7, 4
#: Tag of an identity. A chunk or point tag ends at the first blank.
_TAG = re.compile(r"\[(?:((?:chunk|qdrant):[^\]\s]*|(?:repo|node):[^\]]*)[^\]]*|([^\]]*))\]")
#: The number of distinct web sources for full quality.
FULL_SOURCES = 8
_TOP_WEIGHT, _SOURCES_WEIGHT = 0.7, 0.3


class Overlap(NamedTuple):
    """The overlap of the words of two titles.

    Attributes:
        coefficient: shared words as a share of the words of the shorter title, 0 to 1.
        shared: number of shared words.
    """

    coefficient: float
    shared: int

    @property
    def is_duplicate(self) -> bool:
        """True for titles of the same thing: a coefficient of at least 0.7, and at least four shared words."""
        return self.coefficient >= _LEAST_SHARE and self.shared >= _LEAST_SHARED


def top_terms(text: str, limit: int = 40) -> list[str]:
    """Return the most frequent words of a text, in lower case; ties in first-seen order."""
    return [word for word, _ in Counter(word.lower() for word in kept_words(text)).most_common(limit)]


def title_overlap(first_title: str, second_title: str) -> Overlap:
    """Return the overlap of two titles, ignoring stop words and single letters."""
    first, second = ({word.lower() for word in kept_words(title)} for title in (first_title, second_title))
    shared, fewer = len(first & second), min(len(first), len(second))
    return Overlap(shared / fewer if fewer else 0.0, shared)


def age_spread(stamps: Sequence[float], now: float) -> float:
    """Return the spread of the ages of texts: 0 for equal ages, 1 if all but one are 0.

    It is the variance of the ages' shares of their sum, divided by its maximum for n texts: ``(sum of squared shares -
    1/n) / (1 - 1/n)``. Fewer than two texts have no spread.

    Args:
        stamps: times of writing, in any unit.
        now: the current time in the same unit; later stamps have the age 0.
    """
    ages = [max(0.0, now - stamp) for stamp in stamps]
    total, count = math.fsum(ages), len(ages)
    if count < 2 or total <= 0 or not math.isfinite(total):
        return 0.0
    even = 1 / count
    spread = math.fsum((age / total) ** 2 for age in ages) - even
    return min(1.0, max(0.0, spread / (1 - even)))


class Provenance(NamedTuple):
    """The origin of a passage.

    Attributes:
        evidence: the legs that produced it.
        snippet: a piece of its text.
        retrieved_at: time of the fetch, in the fetcher's unit; None if unknown.
        query_id: the query that it was fetched for.
        claims: the claims that it supports.
        hints: remarks on it.
    """

    evidence: Evidence = "unknown"
    snippet: str = ""
    retrieved_at: float | None = None
    query_id: str | None = None
    claims: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


def merged_provenance(vector: Provenance, text: Provenance) -> Provenance:
    """Return the provenance of a passage from both legs.

    It has the vector leg's snippet, unless that is empty; the latest time; the query if they do not name different
    ones; the claims and hints of both without duplicates, the vector leg's first.
    """
    times = [at for at in (vector.retrieved_at, text.retrieved_at) if at is not None]
    queries = {query for query in (vector.query_id, text.query_id) if query is not None}
    return Provenance(
        evidence=merged_evidence(vector.evidence, text.evidence),
        snippet=vector.snippet or text.snippet,
        retrieved_at=max(times, default=None),
        query_id=queries.pop() if len(queries) == 1 else None,
        claims=tuple(dict.fromkeys(vector.claims + text.claims)),
        hints=tuple(dict.fromkeys(vector.hints + text.hints)),
    )


def key_of_line(line: str) -> str:
    """Return the identity of a formatted line, from the tag in brackets at its start.

    ``[chunk:12 title:Doc] body`` is ``chunk:12``; likewise ``repo``, ``node`` and ``qdrant``. Any other tag is taken
    whole, after ``bracket:``; a line without a tag is its digest, after ``opaque:``.
    """
    match = _TAG.match(line.lstrip())
    if match is None:
        from hashlib import sha256

        return f"opaque:{sha256(line.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return match[1] if match[1] is not None else f"bracket:{match[2]}"


def web_quality(top_score: float, unique_sources: int) -> float:
    """Return the quality of web results, 0 to 1: 0.7 x best score + 0.3 x sources / 8, with at most 8 sources."""
    top = min(max(top_score, 0.0), 1.0) if math.isfinite(top_score) else 0.0
    return _TOP_WEIGHT * top + _SOURCES_WEIGHT * min(max(unique_sources, 0) / FULL_SOURCES, 1.0)
