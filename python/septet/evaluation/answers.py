"""Heuristics for written answers: how much of a reference they say, and how much of them evidence says."""

from __future__ import annotations

import re
from collections.abc import Iterable

from septet.errors import QueryError
from septet.inputs.arguments import listed, utf8

__all__ = ["groundedness", "term_recall"]

#: Documented sizes, in bytes of UTF-8: words of a reference have more than so many, …
SHORT_WORD, SHORT_SENTENCE = 3, 10
#: … and so many of the words of a sentence, that have so many or more, are looked for.
MOST_WORDS, LONG_WORD = 5, 5
#: References, or pieces of evidence, of one answer.
MOST_TEXTS = 10_000
_WORD = re.compile(r"[^\W_]+")


def term_recall(answer: str, references: Iterable[str]) -> float:
    """Return which share of the words of references an answer has, whatever their case; 1 if they have none.

    Words of three bytes or less do not count. As documented, a word counts inside another one too, and each time.

    Raises:
        QueryError: something is no text.
    """
    text = utf8(answer, "answer", QueryError).lower()
    words = [word for one in _texts(references, "references") for word in _WORD.findall(one.lower())]
    long = [word for word in words if len(word.encode()) > SHORT_WORD]
    return sum(word in text for word in long) / len(long) if long else 1.0


def groundedness(answer: str, evidence: Iterable[str]) -> float:
    """Return which share of the sentences of an answer has a word in the evidence; 0 if it has no sentence.

    Sentences of ten bytes or less do not count; of each, the first five words of five bytes or more are looked for. It
    is a heuristic: a sentence of known words may still be wrong.

    Raises:
        QueryError: something is no text.
    """
    known = " ".join(_texts(evidence, "evidence")).lower()
    sentences = [one.strip() for one in re.split(r"[.!?。！？\n]", utf8(answer, "answer", QueryError).lower())]
    long = [one for one in sentences if len(one.encode()) > SHORT_SENTENCE]
    return sum(_said(one, known) for one in long) / len(long) if long else 0.0


def _said(sentence: str, known: str) -> bool:
    words = [word for word in _WORD.findall(sentence) if len(word.encode()) >= LONG_WORD]
    return any(word in known for word in words[:MOST_WORDS])


def _texts(values: Iterable[str], name: str) -> list[str]:
    texts = listed(values, name, QueryError, "a list of texts", MOST_TEXTS, of=str)
    return [utf8(value, name, QueryError) for value in texts]
