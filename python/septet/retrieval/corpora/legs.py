"""One leg of a search in a vault, words or vectors, ranked by its own number alone: BM25, or the cosine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from septet.errors import QueryError, VectorError
from septet.inputs.arguments import listed, shown, utf8
from septet.model.results import Hit, Note
from septet.notes import NoteCode
from septet.profiles import ProfileLike
from septet.profiles.builtin import SEPTET
from septet.query.options import Leg, SearchOptions
from septet.ranking.fusion import Col
from septet.ranking.profile import Cuts, Profile, TextRules
from septet.retrieval.corpus import Asked
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge

__all__ = [
    "MOST_ITEMS",
    "Found",
    "Together",
    "checked_filter",
    "checked_names",
    "leg_profile",
    "searched_legs",
    "searched_together",
    "time_left",
]

#: At most so many items in a list, whatever is asked.
MOST_ITEMS = 1000
#: A leg has this share of the time that is left: what it found must still be handed over.
SHARE = 0.9
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.01, 86_400.0


class Found(NamedTuple):
    """What the legs of a search found.

    Attributes:
        text: by words, the best first; the score is BM25. None if that leg was not asked.
        vector: by vectors; the score is the cosine.
        notes: what they could not do.
        confidence: how likely an answer is among them, 0 to 1.
        step: which words those found by words hold, where the profile asks for all, else fewer; see
            `Results.matched_by`.
    """

    text: tuple[Hit, ...] | None
    vector: tuple[Hit, ...] | None
    notes: tuple[Note, ...]
    confidence: float
    step: str | None = None


class Together(NamedTuple):
    """What one search of both legs found.

    Attributes:
        hits: the best first, as the profile ranks them.
        legs: which legs were asked.
        notes: what they could not do.
        confidence: how likely an answer is among them, 0 to 1.
    """

    hits: tuple[Hit, ...]
    legs: tuple[Leg, ...]
    notes: tuple[Note, ...]
    confidence: float


@lru_cache(maxsize=16)
def leg_profile(k1: float = 1.2, b: float = 0.75) -> Profile:
    """Return a profile whose scores are BM25 where words are searched alone, and the cosine with vectors.

    Args:
        k1: how slowly more occurrences of a word tell more, brought between 0.1 and 3.
        b: how much the length of a text counts, brought between 0 and 1.
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


def time_left(asked: Asked, share: float = SHARE) -> float | None:
    """Return how many seconds a search may take; None for any time."""
    if asked.deadline is None:
        return None
    return min(MOST_TIMEOUT_S, max(LEAST_TIMEOUT_S, share * asked.deadline.left_s))


def searched_legs(
    knowledge: Knowledge,
    asked: Asked,
    *,
    tier: str,
    limit: int,
    kinds: Iterable[str] | None,
    where: Mapping[str, Any] | None = None,
    profile: ProfileLike | None = None,
    memories: bool = False,
) -> Found:
    """Search the legs that the mode names, one after the other; vectors for the original phrasing alone.

    Vectors are not compared with a query whose words the profile finds too vague to be searched for.

    Args:
        tier: the name that the hits carry.
        limit: at most so many of each leg.
        kinds: of entries; None for all.
        profile: whose scores count; None for `leg_profile`.
        memories: with ``kinds`` None, memories too.

    Raises:
        QueryError: the query, or the filter, cannot be understood.
        StoreError: the vault cannot be read.
    """
    options = _options(limit, leg_profile() if profile is None else profile, kinds, where, memories)
    text = vector = step = None
    notes: list[Note] = []
    confidence = 0.0
    if asked.mode != "vector":
        results = knowledge.search(asked.query, **_leg(options, "text", asked))
        text, confidence = _named(results.hits, tier), results.confidence
        notes, step = [*results.notes], results.matched_by
    is_vague = any(note.code == "query_too_vague" for note in notes)
    if asked.mode != "full_text" and asked.variant == 0 and not is_vague:
        if asked.vector is not None:
            options |= {"query_vector": asked.vector, "model": asked.model}
        try:
            results = knowledge.search(asked.query, **_leg(options, "vector", asked))
        except (QueryError, VectorError) as fault:
            told = _without_vectors(asked, fault, tier, text is not None)
            # No embedder is configured, and nobody asked for vectors alone: nothing is missing.
            said = [] if asked.mode == "hybrid" and told.code == "no_embedder" else [told]
        else:
            vector, confidence = _named(results.hits, tier), max(confidence, results.confidence)
            said = _of_search(results.notes, asked)
        # What the words said already is not said twice.
        known = {(note.code, note.cause) for note in notes}
        notes += [note for note in said if (note.code, note.cause) not in known]
    return Found(text, vector, tuple(notes), confidence, step)


