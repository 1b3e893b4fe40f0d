"""Plan: one search, fully decided before any tier is searched."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import ArrayLike

from septet.errors import QueryError
from septet.inputs.arguments import as_epoch, exact, listed, real, shown, utf8, whole
from septet.model.results import Note
from septet.model.spaces import Space
from septet.model.vector import QueryVector, query_vector
from septet.profiles.load import ProfileLike, resolve
from septet.query.options import DEFAULTS, GroupBy, Leg, Mode
from septet.query.parse import TextQuery, parse, with_words
from septet.ranking.profile import Profile

if TYPE_CHECKING:
    from septet.query.deadline import Deadline
    from septet.query.facets import Faceted
    from septet.query.filters import Filter
    from septet.query.refine import Reranking
    from septet.query.words import AskedWords, Web

__all__ = ["LEGS", "MEMORY", "Plan", "QueryEmbedding", "make_plan", "thread_count"]

LEGS: tuple[Leg, ...] = ("text", "vector")
PLAIN = DEFAULTS["syntax"]
BOTH_LEGS: frozenset[str] = frozenset(LEGS)
MEMORY = "memory"
NO_VECTOR = "legs asks for vectors alone, and there is neither a query_vector nor an embedder"
#: Limits above this are the same as no limit; their multiples still fit SQLite's integers.
MOST = 2**31 - 1
#: Of so many candidates one is taken to be a group, to begin with.
PARTS = 4
#: So many tags, kinds or legs a search may name.
MOST_TEXTS = 10_000
#: So many characters a query may have; only its first terms count, so most are cut much earlier.
MOST_QUERY_CHARS = 50_000_000
#: More threads than this are not started.
MOST_THREADS = 256


class QueryEmbedding(NamedTuple):
    """A tier's space, and the query as a vector of its model."""

    space: Space
    vector: QueryVector


