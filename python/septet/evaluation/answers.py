"""Heuristics for written answers: recall of a reference's words, and groundedness in evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable

from septet.errors import QueryError
from septet.inputs.arguments import listed, utf8

#: Maximum bytes (UTF-8) of a reference word, or a sentence, that is ignored, as documented.
SHORT_WORD, SHORT_SENTENCE = 3, 10
#: Maximum words of a sentence to match, and their minimum bytes, as documented.
MOST_WORDS, LONG_WORD = 5, 5
#: Maximum references, or pieces of evidence, of one answer.
MOST_TEXTS = 10_000
_WORD = re.compile(r"[^\W_]+")


def term_recall(answer: str, references: Iterable[str]) -> float:
    """Return the share of the references' words that occur in an answer, ignoring case; 1 without words.

    Words of three bytes or less are ignored. As documented, a match inside a longer word counts, and repeated words
    count each time.

    Raises:
        QueryError: the answer or a reference is not a text.
    """
    text = utf8(answer, "answer", QueryError).lower()
    words = [word for reference in _texts(references, "references") for word in _WORD.findall(reference.lower())]
    long = [word for word in words if len(word.encode()) > SHORT_WORD]
    return sum(word in text for word in long) / len(long) if long else 1.0


def groundedness(answer: str, evidence: Iterable[str]) -> float:
    """Return the share of an answer's sentences that share a word with the evidence; 0 without sentences.

    Sentences of ten bytes or less are ignored; of the others, the first five words of five bytes or more are matched.
    This is a heuristic: a sentence of known words may still be wrong.

    Raises:
        QueryError: the answer or a piece of evidence is not a text.
    """
    known = " ".join(_texts(evidence, "evidence")).lower()
    sentences = [
        sentence.strip() for sentence in re.split(r"[.!?。！？\n]", utf8(answer, "answer", QueryError).lower())
    ]
    long = [sentence for sentence in sentences if len(sentence.encode()) > SHORT_SENTENCE]
    return sum(_has_known_word(sentence, known) for sentence in long) / len(long) if long else 0.0


def _has_known_word(sentence: str, known: str) -> bool:
    words = [word for word in _WORD.findall(sentence) if len(word.encode()) >= LONG_WORD]
    return any(word in known for word in words[:MOST_WORDS])


def _texts(values: Iterable[str], name: str) -> list[str]:
    texts = listed(values, name, QueryError, "a list of texts", MOST_TEXTS, of=str)
    return [utf8(value, name, QueryError) for value in texts]