def searched_together(
    knowledge: Knowledge,
    asked: Asked,
    *,
    tier: str,
    limit: int,
    kinds: Iterable[str] | None,
    where: Mapping[str, Any] | None = None,
    profile: ProfileLike,
    memories: bool = False,
) -> Together:
    """Search the legs that the mode names at once, in the order of a profile; vectors for the original phrasing alone.

    Args:
        tier: the name that the hits carry.
        limit: at most so many.
        kinds: of entries; None for all.
        profile: ranks them.
        memories: with ``kinds`` None, memories too.

    Raises:
        QueryError: the query, or the filter, cannot be understood.
        StoreError: the vault cannot be read.
    """
    options = _options(limit, profile, kinds, where, memories)
    legs: tuple[Leg, ...] = ("text", "vector")
    if asked.mode == "full_text" or asked.variant:
        legs = ("text",)
    elif asked.mode == "vector":
        legs = ("vector",)
    given: SearchOptions = {}
    if asked.vector is not None and "vector" in legs:
        given = {"query_vector": asked.vector, "model": asked.model}
    notes: list[Note] = []
    try:
        results = knowledge.search(asked.query, **(options | given | _legs(legs, asked)))
    except (QueryError, VectorError) as fault:
        if "vector" not in legs:
            raise
        notes = [_without_vectors(asked, fault, tier, "text" in legs)]
        if "text" not in legs:
            return Together((), legs, tuple(notes), 0.0)
        # What is wrong with the words, or the filter, is raised here.
        legs = ("text",)
        results = knowledge.search(asked.query, **(options | _legs(legs, asked)))
    notes += _of_search(results.notes, asked)
    return Together(_named(results.hits, tier), legs, tuple(notes), results.confidence)


def checked_names(values: str | Iterable[str], name: str) -> list[str]:
    """Return names of kinds or folders as a list; one text is one name.

    Raises:
        QueryError: they are none.
    """
    given = [values] if isinstance(values, str) else values
    return [utf8(value, name, QueryError, 4096) for value in listed(given, name, QueryError, "a list of names", 1000)]


def checked_filter(where: object) -> Mapping[str, Any] | None:
    """Return a filter, which the vault reads when it is searched; None for none.

    Raises:
        QueryError: it is no dict.
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


def _of_search(notes: Iterable[Note], asked: Asked) -> list[Note]:
    """Return what a search says: that a configured embedder is missing too, but not that a vault has no vectors."""
    return [note for note in notes if asked.mode != "hybrid" or note.code != "no_vectors"]


def _without_vectors(asked: Asked, fault: Exception, tier: str, by_words: bool) -> Note:
    code: NoteCode = "vector_mismatch" if asked.vector is not None else "no_embedder"
    return Note(code, str(fault), "words were searched alone" if by_words else "", tier)


def _leg(options: SearchOptions, leg: Leg, asked: Asked) -> SearchOptions:
    return {**options, **_legs((leg,), asked)}


def _legs(legs: tuple[Leg, ...], asked: Asked) -> SearchOptions:
    told: SearchOptions = {"timeout_s": time_left(asked)}
    # Both are what a search does of itself: it may do without vectors where there are none.
    if len(legs) == 1:
        told["legs"] = legs[0]
    return told


def _named(hits: Iterable[Hit], tier: str) -> tuple[Hit, ...]:
    return tuple([changed_hit(hit, tier=tier) for hit in hits])
