"""Rules of a profile: how replies become hits, how a wave is judged, and when to search again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from septet.retrieval.corpus import CorpusRequest, Item, RankedList, RetrievalMode
from septet.retrieval.ordering import HYBRID, VECTOR, Ordered, answered_lists, by_rank
from septet.retrieval.planning.evidence import (
    Evidence,
    WaveCounts,
    calibrated,
    documented,
    is_same_query,
    source_diversity,
    wants_verification,
)
from septet.retrieval.planning.plan import RetrievalPlan
from septet.retrieval.planning.planner import looks_like_code
from septet.retrieval.planning.planner import plan as make_plan
from septet.retrieval.planning.policy import Policy
from septet.retrieval.planning.queries import Clue, continues, follow_up_queries, rewritten_query
from septet.retrieval.recall.recalling import recall_lists

if TYPE_CHECKING:
    from septet.retrieval.corpus import CorpusAnswer
    from septet.retrieval.recall.settings import RecallSettings
    from septet.retrieval.waves import Reply, Wave

#: The reason of a wave.
Reason: TypeAlias = Literal["query", "verification", "corrective", "follow_up"]
#: Corpora by precedence: the documented quality uses the best score of the first one with hits.
FIRST = ("memory", "document_chunks", "repo_inventory", "remote", "docs_mirror", "web_research")


class Judgement(NamedTuple):
    """The judgement of a wave.

    Attributes:
        evidence: the numbers that the profile acts on.
        corpora: number of corpora searched.
        confidence: probability that the hits contain an answer, 0 to 1; None if no corpus reports one.
    """

    evidence: Evidence
    corpora: int
    confidence: float | None


class Round(NamedTuple):
    """One wave and its outcome.

    Attributes:
        reason: kind of the wave.
        why: documented reason of a further wave, such as ``weak_evidence_quality``.
        wave: the replies.
        ordered: the order of the replies; for corrections and follow-ups, with the replies of earlier waves.
        judgement: the evidence and the confidence.
        used: True if the hits come from it.
        request: the request with the original phrasing.
    """

    reason: Reason
    why: str
    wave: Wave
    ordered: Ordered
    judgement: Judgement
    used: bool
    request: CorpusRequest


def used_backends(answer: CorpusAnswer) -> tuple[str, ...]:
    """Return the backends that produced hits: none by words if vectors alone did, and the reverse."""
    by_words = by_vector = False
    for ranked in answer.lists:
        if ranked.name == HYBRID:
            for item in ranked.items:
                raw = item.hit.raw
                # BM25 is 0 for an entry that only the vector leg matched; a cosine of 0 is a value.
                by_words = by_words or bool(raw.get("bm25"))
                by_vector = by_vector or raw.get("cosine") is not None
        elif ranked.items:
            by_vector = by_vector or ranked.name == VECTOR
            by_words = by_words or ranked.name != VECTOR
    return tuple([name for name in answer.backends if (by_vector if name.endswith("_vector") else by_words)])


WEB = "web_research"
#: Default maximum items per list of a planned retrieval.
PLANNED_LIMIT = 10


class Rules:
    """The rules by which replies become hits, and a retrieval searches again: those of a planned retrieval.

    They are the documented plan, evidence, verification and follow-ups, by the knobs of a policy. ``hops`` are those of
    every plan, by default the policy's in plans that use the web; ``contradicting`` counts the items that contradict
    another one.

    Attributes:
        limit: maximum items in each list by default.
        most: maximum hits by default.
    """

    def __init__(
        self,
        policy: Policy,
        order: Callable[[Sequence[RankedList]], Ordered],
        *,
        limit: int | None = None,
        hops: int | None = None,
        contradicting: Callable[[Sequence[Item]], int] | None = None,
    ) -> None:
        self._policy, self._order, self._hops, self._contradicting = policy, order, hops, contradicting
        self.limit = self.most = PLANNED_LIMIT if limit is None else limit

    def plan(
        self, query: str, corpora: Iterable[str] | None, mode: RetrievalMode | None, available: Sequence[str]
    ) -> RetrievalPlan:
        """Return the plan of the heuristics; the caller may name corpora and a mode.

        Raises:
            QueryError: a corpus named by the caller is unknown.
        """
        return make_plan(query, policy=self._policy, mode=mode, corpora=corpora, available=available)

    def order(self, request: CorpusRequest, answers: Sequence[Reply]) -> Ordered:
        """Return the fused order of all lists."""
        return self._order(answered_lists(answers))

    def judge(self, request: CorpusRequest, answers: Sequence[Reply], ordered: Ordered) -> Judgement:
        """Return the documented or calibrated judgement of the replies to all phrasings, by the policy."""
        linked = 0
        if self._contradicting is not None and not (request.deadline is not None and request.deadline.passed):
            linked = self._contradicting([item.item for item in ordered.items[: request.limit]])
        keys: dict[str, set[str]] = {}
        tops: dict[str, float] = {}
        confidences: dict[str, float] = {}
        fallback = False
        for reply in answers:
            name, answered = reply.corpus, reply.answered
            known = keys.setdefault(name, set())
            if answered is None:
                continue
            for ranked in answered.lists:
                for key, hit in ranked.items:
                    known.add(key)
                    if name not in tops or hit.score > tops[name]:
                        tops[name] = hit.score
            if answered.confidence is not None:
                confidences[name] = max(answered.confidence, confidences.get(name, 0.0))
            linked += answered.contradictions
            fallback = fallback or answered.fallback
        counts = {name: len(several) for name, several in keys.items()}
        top = None
        for name in (*FIRST, *counts):
            if name in tops:
                top = tops[name]
                break
        # Only hits in a single place lead to the code.
        code_like = source_diversity(counts) == 1 and looks_like_code(request.query, self._policy)
        counted = WaveCounts(counts, top, linked, code_like, fallback)
        if self._policy.evidence == "calibrated":
            by_corpus = {name: confidences.get(name) for name, count in counts.items() if count}
            evidence = calibrated(counted, by_corpus, self._policy)
        else:
            evidence = documented(counted, self._policy)
        return Judgement(evidence, len(counts), max(confidences.values(), default=None))

    def verifies(self, plan: RetrievalPlan, judgement: Judgement) -> tuple[str, str] | None:
        """Return the rewritten query of a second wave and its reason; None for no second wave."""
        evidence, policy = judgement.evidence, self._policy
        why = wants_verification(
            evidence, allowed=plan.allow_verification_pass, searched=judgement.corpora, policy=policy
        )
        if why is None:
            return None
        rewritten = rewritten_query(plan.query, policy)
        if rewritten is None or (plan.query and is_same_query(rewritten, plan.query)):
            return None
        return rewritten, why

    def hops(self, plan: RetrievalPlan) -> int:
        """Return the maximum follow-up hops: those of the configuration, or the policy's for plans that use the web."""
        if self._hops is not None:
            return self._hops
        return self._policy.web_search_max_hops if WEB in plan.corpora else 0

    def follow_ups(self, request: CorpusRequest, judgement: Judgement, ordered: Ordered) -> Sequence[str]:
        """Return the follow-up queries of an order; empty if the quality reaches the policy's target."""
        if not continues(judgement.evidence.evidence_quality, 1, self._policy):
            return ()
        flagged = judgement.evidence.contradiction_count
        clues = []
        for place, item in enumerate(ordered.items[: self.most]):
            hit = item.item.hit
            # Hits of other programs carry no confidence.
            clues.append(Clue(hit.confidence if hit.confidence > 0 else None, hit.snippet, place < flagged))
        return follow_up_queries(request.query, clues, self._policy)

    def kept(self, ordered: Ordered) -> int:
        """Return how many items of an order, best first, score high enough to be hits."""
        return len(ordered.items)

    def least_score(self, ordered: Ordered) -> float:
        """Return the minimum score of a hit."""
        return 0.0


