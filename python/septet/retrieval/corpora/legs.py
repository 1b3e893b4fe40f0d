"""Searches of corpora: of a vault by one leg or by both, and of other programs, whose recent entries are kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from septet._core import Lock
from septet.errors import QueryError, VectorError
from septet.inputs.arguments import listed, shown, utf8
from septet.model.results import Hit
from septet.notes import Note, NoteCode
from septet.profiles import ProfileLike
from septet.profiles.builtin import SEPTET
from septet.query.options import Leg, SearchOptions
from septet.ranking.fusion import Col
from septet.ranking.profile import Cuts, Profile
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest, RankedList
from septet.retrieval.fusion import sealed, unsealed
from septet.retrieval.knowledge import Knowledge, items_of, store_of
from septet.search.searchable import Searchable
from septet.system.forks import renew_in_children

if TYPE_CHECKING:
    from septet.model.entry import Entry
    from septet.model.explanation import Explanation

#: Maximum items in a list.
MOST_ITEMS = 1000
#: Maximum recent entries that a corpus keeps.
MOST_ENTRIES = 10_000
#: Share of the remaining time for a search; the rest is for handing over its hits.
SHARE = 0.9
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.01, 86_400.0
_LEGS: Mapping[Leg, str] = {"text": "by words", "vector": "by vectors"}
_PACKAGE = __name__.partition(".")[0] + "."


class LegHits(NamedTuple):
    """The hits of a vault.

    Attributes:
        lists: ``text`` scored by BM25 and ``vector`` scored by the cosine, or ``hybrid``; best first. Lists of legs
            that were not searched are missing.
        legs: the legs searched.
        notes: problems.
        confidence: probability that the hits contain an answer, 0 to 1.
        step: the query's words that text hits contain: all, or fewer if no entry has all; see `Results.matched_by`.
    """

    lists: Mapping[str, Sequence[Hit]]
    legs: tuple[Leg, ...]
    notes: tuple[Note, ...]
    confidence: float
    step: str | None = None


class Miss(NamedTuple):
    """The reason why a corpus did not find an entry.

    Attributes:
        reason: in a few words.
        filters: True for each of its filters that the entry passes.
        holds: True if the entry belongs to this corpus, or could.
    """

    reason: str
    filters: Mapping[str, bool] = {}
    holds: bool = True


def limit_of(request: CorpusRequest) -> int:
    """Return the maximum number of items, 1 to 1,000."""
    return max(1, min(request.limit, MOST_ITEMS))


def time_left(request: CorpusRequest) -> float | None:
    """Return the seconds for a search; None for no limit."""
    if request.deadline is None:
        return None
    return min(MOST_TIMEOUT_S, max(LEAST_TIMEOUT_S, SHARE * request.deadline.left_s))


@lru_cache(maxsize=16)
def leg_profile(k1: float = 1.2, b: float = 0.75) -> Profile:
    """Return a profile whose scores are BM25 for words alone, and the cosine with vectors.

    ``k1``, the saturation of repeated words, is clamped to 0.1 to 3, and ``b``, the weight of lengths, to 0 to 1.
    """
    return Profile.known(
        name="leg",
        description="Each leg by its own number.",
        text=SEPTET.text._with(k1=min(3.0, max(0.1, k1)), b=min(1.0, max(0.0, b))),
        signals={"bm25": Col.known(col="bm25"), "cosine": Col.known(col="cosine")},
        weights={"text": {"bm25": 1.0, "cosine": 0.0}, "hybrid": {"bm25": 0.0, "cosine": 1.0}},
        cuts=Cuts.known(guard_below=0),
    )


def checked_names(values: str | Iterable[str], name: str, most_chars: int = 4096) -> list[str]:
    """Return names of kinds or folders as a list; a text is one name."""
    names = [values] if isinstance(values, str) else values
    several = listed(names, name, QueryError, "a list of names", 1000)
    return [utf8(value, name, QueryError, most_chars) for value in several]


def checked_filter(where: object) -> Mapping[str, Any] | None:
    """Return a filter, whose content the vault checks on a search; None for none."""
    if where is None or isinstance(where, Mapping):
        return where or None
    raise QueryError(f"where is {shown(where)}: wanted a dict of fields, as for search")


class VaultSearch:
    """Base of corpora that search a vault or a federation, by one leg after the other, or by both at once.

    ``backends`` are the names of the legs in the account of a retrieval. ``profile`` provides the scores of separate
    legs, by default BM25 and the cosine; ``together`` ranks both in one search, as one list ``hybrid``.
    """

    #: It waits for no other machine, except an embedder's.
    local = True

    def __init__(
        self,
        name: str,
        knowledge: Knowledge,
        backends: Mapping[Leg, str],
        *,
        kinds: Collection[str] | None = None,
        where: Mapping[str, Any] | None = None,
        profile: ProfileLike | None = None,
        together: ProfileLike | None = None,
        memories: bool = False,
    ) -> None:
        self.name = utf8(name, "name", QueryError, 256)
        self._knowledge, self._store = knowledge, store_of(knowledge)
        self._backends, self._where = backends, where
        self._profile, self._together = profile, together
        #: True if nothing foreign makes its answers, so that they need no check.
        self.trusted = isinstance(knowledge, Searchable) and type(self).__module__.startswith(_PACKAGE)
        self._options: SearchOptions = {"profile": together or profile or leg_profile()}
        if memories:
            self._options["include_memories"] = True
        if kinds is not None:
            self._options["kinds"] = list(kinds)

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry of the vault, of any kind; None if there is none.

        Raises:
            StoreError: the vault cannot be read.
        """
        return self._knowledge.get(entry_id)

    def explain(self, request: CorpusRequest, entry_id: str) -> object:
        """Return why its lists lack an entry, as a `Miss`; None if unknown.

        Raises:
            SeptetError: the vault cannot be read.
        """
        return self._missed(request, entry_id, limit_of(request))

    def _searched(self, request: CorpusRequest, limit: int, where: Mapping[str, Any] | None = None) -> LegHits:
        """Search the legs of the mode; vectors only for the original phrasing.

        The vector leg is skipped if the profile considers the words of the query too vague.
        """
        options: SearchOptions = {**self._options, "limit": max(1, min(MOST_ITEMS, limit))}
        if where or self._where:
            options["where"] = where or self._where
        return self._at_once(request, options) if self._together is not None else self._by_legs(request, options)

    def _by_legs(self, request: CorpusRequest, options: SearchOptions) -> LegHits:
        lists: dict[str, Sequence[Hit]] = {}
        step = None
        notes: list[Note] = []
        confidence = 0.0
        if request.mode != "vector":
            results = self._knowledge.search(request.query, **(options | _legs(("text",), request)))
            lists["text"], confidence = self._named(results.hits), results.confidence
            notes, step = [*results.notes], results.matched_by
        is_vague = any(note.code == "query_too_vague" for note in notes)
        if request.mode != "full_text" and request.variant == 0 and not is_vague:
            try:
                results = self._knowledge.search(request.query, **(options | _legs(("vector",), request)))
            except (QueryError, VectorError) as fault:
                note = self._without_vectors(request, fault, "text" in lists)
                # Hybrid mode without an embedder: nothing is missing.
                vector_notes = [] if request.mode == "hybrid" and note.code == "no_embedder" else [note]
            else:
                lists["vector"], confidence = self._named(results.hits), max(confidence, results.confidence)
                vector_notes = _of_search(results.notes, request)
            # Skip notes that the text leg added already.
            known = {(note.code, note.cause) for note in notes}
            notes += [note for note in vector_notes if (note.code, note.cause) not in known]
        return LegHits(lists, tuple(leg for leg in _LEGS if leg in lists), tuple(notes), confidence, step)

    def _at_once(self, request: CorpusRequest, options: SearchOptions) -> LegHits:
        legs: tuple[Leg, ...] = ("text", "vector")
        if request.mode == "full_text" or request.variant:
            legs = ("text",)
        elif request.mode == "vector":
            legs = ("vector",)
        notes: list[Note] = []
        try:
            results = self._knowledge.search(request.query, **(options | _legs(legs, request)))
        except (QueryError, VectorError) as fault:
            if "vector" not in legs:
                raise
            notes = [self._without_vectors(request, fault, "text" in legs)]
            if "text" not in legs:
                return LegHits({"hybrid": ()}, legs, tuple(notes), 0.0)
            # An error in the words or the filter is raised here.
            legs = ("text",)
            results = self._knowledge.search(request.query, **(options | _legs(legs, request)))
        notes += _of_search(results.notes, request)
        return LegHits({"hybrid": self._named(results.hits)}, legs, tuple(notes), results.confidence)

    def _answer(self, request: CorpusRequest, leg_hits: LegHits, lists: Mapping[str, Sequence[Hit]]) -> CorpusAnswer:
        ranked = [self._list(name, request, hits) for name, hits in lists.items()]
        backends = [self._backends[leg] for leg in leg_hits.legs]
        return CorpusAnswer(ranked, backends, leg_hits.notes, confidence=leg_hits.confidence)

    def _list(self, name: str, request: CorpusRequest, hits: Iterable[Hit], weight: float = 1.0) -> RankedList:
        return RankedList(name, self.name, items_of(self._store, hits), weight, request.variant)

    def _named(self, hits: Iterable[Hit]) -> list[Hit]:
        copies, name = unsealed(hits), self.name
        for copy in copies:
            copy.tier = name
        return sealed(copies)

    def _without_vectors(self, request: CorpusRequest, fault: Exception, by_words: bool) -> Note:
        code: NoteCode = "vector_mismatch" if request.vector is not None else "no_embedder"
        return Note(code, str(fault), "words were searched alone" if by_words else "", self.name)

    def _missed(self, request: CorpusRequest, entry_id: str, limit: int, reordered: str = "") -> Miss | None:
        """Return why a search misses an entry; ``reordered`` is the remark on a text hit that the corpus drops."""
        explain = getattr(self._knowledge, "explain", None)
        entry = self._knowledge.get(entry_id)
        if explain is None or entry is None:
            return None
        kinds = self._options.get("kinds")
        if kinds is not None and entry.kind not in kinds:
            return missed_kind(entry)
        options: SearchOptions = {**self._options, "limit": limit}
        if self._where:
            options["where"] = self._where
        if request.vector is not None:
            options |= {"query_vector": request.vector, "model": request.model}
        reasons: list[str] = []
        filters: Mapping[str, bool] = {}
        for leg, how in _LEGS.items():
            if request.mode == ("vector" if leg == "text" else "full_text"):
                continue
            try:
                explanation: Explanation = explain(request.query, entry_id, **options, legs=leg)
            except (QueryError, VectorError):
                # There is no vector to compare with.
                continue
            filters = explanation.filters
            if failed := [name for name, ok in filters.items() if not ok]:
                return Miss(f"it does not pass {' nor '.join(failed)}", filters)
            reasons.append(f"{how}: {_place(explanation, limit, reordered)}")
        if self._together is not None and len(reasons) == len(_LEGS):
            # The rank in one leg does not explain the rank in both.
            rank = explain(request.query, entry_id, **options).rank
            if rank is not None and rank > limit:
                reasons.insert(0, f"rank {rank} by both, and {limit} are listed")
        return Miss("; ".join(reasons) or "there is nothing to compare it with", filters)


