"""Entries of several tiers that are like another one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from septet.federation.parts import Parts
from septet.model.results import Results
from septet.query.options import Mode
from septet.search.similar import FindsSimilar

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["SimilarInTiers"]


class SimilarInTiers(FindsSimilar, Parts):
    """Entries of tiers that can be compared with each other."""

    def similar(
        self,
        id: str | None = None,
        *,
        text: str | None = None,
        vector: ArrayLike | None = None,
        limit: int = 10,
        min_similarity: float | None = None,
        where: Mapping[str, object] | None = None,
        kinds: str | Collection[str] | None = None,
        include_expired: bool = False,
        include_memories: bool = False,
        model: str | None = None,
        mode: Mode = "full",
        tier: str | None = None,
    ) -> Results:
        """Find entries like an entry, a text or a vector, most similar first: near-duplicates, and more of a kind.

        Entries are compared, and scores mean, as in `Vault.similar`; ``results.weights`` names ``cosine`` or ``tfidf``.

        Args:
            id: an entry, which is left out itself, as are the parts that it was split into.
            text: a text; to compare an entry that is not stored, its title, description and context, one a line.
            vector: a vector ``(d,)``.
            limit: at most so many, 1 to 1,000,000.
            min_similarity: only those of at least this score, 0 to 1.
            where: a filter, as for `search`.
            kinds: only these kinds of entries, as for `search`.
            include_expired: entries outside their validity too.
            include_memories: memories too.
            model: whose vectors to compare; None for those that searches use.
            mode: ``full`` or ``scan``, as for `search`.
            tier: only the entries of this tier, the one that is named by ``id`` among them; None for all tiers, and the
                copy of the highest one of equal ids. Vectors are compared in tiers that have some of the model.

        Returns:
            The similar entries; ``score`` is the similarity, 0 to 1.

        Raises:
            QueryError: an argument cannot be understood, or not exactly one of id, text and vector is given.
            EntryNotFound: no entry has this id.
            VectorError: the vector fits no vectors of the vault.
            TierError: there is no such tier.
            StoreError: the vault cannot be read.
        """
        options = {
            "where": where,
            "kinds": kinds,
            "include_expired": include_expired,
            "include_memories": include_memories,
            "model": model,
            "mode": mode,
        }
        if tier is not None:
            self._named(tier)
        return self._similar({"id": id, "text": text, "vector": vector}, limit, min_similarity, options, tier)