class RecallRules(Rules):
    """A recall: all lists by reciprocal rank, k 60, ranks from 0; one wave, whose evidence is only reported.

    Args:
        settings: of the recall.
        clock: returns the present, from which ages are counted, in epoch seconds.
    """

    def __init__(self, settings: RecallSettings, clock: Callable[[], float]) -> None:
        order = partial(by_rank, k=settings.rrf_k, first_rank=0)
        super().__init__(Policy(), order, limit=settings.limit, hops=0)
        self._settings, self._clock = settings, clock
        self.most = int(settings.recall.max_results)

    def plan(
        self, query: str, corpora: Iterable[str] | None, mode: RetrievalMode | None, available: Sequence[str]
    ) -> RetrievalPlan:
        """Return the plan that searches every source.

        Raises:
            QueryError: a corpus named by the caller is unknown.
        """
        plan = make_plan(
            query, policy=self._policy, intent="broad_research", mode=mode, corpora=corpora, available=available
        )
        plan = replace(plan, allow_verification_pass=False)
        if corpora is not None:
            return plan
        why = "a recall searches every source"
        reasons = tuple((name, why) for name in available)
        return replace(plan, corpora=tuple(available), rationale=(why,), notes=(), overrides=(), reasons=reasons)

    def order(self, request: CorpusRequest, answers: Sequence[Reply]) -> Ordered:
        """Return the order of the lists that count."""
        lists, now = answered_lists(answers), self._clock()
        return self._order(recall_lists(lists, self._settings, query=request.query, now=now, scope=request.scope))

    def verifies(self, plan: RetrievalPlan, judgement: Judgement) -> tuple[str, str] | None:
        """Return None: one wave is all."""
        return None

    def kept(self, ordered: Ordered) -> int:
        """Return the number of good items: at least three, at most ``most_results`` times the limit of a list."""
        least, good = self.least_score(ordered), 0
        for item in ordered.items:
            good += item.fused.score >= least
        enough = max(min(3, len(ordered.items)), good)
        return min(enough, self._settings.most_results * self._settings.limit)

    def least_score(self, ordered: Ordered) -> float:
        """Return the relevance floor's share of the best score."""
        best = ordered.items[0].fused.score if ordered.items else 0.0
        return self._settings.recall.relevance_floor * best
