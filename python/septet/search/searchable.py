"""Search, explain and weights: the common base of vaults and federations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from septet.errors import QueryError, TierError
from septet.inputs.arguments import flag, listed, shown, utf8
from septet.model.entry import Entry
from septet.model.results import Results
from septet.profiles import ProfileLike, resolve
from septet.query.options import (
    DEFAULTS,
    RECALL_OPTIONS,
    RecallOptions,
    SearchOptions,
    takes_options,
    takes_recall_options,
    unexpected,
)
from septet.query.plan import MEMORY, SearchPlan, make_plan, thread_count
from septet.ranking.score import Weights, weights_of
from septet.search.federated import FederatedSearch
from septet.search.run import results_of, run
from septet.tiers import Tier
from septet.tiers.protocol import SearchAgain
from septet.watch import log
from septet.watch.hooks import SLOW_MS, STAGES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from septet.embedding.embeddings import Embeddings
    from septet.model.explanation import Explanation
    from septet.search.threads import TierThreads
    from septet.watch.hooks import Watch

#: Maximum queries per call: their results are in memory together.
MOST_QUERIES = 1_000_000


class Searchable(ABC):
    """A vault, or several vaults as tiers, with search methods."""

    _profile: ProfileLike
    #: Hooks and spans; None for none.
    _watch: Watch | None = None

    @takes_options
    def search(self, query: str, **options: Unpack[SearchOptions]) -> Results:
        """Return the entries that answer a query, best first.

        Args:
            query: a question or keywords, in any language; no character has a special meaning.
            limit: maximum number of results. None takes the profile's default (10), or returns every match if fewer
                than 50 entries match and the default would drop more than half of them (small-corpus guard). The limit
                also sets the candidates per leg (three times the limit, at least 30), and so may change the order.
            offset: number of best results to skip. Pages of the same limit are consistent: none repeats or skips a
                result of another, and the first is the search without an offset. Later pages take more candidates, so
                their scores may be higher than those of the previous page.
            words: words that results must contain or lack, a dict of texts or lists of texts: ``must`` keeps entries
                that contain all of them, in any field and order; ``must_not`` skips entries that contain any;
                ``phrase`` keeps entries that contain the words in a row in one field, for a list all phrases;
                ``prefix`` keeps entries with a word that has this prefix, True takes the last word of the query, for
                search as you type. A filter for words and vectors alike, matched by FTS5 (stems, without accents; in
                scripts without blanks by pairs of characters). Words of ``must`` and ``phrase``, and the 32 most
                frequent words with the prefix, are added to the query. No character has a special meaning. At most 100
                words.
            syntax: ``"web"`` parses operators as web searches do: ``"two words"`` in a row, ``+word``, ``-word``,
                ``begin*``, ``field:value`` and ``-field:value`` for domain, type, severity, kind, tag, source, trust,
                parent, id, path and attrs.NAME, ``created:2026-11``, ``updated:>=2026-01-01``. Malformed or unknown
                operators are ordinary text, so no query raises; ``results.understood`` is the parsed query. A query of
                only filters lists the entries that pass, the newest first, with a note (``no_terms``). Combines with
                ``words``, ``where`` and the others. At most 32 operators, of at most 100 characters each.
            typos: correct words that no entry contains, by one edit for up to five letters, by two for longer words: a
                note ``did_you_mean`` lists the nearest words. They are searched only if the search finds nothing, also
                by vectors. None takes the profile's setting: True, except in the documented ones.
            mode: ``full`` returns whole entries, ``scan`` light results; see `load`.
            domain: only this domain; also feeds the signal ``domain_match``.
            boost_tags: rank entries with these tags higher, by the signal ``tag_overlap``; to *filter* by tags use
                ``where={"tags": {"$in": [...]}}``.
            where: filter on any field, applied before ranking: ``{"attrs.team": "core", "updated_at": {"$gte": t}}``;
                operators ``$eq $ne $gt $gte $lt $lte $in $nin $all $exists $contains``, ``$and $or $nor $not``. At most
                1,000,000 values in a list, 100,000 filters in one, and 1,000 comparisons, where a list of values, or
                of equalities of one field, counts as one.
            profile: a built-in name, a dict, a `Profile`, or a file; None for the vault's own (``septet``).
            include_expired: also search entries outside their validity window.
            as_of: search entries valid at this time instead of now, and compute ages from it: epoch seconds or an aware
                datetime. Entries are searched in their current version; `Vault.history` has earlier ones.
            min_score: drop results below this score.
            min_confidence: drop results below this confidence, 0 to 1; at 0.5 an answer is as likely as not.
            max_tokens: skip results that would exceed this many tokens, and continue with the next; the note
                ``over_budget`` lists them. A result takes (characters of the whole entry and its tags) / 4 tokens, in
                mode ``scan`` (characters of the texts in `Hit.to_dict`) / 4. The documented profiles stop there
                instead, and always keep the first.
            query_vector: the query as a vector, shape ``(d,)``; compared by cosine with vectors given to `add`.
            model: the model whose vectors to compare with, when there are several.
            legs: ``"text"`` or ``"vector"`` restricts the search to one leg.
            group_by: ``"parent"`` merges entries with the same parent into one result: the best of them, with the
                others in ``hit.parts``, best first. The limit counts groups.
            diversity: penalty for similar results, 0 to 1. The next result is the candidate with the highest
                ``(1 - diversity) * score / best score - diversity * maximum similarity to the results before it``
                (maximal marginal relevance: Carbonell and Goldstein 1998); similarity is the cosine of vectors, at
                least 0, or common / all words if either has no vector (note ``diversity_by_words``). Scores do not
                change. Excludes ``offset`` and ``group_by``, as does a reranker.
            rerank: the folder of a local model (see `LocalReranker`), or a function of the query and the 50 best whole
                hits that returns a number per hit, higher is better (see `Reranker`), or a `Reranking` with other
                limits. Reranked hits come first, in its order; ``hit.raw["reranker"]`` is the number, and scores do not
                change. It runs on a separate thread, once per query, after the vaults are released. Hits that are not
                scored in 10 s follow (note ``reranker_late``); if it raises, or returns anything but a finite number
                per hit, the order does not change (``reranker_failed``). With ``diversity``, it replaces the score.
            timeout_s: time limit in seconds, 0.01 to 86,400; returns the results available by then. Late tiers are
                skipped (note ``deadline``, and their `TierReport`), possibly all of them; embedding the query may take
                half of the time; links are not followed after the limit. For `search_many` the limit is for all
                queries. Late work continues in the background to the end of its step and then releases its vault. A
                vault in memory, reading the results, and ranking are never interrupted: they are short.
            tiers: a name or several: search only these tiers of a federation, as if there were no others. A vault is
                one tier, ``"vault"``.
            facets: fields, or ``(field, "month")`` for times: ``results.facets`` has the number of matches per value,
                for the fields of `Vault.facets`, times by ``"day"`` (the default), ``"month"`` or ``"year"``. At most
                16. The first such search reads the fields, in some tenths of a second for 100,000 entries.
            kinds: only these kinds of entries.
            include_memories: also search memories, as ``kinds`` or ``where`` with the kind ``memory`` do. They are
                scored like entries, in the documented profiles with a fixed 0.5.

        Raises:
            QueryError: an argument is malformed.
            ProfileError: an unknown or malformed profile.
            VectorError: the query vector matches no vectors of the vault.
            TierError: an unknown tier in ``tiers``.
            StoreError: the vault cannot be read. Other failures are notes in ``results.notes``.
        """
        if (self._watch is not None or log.searches_heard(log.DEBUG)) and STAGES.get() is None:
            # Imported late: most searches have no hook.
            from septet.watch.watching import searched

            return cast("Results", searched(self, "search", Searchable.search, (query,), options))
        plan = self._plan(query, options)
        tiers = self._tiers() if plan.tiers is None else self._named_tiers(plan.tiers)
        results = run(tiers, [self._embedded(plan)], self._tier_threads())[0]
        if plan.web is not None and plan.filters_alone and not results.hits:
            from septet.search.fallbacks import as_list

            results = as_list(self._asked_listings, plan, results)
        if (results.notes or results.took_ms > SLOW_MS) and log.is_used() and STAGES.get() is None:
            # Imported late: most programs do not log.
            from septet.watch.watching import tell_results

            tell_results(self, results)
        return results

    @takes_recall_options
    def recall(self, query: str, limit: int | None = None, **options: Unpack[RecallOptions]) -> Results:
        """Return the memories (see `Vault.remember`) that answer a query, best first.

        Args:
            query: as for `search`.
            limit: as for `search`.
            **options: the other options of `search`, except ``kinds`` and ``include_memories``.

        Raises:
            QueryError: as for `search`.
            ProfileError: as for `search`.
            VectorError: as for `search`.
            TierError: as for `search`.
            StoreError: as for `search`.
        """
        if not options.keys() <= RECALL_OPTIONS:
            raise unexpected("recall", options, RECALL_OPTIONS)
        return self.search(query, limit=limit, kinds=MEMORY, **options)

    @takes_options
    def search_many(
        self,
        queries: Sequence[str],
        *,
        query_vectors: ArrayLike | Sequence[ArrayLike | None] | None = None,
        threads: int | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Results]:
        """Search for many queries at once; the results equal those of single searches.

        Threads find candidates ahead: one native call for up to 64 queries, without the GIL and with one pass over
        the codes. The calling thread ranks and reads the results, and finds candidates too while none are ready.

        Args:
            queries: as for `search`.
            query_vectors: one vector per query: shape ``(q, d)``, or a sequence with None for a query without one.
            threads: number of threads, including the calling one; None for one per core. A vault in memory uses one.
            **options: those of `search`, for all queries, except ``query_vector``.

        Returns:
            The results in the order of the queries; ``took_ms`` counts from the start of the query's batch.

        Raises:
            QueryError: an argument is malformed, or the number of vectors differs from that of queries.
            ProfileError: as for `search`.
            VectorError: as for `search`.
            TierError: as for `search`.
            StoreError: as for `search`.
        """
        texts = listed(queries, "queries", QueryError, "a sequence of queries", MOST_QUERIES, of=str)
        if options.get("query_vector") is not None:
            raise QueryError("search_many takes query_vectors=, one for each query, not query_vector=")
        expected = "one vector for each query"
        vectors = (
            [None] * len(texts)
            if query_vectors is None
            else listed(query_vectors, "query_vectors", QueryError, expected, MOST_QUERIES)
        )
        if len(vectors) != len(texts):
            raise QueryError(f"there are {len(vectors)} query_vectors for {len(texts)} queries: wanted one for each")
        if not texts:
            return []
        workers = min(thread_count(threads), len(texts))
        # Options are checked once, with the first query.
        base = self._plan(texts[0], {**options, "query_vector": vectors[0]}, "search_many")
        if base.web is not None or (options.get("words") or {}).get("prefix") is True:
            # Each query has its own filters.
            return [self.search(text, **{**options, "query_vector": v}) for text, v in zip(texts, vectors)]
        tiers = self._tiers() if base.tiers is None else self._named_tiers(base.tiers)
        embeds = self._embeds()
        plans = [self._embedded(base.of_query(text, vector, embeds)) for text, vector in zip(texts, vectors)]
        if base.alone:
            return run(tiers, plans, self._tier_threads())
        results_by_query = cast("list[Results]", [None] * len(plans))
        # A reranker may be slow, and may fork: no other part may have an open read then.
        if base.reranking is not None or not all(tier.crosses_threads for tier in tiers):
            workers = 1
        # Imported late: single searches do not need it.
        from septet.search.threads import parts_of
        from septet.system.threads import worked_ahead

        parts = parts_of(plans, workers)
        tier_threads = self._tier_threads()
        opened = (FederatedSearch(tiers, [plans[i] for i in part]) for part in parts)
        find = partial(FederatedSearch.find_candidates, threads=tier_threads)
        ahead = worked_ahead(find, opened, workers, discard=FederatedSearch.close)
        try:
            # `ahead` first, so that `zip` exhausts it.
            for search, part in zip(ahead, parts):
                for i, results in zip(part, results_of(search)):
                    results_by_query[i] = results
        except SearchAgain:
            # The damaged file is no longer used. Run each part again; `run` retries by itself.
            for part in parts:
                for i, results in zip(part, run(tiers, [plans[i] for i in part], tier_threads)):
                    results_by_query[i] = results
        finally:
            ahead.close()
        return results_by_query

    @takes_options
    def explain(self, query: str, id: str, **options: Unpack[SearchOptions]) -> Explanation:
        """Explain the rank of an entry in a search, or its absence from the results.

        If the entry is not returned, a few searches with changed options look for one that returns it.

        Args:
            query: as for `search`.
            id: the entry.
            **options: those of `search`.

        Raises:
            EntryNotFound: no entry has this id.
            QueryError: as for `search`.
            ProfileError: as for `search`.
            VectorError: as for `search`.
            TierError: as for `search`.
            StoreError: the vault cannot be read.
        """
        from septet.search.explain import explain  # searches do not load it

        entry_id = utf8(id, "id", QueryError)
        plan = self._plan(query, options, "explain")
        tiers = self._tiers() if plan.tiers is None else self._named_tiers(plan.tiers)
        embedded = self._embedded(plan)
        explanation = explain(tiers, embedded, entry_id)
        if explanation.found:
            return explanation
        from septet.search.remedy import Attempt, remedy_of

        def again(changes: Mapping[str, Any]) -> Attempt:
            changed = {"query": query, **options, **changes}
            other = self._plan(changed.pop("query"), changed, "explain")
            # Reuse the embedding of an unchanged query.
            same = other.query.text == embedded.query.text and other.legs == embedded.legs
            other = other._replace(embeddings=embedded.embeddings) if same else self._embedded(other)
            return Attempt(other, explain(tiers, other, entry_id))

        title = next((entry.title for entry in self.load([entry_id])), "")
        return replace(
            explanation, remedy=remedy_of(Attempt(embedded, explanation), {**options, "query": query}, title, again)
        )

    def weights(self, *, profile: ProfileLike | None = None, vectors: bool | None = None) -> Weights:
        """Return the current weights of the signals, and the feedback that adapted them.

        Args:
            profile: as for `search`.
            vectors: True for searches with a query vector; None to detect if queries are embedded now.

        Raises:
            ProfileError: an unknown or malformed profile.
            QueryError: ``vectors`` is neither True, False nor None.
            StoreError: the vault cannot be read.
        """
        chosen = resolve(self._profile if profile is None else profile)
        if vectors is not None:
            flag(vectors, "vectors", QueryError)
        else:
            vectors = self._embeds() and self._answering()
        return weights_of(chosen, "hybrid" if vectors else "text", self._feedback_counts())

    @abstractmethod
    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries in the order of the ids; unknown ids are skipped."""

    @abstractmethod
    def _embeds(self) -> bool:
        """Return True if an embedder exists or is configured."""

    @abstractmethod
    def _embeddings_of(self) -> Mapping[str, Embeddings]:
        """Return the embedder of each tier."""

    @abstractmethod
    def _tiers(self) -> Sequence[Tier]: ...

    @abstractmethod
    def _feedback_counts(self) -> Mapping[str, int]: ...

    @abstractmethod
    def _clock(self) -> float: ...

    @abstractmethod
    def _asked_listings(self, query: Any, as_of: float | None, tiers: Any) -> list[tuple[str, Any]]: ...

    def _tier_threads(self) -> TierThreads | None:
        return None

    def _named_tiers(self, names: frozenset[str]) -> Sequence[Tier]:
        """Return the tiers of these names, the highest first.

        Raises:
            TierError: an unknown tier.
        """
        tiers = self._tiers()
        if unknown := names - {tier.name for tier in tiers}:
            known = ", ".join(shown(tier.name) for tier in tiers)
            raise TierError(f"there is no tier {shown(min(unknown))}; available: {known}")
        return [tier for tier in tiers if tier.name in names]

    def _answering(self) -> bool:
        from septet.embedding.attach import can_embed_queries

        return can_embed_queries(self._embeddings_of())

    def _plan(self, query: str, options: Mapping[str, Any], method: str = "search") -> SearchPlan:
        full = {**DEFAULTS, **options}
        if len(full) != len(DEFAULTS):
            raise unexpected(method, options)
        profile = full["profile"]
        chosen = self._profile if profile is None else profile
        if (rerank := full["rerank"]) is not None and not callable(rerank):
            from septet.embedding.attach import loaded_reranker

            full["rerank"] = loaded_reranker(rerank)
        now = self._clock()
        plan = make_plan(query, now=now, profile=chosen, options=full, embeds=self._embeds())
        if (stages := STAGES.get()) is not None:
            stages.mark("plan")
        return plan

    def _embedded(self, plan: SearchPlan) -> SearchPlan:
        """Return the plan with the query embedded for every tier that has vectors."""
        if not self._embeds():
            return plan
        from septet.embedding.attach import with_query_vectors

        threads, watch, embeddings = self._tier_threads(), self._watch, self._embeddings_of()
        if plan.tiers is not None:
            embeddings = {name: embedder for name, embedder in embeddings.items() if name in plan.tiers}
        span = None if watch is None or watch.tracer is None else watch.tracer.embed()
        try:
            embedded = with_query_vectors(plan, embeddings, None if threads is None else threads.executor)
        finally:
            if span is not None:
                span.close()
        if (stages := STAGES.get()) is not None:
            stages.mark("embed")
        return embedded
