"""Chunks of documents: words and vectors fused as documented; and a second vault, such as a mirror of documentation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from septet.errors import QueryError
from septet.inputs.arguments import listed, real, shown, utf8
from septet.model.entry import Entry
from septet.model.results import Hit
from septet.profiles import ProfileLike
from septet.retrieval.corpora.legs import (
    MOST_ITEMS,
    LegHits,
    checked_filter,
    checked_names,
    searched_legs,
    searched_together,
)
from septet.retrieval.corpora.misses import Miss, missed
from septet.retrieval.corpora.rules import text_score, vector_score
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest, RankedList
from septet.retrieval.fusion import changed_hit, convex
from septet.retrieval.knowledge import Knowledge, items_of, store_of

#: The documented weight of vectors beside words.
CHUNK_WEIGHT = 0.60


def fused_chunks(text: Iterable[str], cosines: Mapping[str, float], weight: float = CHUNK_WEIGHT) -> dict[str, float]:
    """Fuse two legs over chunks as documented, by score, best first.

    The text score is 1 / (1 + rank), ranks from 0; the vector score is twice the cosine, from 0 to 2. A hit of both
    scores ``vector * weight + text * (1 - weight)``; a hit of one leg keeps its score.

    Args:
        text: ids, best first.
        cosines: by id; NaN means unknown.
        weight: weight of the vectors, 0 to 1.

    Raises:
        QueryError: the weight is out of range, or an argument is invalid.
    """
    if not isinstance(cosines, Mapping):
        raise QueryError(f"cosines is {shown(cosines)}: wanted a dict of ids and cosines")
    ids = [
        utf8(entry_id, "an id of text", QueryError) for entry_id in listed(text, "text", QueryError, "a list of ids")
    ]
    by_words: dict[str, float] = {}
    for rank, entry_id in enumerate(dict.fromkeys(ids)):
        by_words[entry_id] = text_score(rank)
    by_vectors = {entry_id: vector_score(cosine) for entry_id, cosine in cosines.items()}
    return {fused.key: fused.score for fused in convex(by_vectors, by_words, weight)}


class ChunkCorpus:
    """Entries of some kinds, one list ``hybrid``: words and vectors by `fused_chunks`.

    Words are ranked by BM25, so ranks reflect the match. Chunks of synced files keep their ids while their text is
    unchanged, so both legs have the same ids. ``hit.raw`` has ``bm25`` and ``cosine``. A list of one leg has the leg's
    name.

    Args:
        knowledge: a vault or a federation.
        name: the name in lists and hits.
        kinds: of the entries; None for all.
        without: names of synced folders (``source``) whose chunks belong to another corpus.
        where: an additional filter, as for `Vault.search`.
        weight: weight of the vectors beside the words, 0 to 1.
        profile: a profile whose order replaces BM25 and the cosine.
        together: a profile that ranks words and vectors in one search, as in `Vault.search`, instead of
            `fused_chunks`; None for the documented fusion.

    Raises:
        QueryError: an argument is invalid.
    """

    #: It waits for no other machine.
    local = True
    _backends = ("chunk_fts", "chunk_vector")

    def __init__(
        self,
        knowledge: Knowledge,
        *,
        name: str = "document_chunks",
        kinds: Iterable[str] | None = ("chunk",),
        without: Iterable[str] = (),
        where: Mapping[str, Any] | None = None,
        weight: float = CHUNK_WEIGHT,
        profile: ProfileLike | None = None,
        together: ProfileLike | None = None,
    ) -> None:
        self.name = utf8(name, "name", QueryError, 256)
        self._knowledge = knowledge
        self._kinds = None if kinds is None else checked_names(kinds, "kinds")
        sources = checked_names(without, "without")
        condition = checked_filter(where)
        parts: list[Mapping[str, Any]] = [condition] if condition else []
        # Entries without a source belong to no folder.
        parts += [{"$nor": [{"source": {"$in": sources}}]}] if sources else []
        self._where = {"$and": parts} if parts else None
        self._weight = real(weight, "weight", QueryError, 0, 1)
        self._profile, self._together = profile, together

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Return the list ``hybrid``; or ``text`` or ``vector``, if only one leg was searched and no profile ranks
        both.

        Raises:
            QueryError: the query is invalid.
            StoreError: the vault cannot be read.
        """
        limit = max(1, min(request.limit, MOST_ITEMS))
        if self._together is not None:
            return self._searched(request, limit, self._together)
        legs = searched_legs(
            self._knowledge,
            request,
            tier=self.name,
            limit=limit,
            kinds=self._kinds,
            where=self._where,
            profile=self._profile,
            memories=self._kinds is None,
        )
        name = (
            "hybrid"
            if legs.text is not None and legs.vector is not None
            else ("vector" if legs.text is None else "text")
        )
        backends = [backend for backend, leg in zip(self._backends, (legs.text, legs.vector)) if leg is not None]
        hits = _fused(legs, self._weight)[:limit]
        items = items_of(store_of(self._knowledge), hits)
        ranked = RankedList(name, self.name, items, variant=request.variant)
        return CorpusAnswer([ranked], backends, legs.notes, confidence=legs.confidence)

    def _searched(self, request: CorpusRequest, limit: int, profile: ProfileLike) -> CorpusAnswer:
        both = searched_together(
            self._knowledge,
            request,
            tier=self.name,
            limit=limit,
            kinds=self._kinds,
            where=self._where,
            profile=profile,
            memories=self._kinds is None,
        )
        items = items_of(store_of(self._knowledge), both.hits)
        backends = [name for name, leg in zip(self._backends, ("text", "vector")) if leg in both.legs]
        ranked = RankedList("hybrid", self.name, items, variant=request.variant)
        return CorpusAnswer([ranked], backends, both.notes, confidence=both.confidence)

    def explain(self, request: CorpusRequest, entry_id: str) -> Miss | None:
        """Return why its lists lack an entry; None if unknown.

        Raises:
            SeptetError: the vault cannot be read.
        """
        return missed(
            self._knowledge,
            request,
            entry_id,
            limit=max(1, min(request.limit, MOST_ITEMS)),
            kinds=self._kinds,
            where=self._where,
            profile=self._profile,
            together=self._together,
            memories=self._kinds is None,
        )

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry of the vault; None if there is none.

        Raises:
            StoreError: the vault cannot be read.
        """
        return self._knowledge.get(entry_id)


class MirrorCorpus(ChunkCorpus):
    """Another vault as a whole, such as a mirror of documentation; its entries are distinct from those of the first.

    Args:
        knowledge: the other vault, or a federation.
        name: the name in lists and hits.
        kinds: of the entries; None for all, memories too.
        without: as for `ChunkCorpus`.
        where: as for `ChunkCorpus`.
        weight: as for `ChunkCorpus`.
        profile: as for `ChunkCorpus`.
        together: as for `ChunkCorpus`.

    Raises:
        QueryError: an argument is invalid.
    """

    _backends = ("mirror_fts", "mirror_vector")

    def __init__(
        self,
        knowledge: Knowledge,
        *,
        name: str = "docs_mirror",
        kinds: Iterable[str] | None = None,
        without: Iterable[str] = (),
        where: Mapping[str, Any] | None = None,
        weight: float = CHUNK_WEIGHT,
        profile: ProfileLike | None = None,
        together: ProfileLike | None = None,
    ) -> None:
        super().__init__(
            knowledge,
            name=name,
            kinds=kinds,
            without=without,
            where=where,
            weight=weight,
            profile=profile,
            together=together,
        )


def _fused(legs: LegHits, weight: float) -> list[Hit]:
    text, vector = legs.text or (), legs.vector or ()
    # Hits of a caller's profile may have no cosine; then the score replaces it.
    cosines = {hit.id: _cosine(hit) for hit in vector}
    hits: dict[str, Hit] = {}
    for hit in (*text, *vector):
        known = hits.get(hit.id)
        if known is None:
            hits[hit.id] = hit
        else:
            there = {name: value for name, value in known.raw.items() if value is not None}
            both = max(known.confidence, hit.confidence)
            hits[hit.id] = changed_hit(known, raw={**hit.raw, **there}, confidence=both)
    scores = fused_chunks([hit.id for hit in text], cosines, weight)
    return [changed_hit(hits[entry_id], score=score) for entry_id, score in scores.items()]


def _cosine(hit: Hit) -> float:
    cosine = hit.raw.get("cosine")
    return hit.score if cosine is None or math.isnan(cosine) else cosine
