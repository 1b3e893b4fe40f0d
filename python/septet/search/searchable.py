"""What a vault and a federation share: search, explain, weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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
from septet.query.plan import MEMORY, Plan, make_plan, thread_count
from septet.ranking.adaptive import Weights, weights_of
from septet.search.federated import FederatedSearch
from septet.search.run import recalled, results_of, run
from septet.tiers import Tier
from septet.tiers.protocol import SearchAgain
from septet.watch import log
from septet.watch.stages import SLOW_MS, STAGES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from septet.embedding.embeddings import Embeddings
    from septet.model.explanation import Explanation
    from septet.search.tier_threads import TierThreads
    from septet.watch.hooks import Watch

__all__ = ["Searchable"]


#: So many queries one call takes: their results are in memory together.
MOST_QUERIES = 1_000_000


class Searchable(ABC):
    """Something that can be searched: one vault, or several as tiers."""

    _profile: ProfileLike
    #: Hooks and spans; None for none.
    _watch: Watch | None = None

    @takes_options
    def search(self, query: str, **options: Unpack[SearchOptions]) -> Results:
        """Find the entries that answer a query, best first.

        Args:
            query: a question or keywords, in any language; no character has a special meaning.
            limit: the most results to return. None takes the profile's default (10), or returns every match when fewer
                than 50 entries match and the default would drop more than half of them (small-corpus guard). It also
                decides how many candidates each leg takes (three times the limit, at least 30), and so may change
                the order.
            offset: leave out so many of the best results. Pages of the same limit fit together: none repeats or leaves
                out a result of another, and the first is the search without an offset. Later pages take more
                candidates, so their scores need not be lower than those of the page before.
            must: words, or a list of texts: only entries that hold all of them, in any field and any order. Like
                ``must_not``, ``phrase`` and ``prefix`` a filter for words and vectors alike, matched by FTS5 (stems,
                without accents; in scripts without blanks by pairs of characters); the words also count as words of the
                query. No character has a special meaning. At most 100 words in all four.
            must_not: likewise: no entry that holds any of them.
            phrase: likewise: only entries that hold the words one after the other in one field; of a list, all phrases.
            prefix: only entries with a word that begins so; True takes the last word of the query, for a search as one
                types. The 32 most frequent of the words that begin so count as words of the query.
            syntax: ``"web"`` takes signs in the query as web searches do: ``"two words"`` in a row, ``+word``,
                ``-word``, ``begin*``, ``field:value`` and ``-field:value`` for domain, type, severity, kind, tag,
                source, trust, parent, id, path and attrs.NAME, ``created:2026-11``, ``updated:>=2026-01-01``. What is
                malformed or unknown is ordinary text, so no query is an error; ``results.understood`` says what was
                understood. A query of filters alone lists what passes, the newest first, with a note (``no_terms``).
                It holds beside ``must``, ``where`` and the others. 32 signs count, of at most 100 characters each.
            typos: guess at words that no entry holds, by one edit for up to five letters, by two for more: a note
                ``did_you_mean`` names the nearest words. They are searched for only where the search finds
                nothing, by vectors neither. None is what the profile says: yes, but in the documented ones.
            mode: ``full`` returns whole entries, ``scan`` light results to choose from; see `load`.
            domain: only this domain; also feeds the signal ``domain_match``.
            type: only this type.
            severity: only this severity.
            tags: feeds the signal ``tag_overlap``; to *filter* by tags use ``where={"tags": {"$in": [...]}}``.
            where: filter on any field, applied before ranking: ``{"attrs.team": "core", "updated_at": {"$gte": t}}``;
                operators ``$eq $ne $gt $gte $lt $lte $in $nin $all $exists $contains``, ``$and $or $nor $not``. At most
                1,000,000 values in a list, 100,000 filters in one, and 1,000 comparisons, where a list of values, or
                of equalities of one field, counts as one.
            profile: a built-in name, a dict, a `Profile`, or a file; None for the vault's own (``septet``).
            include_expired: also search entries outside their validity window.
            as_of: search what was valid at this time rather than now, and judge ages by it: epoch seconds or an aware
                datetime. Entries are found as they are now; `Vault.history` has what they were.
            min_score: drop results under this score.
            min_confidence: drop results of less confidence, 0 to 1; 0.5 is where an answer is as likely as none.
            max_tokens: leave out results that would exceed this many tokens, and go on with the next; the note
                ``over_budget`` says what was left out. A result takes (characters of the whole entry and its tags) / 4
                tokens, in mode ``scan`` (characters of the texts in `Hit.to_dict`) / 4. The documented profiles stop
                there instead, and always keep the first.
            query_vector: the query as a vector, shape ``(d,)``; compared by cosine with vectors given to `add`.
            model: the model whose vectors to compare with, when there are several.
            legs: ``"text"`` or ``"vector"`` restricts the search to one leg.
            group_by: ``"parent"`` makes one result of all entries with the same parent: the best of them, with the
                others in ``hit.parts``, best first. The limit counts groups.
            diversity: how much unlike each other results should be, 0 to 1. The next result is the candidate with the
                highest ``(1 - diversity) * score / best score - diversity * likeness to the most alike before
                it`` (maximal marginal relevance: Carbonell and Goldstein 1998); likeness is the cosine of vectors, at
                least 0, and of words, common / all, where one has none (note ``diversity_by_words``). Scores stay as
                they are. Not together with ``offset`` or ``group_by``, and the same goes for a reranker.
            reranker: a function of the query and the best hits, whole, that returns a number for each, higher is better
                (see `Reranker`). They come back in its order, before all others; ``hit.raw["reranker"]`` is the number,
                and scores stay as they are. It runs on a thread of its own, once for each query, when the vaults have
                been let go of. If it raises, is late, or gives anything but a finite number for each hit, the order
                stays (note ``reranker_failed``). With ``diversity``, its numbers count as the score.
            rerank_top: so many of the best hits are reranked, 1 to 1,000; each leg takes at least as many candidates.
            rerank_timeout_s: how many seconds it has, 0.01 to 86,400, and no more than are left of ``timeout_s``.
            timeout_s: answer after so many seconds with what was found by then, 0.01 to 86,400. A tier that is late is
                left out (note ``deadline``, and its `TierReport`), if need be all of them; embedding the query gets
                half of the time, following links none when it is over. For `search_many` it is the time for all
                queries. What is late goes on in the background to the end of its step and then lets go of its vault. A
                vault in memory, reading what is returned, and ranking are never interrupted: they are short.
            tiers: a name or several: search only these tiers of a federation, as if there were no others. A vault is
                one tier, ``"vault"``.
            facets: fields, or ``(field, "month")`` for times: ``results.facets`` has how many of all matches have each
                value, by the fields of `Vault.facets`, times by ``"day"`` (the default), ``"month"`` or ``"year"``. At
                most 16. The first such search reads the fields, in some tenths of a second for 100,000 entries.
            kinds: only these kinds of entries.
            include_memories: also search memories, as ``kinds`` or ``where`` do by naming the kind ``memory``. They are
                scored like entries, in the documented profiles with a fixed 0.5.

        Raises:
            QueryError: an argument cannot be understood.
            ProfileError: an unknown or malformed profile.
            VectorError: the query vector fits no vectors of the vault.
            TierError: ``tiers`` names one that does not exist.
            StoreError: the vault cannot be read. Anything less is a note in ``results.notes``.
        """
        if (self._watch is not None or log.searches_heard(log.DEBUG)) and STAGES.get() is None:
            # Most searches are watched by nobody.
            from septet.watch.watching import searched

            return cast("Results", searched(self, "search", Searchable.search, (query,), options))
        plan = self._plan(query, options)
        tiers = self._tiers() if plan.tiers is None else self._named_tiers(plan.tiers)
        results = run(tiers, [self._asked(plan)], self._tier_threads())[0]
        if plan.web is not None and plan.filters_alone and not results.hits:
            from septet.search.listed import as_list

            results = as_list(self._asked_listings, plan, results)
        if (results.notes or results.took_ms > SLOW_MS) and STAGES.get() is None:
            from septet.watch.watching import tell_results

            tell_results(self, results)
        return results

    @takes_recall_options
    def recall(self, query: str, limit: int | None = None, **options: Unpack[RecallOptions]) -> Results:
        """Find the memories that answer a query, best first: what `Vault.remember` stored, and nothing else.

        Args:
            query: as for `search`.
            limit: as for `search`.
            **options: the other options of `search`, apart from ``kinds`` and ``include_memories``.

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

        Threads recall candidates ahead: one native call for up to 64 queries, without the interpreter lock and with one
        pass over the codes. This thread ranks and reads what was found, and recalls too while nothing is ready for it.

        Args:
            queries: as for `search`.
            query_vectors: a vector for each query: shape ``(q, d)``, or a sequence with None for a query without one.
            threads: how many threads work, this one among them; None takes one per core. A vault in memory takes one.
            **options: those of `search`, for all queries; ``query_vector`` is not one of them.

        Returns:
            The results in the order of the queries; ``took_ms`` counts from the start of the share
            that a query is in.

        Raises:
            QueryError: an argument cannot be understood, or there is not one vector for each query.
            ProfileError: as for `search`.
            VectorError: as for `search`.
            TierError: as for `search`.
            StoreError: as for `search`.
        """
        texts = listed(queries, "queries", QueryError, "a sequence of queries", MOST_QUERIES, of=str)
        if options.get("query_vector") is not None:
            raise QueryError("search_many takes query_vectors=, one for each query, and no query_vector=")
        wanted = "one vector for each query"
        vectors = (
            [None] * len(texts)
            if query_vectors is None
            else listed(query_vectors, "query_vectors", QueryError, wanted, MOST_QUERIES)
        )
        if len(vectors) != len(texts):
            raise QueryError(f"there are {len(vectors)} query_vectors for {len(texts)} queries: wanted one for each")
        if not texts:
            return []
        workers = min(thread_count(threads), len(texts))
        # The first query stands for all where options are checked.
        base = self._plan(texts[0], {**options, "query_vector": vectors[0]}, "search_many")
        if base.web is not None or options.get("prefix") is True:
            # Each query has filters of its own.
            return [self.search(text, **{**options, "query_vector": v}) for text, v in zip(texts, vectors)]
        tiers = self._tiers() if base.tiers is None else self._named_tiers(base.tiers)
        embeds = self._embeds()
        plans = [self._asked(base.of_query(text, vector, embeds)) for text, vector in zip(texts, vectors)]
        if base.alone:
            return run(tiers, plans, self._tier_threads())
        found = cast("list[Results]", [None] * len(plans))
        # A reranker may take long, and may fork: no read of another part lasts meanwhile.
        if base.reranking is not None or not all(tier.crosses_threads for tier in tiers):
            workers = 1
        # Single searches do without.
        from septet.search.parts import parts_of

        parts = parts_of(plans, workers)
        tier_threads = self._tier_threads()

        def recall(search: FederatedSearch) -> None:
            recalled(search, tier_threads)

        opened = (FederatedSearch(tiers, [plans[i] for i in part]) for part in parts)
        from septet.system.threads import worked_ahead

        ahead = worked_ahead(recall, opened, workers, discard=FederatedSearch.close)
        try:
            # In this order, so that the last step of `ahead` is taken here.
            for search, part in zip(ahead, parts):
                for i, results in zip(part, results_of(search)):
                    found[i] = results
        except SearchAgain:
            # Whatever was damaged is not used any more: in one piece, which begins again by itself.
            for part in parts:
                for i, results in zip(part, run(tiers, [plans[i] for i in part], tier_threads)):
                    found[i] = results
        finally:
            ahead.close()
        return found

    @takes_options
    def explain(self, query: str, id: str, **options: Unpack[SearchOptions]) -> Explanation:
        """Explain why an entry ranks where it does in a search, or why the search does not return it.

        What is not returned is searched for a few times more, with changes, to find one that brings it back.

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
        asked = self._asked(plan)
        told = explain(tiers, asked, entry_id)
        if told.found:
            return told
        from septet.search.remedy import Attempt, remedy_of

        def again(changes: Mapping[str, Any]) -> Attempt:
            changed = {"query": query, **options, **changes}
            other = self._plan(changed.pop("query"), changed, "explain")
            # The same words need not be embedded again.
            same = other.query.text == asked.query.text and other.legs == asked.legs
            other = other._replace(embeddings=asked.embeddings) if same else self._asked(other)
            return Attempt(other, explain(tiers, other, entry_id))

        title = next((entry.title for entry in self.load([entry_id])), "")
        return replace(told, remedy=remedy_of(Attempt(asked, told), {**options, "query": query}, title, again))

    def weights(self, *, profile: ProfileLike | None = None, vectors: bool | None = None) -> Weights:
        """Return the weights that a search would give the signals now, and what moved them.

        Args:
            profile: as for `search`.
            vectors: the weights of searches with a query vector; None finds out whether queries are embedded now.

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
        """Return whole entries in the order of the ids; ids that do not exist are left out."""

    @abstractmethod
    def _embeds(self) -> bool:
        """Return whether there is an embedder, or should be one."""

    @abstractmethod
    def _embeddings_of(self) -> Mapping[str, Embeddings]:
        """Return what embeds, by tier."""

    @abstractmethod
    def _tiers(self) -> Sequence[Tier]: ...

    @abstractmethod
    def _feedback_counts(self) -> Mapping[str, int]: ...

    @abstractmethod
    def _clock(self) -> float: ...

    @abstractmethod
    def _asked_listings(self, asked: Any, as_of: float | None, tiers: Any) -> list[tuple[str, Any]]: ...

    def _tier_threads(self) -> TierThreads | None:
        return None

    def _named_tiers(self, names: frozenset[str]) -> Sequence[Tier]:
        """Return the tiers of these names, the highest first.

        Raises:
            TierError: one of them does not exist.
        """
        tiers = self._tiers()
        if unknown := names - {tier.name for tier in tiers}:
            known = ", ".join(shown(tier.name) for tier in tiers)
            raise TierError(f"there is no tier {shown(min(unknown))}: known are {known}")
        return [tier for tier in tiers if tier.name in names]

    def _answering(self) -> bool:
        from septet.embedding.attach import can_embed_queries

        return can_embed_queries(self._embeddings_of())

    def _plan(self, query: str, options: Mapping[str, Any], method: str = "search") -> Plan:
        full = {**DEFAULTS, **options}
        if len(full) != len(DEFAULTS):
            raise unexpected(method, options)
        profile = full["profile"]
        chosen = self._profile if profile is None else profile
        now = self._clock()
        plan = make_plan(query, now=now, profile=chosen, options=full, embeds=self._embeds())
        if (stages := STAGES.get()) is not None:
            stages.mark("plan")
        return plan

    def _asked(self, plan: Plan) -> Plan:
        """Return the plan with the query embedded for every tier that has vectors."""
        if not self._embeds():
            return plan
        from septet.embedding.attach import with_query_vectors

        threads, watch, embeddings = self._tier_threads(), self._watch, self._embeddings_of()
        if plan.tiers is not None:
            embeddings = {name: own for name, own in embeddings.items() if name in plan.tiers}
        span = None if watch is None or watch.tracer is None else watch.tracer.embed()
        try:
            embedded = with_query_vectors(plan, embeddings, None if threads is None else threads.executor)
        finally:
            if span is not None:
                span.close()
        if (stages := STAGES.get()) is not None:
            stages.mark("embed")
        return embedded
