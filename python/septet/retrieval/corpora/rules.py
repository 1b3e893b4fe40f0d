"""The documented rules of the corpora as pure functions: what they score, show and cut, without a vault."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

__all__ = [
    "HALF_LIFE_DAYS",
    "LEAST_AGE_FACTOR",
    "STATUS_FACTORS",
    "Memory",
    "MemoryHit",
    "age_factor",
    "best_lines",
    "contradicting",
    "heading_chunks",
    "path_score",
    "rank_memories",
    "similarity",
    "status_factor",
    "status_of",
    "text_score",
    "vector_score",
]

#: What the state of a document, as its front matter names it, multiplies its score by; any other counts 1.
STATUS_FACTORS: Mapping[str, float] = {
    "current": 1.2,
    "experimental": 0.8,
    "research": 0.6,
    "roadmap": 0.6,
    "legacy": 0.2,
    "deprecated": 0.2,
}
#: That of a document that names none.
NO_STATUS = "current"
HALF_LIFE_DAYS = 180.0
LEAST_AGE_FACTOR = 0.1
SECONDS_A_DAY = 86_400.0
#: Two hits contradict each other where both score more than this and share a word of so many letters in their titles.
LEAST_CONTRADICTING, CONTRADICTING_CHARS = 0.01, 4
CHUNK_BYTES = 4096
FOUND, PROMINENT = 1.0, 1.3
VECTOR_SCALE = 2.0
_WORD = re.compile(r"[^\W_]+")
_PATH_WORD = re.compile(r"[A-Za-z0-9_\-/.]+")


class Memory(NamedTuple):
    """A document.

    Attributes:
        path: where it is; its last part without the ending is its title.
        content: its text, with its front matter.
        updated_at: when it was last changed, epoch seconds.
    """

    path: str
    content: str
    updated_at: float


class MemoryHit(NamedTuple):
    """A document that was found.

    Attributes:
        path: where it is.
        score: BM25 by the factors of its state and its age.
        snippet: the line that holds most words of the query, with the one before and the one behind.
        contradiction: whether it, one of the best two, may say something else than the other.
    """

    path: str
    score: float
    snippet: str
    contradiction: bool


def words_of(text: str) -> list[str]:
    """Return the lower-cased runs of letters and digits."""
    return _WORD.findall(text.lower())


def rank_memories(
    documents: Iterable[Memory],
    query: str,
    *,
    k1: float = 1.2,
    b: float = 0.75,
    limit: int = 10,
    now: float,
) -> list[MemoryHit]:
    """Rank a handful of documents as documented: BM25 of their words by factors of state and age.

    The IDF is ``ln(1 + (N - df + 0.5) / (df + 0.5))``. A word that the query repeats counts as often. Equal scores keep
    the order of the documents. It looks at each document: those of a vault are ranked by `MemoryCorpus`.

    Args:
        documents: front matter counts as text.
        query: words.
        k1: how slowly more occurrences of a word tell more, brought between 0.1 and 3.
        b: how much the length of a document counts, brought between 0 and 1.
        limit: at most so many.
        now: epoch seconds.
    """
    k1, b = min(3.0, max(0.1, k1)), min(1.0, max(0.0, b))
    given = list(documents)
    counts = [Counter(words_of(document.content)) for document in given]
    lengths = [sum(found.values()) for found in counts]
    mean = sum(lengths) / len(lengths) if lengths else 0.0
    asked = words_of(query)
    idf = {}
    for word in set(asked):
        held = sum(1 for found in counts if word in found)
        idf[word] = math.log(1 + (len(given) - held + 0.5) / (held + 0.5))
    scored = []
    for at, (document, found) in enumerate(zip(given, counts)):
        score = 0.0
        for word in asked:
            if count := found[word]:
                norm = 1 - b + b * lengths[at] / mean
                score += idf[word] * count * (k1 + 1) / (count + k1 * norm)
        score *= status_factor(status_of(document.content)) * age_factor(now - document.updated_at)
        if score > 0:
            scored.append((score, document))
    best = sorted(scored, key=lambda one: -one[0])[: max(0, limit)]
    flagged = contradicting([(_stem(document.path), score) for score, document in best])
    return [
        MemoryHit(document.path, score, best_lines(document.content, asked), at in flagged)
        for at, (score, document) in enumerate(best)
    ]


def status_of(text: str) -> str | None:
    """Return the state that the front matter of a text names, in lower case; None where it names none."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[0].strip() != "---":
        return None
    for line in lines[1:]:
        if line.strip() == "---":
            break
        name, colon, value = line.partition(":")
        if colon and name.strip() == "status":
            return value.strip().strip("\"'").strip().lower() or None
    return None


