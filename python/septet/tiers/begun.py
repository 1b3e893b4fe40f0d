"""Prefixes of words: a search for ``lightw`` counts the indexed words with this prefix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from septet import _core
from septet.query.filters import AllOf, AnyOf, Not
from septet.query.words import begins_with

if TYPE_CHECKING:
    from septet.query.plan import Plan

#: Maximum words per prefix, the most frequent ones.
MOST = 32

#: Returns the indexed words by prefix, most frequent first.
WordsFrom: TypeAlias = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]


def completed(plans: Sequence[Plan], words_from: WordsFrom) -> list[Plan]:
    """Add the indexed words of prefixes to the terms of plans.

    FTS5 stems what a word begins with like a word: of ``genera`` it finds no ``general``, whose stem is ``gener``.
    """
    begun = [word for plan in plans for word in plan.query.begun]
    unwanted = [word for plan in plans if plan.asked is not None for word in plan.asked.without]
    known = words_from([*dict.fromkeys([*begun, *unwanted])])
    return [_completed(plan, known) for plan in plans]


def _completed(plan: Plan, known: Mapping[str, Sequence[str]]) -> Plan:
    query = plan.query
    filters = dict(plan.filters)
    if plan.asked is not None and plan.asked.without:
        filters["no prefix"] = Not(AnyOf(tuple(begins_with(begun, known[begun]) for begun in plan.asked.without)))
    if not query.begun:
        return plan._replace(filters=filters)
    more = dict.fromkeys(word for begun in query.begun for word in known[begun])
    terms = query.terms
    if more and query.cuts_last:
        # The unfinished word is not a term, unless it is an indexed word.
        begun = frozenset(query.begun)
        grams = frozenset(_core.query_grams(query.begun[-1]))
        terms = tuple(term for term in terms if term not in begun and term not in grams)
    terms = (*terms, *(word for word in more if word not in terms))[: plan.profile.text.max_terms]
    filters["prefix"] = AllOf(tuple(begins_with(begun, known[begun]) for begun in query.begun))
    return plan._replace(query=query._replace(terms=terms, begun=()), filters=filters)
