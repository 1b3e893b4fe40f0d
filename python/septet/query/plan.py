"""Plan: all parameters of a search, resolved before any tier is searched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from septet.errors import QueryError
from septet.inputs.arguments import as_epoch, exact, listed, real, shown, utf8, whole
from septet.model.vector import QueryVector, Space, query_vector
from septet.notes import Note
from septet.profiles import ProfileLike, resolve
from septet.query.options import DEFAULTS, GroupBy, Leg, Mode
from septet.query.parse import TextQuery, parse, with_words
from septet.ranking.profile import Profile
from septet.system.host import host
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from septet.model.results import Reranking
    from septet.query.facets import Faceted
    from septet.query.filters import Filter
    from septet.query.refine import Deadline
    from septet.query.words import RequiredWords, Web

LEGS: tuple[Leg, ...] = ("text", "vector")
PLAIN = DEFAULTS["syntax"]
BOTH_LEGS: frozenset[str] = frozenset(LEGS)
MEMORY = "memory"
NO_VECTOR = "legs is 'vector', but there is neither a query_vector nor an embedder: pass one of them"
#: Maximum limit, in effect no limit; multiples of it still fit SQLite's integers.
MOST = 2**31 - 1
#: Initial estimate of candidates per group.
PARTS = 4
#: Maximum tags, kinds or legs of a search.
MOST_TEXTS = 10_000
#: Maximum characters of a query; only its first terms count, so most are cut much earlier.
MOST_QUERY_CHARS = 50_000_000
#: Maximum number of threads.
MOST_THREADS = 256


class QueryEmbedding(NamedTuple):
    """A tier's space, and the query's vector by its model."""

    space: Space
    vector: QueryVector


class SearchPlan(NamedTuple):
    """All parameters of a search.

    Attributes:
        limit: limit of the caller; None for the profile's default.
        candidates: number of candidates per leg and tier.
        filters: filters by name; every candidate of any leg passes all of them.
        now: time of validity and decay, epoch seconds.
        include_memories: True to return memories.
        scores_memories: True if memories are scored like entries; otherwise they have a fixed score.
        vector: vector of the query, or None.
        space: space of the vector; None lets the tier choose by ``model`` and dimension.
        embeddings: embeddings of the query by tier.
        notes: notes known before any tier is searched.
        corpus_columns: columns that the profile reads and tiers fill.
        comparable: True if corpus scores must be put on one scale, because several tiers are searched.
        needs_ids: True if candidates need ids, because several tiers may contain the same entry.
        group_by: ``parent`` merges entries of one parent into one result.
        deadline: time at which the search returns partial results; None waits for all.
        depth: number of best results to rearrange before the limit; None keeps the order of scores.
        diversity: penalty for likeness to earlier results, 0 to 1.
        reranking: reranker of the best results.
        scans_words: True to recall by TF-IDF cosine with the query's whole text.
        offset: number of best results to skip.
        required: words of options such as ``must``.
        tiers: tiers to search; None for all.
        typos: True to guess corrections of unknown words.
        facets: facets to count.
        web: parsed web syntax of the query.
        follows: True for a search that another one needs, which starts no background work.
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
    boost_tags: tuple[str, ...]
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
    required: RequiredWords | None = None
    tiers: frozenset[str] | None = None
    typos: bool = False
    web: Web | None = None
    facets: tuple[Faceted, ...] = ()
    follows: bool = False

    @property
    def alone(self) -> bool:
        """True if the query may need several searches, which excludes batching."""
        return self.group_by is not None or self.offset > 0 or self.is_deep

    @property
    def places(self) -> int | None:
        """Number of places decided by the candidates of one search, whatever the limit; None if the limit decides.

        Groups need more candidates, as several belong to one.
        """
        cuts = self.profile.cuts
        return None if cuts.factor else max(cuts.minimum // (2 if self.group_by is None else 2 * PARTS), 1)

    @property
    def is_deep(self) -> bool:
        """True if the limit exceeds the places that the candidates of one search decide."""
        return self.limit is not None and (places := self.places) is not None and self.limit > places

    def taken(self, *, compared: bool | None = None) -> int:
        """Return the number of candidates per leg: legs share them if the profile fixes their number.

        Args:
            compared: True if vectors are compared; None to infer it from the plan.
        """
        if compared is None:
            compared = self.vector is not None or bool(self.embeddings)
        shared = compared and not self.profile.cuts.factor and len(self.legs) > 1
        return -(-self.candidates // 2) if shared else self.candidates

    @property
    def filters_alone(self) -> bool:
        """True if a query in web syntax has filters but no words or vector to rank by."""
        words = self.query.terms or self.query.begun or self.vector is not None or self.embeddings
        return self.web is not None and bool(self.web.where) and not words

    @property
    def asks_text(self) -> bool:
        """True if the full text is searched: its leg is on and the query has terms."""
        return "text" in self.legs and bool(self.query.terms)

    @property
    def begins_words(self) -> bool:
        """True if the query has prefixes."""
        return bool(self.query.begun or (self.required is not None and self.required.without))

    @property
    def asks_vectors(self) -> bool:
        """True if vectors are searched: their leg is on, there is a query vector, and the query is not too vague."""
        if self.query.vague and "text" in self.legs:
            return False
        return "vector" in self.legs and self.vector is not None

    def of_tier(self, name: str) -> SearchPlan:
        """Return the plan for a tier, with its query vector if the query was embedded for it."""
        if not self.embeddings or (embedding := self.embeddings.get(name)) is None:
            return self
        return self._replace(vector=embedding.vector, model=embedding.space.model, space=embedding.space, embeddings={})

    def of_query(self, query: str, vector: ArrayLike | None, embeds: bool) -> SearchPlan:
        """Return the same plan for another query.

        Args:
            embeds: True if the query will be embedded.

        Raises:
            QueryError: the query is not text, or only vectors are searched and there is none.
            VectorError: the vector is not one-dimensional, or has NaN, infinite or only zero components.
        """
        if type(query) is not str or len(query) > MOST_QUERY_CHARS:
            query = utf8(query, "a query", QueryError, MOST_QUERY_CHARS)
        if vector is None and "text" not in self.legs and not embeds:
            raise QueryError(NO_VECTOR)
        parsed = parse(query, self.profile.text)
        if self.required is not None:
            parsed = with_words(parsed, self.required, self.profile.text)
        return self._replace(query=parsed, vector=None if vector is None else query_vector(vector))

    @property
    def most_hits(self) -> int:
        """Effective limit."""
        return self.profile.cuts.limit if self.limit is None else self.limit


def make_plan(
    query: str, *, now: float, profile: ProfileLike, options: Mapping[str, Any], embeds: bool = False
) -> SearchPlan:
    """Check a search's arguments (see `septet.Vault.search`) and build its plan.

    Args:
        embeds: True if the query will be embedded, so that a vector search needs no query vector.

    Raises:
        QueryError: an invalid argument.
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
        offset = min(whole(offset, "offset", QueryError, 0), MOST - 1)
        # Fixed page length: the small-corpus guard would put everything on one page.
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
    vector, tags, model = options["query_vector"], options["boost_tags"], options["model"]
    taken = max(cuts.factor * (cuts.limit if limit is None else limit), cuts.minimum)
    taken = taken if cuts.maximum is None or taken < cuts.maximum else cuts.maximum
    plan = SearchPlan(
        query=parse(query, chosen.text),
        profile=chosen,
        mode=mode,  # type: ignore[arg-type]
        limit=limit,
        candidates=taken * (PARTS if group_by else 1),
        filters=filters,
        now=now if options["as_of"] is None else as_epoch(options["as_of"], "as_of", QueryError) or 0.0,
        include_expired=options["include_expired"],
        include_memories=memories,
        scores_memories=memories and chosen.memory_score is None,
        legs=BOTH_LEGS if options["legs"] is None else _legs(options, embeds),
        boost_tags=() if tags is None else _texts("boost_tags", tags),
        domain=domain if domain is None or type(domain) is str else exact(domain),
        vector=None if vector is None else query_vector(vector),
        model=None if model is None else utf8(model, "model", QueryError),
        min_score=min_score,
        min_confidence=min_confidence,
        max_tokens=None if max_tokens is None else _count("max_tokens", max_tokens),
        corpus_columns=chosen.corpus_columns,
        group_by=group_by,  # type: ignore[arg-type]
        offset=offset,
        typos=chosen.text.typos if options["typos"] is None else options["typos"],
    )
    plain = web is options["words"] is None
    timed = options["timeout_s"] is options["diversity"] is options["rerank"] is None
    rest = timed and options["tiers"] is options["facets"] is None and not cuts.diversity
    return plan if plain and rest else _finer(plan if plain else _with_words(plan, options["words"], web), options)


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


def _with_words(plan: SearchPlan, words: object, web: Web | None) -> SearchPlan:
    # Imported here: most searches have no such options.
    from septet.query.words import required_words

    required = required_words(words, plan.query.text, web)
    query = with_words(plan.query, required, plan.profile.text)
    return plan._replace(query=query, filters={**plan.filters, **required.filters}, required=required, web=web)


def _finer(plan: SearchPlan, options: Mapping[str, Any]) -> SearchPlan:
    # Imported here: most searches use none of these options.
    from septet.query.refine import refinements

    return plan._replace(**refinements(options, plan.most_hits, plan.candidates, plan.profile.cuts.diversity))


def _filters(options: Mapping[str, Any], kinds: tuple[str, ...], web: Web | None) -> dict[str, Filter]:
    where, domain = options["where"], options["domain"]
    if where is domain is web is None and not kinds:
        return {}
    # Imported here: most searches have no filter.
    from septet.query.filters import Compare, compare_text, parse_where

    filters: dict[str, Filter] = {}
    if domain is not None:
        if not isinstance(domain, str):
            raise QueryError(
                f"domain is {shown(domain)}: wanted text; use where={{'domain': {{'$in': [...]}}}} for several"
            )
        filters["domain"] = compare_text("domain", domain)
    if kinds:
        # include_memories applies even if `kinds` names other kinds.
        filters["kinds"] = Compare("kind", "$in", (*kinds, MEMORY) if options["include_memories"] else kinds)
    if where is not None:
        filters.update(parse_where(where))
    return filters if web is None else {**filters, **web.filters}


def _asks_memories(filters: Mapping[str, Filter]) -> bool:
    from septet.query.filters import Compare, names

    for item in filters.values():
        # Checked inline first: most filters are on another field.
        if not (isinstance(item, Compare) and item.field != "kind") and names(item, "kind", MEMORY):
            return True
    return False


def _score(name: str, value: object) -> float:
    score = exact(value)
    if isinstance(score, float) and math.isinf(score):
        return score
    return real(score, name, QueryError)


def _kinds(kinds: object) -> tuple[str, ...]:
    names = _texts("kinds", (kinds,) if isinstance(kinds, str) else kinds)
    if not names:
        raise QueryError("kinds is empty: wanted at least one kind, or None")
    return names


def _legs(options: Mapping[str, Any], embeds: bool) -> frozenset[str]:
    legs = options["legs"]
    chosen = frozenset(_texts("legs", (legs,) if isinstance(legs, str) else legs))
    if not chosen or chosen - frozenset(LEGS):
        raise QueryError(f"legs is {shown(legs)}: wanted one or both of {LEGS}")
    if chosen == {"vector"} and options["query_vector"] is None and not embeds:
        raise QueryError(NO_VECTOR)
    return chosen


def _texts(name: str, values: object) -> tuple[str, ...]:
    """Check a collection of texts; return it as a tuple."""
    texts = listed(values, name, QueryError, "a list of strings", MOST_TEXTS, of=str)
    return tuple([utf8(v, name, QueryError) for v in texts])


def _count(name: str, value: object) -> int:
    return min(whole(value, name, QueryError, 1), MOST)


def thread_count(threads: object) -> int:
    """Return the number of threads; None means one per core available to this process.

    Raises:
        QueryError: not an integer of at least 1.
    """
    if threads is None:
        return host.cores()
    return min(_count("threads", threads), MOST_THREADS)
