"""Memory: entries and notes, by words with factors for their state and age, and by vectors."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from septet._core import words
from septet.errors import QueryError
from septet.inputs.arguments import real, shown
from septet.model.results import Hit, Scored, hits_of
from septet.profiles import ProfileLike
from septet.query.options import Leg
from septet.retrieval.corpora.legs import (
    Miss,
    VaultSearch,
    checked_filter,
    checked_names,
    leg_profile,
    limit_of,
    missed_kind,
)
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest
from septet.retrieval.fusion import sealed, unsealed
from septet.retrieval.knowledge import Knowledge

#: Kinds of other corpora.
OTHER_KINDS = ("chunk", "node", "path", "symbol", "web")
#: Candidates of the text leg, as a multiple of the limit: the factors change the order.
CANDIDATES = 4
#: Minimum characters and maximum number of words in a fallback.
LEAST_CHARS, MOST_WORDS = 3, 8
_FIELDS = ("title", "description", "context")
BACKENDS: Mapping[Leg, str] = {"text": "memory_bm25", "vector": "memory_vector"}
#: Factor of a document's score by the state in its front matter; 1 for any other state.
STATUS_FACTORS: Mapping[str, float] = {
    "current": 1.2,
    "experimental": 0.8,
    "research": 0.6,
    "roadmap": 0.6,
    "legacy": 0.2,
    "deprecated": 0.2,
}
#: State of a document without one.
NO_STATUS = "current"
HALF_LIFE_DAYS = 180.0
LEAST_AGE_FACTOR = 0.1
SECONDS_A_DAY = 86_400.0
#: Two hits contradict each other if both score more than this and share a word of at least this many letters in their
#: titles.
LEAST_CONTRADICTING, CONTRADICTING_CHARS = 0.01, 4
_WORD = re.compile(r"[^\W_]+")


class MemoryCorpus(VaultSearch):
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
        chosen = None if kinds is None else checked_names(kinds, "kinds")
        self._kinds, self._roots = chosen, checked_names(roots, "roots")
        super().__init__(
            name,
            knowledge,
            BACKENDS,
            where=_both(_of_kinds(chosen, self._roots), checked_filter(where)),
            profile=profile or leg_profile(real(k1, "k1", QueryError), real(b, "b", QueryError)),
            together=together,
            memories=True,
        )
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
        """Return the lists ``text`` and ``vector``, or ``hybrid``; and ``fallback`` if they are empty."""
        limit = limit_of(request)
        leg_hits = self._searched(request, self._candidates(limit))
        lists = {name: hits[:limit] for name, hits in leg_hits.lists.items()}
        if "text" in lists:
            lists["text"] = self._weighed(leg_hits.lists["text"])[:limit]
        sought = words_of(request.query)
        answer = self._answer(request, leg_hits, {name: _with_passages(hits, sought) for name, hits in lists.items()})
        if self._contradictions:
            best = lists.get("text", lists.get("hybrid", ()))
            flagged = contradicting([(hit.title, hit.score) for hit in best])
            answer = answer._replace(contradictions=len(flagged))
        if not self._fallback or request.mode == "vector" or any(lists.values()):
            return answer
        hits = self._by_parts(request.query, limit)
        if not hits:
            return answer
        fallback = self._list("fallback", request, hits)
        backends = [*answer.backends, "lexical_fallback"]
        return answer._replace(lists=[*answer.lists, fallback], backends=backends, fallback=True)

    def _candidates(self, limit: int) -> int:
        return limit if self._together is not None else CANDIDATES * limit

    def explain(self, request: CorpusRequest, entry_id: str) -> Miss | None:
        """Return why its lists lack an entry; None if unknown."""
        entry = self._knowledge.get(entry_id)
        if entry is None:
            return None
        is_memory = entry.kind not in OTHER_KINDS if self._kinds is None else entry.kind in self._kinds
        if not is_memory and not (entry.kind == "chunk" and entry.source in self._roots):
            return missed_kind(entry)
        limit = limit_of(request)
        reordered = "" if self._together is not None else f", but state and age rank {limit} others before it"
        return self._missed(request, entry_id, self._candidates(limit), reordered)

    def _weighed(self, hits: Sequence[Hit]) -> list[Hit]:
        now, weighed = self._clock(), unsealed(hits)
        for hit in weighed:
            entry = hit.entry
            if entry is None:
                continue
            status = status_factor(entry.attrs.get("status"), self._statuses) if self._statuses else 1.0
            ages = self._half_life is not None and not entry.attrs.get("evergreen")
            age = age_factor(now - entry.updated_at, self._half_life or 1.0, LEAST_AGE_FACTOR) if ages else 1.0
            hit.raw = {**hit.raw, "status_factor": status, "age_factor": age}
            hit.score = hit.score * status * age
        weighed.sort(key=attrgetter("score"), reverse=True)
        return sealed(weighed)

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


def _with_passages(hits: Sequence[Hit], sought: Sequence[str]) -> list[Hit]:
    """Return hits whose snippets are the best lines of their descriptions."""
    copies = unsealed(hits)
    for copy in copies:
        text = "" if copy.entry is None else copy.entry.description
        if text:
            copy.snippet = best_lines(text, sought) if "\n" in text else text
    return sealed(copies)


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


def words_of(text: str) -> list[str]:
    """Return the lower-cased runs of letters and digits."""
    return _WORD.findall(text.lower())


def status_factor(status: object, factors: Mapping[str, float] = STATUS_FACTORS) -> float:
    """Return the factor of a document's score by its state; 1.0 for an unknown state.

    Args:
        status: a name in any case; None or an empty name counts as ``current``.
        factors: by name in lower case.
    """
    name = status.strip().lower() if isinstance(status, str) else NO_STATUS if status is None else str(status).lower()
    return factors.get(name or NO_STATUS, 1.0)


def age_factor(age_s: float, half_life_days: float = HALF_LIFE_DAYS, least: float = LEAST_AGE_FACTOR) -> float:
    """Return the factor of a document's score by its age: ``2 ^ (-days / half life)``, from ``least`` to 1.

    NaN, an unknown age, gives 1.
    """
    if not age_s > 0:
        return 1.0
    return min(1.0, max(least, math.pow(2.0, max(-1e3, -(age_s / SECONDS_A_DAY) / half_life_days))))


def best_lines(text: str, words: Sequence[str]) -> str:
    """Return the first line that contains most of the words, also as parts of words, with its neighbours."""
    lines = text.split("\n")
    best, most = 0, -1
    for at, line in enumerate(lines):
        lowered, count = line.lower(), 0
        for word in words:
            count += word in lowered
        if count > most:
            best, most = at, count
    return "\n".join(lines[max(0, best - 1) : best + 2])


def contradicting(best: Sequence[tuple[str, float]]) -> frozenset[int]:
    """Return the places of hits, by title and score, that may contradict each other: the first two, or none.

    Both score more than 0.01, and their different titles share a word of four letters or more.
    """
    if len(best) < 2:
        return frozenset()
    (title, score), (next_title, next_score) = best[:2]
    if min(score, next_score) <= LEAST_CONTRADICTING or title == next_title:
        return frozenset()
    shared = {word for word in words_of(title) if len(word) >= CONTRADICTING_CHARS} & set(words_of(next_title))
    return frozenset({0, 1}) if shared else frozenset()
