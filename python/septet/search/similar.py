"""What a vault and a federation share to find entries like an entry, a text or a vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from septet.errors import EntryNotFound, QueryError, SeptetError, VectorError
from septet.inputs.arguments import real, shown, utf8, whole
from septet.model.results import Results
from septet.model.vector import QueryVector, query_vector
from septet.profiles.builtin import SIMILAR, SIMILAR_WORDS
from septet.query.options import DEFAULTS
from septet.query.parse import TextQuery
from septet.query.plan import MOST_QUERY_CHARS, Plan, make_plan
from septet.search.federated import next_attempt
from septet.search.run import run
from septet.search.searchable import Searchable
from septet.tiers.protocol import Likeness, SearchAgain, Tier

if TYPE_CHECKING:
    from septet.embedding.embeddings import Embeddings

__all__ = ["FindsSimilar", "Like"]

#: The least that is similar. Vectors are compared as float32: those at a right angle have cosines of up to 1e-7.
LEAST = 1e-6
#: At most so many similar entries in one call.
MOST_SIMILAR = 1_000_000


class Like(NamedTuple):
    """What entries are compared with.

    Attributes:
        words: what full text sees of it.
        document: what is embedded of it.
        vector: its vector, compared if there is one; otherwise the document is embedded, if that can be.
        model: whose vector it is, or who embeds; None for whoever fits.
        left_out: entries that are not similar to themselves.
    """

    words: str = ""
    document: str = ""
    vector: QueryVector | None = None
    model: str | None = None
    left_out: frozenset[str] = frozenset()


class FindsSimilar(Searchable):
    """Something in which entries like another one are found."""

    def _similar(
        self, given: Mapping[str, object], limit: object, least: object, options: Mapping[str, object], tier: str | None
    ) -> Results:
        """Check the arguments of `Vault.similar` and answer it.

        Args:
            given: ``id``, ``text`` and ``vector``, of which one is not None.
            tier: search this one alone.
        """
        base = self._like_plan(limit, least, options)
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            seen = " and ".join(f"{name}=" for name in named) or "nothing"
            raise QueryError(f"similar() got {seen}: wanted exactly one of an id, text= and vector=")
        tiers, embeddings = [t for t in self._tiers() if tier in (None, t.name)], self._embeddings_of()
        embeddings = {name: one for name, one in embeddings.items() if tier in (None, name)}
        said = ""
        if given["text"] is not None:
            said = utf8(given["text"], "text", QueryError, MOST_QUERY_CHARS)
            like = Like(said, said, model=base.model)
        elif given["vector"] is not None:
            like = Like(vector=query_vector(given["vector"]), model=base.model)  # type: ignore[arg-type]
        else:
            said = utf8(given["id"], "id", QueryError)
            like = _of_entry(tiers, base, said)
        return replace(self._nearest(like, base, tiers, embeddings), query=said)

    def _like_new(self, like: Like, limit: int = 1, least: float | None = None, *, memories: bool = False) -> Results:
        """Return what is similar to something that is not stored yet, for who is about to write it.

        By words where its vector fits no other: nothing is wrong with the first vector of a model. Not to be called
        inside a write transaction, which would not be seen.
        """
        base = self._like_plan(limit, least, {"model": like.model, "include_memories": memories})
        try:
            found = self._nearest(like, base)
        except VectorError:
            found = None
        if found is None or (
            like.vector is not None and any(n.code == "no_vectors" for n in found.notes) and not found
        ):
            found = self._nearest(like._replace(vector=None, document=""), base)
        return found

    def _like_plan(self, limit: object, least: object, options: Mapping[str, object]) -> Plan:
        """Return the plan of a search for what is similar, without what it is similar to."""
        most = whole(limit, "limit", QueryError, 1, MOST_SIMILAR)
        given = None if least is None else real(least, "min_similarity", QueryError, 0, 1)
        plan = make_plan(
            "",
            now=self._clock(),
            profile=SIMILAR,
            options={**DEFAULTS, **options, "limit": most, "min_score": max(given or 0.0, LEAST)},
        )
        return plan._replace(limit=most)

    def _nearest(
        self,
        like: Like,
        base: Plan,
        tiers: Sequence[Tier] | None = None,
        embeddings: Mapping[str, Embeddings] | None = None,
    ) -> Results:
        """Return what is similar, most similar first; by vectors if there is one, else by words."""
        tiers = self._tiers() if tiers is None else tiers
        plan = self._by_vector(like, base, self._embeddings_of() if embeddings is None else embeddings)
        if not (plan.embeddings or plan.vector is not None):
            plan = plan._replace(
                query=TextQuery(like.words, (), 0, False, False),
                profile=SIMILAR_WORDS,
                corpus_columns=SIMILAR_WORDS.corpus_columns,
                legs=frozenset(),
                scans_words=True,
            )
        most, more = base.most_hits, len(like.left_out)
        plan = plan._replace(limit=most + more, candidates=plan.candidates + more)
        results = run(tiers, [plan], self._tier_threads())[0]
        kept = [hit for hit in results.hits if hit.id not in like.left_out]
        return replace(results, hits=tuple(kept[:most]))

    def _by_vector(self, like: Like, base: Plan, embeddings: Mapping[str, Embeddings]) -> Plan:
        """Return the plan with the vector, or with the text embedded as entries are, if that can be."""
        plan = base._replace(legs=frozenset({"vector"}), vector=like.vector, model=like.model)
        if like.vector is not None or not self._embeds():
            return plan
        from septet.embedding.attach import with_query_vectors

        threads, words = self._tier_threads(), TextQuery(like.document, (), 0, False, False)
        pool = None if threads is None else threads.executor
        return with_query_vectors(plan._replace(query=words), embeddings, pool, "document")


def _of_entry(tiers: Sequence[Tier], plan: Plan, entry_id: str) -> Like:
    """Return what is compared with an entry, from the highest tier that has it.

    Raises:
        EntryNotFound: no tier has it.
        SeptetError: every tier failed; the first error.
    """
    failures: list[SeptetError] = []
    for tier in tiers:
        try:
            found = _likeness(tier, plan, entry_id)
        except SeptetError as fault:
            failures.append(fault)
            continue
        if found is not None:
            vector = None if found.vector is None else query_vector(found.vector)
            model = plan.model if vector is None else found.model
            return Like(found.words, found.document, vector, model, found.ids)
    if failures and len(failures) == len(tiers):
        raise failures[0]
    raise EntryNotFound(
        f"no entry {shown(entry_id)} in {', '.join(t.name for t in tiers)}: check the id, or give text="
    )


def _likeness(tier: Tier, plan: Plan, entry_id: str) -> Likeness | None:
    attempts = 1
    while True:
        try:
            session = tier.open([plan], 0)
            try:
                return session.likeness(entry_id, plan.model)
            finally:
                session.close()
        except SearchAgain as fault:
            attempts = next_attempt(attempts, fault)