def status_factor(status: object, factors: Mapping[str, float] = STATUS_FACTORS) -> float:
    """Return what the state of a document multiplies its score by; 1.0 for a state that is not known.

    Args:
        status: a name in any case; None, or nothing, counts as ``current``.
        factors: by name in lower case.
    """
    name = status.strip().lower() if isinstance(status, str) else NO_STATUS if status is None else str(status).lower()
    return factors.get(name or NO_STATUS, 1.0)


def age_factor(age_s: float, half_life_days: float = HALF_LIFE_DAYS, least: float = LEAST_AGE_FACTOR) -> float:
    """Return what the age of a document multiplies its score by: ``2 ^ (-days / half life)``, from ``least`` to 1.

    An age that is not known is none: NaN gives 1.
    """
    if not age_s > 0:
        return 1.0
    return min(1.0, max(least, math.pow(2.0, max(-1e3, -(age_s / SECONDS_A_DAY) / half_life_days))))


def best_lines(text: str, words: Sequence[str]) -> str:
    """Return the first line that holds most of the words, as parts of its own, with the lines beside it."""
    lines = text.split("\n")
    best, most = 0, -1
    for at, line in enumerate(lines):
        lowered = line.lower()
        held = sum(1 for word in words if word in lowered)
        if held > most:
            best, most = at, held
    return "\n".join(lines[max(0, best - 1) : best + 2])


def contradicting(best: Sequence[tuple[str, float]]) -> frozenset[int]:
    """Return the places of hits, by title and score, that may contradict each other: the first two, or none.

    Both score more than 0.01, and their titles differ but share a word of four letters or more.
    """
    if len(best) < 2:
        return frozenset()
    (one, score), (other, next_score) = best[:2]
    if min(score, next_score) <= LEAST_CONTRADICTING or one == other:
        return frozenset()
    shared = {word for word in words_of(one) if len(word) >= CONTRADICTING_CHARS} & set(words_of(other))
    return frozenset({0, 1}) if shared else frozenset()


def text_score(rank: int) -> float:
    """Return the documented score of the place of a chunk in its list of words: 1 / (1 + rank), ranks from 0."""
    return 1.0 / (1.0 + rank)


def vector_score(cosine: float) -> float:
    """Return the documented score of a cosine: twice it, from 0 to 2; NaN, which is unknown, stays NaN."""
    return VECTOR_SCALE * min(1.0, max(0.0, cosine)) if cosine == cosine else cosine


def heading_chunks(text: str, most_bytes: int = CHUNK_BYTES) -> list[str]:
    """Cut Markdown as documented: a chunk begins at each line with ``# `` or ``## ``, and behind ``most_bytes``.

    A chunk ends with the line that makes it longer than that, in UTF-8. Chunks have no blanks around them; those of
    nothing else are left out. What is indexed is cut by `chunk_markdown`, which knows the lines of each chunk.
    """
    chunks, lines, size = [], list[str](), 0
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.startswith(("# ", "## ")) and lines:
            chunks.append("\n".join(lines))
            lines, size = [], 0
        lines.append(line)
        size += len(line.encode("utf-8", "surrogatepass")) + 1
        if size > most_bytes:
            chunks.append("\n".join(lines))
            lines, size = [], 0
    chunks.append("\n".join(lines))
    return [cut for chunk in chunks if (cut := chunk.strip())]


def path_words(query: str) -> list[str]:
    """Return the words of a query as paths are looked up by: runs of ASCII letters, digits and ``_ - / .``."""
    return [word for found in _PATH_WORD.findall(query) if (word := found.lower())]


def path_score(query: str, path: str) -> float:
    """Return how well a path answers a query: 1.0 for each word in it; 1.3 if it ends, or a part begins, so."""
    lowered, score = path.lower(), 0.0
    for word in path_words(query):
        if word in lowered:
            score += PROMINENT if lowered.endswith(word) or f"/{word}" in lowered else FOUND
    return score


def similarity(one: str, other: str) -> float:
    """Return how much two names are alike: 1 - Levenshtein distance / length of the longer, in characters.

    Two empty names are the same: 1.0.
    """
    if one == other:
        return 1.0
    longest = max(len(one), len(other))
    before = list(range(len(other) + 1))
    for at, char in enumerate(one, 1):
        row = [at]
        for place, against in enumerate(other, 1):
            row.append(min(before[place] + 1, row[-1] + 1, before[place - 1] + (char != against)))
        before = row
    return 1.0 - before[-1] / longest


def _stem(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name
