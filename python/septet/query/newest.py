"""Which of several texts holds now: a newer one with another value of what a question asks for. English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from septet.query.statements import Claim

#: Maximum texts that are compared, and characters of each; code is not read.
MOST_TEXTS, MOST_READ = 10, 2_000
#: Words of the question that two sentences must share with it.
_SHARED = 2
#: Beginnings of a question that asks for a value, without which no pattern is read; `\u0131` is an `i` to patterns.
_BEGINNINGS = frozenset(("at ", "how", "wha", "whe", "whi", "wh\u0131"))
#: Kinds of the values that a question asks for, by the way it asks.
_ASKED = tuple(
    (f"(?i){pattern}", frozenset(kinds.split()))
    for pattern, kinds in (
        (r"^(?:at )?what time\b", "time"),
        (r"^when\b|^(?:what|which) (?:\w+ )?(?:date|deadline|day)\b", "date month weekday time"),
        (r"^what (?:is|are|'s) (?:\w+ )?(?:date|deadline|day)\b", "date month weekday time"),
        (r"^how (?:many|much) (?:\w+ )?(?:days|hours|minutes|weeks|months)\b|^how long\b", "duration date"),
        (r"^what (?:is|are|'s) .*\b(?:response time|duration|timeout|latency)\b", "duration"),
        (r"^how much\b|^what (?:is|are|'s) .*\b(?:budget|cost|price|salary|rent|fee)\b", "money"),
        (r"^what .*\b(?:rate|percent\w*|accuracy|share)\b", "share"),
        (r"^how many\b", "number"),
        (r"^(?:what|which) (?:is |are |'s )?.*\b(?:version|port|number|limit)\b", "number version name size"),
    )
)
#: Words of a question that does not ask what holds now: of the past, of two moments, or of several facts.
_OTHER = (
    r"(?i)\b(?:between|before|after|original\w*|initial\w*|at first|used to|earlier|previous\w*|passed|elapsed|order"
    r"|since|did|took|over time|compared?|across|combined|each|was|were|different|from .* to"
    r"|how many (?:days|weeks|months) (?:until|are there|had))\b"
)
_SENTENCE = r"(?<=[.!?;\n])\s+|\n+"


def asked_kinds(query: str) -> frozenset[str] | None:
    """Return the kinds of the value that a question asks for; None if it asks for no value that holds now."""
    query = query[:MOST_READ].strip()
    if query[:3].lower() not in _BEGINNINGS or re.search(_OTHER, query) is not None:
        return None
    return next((kinds for pattern, kinds in _ASKED if re.search(pattern, query) is not None), None)


def newest_first(query: str, kinds: frozenset[str], texts: Sequence[str], times: Sequence[float]) -> list[int]:
    """Return the order of texts in which each stands behind a newer one that changes the value asked for.

    A text changes another if a sentence of it has a word of change and another value of these kinds, and both sentences
    share two words of the question.

    Args:
        kinds: see `asked_kinds`.
        texts: the best answers, best first; those after the tenth are not moved, and an empty one changes none.
        times: the times of the texts, in epoch seconds.
    """
    sought = _terms(query)
    claims = [_claims(text, sought) for text in texts[:MOST_TEXTS]]
    order, at = list(range(len(claims))), 0
    while at < len(order):
        older = order[at]
        newer = (
            place
            for place in range(at + 1, len(order))
            if times[order[place]] > times[older] and _changes(claims[order[place]], claims[older], sought, kinds)
        )
        place = next(newer, None)
        if place is None:
            at += 1
        else:
            # The newer one is compared next: a still newer one may change it.
            order.insert(at, order.pop(place))
    return order + list(range(len(claims), len(texts)))


def _changes(newer: Sequence[Claim], older: Sequence[Claim], sought: frozenset[str], kinds: frozenset[str]) -> bool:
    from septet.query.comparing import replaced_values

    return any(
        len(sought & new.words.keys() & old.words.keys()) >= _SHARED
        and any(value.kind in kinds for value, _ in replaced_values(new, old))
        for new in newer
        if new.changes
        for old in older
    )


def _claims(text: str, sought: frozenset[str]) -> list[Claim]:
    """Return the claims of the sentences with two words of a question, before any code."""
    # Imported here and below: most questions ask for no value.
    from septet.query.statements import statement_of

    text = text.partition("```")[0][:MOST_READ]
    return [
        statement_of(sentence)
        for sentence in re.split(_SENTENCE, text)
        # Reading a sentence takes far longer than its terms.
        if len(sought & _terms(sentence)) >= _SHARED
    ]


def _terms(text: str) -> frozenset[str]:
    from septet._core import index_terms
    from septet.query.lexicon import CANON

    stems = (term.decode("utf-8", "replace") for term in index_terms(text))
    return frozenset(CANON.get(stem, stem) for stem in stems)
