"""Plans as JSON-ready values: the words and options of a query, from which the server builds the same plan.

Input is checked like the arguments of a caller: profiles, filters and vectors by the code that checks theirs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from septet.errors import QueryError, SeptetError
from septet.inputs.arguments import flag, listed, real, shown, utf8, whole
from septet.model.vector import query_vector
from septet.profiles import resolve
from septet.profiles.builtin import BUILTIN
from septet.query.filters import AllOf, AnyOf, Compare, Filter, Holds, Not, parse_where
from septet.query.parse import TextQuery, parse, with_words
from septet.query.plan import LEGS, MOST, MOST_QUERY_CHARS, MOST_TEXTS, SearchPlan
from septet.query.refine import deadline_of
from septet.query.words import MOST_WORDS, RequiredWords
from septet.ranking.profile import Profile
from septet.tiers.remote.packing import floats, floats_of

#: Maximum number of queries per search; maximum nesting of filters.
MOST_QUERIES, MOST_DEPTH = 1_024, 40
#: Maximum number of comparisons per plan, including those of its words.
MOST_PARTS = 5_000
#: Full-text filters: quoted words, one of them as a prefix, or several joined by OR.
_MATCH = re.compile(r'"[^"\0]*"(?: \*|(?: OR "[^"\0]*")*)')
_GRAM = re.compile(r'[^"\0]*')
#: Minimum time left for a tier, in seconds.
LEAST_LEFT_S = 0.01


def plan_data(plans: Sequence[SearchPlan]) -> dict[str, Any]:
    """Return plans that differ only in query and query vector as one JSON-ready value."""
    plan = plans[0]
    return {
        "profile": plan.profile.name if BUILTIN.get(plan.profile.name) is plan.profile else plan.profile.to_dict(),
        "limit": plan.limit,
        "candidates": plan.candidates,
        "filters": {name: filter_data(item) for name, item in plan.filters.items()},
        "now": plan.now,
        "include_expired": plan.include_expired,
        "include_memories": plan.include_memories,
        "legs": sorted(plan.legs),
        "boost_tags": list(plan.boost_tags),
        "domain": plan.domain,
        "model": plan.model,
        "left_s": None if plan.deadline is None else max(plan.deadline.left_s, LEAST_LEFT_S),
        "scans_words": plan.scans_words,
        "typos": plan.typos,
        "needs_ids": plan.needs_ids,
        "asked": None
        if plan.required is None
        else {
            "filters": list(plan.required.filters),
            "text": plan.required.text,
            "begun": list(plan.required.begun),
            "cut": plan.required.cut,
            "without": list(plan.required.without),
        },
        "queries": [
            {
                "text": query.query.text,
                "plain": query.query == _plain(query.query.text),
                "vector": None if query.vector is None else floats(query.vector.exact),
                "comparable": query.comparable,
            }
            for query in plans
        ],
    }


def plans_of(data: object) -> list[SearchPlan]:
    """Return the plans of `plan_data`.

    Raises:
        SeptetError: an invalid plan; the subclass depends on the field.
    """
    try:
        return _plans(data)
    except SeptetError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as fault:
        raise QueryError(f"invalid search plan: {type(fault).__name__}") from fault


def _plans(data: Any) -> list[SearchPlan]:
    profile = _profile_of(data["profile"])
    filters = filters_of(data["filters"])
    words = None if data["asked"] is None else _words_of(data["asked"], filters)
    memories = _flag(data, "include_memories")
    legs = frozenset(_texts(data["legs"], "legs"))
    if not legs <= set(LEGS):
        raise QueryError(f"legs is {shown(sorted(legs))}: wanted some of {', '.join(LEGS)}")
    left_s, limit = data["left_s"], data["limit"]
    base = SearchPlan(
        query=parse("", profile.text),
        profile=profile,
        mode="full",
        limit=None if limit is None else whole(limit, "limit", QueryError, 1, MOST),
        candidates=whole(data["candidates"], "candidates", QueryError, 1, MOST),
        filters=filters,
        now=real(data["now"], "now", QueryError),
        include_expired=_flag(data, "include_expired"),
        include_memories=memories,
        scores_memories=memories and profile.memory_score is None,
        legs=legs,
        boost_tags=_texts(data["boost_tags"], "boost_tags"),
        domain=_text_or_none(data["domain"], "domain"),
        model=_text_or_none(data["model"], "model"),
        deadline=None if left_s is None else deadline_of(real(left_s, "left_s", QueryError, LEAST_LEFT_S, 86_400)),
        scans_words=_flag(data, "scans_words"),
        typos=_flag(data, "typos"),
        needs_ids=_flag(data, "needs_ids"),
        corpus_columns=profile.corpus_columns,
        required=words,
    )
    queries = listed(data["queries"], "queries", QueryError, "a list of queries", MOST_QUERIES)
    if not queries:
        raise QueryError("queries is empty: wanted at least one query")
    return [_with_query(base, item) for item in queries]


def _with_query(plan: SearchPlan, data: Mapping[str, Any]) -> SearchPlan:
    text = utf8(data["text"], "query", QueryError, MOST_QUERY_CHARS)
    plain = _flag(data, "plain")
    query = _plain(text) if plain else parse(text, plan.profile.text)
    if not plain and plan.required is not None:
        query = with_words(query, plan.required, plan.profile.text)
    vector = None if data["vector"] is None else query_vector(floats_of(data["vector"]))
    return plan._replace(query=query, vector=vector, comparable=_flag(data, "comparable"))


def _plain(text: str) -> TextQuery:
    """Return a text that is compared as a whole, or embedded, but not searched for by its words."""
    return TextQuery(text, (), 0, False, False)


# -- profiles ----------------------------------------------------------------------------------------------------------


def _profile_of(data: Any) -> Profile:
    if isinstance(data, str) and data in BUILTIN:
        return BUILTIN[data]
    if isinstance(data, Mapping):
        return _profile(json.dumps(data, sort_keys=False))
    raise QueryError(f"profile is {shown(data)}: wanted a built-in name or an object")


@lru_cache(maxsize=32)
def _profile(text: str) -> Profile:
    """Return a profile by its JSON; cached, since a client sends the same one with every search."""
    return resolve(json.loads(text))


# -- filters -----------------------------------------------------------------------------------------------------------


def filter_data(item: Filter) -> list[Any]:
    """Return a filter as a JSON-ready value."""
    if isinstance(item, Compare):
        value = item.value
        return ["compare", item.field, item.operator, list(value) if isinstance(value, tuple) else value]
    if isinstance(item, Holds):
        return ["holds", item.match, list(item.grams)]
    if isinstance(item, Not):
        return ["not", filter_data(item.part)]
    return ["all" if isinstance(item, AllOf) else "any", *(filter_data(part) for part in item.parts)]


def filters_of(data: Any) -> dict[str, Filter]:
    """Return filters by name.

    Raises:
        QueryError: an invalid filter.
    """
    budget = [MOST_PARTS]
    named = {utf8(name, "a filter", QueryError, 8_192): item for name, item in data.items()}
    return {name: _filter_of(item, 0, budget) for name, item in named.items()}


def _filter_of(data: Any, depth: int, budget: list[int]) -> Filter:
    budget[0] -= 1
    if depth > MOST_DEPTH or budget[0] < 0 or not isinstance(data, list) or not data:
        _no_filter(data)
    kind, *rest = data
    if kind == "compare" and len(rest) == 3:
        field, operator, value = rest
        (filter_,) = parse_where({field: {operator: value}}).values()
        return filter_
    if kind == "holds" and len(rest) == 2:
        match, grams = utf8(rest[0], "a word", QueryError), _texts(rest[1], "grams")
        if _MATCH.fullmatch(match) is None or not all(map(_GRAM.fullmatch, grams)):
            _no_filter(data)
        return Holds(match, grams)
    if kind == "not" and len(rest) == 1:
        return Not(_filter_of(rest[0], depth + 1, budget))
    if kind not in ("all", "any"):
        _no_filter(data)
    parts = tuple(_filter_of(part, depth + 1, budget) for part in rest)
    return AllOf(parts) if kind == "all" else AnyOf(parts)


def _no_filter(data: object) -> NoReturn:
    raise QueryError(f"{shown(data)} is no valid filter")


# -- words -------------------------------------------------------------------------------------------------------------


def _words_of(data: Mapping[str, Any], filters: Mapping[str, Filter]) -> RequiredWords:
    return RequiredWords(
        {name: filters[name] for name in _texts(data["filters"], "filters")},
        utf8(data["text"], "words", QueryError, MOST_QUERY_CHARS),
        _texts(data["begun"], "begun"),
        _flag(data, "cut"),
        _texts(data["without"], "without"),
    )


def _texts(data: object, name: str) -> tuple[str, ...]:
    texts = listed(data, name, QueryError, "a list of texts", max(MOST_TEXTS, MOST_WORDS), of=str)
    return tuple(utf8(text, name, QueryError) for text in texts)


def _flag(data: Mapping[str, Any], name: str) -> bool:
    value = data[name]
    flag(value, name, QueryError)
    return bool(value)


def _text_or_none(data: object, name: str) -> str | None:
    return None if data is None else utf8(data, name, QueryError)
