"""What a vault and a federation share: search, explain, weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from septet.entry import Entry
from septet.profiles import ProfileLike, resolve
from septet.query.plan import Leg, Mode, Plan, make_plan
from septet.ranking.adaptive import Weights, weights_of
from septet.results import Results
from septet.search.run import run
from septet.tiers import Tier

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from typing_extensions import Unpack

    from septet.embedding.embeddings import Embeddings
    from septet.explanation import Explanation

__all__ = ["SearchOptions", "Searchable"]


class SearchOptions(TypedDict, total=False):
    """The keyword arguments of `Searchable.search`."""

    limit: int | None
    mode: Mode
    domain: str | None
    type: str | None
    severity: str | None
    tags: Sequence[str] | None
    kinds: str | Collection[str] | None
    where: Mapping[str, Any] | None
    profile: ProfileLike | None
    include_memories: bool
    include_expired: bool
    min_score: float | None
    max_tokens: int | None
    query_vector: Any
    model: str | None
    legs: Sequence[Leg] | Leg | None


DEFAULTS = SearchOptions(
    limit=None,
    mode="full",
    domain=None,
    type=None,
    severity=None,
    tags=None,
    kinds=None,
    where=None,
    profile=None,
    include_memories=False,
    include_expired=False,
    min_score=None,
    max_tokens=None,
    query_vector=None,
    model=None,
    legs=None,
)


class Searchable(ABC):
    """Something that can be searched: one vault, or several as tiers."""

    _profile: ProfileLike

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        mode: Mode = "full",
        domain: str | None = None,
        type: str | None = None,
        severity: str | None = None,
        tags: Sequence[str] | None = None,
        kinds: str | Collection[str] | None = None,
        where: Mapping[str, Any] | None = None,
        profile: ProfileLike | None = None,
        include_memories: bool = False,
        include_expired: bool = False,
        min_score: float | None = None,
        max_tokens: int | None = None,
        query_vector: Any = None,
        model: str | None = None,
        legs: Sequence[Leg] | Leg | None = None,
    ) -> Results:
        """Find the entries that answer a question, best first.

        Args:
            query: a question or some words, in any language; no character has a special meaning.
            limit: at most so many results. None: the profile's default (10), or everything when fewer than 50 entries
                match and the default would drop more than half of them (small-corpus guard).
            mode: ``full`` brings whole entries, ``scan`` light results to choose from; see `load`.
            domain: only this domain; also feeds the signal ``domain_match``.
            type: only this type.
            severity: only this severity.
            tags: feeds the signal ``tag_overlap``; to *filter* by tags use ``where={"tags": {"$in": [...]}}``.
            kinds: only these kinds of entries.
            where: filter on any field, applied before ranking: ``{"attrs.team": "core", "updated_at": {"$gte": t}}``;
                operators ``$eq $ne $gt $gte $lt $lte $in $nin $all $exists $contains``, ``$and $or $nor $not``.
            profile: a built-in name, a dict, a `Profile`, or a file; None for the vault's own (``septet``).
            include_memories: also search memories; each has the fixed score 0.5.
            include_expired: also search entries outside their validity window.
            min_score: drop results under this score.
            max_tokens: stop before the results exceed this many tokens, estimated as (characters of the whole entry
                and its tags) / 4; at least one result is kept.
            query_vector: the question as a vector, shape ``(d,)``; compared by cosine with vectors given to `add`.
            model: which model's vectors to compare with, when there are several.
            legs: ``"text"`` or ``"vector"`` narrows the search to one leg.

        Raises:
            QueryError: an argument that cannot be understood.
            VectorError: a query vector that fits no vector of the vault.
            StoreError: the vault cannot be read. Anything less is a note in ``results.notes``.
        """
        plan = self._plan(
            query,
            SearchOptions(
                limit=limit,
                mode=mode,
                domain=domain,
                type=type,
                severity=severity,
                tags=tags,
                kinds=kinds,
                where=where,
                profile=profile,
                include_memories=include_memories,
                include_expired=include_expired,
                min_score=min_score,
                max_tokens=max_tokens,
                query_vector=query_vector,
                model=model,
                legs=legs,
            ),
        )
        return run(self._tiers(), self._asked(plan), self._executor())

    def explain(self, query: str, id: str, **options: Unpack[SearchOptions]) -> Explanation:
        """Say why an entry ranked where it did in a search, or why it did not come back.

        Args:
            query: the question.
            id: the entry.
            **options: those of `search`.

        Raises:
            EntryNotFound: there is no such entry.
        """
        # A search needs none of it.
        from septet.search.explain import explain

        return explain(self._tiers(), self._asked(self._plan(query, options)), id)

    def weights(self, *, profile: ProfileLike | None = None, vectors: bool | None = None) -> Weights:
        """Return the weights of the signals that a search would use now, and why they are what they are.

        Args:
            vectors: the row for searches with a query vector; None finds out whether questions are embedded now.
        """
        chosen = resolve(self._profile if profile is None else profile)
        if vectors is None:
            vectors = self._embeds() and self._answering()
        return weights_of(chosen, "hybrid" if vectors else "text", self._feedback_counts())

    @abstractmethod
    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries by id, in the order asked; ids that do not exist are left out."""

    @abstractmethod
    def _embeds(self) -> bool:
        """Whether there is an embedder, or should be one."""

    @abstractmethod
    def _embeddings_of(self) -> Mapping[str, Embeddings]:
        """Return what embeds, by tier."""

    @abstractmethod
    def _tiers(self) -> Sequence[Tier]: ...

    @abstractmethod
    def _feedback_counts(self) -> Mapping[str, int]: ...

    @abstractmethod
    def _clock(self) -> float: ...

    def _executor(self) -> Executor | None:
        return None

    def _answering(self) -> bool:
        from septet.embedding.attach import can_embed_queries

        return can_embed_queries(self._embeddings_of())

    def _plan(self, query: str, options: SearchOptions) -> Plan:
        if unknown := sorted(set(options) - set(DEFAULTS)):
            raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
        full = {**DEFAULTS, **options}
        profile = full["profile"]
        chosen = self._profile if profile is None else profile
        now = float(self._clock())
        return make_plan(query, now=now, profile=chosen, options=full, embeds=self._embeds())  # type: ignore[arg-type]

    def _asked(self, plan: Plan) -> Plan:
        """Return the plan with the question embedded for every tier that has vectors."""
        if not self._embeds():
            return plan
        from septet.embedding.attach import with_query_vectors

        return with_query_vectors(plan, self._embeddings_of(), self._executor())
