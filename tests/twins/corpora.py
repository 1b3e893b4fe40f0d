"""The documented rules of corpora as pure functions over a few texts: memories, chunks, paths and names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from septet.retrieval.corpora.folders import path_words
from septet.retrieval.corpora.memory import age_factor, best_lines, contradicting, status_factor, words_of

CHUNK_BYTES = 4096
FOUND, PROMINENT = 1.0, 1.3


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
