"""Beginnings of words: a search for ``lightw`` counts the words of a store that begin so."""

from __future__ import annotations

from collections.abc import Sequence

from septet import _core
from septet.query.filters import AllOf, AnyOf, Not
from septet.query.plan import Plan
from septet.query.words import begins_with
from septet.snapshot.snapshot import Snapshot

__all__ = ["completed"]

#: So many words that begin alike count, the most frequent ones.
MOST = 32


def completed(plans: Sequence[Plan], snapshot: Snapshot) -> Sequence[Plan]:
    """Return plans of beginnings of words with the words of a snapshot; where these are not in memory, as they are.

    FTS5 stems what a word begins with like a word: of ``genera`` it finds no ``general``, whose stem is ``gener``.
    """
    if snapshot.postings is None:
        return plans
    return [_completed(plan, snapshot) for plan in plans]


def _completed(plan: Plan, snapshot: Snapshot) -> Plan:
    query = plan.query
    filters = dict(plan.filters)
    if plan.asked is not None and plan.asked.without:
        unwanted = _known(plan.asked.without, snapshot)
        filters["no prefix"] = Not(AnyOf(tuple(begins_with(begun, words) for begun, words in unwanted.items())))
    if not query.begun:
        return plan._replace(filters=filters)
    known = _known(query.begun, snapshot)
    more = dict.fromkeys(word for words in known.values() for word in words)
    terms = query.terms
    if more and query.cuts_last:
        # What was typed so far is no word by itself, unless it is one of those that are known.
        begun = frozenset(query.begun)
        grams = frozenset(_core.query_grams(query.begun[-1]))
        terms = tuple(term for term in terms if term not in begun and term not in grams)
    terms = (*terms, *(word for word in more if word not in terms))[: plan.profile.text.max_terms]
    filters["prefix"] = AllOf(tuple(begins_with(begun, words) for begun, words in known.items()))
    return plan._replace(query=query._replace(terms=terms, begun=()), filters=filters)


def _known(beginnings: Sequence[str], snapshot: Snapshot) -> dict[str, list[str]]:
    """Return the words that begin with letters, by these."""
    return {begun: [word for word, _, _ in snapshot.corpus.words_from(begun, MOST) or ()] for begun in beginnings}
