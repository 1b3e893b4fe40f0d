"""Searches of a vault for corpora: by one leg, ranked by BM25 or the cosine, or by both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from septet.errors import QueryError, VectorError
from septet.inputs.arguments import listed, shown, utf8
from septet.model.results import Hit
from septet.notes import Note, NoteCode
from septet.profiles import ProfileLike
from septet.profiles.builtin import SEPTET
from septet.query.options import Leg, SearchOptions
from septet.ranking.fusion import Col
from septet.ranking.profile import Cuts, Profile, TextRules
from septet.retrieval.corpus import CorpusRequest
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge

#: Maximum items in a list.
MOST_ITEMS = 1000
#: Share of the remaining time for a search; the rest is for handing over its hits.
SHARE = 0.9
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.01, 86_400.0


class LegHits(NamedTuple):
    """The hits of separate legs.

    Attributes:
        text: by words, best first, scored by BM25; None if not searched.
        vector: by vectors, scored by the cosine; None if not searched.
        notes: problems.
        confidence: probability that the hits contain an answer, 0 to 1.
        step: the query's words that text hits contain: all, or fewer if no entry has all; see `Results.matched_by`.
    """

    text: tuple[Hit, ...] | None
    vector: tuple[Hit, ...] | None
    notes: tuple[Note, ...]
    confidence: float
    step: str | None = None


class BothLegs(NamedTuple):
    """The hits of one search by both legs.

    Attributes:
        hits: best first, as ranked by the profile.
        legs: the legs searched.
        notes: problems.
        confidence: probability that the hits contain an answer, 0 to 1.
    """

    hits: tuple[Hit, ...]
    legs: tuple[Leg, ...]
    notes: tuple[Note, ...]
    confidence: float


@lru_cache(maxsize=16)
def leg_profile(k1: float = 1.2, b: float = 0.75) -> Profile:
    """Return a profile whose scores are BM25 for words alone, and the cosine with vectors.

    Args:
        k1: saturation of repeated words, clamped to 0.1 to 3.
        b: weight of the length of a text, clamped to 0 to 1.
    """
    rules = {name: getattr(SEPTET.text, name) for name in TextRules.__dataclass_fields__}
    rules |= {"k1": min(3.0, max(0.1, k1)), "b": min(1.0, max(0.0, b))}
    return Profile.known(
        name="leg",
        description="Each leg by its own number.",
        text=TextRules.known(**rules),
        signals={"bm25": Col.known(col="bm25"), "cosine": Col.known(col="cosine")},
        weights={"text": {"bm25": 1.0, "cosine": 0.0}, "hybrid": {"bm25": 0.0, "cosine": 1.0}},
        cuts=Cuts.known(guard_below=0),
    )


def time_left(request: CorpusRequest, share: float = SHARE) -> float | None:
    """Return the seconds for a search; None for no limit."""
    if request.deadline is None:
        return None
    return min(MOST_TIMEOUT_S, max(LEAST_TIMEOUT_S, share * request.deadline.left_s))


def searched_legs(
    knowledge: Knowledge,
    request: CorpusRequest,
    *,
    tier: str,
    limit: int,
    kinds: Iterable[str] | None,
    where: Mapping[str, Any] | None = None,
    profile: ProfileLike | None = None,
    memories: bool = False,
) -> LegHits:
    """Search the legs of the mode one after the other; vectors only for the original phrasing.

    The vector leg is skipped if the profile considers the words of the query too vague.

    Args:
        tier: name of the corpus in the hits.
        limit: maximum hits of each leg.
        kinds: of entries; None for all.
        profile: provides the scores; None for `leg_profile`.
        memories: with ``kinds`` None, include memories.

    Raises:
        QueryError: the query or the filter is invalid.
        StoreError: the vault cannot be read.
    """
    options = _options(limit, leg_profile() if profile is None else profile, kinds, where, memories)
    text = vector = step = None
    notes: list[Note] = []
    confidence = 0.0
    if request.mode != "vector":
        results = knowledge.search(request.query, **_leg(options, "text", request))
        text, confidence = _named(results.hits, tier), results.confidence
        notes, step = [*results.notes], results.matched_by
    is_vague = any(note.code == "query_too_vague" for note in notes)
    if request.mode != "full_text" and request.variant == 0 and not is_vague:
        if request.vector is not None:
            options |= {"query_vector": request.vector, "model": request.model}
        try:
            results = knowledge.search(request.query, **_leg(options, "vector", request))
        except (QueryError, VectorError) as fault:
            note = _without_vectors(request, fault, tier, text is not None)
            # Hybrid mode without an embedder: nothing is missing.
            vector_notes = [] if request.mode == "hybrid" and note.code == "no_embedder" else [note]
        else:
            vector, confidence = _named(results.hits, tier), max(confidence, results.confidence)
            vector_notes = _of_search(results.notes, request)
        # Skip notes that the text leg added already.
        known = {(note.code, note.cause) for note in notes}
        notes += [note for note in vector_notes if (note.code, note.cause) not in known]
    return LegHits(text, vector, tuple(notes), confidence, step)


def searched_together(
    knowledge: Knowledge,
    request: CorpusRequest,
    *,
    tier: str,
    limit: int,
    kinds: Iterable[str] | None,
    where: Mapping[str, Any] | None = None,
    profile: ProfileLike,
    memories: bool = False,
) -> BothLegs:
    """Search the legs of the mode at once, in the order of a profile; vectors only for the original phrasing.

    Args:
        tier: name of the corpus in the hits.
        limit: maximum hits.
        kinds: of entries; None for all.
        profile: ranks the hits.
        memories: with ``kinds`` None, include memories.

    Raises:
        QueryError: the query or the filter is invalid.
        StoreError: the vault cannot be read.
    """
    options = _options(limit, profile, kinds, where, memories)
    legs: tuple[Leg, ...] = ("text", "vector")
    if request.mode == "full_text" or request.variant:
        legs = ("text",)
    elif request.mode == "vector":
        legs = ("vector",)
    vector_options: SearchOptions = {}
    if request.vector is not None and "vector" in legs:
        vector_options = {"query_vector": request.vector, "model": request.model}
    notes: list[Note] = []
    try:
        results = knowledge.search(request.query, **(options | vector_options | _legs(legs, request)))
    except (QueryError, VectorError) as fault:
        if "vector" not in legs:
            raise
        notes = [_without_vectors(request, fault, tier, "text" in legs)]
        if "text" not in legs:
            return BothLegs((), legs, tuple(notes), 0.0)
        # An error in the words or the filter is raised here.
        legs = ("text",)
        results = knowledge.search(request.query, **(options | _legs(legs, request)))
    notes += _of_search(results.notes, request)
    return BothLegs(_named(results.hits, tier), legs, tuple(notes), results.confidence)


def checked_names(values: str | Iterable[str], name: str) -> list[str]:
    """Return names of kinds or folders as a list; a text is one name.

    Raises:
        QueryError: a name is invalid.
    """
    names = [values] if isinstance(values, str) else values
    return [utf8(value, name, QueryError, 4096) for value in listed(names, name, QueryError, "a list of names", 1000)]


def checked_filter(where: object) -> Mapping[str, Any] | None:
    """Return a filter, whose content the vault checks on a search; None for none.

    Raises:
        QueryError: the filter is not a dict.
    """
    if where is None or isinstance(where, Mapping):
        return where or None
    raise QueryError(f"where is {shown(where)}: wanted a dict of fields, as for search")


def _options(
    limit: int,
    profile: ProfileLike,
    kinds: Iterable[str] | None,
    where: Mapping[str, Any] | None,
    memories: bool,
) -> SearchOptions:
    options: SearchOptions = {"limit": max(1, min(MOST_ITEMS, limit)), "profile": profile}
    if memories:
        options["include_memories"] = True
    if kinds is not None:
        options["kinds"] = list(kinds)
    if where:
        options["where"] = where
    return options


def _of_search(notes: Iterable[Note], request: CorpusRequest) -> list[Note]:
    """Return the notes of a search; in hybrid mode without the one about a vault without vectors."""
    return [note for note in notes if request.mode != "hybrid" or note.code != "no_vectors"]


def _without_vectors(request: CorpusRequest, fault: Exception, tier: str, by_words: bool) -> Note:
    code: NoteCode = "vector_mismatch" if request.vector is not None else "no_embedder"
    return Note(code, str(fault), "words were searched alone" if by_words else "", tier)


def _leg(options: SearchOptions, leg: Leg, request: CorpusRequest) -> SearchOptions:
    return {**options, **_legs((leg,), request)}


def _legs(legs: tuple[Leg, ...], request: CorpusRequest) -> SearchOptions:
    options: SearchOptions = {"timeout_s": time_left(request)}
    # Both legs are the default, which also works without vectors.
    if len(legs) == 1:
        options["legs"] = legs[0]
    return options


def _named(hits: Iterable[Hit], tier: str) -> tuple[Hit, ...]:
    return tuple([changed_hit(hit, tier=tier) for hit in hits])
