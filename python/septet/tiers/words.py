"""Words of a query in a tier: completed prefixes, misspelt words, and titles that equal the query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.ranking.pool import Pool

if TYPE_CHECKING:
    from septet.query.plan import SearchPlan
    from septet.ranking.bm25_scale import TermCounts


#: Minimum letters of a misspelt word; maximum letters up to which one edit is allowed, beyond which two.
LEAST, ONE_EDIT = 3, 5
#: Maximum guesses per word.
MOST_GUESSES = 3
#: Maximum misspelt words per query.
MOST_WORDS = 8


def misspelt(plan: SearchPlan, holding: Callable[[], Mapping[str, int]]) -> dict[str, int]:
    """Return the unknown words of a query, with their maximum number of edits.

    Args:
        holding: returns the number of entries with each term; called only if there is a word to check.
    """
    terms = frozenset(plan.query.terms)
    words = [
        word
        for word in dict.fromkeys(_core.words(plan.query.text))
        if word in terms and len(word) >= LEAST and not any(letter.isdigit() for letter in word)
    ]
    counts = holding() if words else {}
    unknown = [word for word in words if not counts.get(word, 0)][:MOST_WORDS]
    return {word: 1 if len(word) <= ONE_EDIT else 2 for word in unknown}


def titled(plan: SearchPlan, pool: Pool, titles_at: Callable[[Sequence[int]], Sequence[str]]) -> Pool:
    """Return the candidates with the column ``titled``: 1 if the title equals the query, for those without a vector.

    Args:
        titles_at: returns the titles of rows.
    """
    columns = pool.columns
    cosine, share = columns.get("cosine"), columns.get("matched")
    if cosine is None or share is None:
        return pool
    # Not `matched_title`, which excludes character pairs and other grams.
    positions = np.flatnonzero(np.isnan(cosine) & (share == 1.0))
    if not len(positions):
        return pool
    rows = pool.rows
    query_words, values = _words(plan.query.text), np.zeros(len(rows))
    titles = titles_at([rows[i] for i in positions])
    values[[i for i, title in zip(positions, titles) if _words(title) == query_words]] = 1.0
    return pool.with_columns({"titled": values}) if values.any() else pool


def _words(text: str) -> Sequence[str]:
    return [_core.fold(word) for word in _core.words(text)]


def compared_texts(plan: SearchPlan, fields: Sequence[str], grams: str) -> tuple[str, str]:
    """Return the title of an entry and its text; in a cascade those of the columns that are searched.

    Args:
        fields: id, title, description, context, and words of tags.
    """
    if not plan.query.steps:
        return fields[1], " ".join((*fields, grams if plan.query.grams else ""))
    columns = dict(zip(("id", "title", "description", "context", "tags"), fields))
    title = columns["title"] if "title" in plan.query.columns else ""
    return title, "\n".join(map(columns.__getitem__, plan.query.columns))


def with_matched(
    plan: SearchPlan, pool: Pool, scores: NDArray[np.float64], texts: Sequence[tuple[str, str]], counts: TermCounts
) -> Pool:
    """Return the candidates with BM25 scores and the columns on matched words.

    Args:
        texts: the `compared_texts` of each candidate.
        counts: number of entries with each term of the query.
    """
    terms = list(dict.fromkeys(plan.query.terms))
    holding = [counts.holding.get(term, 0) for term in terms]
    word_count = len(dict.fromkeys(plan.query.terms[: plan.query.words]))
    matched = _core.matched_in(
        terms, word_count, counts.entries, holding, texts, scores / (counts.k1 + 1), bool(plan.query.steps)
    )
    names = ("information", "matched", "matched_title", "title", "reach")
    return pool.with_columns({"bm25": scores, **dict(zip(names, matched))})


#: Maximum words per prefix, the most frequent ones.
MOST_PREFIXED = 32

#: Returns the indexed words by prefix, most frequent first.
WordsFrom: TypeAlias = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]


def with_indexed_words(plans: Sequence[SearchPlan], words_from: WordsFrom) -> list[SearchPlan]:
    """Add the indexed words of prefixes to the terms of plans.

    FTS5 stems what a word begins with like a word: of ``genera`` it finds no ``general``, whose stem is ``gener``.
    """
    begun = [word for plan in plans for word in plan.query.begun]
    unwanted = [word for plan in plans if plan.required is not None for word in plan.required.without]
    known = words_from([*dict.fromkeys([*begun, *unwanted])])
    return [_completed(plan, known) for plan in plans]


def _completed(plan: SearchPlan, known: Mapping[str, Sequence[str]]) -> SearchPlan:
    # Imported here: most searches have no filter.
    from septet.query.filters import AllOf, AnyOf, Not
    from septet.query.words import begins_with

    query = plan.query
    filters = dict(plan.filters)
    if plan.required is not None and plan.required.without:
        filters["no prefix"] = Not(AnyOf(tuple(begins_with(begun, known[begun]) for begun in plan.required.without)))
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
