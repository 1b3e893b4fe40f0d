"""Rules of a profile: how replies become hits, how a wave is judged, and when to search again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from septet.retrieval.corpus import CorpusRequest, Item, RankedList, RetrievalMode
from septet.retrieval.ordering import HYBRID, VECTOR, Ordered, answered_lists, by_rank
from septet.retrieval.planning.evidence import Evidence, calibrated_evidence, evidence_of, wants_verification
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
    lists = [ranked for ranked in answer.lists if ranked.items]
    by_vector = any(ranked.name == VECTOR or _has(ranked, "cosine") for ranked in lists)
    by_words = any(ranked.name not in (VECTOR, HYBRID) or _has(ranked, "bm25") for ranked in lists)
    names = [name for name in answer.backends if (by_vector if name.endswith("_vector") else by_words)]
    return tuple(names) if lists else ()


def _has(ranked: RankedList, leg: str) -> bool:
    if ranked.name != HYBRID:
        return False
    # BM25 is 0 for an entry that only the vector leg matched; a cosine of 0 is a value.
    known = [value for item in ranked.items if (value := item.hit.raw.get(leg)) is not None]
    return any(known) if leg == "bm25" else bool(known)


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
        corpora = [(reply.corpus, reply.answered) for reply in answers if reply.answered is not None]
        keys: dict[str, dict[str, float]] = {reply.corpus: {} for reply in answers}
        confidences: dict[str, float | None] = {}
        for name, answered in corpora:
            for ranked in answered.lists:
                for item in ranked.items:
                    keys[name][item.key] = max(item.hit.score, keys[name].get(item.key, item.hit.score))
            known = [value for value in (confidences.get(name), answered.confidence) if value is not None]
            confidences[name] = max(known, default=None)
        counts = {name: len(scores) for name, scores in keys.items()}
        best = next((name for name in (*FIRST, *counts) if counts.get(name)), None)
        top = None if best is None else max(keys[best].values())
        numbers: dict[str, Any] = {
            "contradictions": linked + sum(answered.contradictions for _, answered in corpora),
            "code_like": looks_like_code(request.query, self._policy),
            "fallback": any(answered.fallback for _, answered in corpora),
            "policy": self._policy,
        }
        if self._policy.evidence == "calibrated":
            by_corpus = {name: confidences.get(name) for name, count in counts.items() if count}
            evidence = calibrated_evidence(by_corpus, counts, top_score=top, **numbers)
        else:
            evidence = evidence_of(counts, top, **numbers)
        confidence = max((value for value in confidences.values() if value is not None), default=None)
        return Judgement(evidence, len(counts), confidence)

    def verifies(self, plan: RetrievalPlan, judgement: Judgement) -> tuple[str, str] | None:
        """Return the rewritten query of a second wave and its reason; None for no second wave."""
        rewritten = rewritten_query(plan.query, self._policy)
        why = wants_verification(
            judgement.evidence,
            allowed=plan.allow_verification_pass,
            query=plan.query,
            rewritten=rewritten,
            searched=judgement.corpora,
            policy=self._policy,
        )
        return None if why is None or rewritten is None else (rewritten, why)

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
        least = self.least_score(ordered)
        enough = max(min(3, len(ordered.items)), sum(1 for item in ordered.items if item.fused.score >= least))
        return min(enough, self._settings.most_results * self._settings.limit)

    def least_score(self, ordered: Ordered) -> float:
        """Return the relevance floor's share of the best score."""
        return self._settings.recall.relevance_floor * max((item.fused.score for item in ordered.items), default=0.0)
