"""Search for similar entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from septet.model.results import Results
from septet.query.options import Mode
from septet.search.similar import FindsSimilar

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
        """Return entries similar to an entry, a text or a vector, most similar first.

        An entry is compared by its vector. An entry without a vector, or a text, is embedded if the vault has a working
        embedder; otherwise words are compared. All scores of a result are of one kind, named in ``results.weights``,
        and absolute: they depend on neither the limit nor the other results.

        ``cosine``: the cosine of two vectors, over all entries with a vector of the model; 1 is the same direction.
        ``tfidf``: the cosine of two texts (title, description, context and tags of an entry) as TF-IDF vectors; the
        weight of a word is its share of the text's words times ``ln((N + 1) / (n + 1)) + 1``, where ``n`` of ``N``
        entries contain it; 1 is the same words in the same proportions. Both are exact, over every entry that passes
        the filters. Entries with a cosine below 0.000001 are never returned.

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

        Returns:
            The similar entries; ``score`` is the similarity, 0 to 1.

        Raises:
            QueryError: an argument is malformed, or not exactly one of id, text and vector is passed.
            EntryNotFound: no entry has this id.
            VectorError: the vector matches no vectors of the vault.
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