def missed_kind(entry: Entry) -> Miss:
    """Return the miss of an entry of a kind that belongs to other corpora."""
    return Miss(f"it does not search entries of the kind {shown(entry.kind)}", {"kind": False})


def _place(explanation: Explanation, limit: int, reordered: str) -> str:
    leg = next(iter(explanation.legs), None)
    rank = explanation.rank or (None if leg is None else leg.rank)
    if leg is None or rank is None:
        return explanation.reason if leg is None else leg.detail
    return f"rank {rank} of {leg.of}, and {limit} are listed" if rank > limit else f"rank {rank} of {leg.of}{reordered}"


def _of_search(notes: Sequence[Note], request: CorpusRequest) -> list[Note]:
    """Return the notes of a search; in hybrid mode without the one about a vault without vectors."""
    if not notes:
        return []
    return [note for note in notes if request.mode != "hybrid" or note.code != "no_vectors"]


def _legs(legs: tuple[Leg, ...], request: CorpusRequest) -> SearchOptions:
    options: SearchOptions = {"timeout_s": time_left(request)}
    if request.vector is not None and "vector" in legs:
        options |= {"query_vector": request.vector, "model": request.model}
    # Both legs are the default, which also works without vectors.
    if len(legs) == 1:
        options["legs"] = legs[0]
    return options


class RecentEntries:
    """Base of corpora whose hits no vault has: recent entries can be fetched by id. Safe to share between threads."""

    def __init__(self, name: str, store: str, most: int = MOST_ENTRIES) -> None:
        self.name = utf8(name, "name", QueryError, 256)
        self._store, self._most = store, most
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Reset the lock in a forked child."""
        self._lock = Lock()

    def get(self, entry_id: str) -> Entry | None:
        """Return the entry of a recent hit; None for other ids."""
        with self._lock.hold():
            return self._entries.get(entry_id)

    def _list(self, name: str, request: CorpusRequest, hits: Sequence[Hit]) -> RankedList:
        """Return a list, and keep the entries of its hits."""
        with self._lock.hold():
            for hit in hits:
                if hit.entry is not None:
                    self._entries[hit.id] = hit.entry
                    self._entries.move_to_end(hit.id)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
        return RankedList(name, self.name, items_of(self._store, hits), variant=request.variant)