class Plan(NamedTuple):
    """What every tier is searched for.

    Attributes:
        limit: as the caller named it, None for the profile's default.
        candidates: how many each leg of each tier takes.
        filters: by name; every candidate passes all of them, whichever leg found it.
        include_memories: memories are returned too.
        scores_memories: they are candidates like entries; if not, they have a fixed score.
        now: the moment validity and decay are judged at, epoch seconds.
        vector: the query as a vector, or None.
        space: where the vector is compared; None lets the tier choose by ``model`` and dimension.
        embeddings: by tier, the query as an embedder gave it.
        notes: what there is to say before any tier is searched.
        corpus_columns: the columns that the profile reads and a tier fills.
        comparable: several tiers are searched, so that corpus scores must be brought to one scale.
        needs_ids: candidates must be known by their ids, because several tiers may hold the same.
        group_by: entries with the same parent are one result.
        deadline: when the search answers with what it has; None waits for everything.
        depth: so many of the best are arranged anew before the limit; None leaves the order of the scores.
        diversity: how much likeness to results before it counts against a candidate, 0 to 1.
        reranking: who scores the best anew.
        scans_words: candidates are the entries whose TF-IDF cosine with the query's whole text is the highest.
        offset: how many results are left out before the first that is returned.
        asked: the words that are asked for beside the query.
        tiers: only these are searched; None for all.
        typos: words that no entry holds are guessed at.
        facets: what the matches are counted by.
        web: what a query in the syntax of web searches asks.
    """

    query: TextQuery
    profile: Profile
    mode: Mode
    limit: int | None
    candidates: int
    filters: Mapping[str, Filter]
    now: float
    include_expired: bool
    include_memories: bool
    scores_memories: bool
    legs: frozenset[str]
    tags: tuple[str, ...]
    domain: str | None
    vector: QueryVector | None = None
    model: str | None = None
    space: Space | None = None
    embeddings: Mapping[str, QueryEmbedding] = MappingProxyType({})
    notes: tuple[Note, ...] = ()
    min_score: float | None = None
    min_confidence: float | None = None
    max_tokens: int | None = None
    corpus_columns: frozenset[str] = frozenset()
    comparable: bool = False
    needs_ids: bool = False
    group_by: GroupBy | None = None
    deadline: Deadline | None = None
    depth: int | None = None
    diversity: float = 0.0
    reranking: Reranking | None = None
    scans_words: bool = False
    offset: int = 0
    asked: AskedWords | None = None
    tiers: frozenset[str] | None = None
    typos: bool = False
    web: Web | None = None
    facets: tuple[Faceted, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether the query may take several searches, and so none together with others."""
        return self.group_by is not None or self.offset > 0 or self.is_deep

    @property
    def places(self) -> int | None:
        """The places that the candidates of one search decide, whatever the limit; None where the limit decides.

        Groups take more candidates; several are of one.
        """
        cuts = self.profile.cuts
        return None if cuts.factor else max(cuts.minimum // (2 if self.group_by is None else 2 * PARTS), 1)

    @property
    def is_deep(self) -> bool:
        """Whether more places are wanted than the candidates of one search decide."""
        return self.limit is not None and (places := self.places) is not None and self.limit > places

    def taken(self, *, compared: bool | None = None) -> int:
        """Return how many candidates each leg takes: both share them where the profile fixes their number.

        Args:
            compared: whether the query has a vector, and there are others to compare it with; None if it has one.
        """
        if compared is None:
            compared = self.vector is not None or bool(self.embeddings)
        shared = compared and not self.profile.cuts.factor and len(self.legs) > 1
        return -(-self.candidates // 2) if shared else self.candidates

    @property
    def filters_alone(self) -> bool:
        """Whether a query in the syntax of web searches has filters and nothing to rank by."""
        words = self.query.terms or self.query.begun or self.vector is not None or self.embeddings
        return self.web is not None and bool(self.web.where) and not words

    @property
    def asks_text(self) -> bool:
        """Whether the full text is searched: its leg is on and a term is left of the query."""
        return "text" in self.legs and bool(self.query.terms)

    @property
    def begins_words(self) -> bool:
        """Whether words are asked for by what they begin with."""
        return bool(self.query.begun or (self.asked is not None and self.asked.without))

    @property
    def asks_vectors(self) -> bool:
        """Whether vectors are searched: their leg is on, a query vector is there, and the query is not too vague."""
        if self.query.vague and "text" in self.legs:
            return False
        return "vector" in self.legs and self.vector is not None

    def of_tier(self, name: str) -> Plan:
        """Return the plan as a tier reads it: with its own query vector, if the query was embedded for it."""
        if not self.embeddings or (own := self.embeddings.get(name)) is None:
            return self
        return self._replace(vector=own.vector, model=own.space.model, space=own.space, embeddings={})

    def of_query(self, query: str, vector: ArrayLike | None, embeds: bool) -> Plan:
        """Return the same plan for another query.

        Args:
            embeds: whether the query will be embedded.

        Raises:
            QueryError: the query is no text, or vectors alone are searched and there is none.
            VectorError: the vector is not one-dimensional, or has NaN, infinite or only zero components.
        """
        if type(query) is not str or len(query) > MOST_QUERY_CHARS:
            query = utf8(query, "a query", QueryError, MOST_QUERY_CHARS)
        if vector is None and "text" not in self.legs and not embeds:
            raise QueryError(NO_VECTOR)
        parsed = parse(query, self.profile.text)
        if self.asked is not None:
            parsed = with_words(parsed, self.asked, self.profile.text)
        return self._replace(query=parsed, vector=None if vector is None else query_vector(vector))

    @property
    def most_hits(self) -> int:
        """The limit in use."""
        return self.profile.cuts.limit if self.limit is None else self.limit


def make_plan(
    query: str, *, now: float, profile: ProfileLike, options: Mapping[str, Any], embeds: bool = False
) -> Plan:
    """Check a search's arguments (see `septet.Vault.search`) and decide what to ask.

    Args:
        embeds: whether the query will be embedded, so that vectors alone may be searched without one.

    Raises:
        QueryError: an argument that cannot be understood.
        VectorError: a query vector with NaN, infinite or only zero components.
    """
    if type(query) is not str or len(query) > MOST_QUERY_CHARS:
        query = utf8(query, "query", QueryError, MOST_QUERY_CHARS)
    query, web = (query, None) if options["syntax"] is PLAIN else _web(query, options["syntax"])
    chosen = profile if isinstance(profile, Profile) else resolve(profile)
    cuts = chosen.cuts
    limit, max_tokens = options["limit"], options["max_tokens"]
    if limit is not None and not (type(limit) is int and 0 < limit <= MOST):
        limit = _count("limit", limit)
    if type(offset := options["offset"]) is not int or offset:
        offset = _offset(offset)
        # The small-corpus guard makes one page of all; who turns pages has pages of one length.
        limit = cuts.limit if limit is None and offset else limit
    mode, group_by, domain = options["mode"], options["group_by"], options["domain"]
    if (type(mode) is not str and type(mode := exact(mode)) is not str) or mode not in ("full", "scan"):
        raise QueryError(f"mode is {shown(mode)}: wanted 'full' or 'scan'")
    if group_by is not None and (not isinstance(group_by := exact(group_by), str) or group_by != "parent"):
        raise QueryError(f"group_by is {shown(group_by)}: wanted 'parent' or None")
    min_score, min_confidence = options["min_score"], options["min_confidence"]
    min_score = cuts.min_score if min_score is None else _score("min_score", min_score)
    if min_confidence is not None and not 0 <= (min_confidence := _score("min_confidence", min_confidence)) <= 1:
        raise QueryError(f"min_confidence is {shown(min_confidence)}: wanted a number from 0 to 1")
    _check_flags(options)
    kinds = () if options["kinds"] is None else _kinds(options["kinds"])
    filters = _filters(options, kinds, web)
    memories = options["include_memories"] or MEMORY in kinds
    if (options["where"] is not None or web is not None) and not memories:
        memories = _asks_memories(filters)
    given, tags, model = options["query_vector"], options["tags"], options["model"]
    taken = max(cuts.factor * (cuts.limit if limit is None else limit), cuts.minimum)
    taken = taken if cuts.maximum is None or taken < cuts.maximum else cuts.maximum
    plan = Plan(
        query=parse(query, chosen.text),
        profile=chosen,
        mode=mode,  # type: ignore[arg-type]
        limit=limit,
        candidates=taken * (PARTS if group_by else 1),
        filters=filters,
        now=now if options["as_of"] is None else _moment(options["as_of"]),
        include_expired=options["include_expired"],
        include_memories=memories,
        scores_memories=memories and chosen.memory_score is None,
        legs=BOTH_LEGS if options["legs"] is None else _legs(options, embeds),
        tags=() if tags is None else _texts("tags", tags),
        domain=domain if domain is None or type(domain) is str else exact(domain),
        vector=None if given is None else query_vector(given),
        model=None if model is None else utf8(model, "model", QueryError),
        min_score=min_score,
        min_confidence=min_confidence,
        max_tokens=None if max_tokens is None else _count("max_tokens", max_tokens),
        corpus_columns=chosen.corpus_columns,
        group_by=group_by,  # type: ignore[arg-type]
        offset=offset,
        typos=chosen.text.typos if options["typos"] is None else options["typos"],
    )
    words = web is options["must"] is options["must_not"] is options["phrase"] is None and options["prefix"] is False
    timed = options["timeout_s"] is options["diversity"] is options["reranker"] is None
    rest = timed and options["tiers"] is options["facets"] is None and not cuts.diversity
    return plan if words and rest else _finer(plan if words else _with_words(plan, options, web), options)


def _check_flags(options: Mapping[str, Any]) -> None:
    for name in ("include_expired", "include_memories", "typos"):
        if not isinstance(options[name], bool) and (name != "typos" or options[name] is not None):
            raise QueryError(f"{name} is {shown(options[name])}: wanted True or False")


def _web(query: str, syntax: object) -> tuple[str, Web | None]:
    syntax = exact(syntax)
    if not isinstance(syntax, str) or syntax not in ("plain", "web"):
        raise QueryError(f"syntax is {shown(syntax)}: wanted 'plain' or 'web'")
    if syntax == "plain":
        return query, None
    from septet.query.web import understood

    web = understood(query)
    return web.text, web


def _with_words(plan: Plan, options: Mapping[str, Any], web: Web | None) -> Plan:
    # Most searches name no words beside the query.
    from septet.query.words import asked_words

    asked = asked_words(options, plan.query.text, web)
    query = with_words(plan.query, asked, plan.profile.text)
    return plan._replace(query=query, filters={**plan.filters, **asked.filters}, asked=asked, web=web)


def _offset(offset: object) -> int:
    return min(whole(offset, "offset", QueryError, 0), MOST - 1)


def _finer(plan: Plan, options: Mapping[str, Any]) -> Plan:
    # Most searches ask for none of it.
    from septet.query.refine import refinements

    return plan._replace(**refinements(options, plan.most_hits, plan.candidates, plan.profile.cuts.diversity))


def _filters(options: Mapping[str, Any], kinds: tuple[str, ...], web: Web | None) -> dict[str, Filter]:
    where, equal = options["where"], ("domain", "type", "severity")
    named = [name for name in equal if options[name] is not None]
    if where is web is None and not named and not kinds:
        return {}
    # Most searches come without a filter.
    from septet.query.filters import Compare, compare_text, parse_where

    out: dict[str, Filter] = {}
    for name in named:
        value = options[name]
        if not isinstance(value, str):
            raise QueryError(
                f"{name} is {shown(value)}: wanted text; use where={{'{name}': {{'$in': [...]}}}} for several"
            )
        out[name] = compare_text(name, value)
    if kinds:
        # A caller who asks for memories gets them, even when `kinds` names other kinds.
        out["kinds"] = Compare("kind", "$in", (*kinds, MEMORY) if options["include_memories"] else kinds)
    if where is not None:
        out.update(parse_where(where))
    return out if web is None else {**out, **web.filters}


def _asks_memories(filters: Mapping[str, Filter]) -> bool:
    from septet.query.filters import Compare, names

    for one in filters.values():
        # Most filters are of another field: they cost no call.
        if not (isinstance(one, Compare) and one.field != "kind") and names(one, "kind", MEMORY):
            return True
    return False


def _moment(as_of: object) -> float:
    at = as_epoch(as_of, "as_of", QueryError)
    return 0.0 if at is None else at


def _score(name: str, value: object) -> float:
    given = exact(value)
    if isinstance(given, float) and math.isinf(given):
        return given
    return real(given, name, QueryError)


def _kinds(kinds: object) -> tuple[str, ...]:
    listed = _texts("kinds", (kinds,) if isinstance(kinds, str) else kinds)
    if not listed:
        raise QueryError("kinds is empty: wanted at least one kind, or None")
    return listed


def _legs(options: Mapping[str, Any], embeds: bool) -> frozenset[str]:
    legs = options["legs"]
    wanted = frozenset(_texts("legs", (legs,) if isinstance(legs, str) else legs))
    if not wanted or wanted - frozenset(LEGS):
        raise QueryError(f"legs is {shown(legs)}: wanted one or both of {LEGS}")
    if wanted == {"vector"} and options["query_vector"] is None and not embeds:
        raise QueryError(NO_VECTOR)
    return wanted


def _texts(name: str, values: object) -> tuple[str, ...]:
    """Return a collection of texts as a tuple."""
    given = listed(values, name, QueryError, "a list of strings", MOST_TEXTS, of=str)
    return tuple([utf8(v, name, QueryError) for v in given])


def _count(name: str, value: object) -> int:
    return min(whole(value, name, QueryError, 1), MOST)


def thread_count(threads: object) -> int:
    """Return a number of threads; None is one for each core that this process may use.

    Raises:
        QueryError: not a whole number of at least 1.
    """
    if threads is None:
        cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        return len(cores)
    return min(_count("threads", threads), MOST_THREADS)
