"""Memory: entries and notes, by words with the factors of their state and age, and by vectors."""

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
from septet.retrieval.corpus import Answered, Asked, RankedList
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge, items_of, store_of

__all__ = ["OTHER_KINDS", "MemoryCorpus"]

#: Kinds that other corpora have.
OTHER_KINDS = ("chunk", "node", "path", "symbol", "web")
#: So many times the limit are read of the full text, because the factors change the order.
CANDIDATES = 4
#: A fallback looks for words of so many characters, and so many of them.
LEAST_CHARS, MOST_WORDS = 3, 8
_FIELDS = ("title", "description", "context")


class MemoryCorpus:
    """What a vault remembers: a list by words, BM25 by factors of state and age, and one by vectors, the cosine.

    ``hit.raw`` keeps the numbers: ``bm25``, ``cosine``, ``status_factor``, ``age_factor``. The state is what front
    matter names (``attrs.status``), the age counts from the entry's last change, as its front matter or its file says;
    what is evergreen (``attrs.evergreen``) does not age. Where neither leg finds anything, entries that hold a word of
    the query as a part of another are listed, and the answer says that it is a fallback.

    Args:
        knowledge: a vault or a federation.
        name: what lists and hits call it.
        kinds: of the entries; None for all but those of other corpora: chunk, node, path, symbol and web.
        roots: names of synced folders (``source``) whose chunks are memories too.
        where: a filter on top, as for `Vault.search`.
        k1: of BM25; see `TextRules`.
        b: of BM25.
        profile: whose scores count in place of BM25 and the cosine, as of the built-in ``septet``; ``k1`` and ``b``
            are its own then.
        together: a profile that ranks words and vectors at once, just as `Vault.search` does with it, as one list
            ``hybrid``; states and ages count as in that profile then. None for the two lists.
        statuses: what each state multiplies the score of words by, in lower case; empty for nothing.
        half_life_days: after so long an age counts half; None for no aging.
        fallback: look for parts of words where nothing is found.
        stop_words: words that are not looked for then, in lower case.
        contradictions: count the best two hits by words as contradicting each other where their titles share a word of
            four letters, as documented.
        clock: the time, in epoch seconds.

    Raises:
        QueryError: an argument is none of these.
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

    def search(self, asked: Asked) -> Answered:
        """Return the lists ``text`` and ``vector``, or ``hybrid``; and ``fallback`` where they are empty.

        Raises:
            QueryError: the query cannot be understood.
            StoreError: the vault cannot be read.
        """
        limit = max(1, min(asked.limit, MOST_ITEMS))
        found = self._by_legs(asked, limit) if self._together is None else self._at_once(asked, limit, self._together)
        if not self._fallback or asked.mode == "vector" or any(ranked.items for ranked in found.lists):
            return found
        hits = self._by_parts(asked.query, limit)
        if not hits:
            return found
        items = items_of(store_of(self._knowledge), hits)
        lists = [*found.lists, RankedList("fallback", self.name, items, variant=asked.variant)]
        return found._replace(lists=lists, backends=[*found.backends, "lexical_fallback"], fallback=True)

    def _by_legs(self, asked: Asked, limit: int) -> Answered:
        found = searched_legs(
            self._knowledge,
            asked,
            tier=self.name,
            limit=CANDIDATES * limit,
            kinds=None,
            where=self._where,
            profile=self._profile,
            memories=True,
        )
        lists, backends, contradictions = [], [], 0
        if found.text is not None:
            best = self._weighed(found.text)[:limit]
            if self._contradictions:
                contradictions = len(contradicting([(hit.title, hit.score) for hit in best]))
            lists.append(self._list("text", asked, best))
            backends.append("memory_bm25")
        if found.vector is not None:
            lists.append(self._list("vector", asked, found.vector[:limit]))
            backends.append("memory_vector")
        return Answered(lists, backends, found.notes, contradictions=contradictions, confidence=found.confidence)

    def _at_once(self, asked: Asked, limit: int, profile: ProfileLike) -> Answered:
        found = searched_together(
            self._knowledge,
            asked,
            tier=self.name,
            limit=limit,
            kinds=None,
            where=self._where,
            profile=profile,
            memories=True,
        )
        contradictions = 0
        if self._contradictions:
            contradictions = len(contradicting([(hit.title, hit.score) for hit in found.hits]))
        backends = [name for name, leg in (("memory_bm25", "text"), ("memory_vector", "vector")) if leg in found.legs]
        lists = [self._list("hybrid", asked, found.hits)]
        return Answered(lists, backends, found.notes, contradictions=contradictions, confidence=found.confidence)

    def _list(self, name: str, asked: Asked, hits: Sequence[Hit]) -> RankedList:
        sought = words_of(asked.query)
        passages = [changed_hit(hit, snippet=_passage(hit, sought)) for hit in hits]
        return RankedList(name, self.name, items_of(store_of(self._knowledge), passages), variant=asked.variant)

    def explain(self, asked: Asked, entry_id: str) -> Miss | None:
        """Return why its lists do not hold an entry; None where the vault cannot tell.

        Raises:
            SeptetError: the vault cannot be read.
        """
        entry = self._knowledge.get(entry_id)
        if entry is None:
            return None
        own = entry.kind not in OTHER_KINDS if self._kinds is None else entry.kind in self._kinds
        if not own and not (entry.kind == "chunk" and entry.source in self._roots):
            return missed_kind(entry)
        limit = max(1, min(asked.limit, MOST_ITEMS))
        return missed(
            self._knowledge,
            asked,
            entry_id,
            limit=limit if self._together is not None else CANDIDATES * limit,
            kinds=None,
            where=self._where,
            profile=self._profile,
            together=self._together,
            memories=True,
            reordered="" if self._together is not None else f", and state and age put {limit} others before it",
        )

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry of the vault, whatever its kind; None if there is none.

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
        """Return the entries changed last that hold a word of the query anywhere, those that hold most first."""
        told = (word for word in dict.fromkeys(words(query)) if len(word) >= LEAST_CHARS)
        sought = [word for word in told if word not in self._stop_words][:MOST_WORDS]
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


def _both(one: dict[str, Any], where: Mapping[str, Any] | None) -> dict[str, Any]:
    if not where:
        return one
    # Side by side each condition has its own name, which explanations tell.
    return {"$and": [one, dict(where)]} if one.keys() & where.keys() else {**one, **where}
