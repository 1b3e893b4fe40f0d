"""Entries of a vault that are like another one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from septet.model.results import Results
from septet.query.options import Mode
from septet.search.similar import FindsSimilar

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Similar"]


class Similar(FindsSimilar):
    """Entries that can be compared with each other."""

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
    ) -> Results:
        """Find entries like an entry, a text or a vector, most similar first: near-duplicates, and more of a kind.

        An entry is compared by its vector. One without a vector, and a text, are embedded as entries are, if the vault
        has an embedder that answers; otherwise words are compared. All scores of one result are of one kind, which
        ``results.weights`` names, and absolute: they depend on neither the limit nor the other results.

        ``cosine``: the cosine of two vectors, of all entries that have one of the model; 1 is the same direction.
        ``tfidf``: the cosine of two texts (title, description, context and tags of an entry) as TF-IDF vectors, the
        weight of a word being its share of the text's words times ``ln((N + 1) / (n + 1)) + 1``, where ``n`` of ``N``
        entries hold it; 1 is the same words in the same proportions. Both are exact, over every entry that passes the
        filters. What has a cosine under 0.000001 is not similar, and never comes back.

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

        Returns:
            The similar entries; ``score`` is the similarity, 0 to 1.

        Raises:
            QueryError: an argument cannot be understood, or not exactly one of id, text and vector is given.
            EntryNotFound: no entry has this id.
            VectorError: the vector fits no vectors of the vault.
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
        return self._similar({"id": id, "text": text, "vector": vector}, limit, min_similarity, options, None)
