"""Search for similar entries: the common base of vaults and federations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from septet.errors import EntryNotFound, QueryError, SeptetError, VectorError
from septet.inputs.arguments import real, shown, utf8, whole
from septet.model.results import Results
from septet.model.vector import QueryVector, query_vector
from septet.profiles.builtin import SEPTET, SIMILAR, SIMILAR_WORDS
from septet.query.options import DEFAULTS
from septet.query.parse import TextQuery
from septet.query.plan import MOST_QUERY_CHARS, SearchPlan, make_plan
from septet.search.federated import next_attempt
from septet.search.run import run
from septet.search.searchable import Searchable
from septet.system.records import NamedTuple
from septet.tiers.protocol import Likeness, SearchAgain, Tier

if TYPE_CHECKING:
    from septet.embedding.embeddings import Embeddings

#: Minimum similarity. In float32, orthogonal vectors have cosines of up to 1e-7.
LEAST = 1e-6
#: Maximum similar entries per call.
MOST_SIMILAR = 1_000_000


class Like(NamedTuple):
    """The subject of a comparison.

    Attributes:
        words: its text for full text.
        document: its text to embed.
        vector: its vector; without one, the document is embedded if possible.
        model: the model of the vector, or to embed with; None for any.
        left_out: ids to exclude: the entry itself and its parts.
    """

    words: str = ""
    document: str = ""
    vector: QueryVector | None = None
    model: str | None = None
    left_out: frozenset[str] = frozenset()


class FindsSimilar(Searchable):
    """A store with a search for similar entries."""

    def _similar(
        self,
        subject: Mapping[str, object],
        limit: object,
        least: object,
        options: Mapping[str, object],
    ) -> Results:
        """Check the arguments of `Vault.similar` and run it.

        Args:
            subject: ``id``, ``text`` and ``vector``, exactly one not None.
        """
        base = self._like_plan(limit, least, options)
        named = [name for name, value in subject.items() if value is not None]
        if len(named) != 1:
            seen = " and ".join(f"{name}=" for name in named) or "nothing"
            raise QueryError(f"similar() got {seen}: wanted exactly one of an id, text= and vector=")
        tiers, embeddings = self._tiers(), self._embeddings_of()
        subject_text = ""
        if subject["text"] is not None:
            subject_text = utf8(subject["text"], "text", QueryError, MOST_QUERY_CHARS)
            like = Like(subject_text, subject_text, model=base.model)
        elif subject["vector"] is not None:
            like = Like(vector=query_vector(subject["vector"]), model=base.model)  # type: ignore[arg-type]
        else:
            subject_text = utf8(subject["id"], "id", QueryError)
            like = _of_entry(tiers, base, subject_text)
        return replace(self._nearest(like, base, tiers, embeddings), query=subject_text)

    def _like_new(
        self,
        like: Like,
        limit: int = 1,
        least: float | None = None,
        *,
        memories: bool = False,
        kind: str | None = None,
        domain: str | None = None,
    ) -> Results:
        """Return the entries similar to one that is about to be stored.

        Compares words if the vector matches no stored ones: the first vector of a model is not an error. Must not be
        called inside a write transaction, whose changes it does not see.
        """
        options = {"model": like.model, "include_memories": memories, "kinds": kind, "domain": domain}
        base = self._like_plan(limit, least, options)
        try:
            results = self._nearest(like, base)
        except VectorError:
            results = None
        if results is None or (
            like.vector is not None and any(n.code == "no_vectors" for n in results.notes) and not results
        ):
            results = self._nearest(like._replace(vector=None, document=""), base)
        return results

    def _worded(
        self, text: str, limit: int, *, memories: bool, kind: str | None = None, domain: str | None = None
    ) -> Results:
        """Return the entries, of a kind and domain if named, that the words of a text find."""
        scope = {"kinds": kind, "include_memories": memories, "domain": domain}
        options = {"limit": limit, "legs": "text", "mode": "full", **scope}
        plan = make_plan(text, now=self._clock(), profile=SEPTET, options={**DEFAULTS, **options})
        return run(self._tiers(), [plan], self._tier_threads())[0]

    def _like_plan(self, limit: object, least: object, options: Mapping[str, object]) -> SearchPlan:
        """Return the plan of a search for similar entries, without its subject."""
        most = whole(limit, "limit", QueryError, 1, MOST_SIMILAR)
        minimum = None if least is None else real(least, "min_similarity", QueryError, 0, 1)
        plan = make_plan(
            "",
            now=self._clock(),
            profile=SIMILAR,
            options={**DEFAULTS, **options, "limit": most, "min_score": max(minimum or 0.0, LEAST)},
        )
        return plan._replace(limit=most)

    def _nearest(
        self,
        like: Like,
        base: SearchPlan,
        tiers: Sequence[Tier] | None = None,
        embeddings: Mapping[str, Embeddings] | None = None,
    ) -> Results:
        """Return similar entries, most similar first; by vectors if possible, else by words."""
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
        similar = [hit for hit in results.hits if hit.id not in like.left_out]
        return replace(results, hits=tuple(similar[:most]))

    def _by_vector(self, like: Like, base: SearchPlan, embeddings: Mapping[str, Embeddings]) -> SearchPlan:
        """Return the plan with the vector, or with the text embedded as a document if possible."""
        plan = base._replace(legs=frozenset({"vector"}), vector=like.vector, model=like.model)
        if like.vector is not None or not self._embeds():
            return plan
        from septet.embedding.attach import with_query_vectors

        threads, words = self._tier_threads(), TextQuery(like.document, (), 0, False, False)
        pool = None if threads is None else threads.executor
        return with_query_vectors(plan._replace(query=words), embeddings, pool, "document")


def _of_entry(tiers: Sequence[Tier], plan: SearchPlan, entry_id: str) -> Like:
    """Return the subject for an entry, from the highest tier that has it.

    Raises:
        EntryNotFound: no tier has the entry.
        SeptetError: every tier failed; the first error.
    """
    failures: list[SeptetError] = []
    for tier in tiers:
        try:
            likeness = _likeness(tier, plan, entry_id)
        except SeptetError as fault:
            failures.append(fault)
            continue
        if likeness is not None:
            vector = None if likeness.vector is None else query_vector(likeness.vector)
            model = plan.model if vector is None else likeness.model
            return Like(likeness.words, likeness.document, vector, model, likeness.ids)
    if failures and len(failures) == len(tiers):
        raise failures[0]
    raise EntryNotFound(
        f"no entry {shown(entry_id)} in {', '.join(t.name for t in tiers)}: check the id, or pass text="
    )


def _likeness(tier: Tier, plan: SearchPlan, entry_id: str) -> Likeness | None:
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
