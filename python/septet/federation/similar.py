"""Search for similar entries across tiers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from septet.federation.parts import TierMembers
from septet.model.results import Results
from septet.query.options import Mode
from septet.search.similar import FindsSimilar

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class SimilarInTiers(FindsSimilar, TierMembers):
    """Tiers whose entries can be compared with each other."""

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
        """Return entries similar to an entry, a text or a vector, most similar first.

        Comparison and scores are those of `Vault.similar`; ``results.weights`` names ``cosine`` or ``tfidf``.

        Args:
            id: an entry; it and its parts are not returned.
            text: a text; for an entry that is not stored, its title, description and context, one per line.
            vector: a vector ``(d,)``.
            limit: maximum number of results, 1 to 1,000,000.
            min_similarity: minimum score, 0 to 1.
            where: a filter, as for `search`.
            kinds: only these kinds of entries, as for `search`.
            include_expired: include entries outside their validity.
            include_memories: include memories.
            model: the model of the vectors; None for the one that searches use.
            mode: ``full`` or ``scan``, as for `search`.
            tier: only this tier, also for ``id``; None for all tiers, with the highest copy of each id. Vectors are
                compared in tiers that have some of the model.

        Returns:
            The similar entries; ``score`` is the similarity, 0 to 1.

        Raises:
            QueryError: an argument is malformed, or not exactly one of id, text and vector is passed.
            EntryNotFound: no entry has this id.
            VectorError: the vector matches no vectors of the vault.
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
