"""Differences that tell statements of the same words apart: order, quantity, obligation, person, tense, code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

#: Patterns of which two statements of one fact do not have one each.
_OPPOSED = tuple(
    (re.compile(rf"\b(?:{first})\b"), re.compile(rf"\b(?:{second})\b"))
    for first, second in (
        (
            "all|every|each|everyone|everything|always|any",
            "some|few|several|sometimes|occasionally|rarely|seldom|hardly",
        ),
        (
            r"(?:over|above|more than|greater than|longer than|at least) [$€£]?\d\S*",
            r"(?:under|below|less than|fewer than|shorter than|at most|up to) [$€£]?\d\S*",
        ),
        ("i|me|my|mine|we|us|our|ours|user", "he|she|him|her|his|hers"),
        (r"(?:was|were)(?! \w+(?:ed|en|rn|t|de|ld|nd|ne|wn|ng)\b)", "is|are"),
        ("rose|rises|increas\\w+|raised|grew|higher", "fell|falls|decreas\\w+|reduc\\w+|lower\\w*|shrank|dropped"),
    )
)
#: Duty and permission, of which a denial makes one: `must not`, `may not`.
_DUTY = re.compile(r"\b(?:must|shall|ha(?:s|ve) to|needs? to|required|mandatory)\b")
_PERMISSION = re.compile(r"\b(?:may|might|can|could|optional(?:ly)?)\b(?! \d)")
_BOUND = re.compile(r"\b(?:at most|at least|up to|max\w*|min\w*|limit\w*)\b")
#: Restrictions, which both statements of one fact have, or none.
_RESTRICTIONS = tuple(
    re.compile(rf"\b(?:{pattern})\b")
    for pattern in (
        "only|solely|exclusively",
        "except|excluding|apart from|other than|but not|unless",
        r"hardly|barely|scarcely|seldom|rarely|forgot to|(?:fail|forget|refus|declin)\w* to",
        "maybe|perhaps|possibly|probably|presumably|apparently|supposedly|allegedly|likely|i think|might|seems?"
        r"|may have(?= \w+(?:ed|en|ne|ft|ld|nt|ght)\b)",
        "said|says|claims?|claimed|thinks|believes|according to",
    )
)
#: A word whose signs belong to it, without punctuation at its ends: `c++`, `-5`, `/etc/a`, `ann@a.io`, `x>5`.
_SIGNED = re.compile(r"^-{1,2}\w|^[+@/~\\]\w|[+#]$|\w[@_\\]\w|[<>=]|[a-z].*/.*[a-z]")
_OPERATORS = frozenset("< > <= >= = == != => -> + - * /".split())
_PUNCTUATION = "()[]{}\"'`*,;:?.!"
_SENTENCE_END = re.compile(r"[.!?;]\s+|\n+")
_IF, _CONDITION = re.compile(r"\b(?:if|in case)\b"), re.compile(r"\b(?:if|in case|when|whenever|unless)\b")
_CODE = re.compile(r"(?<!`)`{1,3}(?!`)([^`]+)`")
_BE = frozenset("is are was were be been being gets got".split())
#: Words between two parts that may change places: `A and B`, `A is B`.
_LEVEL = frozenset("and or nor plus is are was were".split())
#: Relations that hold both ways.
_MUTUAL = frozenset(
    "married met meets meet meeting with between near next beside friend friends partner partners neighbour neighbor"
    " colleague colleagues cousin cousins sibling siblings twin twins equals equal similar like same differs".split()
)
#: Longest statement, in tokens, whose order is compared, and least words between a verb in the passive and `by`.
_MOST_ORDERED, _PASSIVE = 60, 4


class _Manner(NamedTuple):
    """The parts of a text beside its words that tell it apart from others.

    Attributes:
        opposed: for each pair of opposed patterns, 1 for the first, -1 for the second, and 0 for none or both.
        duty: 1 for a duty, -1 for a permission, 0 for none, both, or a bound.
        restrictions: True for each kind of restriction in the text.
        condition: True for a condition, and True for one that may be said otherwise.
        code: the pieces of code.
        signed: the words with signs, and the signs between words; not those of lists.
        sentences: number of sentences.
    """

    opposed: tuple[int, ...]
    duty: int
    restrictions: tuple[bool, ...]
    condition: tuple[bool, bool]
    code: frozenset[str]
    signed: frozenset[str]
    sentences: int


def _manner_of(lower: str) -> _Manner:
    """Return the manner of a text in lower case."""
    bounded = _BOUND.search(lower) is not None
    return _Manner(
        tuple(_side(lower, first, second) for first, second in _OPPOSED),
        0 if bounded else _side(lower, _DUTY, _PERMISSION),
        tuple(pattern.search(lower) is not None for pattern in _RESTRICTIONS),
        (_IF.search(lower) is not None, _CONDITION.search(lower) is not None),
        frozenset(" ".join(code.split()) for code in _CODE.findall(lower)),
        frozenset(_signed(lower)),
        sum(any(map(str.isalnum, part)) for part in _SENTENCE_END.split(lower)),
    )


def differ_in_manner(first: str, second: str, *, denied: bool) -> bool:
    """Return True if two texts of equal words, in lower case, are two statements.

    Args:
        denied: True if one of them denies something.
    """
    new, old = _manner_of(first), _manner_of(second)
    return (
        any(mine * other < 0 for mine, other in zip(new.opposed, old.opposed))
        or (not denied and new.duty * old.duty < 0)
        or new.restrictions != old.restrictions
        or (new.condition[0] and not old.condition[1])
        or (old.condition[0] and not new.condition[1])
        or (bool(new.code and old.code) and new.code != old.code)
        or new.signed != old.signed
        # A text that says more than another one is no repetition of it.
        or new.sentences != old.sentences
    )


def are_exchanged(new: Sequence[str], old: Sequence[str]) -> bool:
    """Return True if two parts have changed their places around a verb or a preposition: `A needs B`, `B needs A`."""
    new, old = _parted(new), _parted(old)
    if len(new) != len(old) or new == old or len(new) > _MOST_ORDERED or sorted(new) != sorted(old):
        return False
    first = next(at for at in range(len(new)) if new[at] != old[at])
    last = next(at for at in range(len(new), 0, -1) if new[at - 1] != old[at - 1])
    mine, other, behind = new[first:last], old[first:last], new[last : last + 1]
    exchanged = False
    for left in range(1, len(mine)):
        for right in range(1, len(mine) - left + 1):
            between = mine[left : len(mine) - right]
            if other != mine[len(mine) - right :] + between + mine[:left]:
                continue
            possessed = bool(between) and behind == ["'s"]
            mutual = len(between) > 1 and not _MUTUAL.isdisjoint(between)
            if (_LEVEL.issuperset(between) and not possessed) or mutual:
                return False
            exchanged = True
    return exchanged


def is_passive(tokens: Sequence[str]) -> bool:
    """Return True if the doer is behind `by`."""
    return any(
        token == "by" and not _BE.isdisjoint(tokens[max(at - _PASSIVE, 0) : at]) for at, token in enumerate(tokens)
    )


def has_be(tokens: Sequence[str]) -> bool:
    """Return True for a text with a form of the verb to be."""
    return not _BE.isdisjoint(tokens)


def _signed(lower: str) -> Iterator[str]:
    """Return the words of a text with signs, and its operators."""
    for line in lower.splitlines():
        # The first sign of a line is that of a list.
        for at, word in enumerate(line.split()):
            bare = word.strip(_PUNCTUATION).removesuffix("'s")
            if word in _OPERATORS and at:
                yield word
            elif any(map(str.isalnum, bare)) and _SIGNED.search(bare):
                yield bare


def _side(text: str, first: re.Pattern[str], second: re.Pattern[str]) -> int:
    return (first.search(text) is not None) - (second.search(text) is not None)


def _parted(tokens: Sequence[str]) -> list[str]:
    """Return tokens with the mark of a possessor as one."""
    return [part for token in tokens for part in ((token[:-2], "'s") if token.endswith("'s") else (token,))]
