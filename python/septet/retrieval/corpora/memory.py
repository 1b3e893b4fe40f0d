"""Memory: entries and notes, by words with factors for their state and age, and by vectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from septet._core import words
from septet.errors import QueryError
from septet.inputs.arguments import real, shown, utf8
from septet.model.entry import Entry
from septet.model.results import Hit, Scored, hits_of
from septet.profiles import ProfileLike
from septet.retrieval.corpora.legs import (
    MOST_ITEMS,
    checked_filter,
    checked_names,
    leg_profile,
    searched_legs,
    searched_together,
)
from septet.retrieval.corpora.misses import Miss, missed, missed_kind
from septet.retrieval.corpora.rules import (
    HALF_LIFE_DAYS,
    LEAST_AGE_FACTOR,
    STATUS_FACTORS,
    age_factor,
    best_lines,
    contradicting,
    status_factor,
    words_of,
)
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest, RankedList
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge, items_of, store_of

#: Kinds of other corpora.
OTHER_KINDS = ("chunk", "node", "path", "symbol", "web")
#: Candidates of the text leg, as a multiple of the limit: the factors change the order.
CANDIDATES = 4
#: Minimum characters and maximum number of words in a fallback.
LEAST_CHARS, MOST_WORDS = 3, 8
_FIELDS = ("title", "description", "context")


class MemoryCorpus:
    """The memories of a vault: a list by words, BM25 times factors of state and age, and one by vectors, the cosine.

    ``hit.raw`` has the numbers: ``bm25``, ``cosine``, ``status_factor``, ``age_factor``. The state comes from front
    matter (``attrs.status``), the age from the entry's last change by its front matter or file; evergreen entries
    (``attrs.evergreen``) do not age. If neither leg has hits, a fallback lists entries that contain a word of the query
    as a part of another, and the answer is marked as such.

    Args:
        knowledge: a vault or a federation.
        name: the name in lists and hits.
        kinds: of the entries; None for all but those of other corpora: chunk, node, path, symbol and web.
        roots: names of synced folders (``source``) whose chunks are memories too.
        where: an additional filter, as for `Vault.search`.
        k1: of BM25; see `TextRules`.
        b: of BM25.
        profile: a profile whose scores replace BM25 and the cosine, such as ``septet``; ``k1`` and ``b`` are then its
            own.
        together: a profile that ranks words and vectors in one search, as in `Vault.search`, as one list ``hybrid``;
            states and ages count as in that profile. None for the two lists.
        statuses: factor of the text score by state, in lower case; empty for none.
        half_life_days: the age that halves the score; None for no aging.
        fallback: search for parts of words if there are no hits.
        stop_words: words that the fallback ignores, in lower case.
        contradictions: count the best two text hits as contradictory if their titles share a word of four letters, as
            documented.
        clock: the time, in epoch seconds.

    Raises:
        QueryError: an argument is invalid.
    """

    #: It waits for no other machine.
    local = True

    def __init__(
        self,
        knowledge: Knowledge,
        *,
        name: str = "memory",
        kinds: Iterable[str] | None = None,
        roots: Iterable[str] = (),
        where: Mapping[str, Any] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        profile: ProfileLike | None = None,
        together: ProfileLike | None = None,
        statuses: Mapping[str, float] = STATUS_FACTORS,
        half_life_days: float | None = HALF_LIFE_DAYS,
        fallback: bool = True,
        stop_words: Iterable[str] = (),
        contradictions: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = utf8(name, "name", QueryError, 256)
        self._knowledge = knowledge
        chosen = None if kinds is None else checked_names(kinds, "kinds")
        self._kinds, self._roots = chosen, checked_names(roots, "roots")
        self._where = _both(_of_kinds(chosen, self._roots), checked_filter(where))
        self._profile = (
            leg_profile(real(k1, "k1", QueryError), real(b, "b", QueryError)) if profile is None else profile
        )
        self._together = together
        if not isinstance(statuses, Mapping):
            raise QueryError(f"statuses is {shown(statuses)}: wanted a dict of names and factors")
        self._statuses = {
            str(at).lower(): real(factor, f"statuses.{at}", QueryError, 0) for at, factor in statuses.items()
        }
        self._half_life = None if half_life_days is None else real(half_life_days, "half_life_days", QueryError, 1e-6)
        self._fallback, self._contradictions = fallback, contradictions
        self._stop_words = frozenset(checked_names(stop_words, "stop_words"))
        self._clock = clock

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Return the lists ``text`` and ``vector``, or ``hybrid``; and ``fallback`` if they are empty.

        Raises:
            QueryError: the query is invalid.
            StoreError: the vault cannot be read.
        """
        limit = max(1, min(request.limit, MOST_ITEMS))
        answer = (
            self._by_legs(request, limit) if self._together is None else self._at_once(request, limit, self._together)
        )
        if not self._fallback or request.mode == "vector" or any(ranked.items for ranked in answer.lists):
            return answer
        hits = self._by_parts(request.query, limit)
        if not hits:
            return answer
        items = items_of(store_of(self._knowledge), hits)
        lists = [*answer.lists, RankedList("fallback", self.name, items, variant=request.variant)]
        return answer._replace(lists=lists, backends=[*answer.backends, "lexical_fallback"], fallback=True)

    def _by_legs(self, request: CorpusRequest, limit: int) -> CorpusAnswer:
        legs = searched_legs(
            self._knowledge,
            request,
            tier=self.name,
            limit=CANDIDATES * limit,
            kinds=None,
            where=self._where,
            profile=self._profile,
            memories=True,
        )
        lists, backends, contradictions = [], [], 0
        if legs.text is not None:
            best = self._weighed(legs.text)[:limit]
            if self._contradictions:
                contradictions = len(contradicting([(hit.title, hit.score) for hit in best]))
            lists.append(self._list("text", request, best))
            backends.append("memory_bm25")
        if legs.vector is not None:
            lists.append(self._list("vector", request, legs.vector[:limit]))
            backends.append("memory_vector")
        return CorpusAnswer(lists, backends, legs.notes, contradictions=contradictions, confidence=legs.confidence)

    def _at_once(self, request: CorpusRequest, limit: int, profile: ProfileLike) -> CorpusAnswer:
        both = searched_together(
            self._knowledge,
            request,
            tier=self.name,
            limit=limit,
            kinds=None,
            where=self._where,
            profile=profile,
            memories=True,
        )
        contradictions = 0
        if self._contradictions:
            contradictions = len(contradicting([(hit.title, hit.score) for hit in both.hits]))
        backends = [name for name, leg in (("memory_bm25", "text"), ("memory_vector", "vector")) if leg in both.legs]
        lists = [self._list("hybrid", request, both.hits)]
        return CorpusAnswer(lists, backends, both.notes, contradictions=contradictions, confidence=both.confidence)

    def _list(self, name: str, request: CorpusRequest, hits: Sequence[Hit]) -> RankedList:
        words = words_of(request.query)
        passages = [changed_hit(hit, snippet=_passage(hit, words)) for hit in hits]
        return RankedList(name, self.name, items_of(store_of(self._knowledge), passages), variant=request.variant)

    def explain(self, request: CorpusRequest, entry_id: str) -> Miss | None:
        """Return why its lists lack an entry; None if unknown.

        Raises:
            SeptetError: the vault cannot be read.
        """
        entry = self._knowledge.get(entry_id)
        if entry is None:
            return None
        is_memory = entry.kind not in OTHER_KINDS if self._kinds is None else entry.kind in self._kinds
        if not is_memory and not (entry.kind == "chunk" and entry.source in self._roots):
            return missed_kind(entry)
        limit = max(1, min(request.limit, MOST_ITEMS))
        return missed(
            self._knowledge,
            request,
            entry_id,
            limit=limit if self._together is not None else CANDIDATES * limit,
            kinds=None,
            where=self._where,
            profile=self._profile,
            together=self._together,
            memories=True,
            reordered="" if self._together is not None else f", but state and age rank {limit} others before it",
        )

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry of the vault, of any kind; None if there is none.

        Raises:
            StoreError: the vault cannot be read.
        """
        return self._knowledge.get(entry_id)

    def _weighed(self, hits: Sequence[Hit]) -> list[Hit]:
        now, weighed = self._clock(), []
        for hit in hits:
            entry = hit.entry
            if entry is None:
                weighed.append(hit)
                continue
            status = status_factor(entry.attrs.get("status"), self._statuses) if self._statuses else 1.0
            ages = self._half_life is not None and not entry.attrs.get("evergreen")
            age = age_factor(now - entry.updated_at, self._half_life or 1.0, LEAST_AGE_FACTOR) if ages else 1.0
            raw = {**hit.raw, "status_factor": status, "age_factor": age}
            weighed.append(changed_hit(hit, score=hit.score * status * age, raw=raw))
        return sorted(weighed, key=lambda hit: -hit.score)

    def _by_parts(self, query: str, limit: int) -> list[Hit]:
        """Return the latest entries that contain a word of the query anywhere, those with most words first."""
        long_words = (word for word in dict.fromkeys(words(query)) if len(word) >= LEAST_CHARS)
        sought = [word for word in long_words if word not in self._stop_words][:MOST_WORDS]
        if not sought:
            return []
        holds = [{field: {"$contains": word}} for word in sought for field in _FIELDS]
        where = {"$and": [self._where, {"$or": holds}]}
        page = self._knowledge.entries(where, order_by=("updated_at", "desc"), limit=CANDIDATES * limit)
        shares = []
        for entry in page:
            text = "\n".join((entry.title, entry.description, entry.context)).lower()
            shares.append(sum(1 for word in sought if word in text) / len(sought))
        order = sorted(range(len(page)), key=lambda at: -shares[at])[:limit]
        scored: list[Scored] = [(shares[at], self.name, {}, {}, 0.0, {"fallback": shares[at]}) for at in order]
        return list(hits_of([page[at] for at in order], scored, full=True))


def _passage(hit: Hit, sought: Sequence[str]) -> str:
    return hit.snippet if hit.entry is None or not hit.entry.description else best_lines(hit.entry.description, sought)


def _of_kinds(kinds: Sequence[str] | None, roots: Sequence[str]) -> dict[str, Any]:
    chosen = {"kind": {"$nin": list(OTHER_KINDS)}} if kinds is None else {"kind": {"$in": list(kinds)}}
    if not roots:
        return chosen
    return {"$or": [chosen, {"$and": [{"kind": "chunk"}, {"source": {"$in": list(roots)}}]}]}


def _both(filters: dict[str, Any], where: Mapping[str, Any] | None) -> dict[str, Any]:
    if not where:
        return filters
    # At the top level each condition keeps its name for explanations.
    return {"$and": [filters, dict(where)]} if filters.keys() & where.keys() else {**filters, **where}
