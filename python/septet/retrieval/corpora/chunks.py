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
    Found,
    checked_filter,
    checked_names,
    searched_legs,
    searched_together,
)
from septet.retrieval.corpora.misses import Miss, missed
from septet.retrieval.corpora.rules import text_score, vector_score
from septet.retrieval.corpus import Answered, Asked, RankedList
from septet.retrieval.fusion import changed_hit, convex
from septet.retrieval.knowledge import Knowledge, items_of, store_of

__all__ = ["CHUNK_WEIGHT", "ChunkCorpus", "MirrorCorpus", "fused_chunks"]

#: The documented weight of vectors beside words.
CHUNK_WEIGHT = 0.60


def fused_chunks(text: Iterable[str], cosines: Mapping[str, float], weight: float = CHUNK_WEIGHT) -> dict[str, float]:
    """Fuse two legs over chunks as documented, by score, the best first.

    The score of words is 1 / (1 + rank), ranks from 0, that of vectors twice the cosine, from 0 to 2. What both find
    scores ``vector * weight + text * (1 - weight)``; what one leg alone finds keeps its own score.

    Args:
        text: ids, the best first.
        cosines: by id; NaN is unknown.
        weight: that of the vectors, 0 to 1.

    Raises:
        QueryError: the weight is out of range, or an argument is none of these.
    """
    if not isinstance(cosines, Mapping):
        raise QueryError(f"cosines is {shown(cosines)}: wanted a dict of ids and cosines")
    found = [utf8(one, "an id of text", QueryError) for one in listed(text, "text", QueryError, "a list of ids")]
    by_words: dict[str, float] = {}
    for rank, one in enumerate(dict.fromkeys(found)):
        by_words[one] = text_score(rank)
    by_vectors = {one: vector_score(cosine) for one, cosine in cosines.items()}
    return {fused.key: fused.score for fused in convex(by_vectors, by_words, weight)}


class ChunkCorpus:
    """Entries of some kinds, one list ``hybrid``: words and vectors by `fused_chunks`.

    Words are ranked by BM25, so that the rank says how well they match. Chunks of synced files keep their ids while
    their text stays, so that both legs name the same ones. ``hit.raw`` keeps ``bm25`` and ``cosine``. Where one leg
    alone is asked, the list has its name.

    Args:
        knowledge: a vault or a federation.
        name: what lists and hits call it.
        kinds: of the entries; None for all.
        without: names of synced folders (``source``) whose chunks another corpus has.
        where: a filter on top, as for `Vault.search`.
        weight: that of the vectors beside the words, 0 to 1.
        profile: whose order counts in place of BM25 and the cosine.
        together: a profile that ranks words and vectors at once, just as `Vault.search` does with it, in place of
            `fused_chunks`; None for the documented fusion.

    Raises:
        QueryError: an argument is none of these.
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
        left_out = checked_names(without, "without")
        given = checked_filter(where)
        parts: list[Mapping[str, Any]] = [given] if given else []
        # What has no source is of no folder.
        parts += [{"$nor": [{"source": {"$in": left_out}}]}] if left_out else []
        self._where = {"$and": parts} if parts else None
        self._weight = real(weight, "weight", QueryError, 0, 1)
        self._profile, self._together = profile, together

    def search(self, asked: Asked) -> Answered:
        """Return the list ``hybrid``; ``text`` or ``vector`` where that leg alone was asked, and no profile ranks both.

        Raises:
            QueryError: the query cannot be understood.
            StoreError: the vault cannot be read.
        """
        limit = max(1, min(asked.limit, MOST_ITEMS))
        if self._together is not None:
            return self._searched(asked, limit, self._together)
        found = searched_legs(
            self._knowledge,
            asked,
            tier=self.name,
            limit=limit,
            kinds=self._kinds,
            where=self._where,
            profile=self._profile,
            memories=self._kinds is None,
        )
        name = (
            "hybrid"
            if found.text is not None and found.vector is not None
            else ("vector" if found.text is None else "text")
        )
        backends = [backend for backend, leg in zip(self._backends, (found.text, found.vector)) if leg is not None]
        hits = _fused(found, self._weight)[:limit]
        items = items_of(store_of(self._knowledge), hits)
        ranked = RankedList(name, self.name, items, variant=asked.variant)
        return Answered([ranked], backends, found.notes, confidence=found.confidence)

    def _searched(self, asked: Asked, limit: int, profile: ProfileLike) -> Answered:
        found = searched_together(
            self._knowledge,
            asked,
            tier=self.name,
            limit=limit,
            kinds=self._kinds,
            where=self._where,
            profile=profile,
            memories=self._kinds is None,
        )
        items = items_of(store_of(self._knowledge), found.hits)
        backends = [name for name, leg in zip(self._backends, ("text", "vector")) if leg in found.legs]
        ranked = RankedList("hybrid", self.name, items, variant=asked.variant)
        return Answered([ranked], backends, found.notes, confidence=found.confidence)

    def explain(self, asked: Asked, entry_id: str) -> Miss | None:
        """Return why its lists do not hold an entry; None where the vault cannot tell.

        Raises:
            SeptetError: the vault cannot be read.
        """
        return missed(
            self._knowledge,
            asked,
            entry_id,
            limit=max(1, min(asked.limit, MOST_ITEMS)),
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
    """Another vault as a whole, such as a mirror of some documentation; its entries are never those of the first.

    Args:
        knowledge: the other vault, or a federation.
        name: what lists and hits call it.
        kinds: of the entries; None for all, memories too.
        without: as for `ChunkCorpus`.
        where: as for `ChunkCorpus`.
        weight: as for `ChunkCorpus`.
        profile: as for `ChunkCorpus`.
        together: as for `ChunkCorpus`.

    Raises:
        QueryError: an argument is none of these.
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


def _fused(found: Found, weight: float) -> list[Hit]:
    text, vector = found.text or (), found.vector or ()
    # A profile of the caller's may show hits without a cosine; their score then stands in.
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
    return [changed_hit(hits[one], score=score) for one, score in scores.items()]


def _cosine(hit: Hit) -> float:
    cosine = hit.raw.get("cosine")
    return hit.score if cosine is None or math.isnan(cosine) else cosine
