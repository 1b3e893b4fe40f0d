"""Chunks of documents: words and vectors fused as documented; and a second vault, such as a mirror of documentation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from septet.errors import QueryError
from septet.inputs.arguments import listed, real, shown, utf8
from septet.model.results import Hit
from septet.profiles import ProfileLike
from septet.retrieval.corpora.legs import LegHits, VaultSearch, checked_filter, checked_names, limit_of
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest
from septet.retrieval.fusion import changed_hit, convex, sealed, unsealed
from septet.retrieval.knowledge import Knowledge

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The documented weight of vectors beside words.
CHUNK_WEIGHT = 0.60
VECTOR_SCALE = 2.0


def fused_chunks(text: Iterable[str], cosines: Mapping[str, float], weight: float = CHUNK_WEIGHT) -> dict[str, float]:
    """Fuse two legs over chunks as documented, by score, best first.

    The text score is 1 / (1 + rank), ranks from 0; the vector score is twice the cosine, 0 to 2; NaN is unknown.
    A hit of both scores ``vector * weight + text * (1 - weight)``; a hit of one leg keeps its score.

    Raises:
        QueryError: the weight is outside 0 to 1, or an argument is invalid.
    """
    if not isinstance(cosines, Mapping):
        raise QueryError(f"cosines is {shown(cosines)}: wanted a dict of ids and cosines")
    ids = [
        utf8(entry_id, "an id of text", QueryError) for entry_id in listed(text, "text", QueryError, "a list of ids")
    ]
    by_words = {entry_id: text_score(rank) for rank, entry_id in enumerate(dict.fromkeys(ids))}
    by_vectors = {entry_id: vector_score(cosine) for entry_id, cosine in cosines.items()}
    return {fused.key: fused.score for fused in convex(by_vectors, by_words, weight)}


def text_score(rank: int) -> float:
    """Return the documented score of a chunk's rank in the text list: 1 / (1 + rank), ranks from 0."""
    return 1.0 / (1.0 + rank)


def vector_score(cosine: float) -> float:
    """Return the documented score of a cosine: its double, from 0 to 2; NaN (unknown) stays NaN."""
    return VECTOR_SCALE * min(1.0, max(0.0, cosine)) if cosine == cosine else cosine


class ChunkOptions(TypedDict, total=False):
    """Keyword arguments of a `ChunkCorpus`."""

    without: Iterable[str]
    where: Mapping[str, Any] | None
    weight: float
    profile: ProfileLike | None
    together: ProfileLike | None


class ChunkCorpus(VaultSearch):
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

    _leg_names: tuple[str, str] = ("chunk_fts", "chunk_vector")

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
        sources = checked_names(without, "without")
        condition = checked_filter(where)
        parts: list[Mapping[str, Any]] = [condition] if condition else []
        # Entries without a source belong to no folder.
        parts += [{"$nor": [{"source": {"$in": sources}}]}] if sources else []
        by_words, by_vectors = self._leg_names
        super().__init__(
            name,
            knowledge,
            {"text": by_words, "vector": by_vectors},
            kinds=None if kinds is None else checked_names(kinds, "kinds"),
            where={"$and": parts} if parts else None,
            profile=profile,
            together=together,
            memories=kinds is None,
        )
        self._weight = real(weight, "weight", QueryError, 0, 1)

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Return the list ``hybrid``; or that of the only leg that was searched, if no profile ranks both."""
        limit = limit_of(request)
        leg_hits = self._searched(request, limit)
        if self._together is not None:
            return self._answer(request, leg_hits, leg_hits.lists)
        name = "hybrid" if len(leg_hits.lists) > 1 else next(iter(leg_hits.lists), "vector")
        return self._answer(request, leg_hits, {name: _fused(leg_hits, self._weight)[:limit]})


class MirrorCorpus(ChunkCorpus):
    """Another vault as a whole, such as a mirror of documentation; its entries are distinct from those of the first.

    Arguments and errors are those of `ChunkCorpus`, but by default it has all kinds, memories too.
    """

    _leg_names = ("mirror_fts", "mirror_vector")

    def __init__(
        self,
        knowledge: Knowledge,
        *,
        name: str = "docs_mirror",
        kinds: Iterable[str] | None = None,
        **options: Unpack[ChunkOptions],
    ) -> None:
        super().__init__(knowledge, name=name, kinds=kinds, **options)


def _fused(leg_hits: LegHits, weight: float) -> list[Hit]:
    text, vector = leg_hits.lists.get("text", ()), leg_hits.lists.get("vector", ())
    by_words = {hit.id: 1.0 / (1.0 + rank) for rank, hit in enumerate(text)}
    by_vectors: dict[str, float] = {}
    for hit in vector:
        # Hits of a caller's profile may have no cosine; then the score replaces it.
        cosine = hit.raw.get("cosine")
        by_vectors[hit.id] = vector_score(hit.score if cosine is None or math.isnan(cosine) else cosine)
    hits: dict[str, Hit] = {}
    for hit in (*text, *vector):
        known = hits.get(hit.id)
        if known is None:
            hits[hit.id] = hit
        else:
            there = {name: value for name, value in known.raw.items() if value is not None}
            both = max(known.confidence, hit.confidence)
            hits[hit.id] = changed_hit(known, raw={**hit.raw, **there}, confidence=both)
    fused = convex(by_vectors, by_words, weight)
    copies = unsealed([hits[entry.key] for entry in fused])
    for copy, entry in zip(copies, fused):
        copy.score = entry.score
    return sealed(copies)
