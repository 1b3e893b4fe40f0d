"""The documented rules of the corpora as pure functions: scores, passages and chunks, without a vault."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

#: Factor of a document's score by the state in its front matter; 1 for any other state.
STATUS_FACTORS: Mapping[str, float] = {
    "current": 1.2,
    "experimental": 0.8,
    "research": 0.6,
    "roadmap": 0.6,
    "legacy": 0.2,
    "deprecated": 0.2,
}
#: State of a document without one.
NO_STATUS = "current"
HALF_LIFE_DAYS = 180.0
LEAST_AGE_FACTOR = 0.1
SECONDS_A_DAY = 86_400.0
#: Two hits contradict each other if both score more than this and share a word of at least this many letters in their
#: titles.
LEAST_CONTRADICTING, CONTRADICTING_CHARS = 0.01, 4
CHUNK_BYTES = 4096
FOUND, PROMINENT = 1.0, 1.3
VECTOR_SCALE = 2.0
_WORD = re.compile(r"[^\W_]+")
_PATH_WORD = re.compile(r"[A-Za-z0-9_\-/.]+")


class RuleDocument(NamedTuple):
    """A document.

    Attributes:
        path: its path; the last part without the extension is its title.
        content: its text, with its front matter.
        updated_at: time of the last change, epoch seconds.
    """

    path: str
    content: str
    updated_at: float


class MemoryHit(NamedTuple):
    """A hit in documents.

    Attributes:
        path: path of the document.
        score: BM25 times the factors of its state and its age.
        snippet: the line with most words of the query, with the lines before and after.
        contradiction: True if it is one of the best two and may contradict the other.
    """

    path: str
    score: float
    snippet: str
    contradiction: bool


def words_of(text: str) -> list[str]:
    """Return the lower-cased runs of letters and digits."""
    return _WORD.findall(text.lower())


def rank_memories(
    documents: Iterable[RuleDocument],
    query: str,
    *,
    k1: float = 1.2,
    b: float = 0.75,
    limit: int = 10,
    now: float,
) -> list[MemoryHit]:
    """Rank a few documents as documented: BM25 times factors of state and age.

    The IDF is ``ln(1 + (N - df + 0.5) / (df + 0.5))``. A word repeated in the query counts each time. Ties keep
    the order of the documents. It reads every document; `MemoryCorpus` ranks those of a vault.

    Args:
        documents: front matter counts as text.
        query: words.
        k1: saturation of repeated words, clamped to 0.1 to 3.
        b: weight of the length of a document, clamped to 0 to 1.
        limit: maximum hits.
        now: epoch seconds.
    """
    k1, b = min(3.0, max(0.1, k1)), min(1.0, max(0.0, b))
    texts = list(documents)
    counts = [Counter(words_of(document.content)) for document in texts]
    lengths = [sum(frequencies.values()) for frequencies in counts]
    mean = sum(lengths) / len(lengths) if lengths else 0.0
    query_words = words_of(query)
    idf = {}
    for word in set(query_words):
        containing = sum(1 for frequencies in counts if word in frequencies)
        idf[word] = math.log(1 + (len(texts) - containing + 0.5) / (containing + 0.5))
    scored = []
    for at, (document, frequencies) in enumerate(zip(texts, counts)):
        score = 0.0
        for word in query_words:
            if count := frequencies[word]:
                norm = 1 - b + b * lengths[at] / mean
                score += idf[word] * count * (k1 + 1) / (count + k1 * norm)
        score *= status_factor(status_of(document.content)) * age_factor(now - document.updated_at)
        if score > 0:
            scored.append((score, document))
    best = sorted(scored, key=lambda pair: -pair[0])[: max(0, limit)]
    flagged = contradicting([(_stem(document.path), score) for score, document in best])
    return [
        MemoryHit(document.path, score, best_lines(document.content, query_words), at in flagged)
        for at, (score, document) in enumerate(best)
    ]


def status_of(text: str) -> str | None:
    """Return the state in the front matter of a text, in lower case; None if there is none."""
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
    """Return the factor of a document's score by its state; 1.0 for an unknown state.

    Args:
        status: a name in any case; None or an empty name counts as ``current``.
        factors: by name in lower case.
    """
    name = status.strip().lower() if isinstance(status, str) else NO_STATUS if status is None else str(status).lower()
    return factors.get(name or NO_STATUS, 1.0)


def age_factor(age_s: float, half_life_days: float = HALF_LIFE_DAYS, least: float = LEAST_AGE_FACTOR) -> float:
    """Return the factor of a document's score by its age: ``2 ^ (-days / half life)``, from ``least`` to 1.

    NaN, an unknown age, gives 1.
    """
    if not age_s > 0:
        return 1.0
    return min(1.0, max(least, math.pow(2.0, max(-1e3, -(age_s / SECONDS_A_DAY) / half_life_days))))


def best_lines(text: str, words: Sequence[str]) -> str:
    """Return the first line that contains most of the words, also as parts of words, with its neighbours."""
    lines = text.split("\n")
    best, most = 0, -1
    for at, line in enumerate(lines):
        lowered = line.lower()
        count = sum(1 for word in words if word in lowered)
        if count > most:
            best, most = at, count
    return "\n".join(lines[max(0, best - 1) : best + 2])


def contradicting(best: Sequence[tuple[str, float]]) -> frozenset[int]:
    """Return the places of hits, by title and score, that may contradict each other: the first two, or none.

    Both score more than 0.01, and their different titles share a word of four letters or more.
    """
    if len(best) < 2:
        return frozenset()
    (title, score), (next_title, next_score) = best[:2]
    if min(score, next_score) <= LEAST_CONTRADICTING or title == next_title:
        return frozenset()
    shared = {word for word in words_of(title) if len(word) >= CONTRADICTING_CHARS} & set(words_of(next_title))
    return frozenset({0, 1}) if shared else frozenset()


def text_score(rank: int) -> float:
    """Return the documented score of a chunk's rank in the text list: 1 / (1 + rank), ranks from 0."""
    return 1.0 / (1.0 + rank)


def vector_score(cosine: float) -> float:
    """Return the documented score of a cosine: its double, from 0 to 2; NaN (unknown) stays NaN."""
    return VECTOR_SCALE * min(1.0, max(0.0, cosine)) if cosine == cosine else cosine


def heading_chunks(text: str, most_bytes: int = CHUNK_BYTES) -> list[str]:
    """Split Markdown as documented: a chunk begins at each line with ``# `` or ``## ``, and after ``most_bytes``.

    A chunk ends with the line that makes it longer than that, in UTF-8. Chunks are stripped; blank ones are dropped.
    Indexed files are split by `chunk_markdown`, which records the lines of each chunk.
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
    """Return the words of a query for paths: runs of ASCII letters, digits and ``_ - / .``."""
    return [word for match in _PATH_WORD.findall(query) if (word := match.lower())]


def path_score(query: str, path: str) -> float:
    """Return the score of a path: 1.0 for each word in it; 1.3 if it ends, or a part begins, with the word."""
    lowered, score = path.lower(), 0.0
    for word in path_words(query):
        if word in lowered:
            score += PROMINENT if lowered.endswith(word) or f"/{word}" in lowered else FOUND
    return score


def similarity(first: str, second: str) -> float:
    """Return the similarity of two names: 1 - Levenshtein distance / length of the longer, in characters.

    Two empty names give 1.0.
    """
    if first == second:
        return 1.0
    longest = max(len(first), len(second))
    before = list(range(len(second) + 1))
    for at, char in enumerate(first, 1):
        row = [at]
        for place, against in enumerate(second, 1):
            row.append(min(before[place] + 1, row[-1] + 1, before[place - 1] + (char != against)))
        before = row
    return 1.0 - before[-1] / longest


def _stem(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    return name.rpartition(".")[0] or name
