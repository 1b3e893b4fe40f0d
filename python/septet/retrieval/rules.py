"""Rules of a profile: how replies become hits, and when to search again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from septet.retrieval.corpus import Asked, Item, RankedList, RetrievalMode
from septet.retrieval.judging import Judgement, judgement_of
from septet.retrieval.ordering import Ordered, answered_lists, by_rank
from septet.retrieval.planning.evidence import is_better, wants_verification
from septet.retrieval.planning.followups import Clue, continues, follow_up_queries, rewritten_query
from septet.retrieval.planning.plan import RetrievalPlan
from septet.retrieval.planning.planner import plan as make_plan
from septet.retrieval.planning.policy import Policy
from septet.retrieval.recall.recalling import recall_lists

if TYPE_CHECKING:
    from septet.retrieval.recall.settings import RecallSettings
    from septet.retrieval.waves import Reply

WEB = "web_research"
#: Default maximum items per list of a planned retrieval.
PLANNED_LIMIT = 10


class Rules(Protocol):
    """The rules by which a profile turns replies into hits, and searches again."""

    @property
    def limit(self) -> int:
        """Maximum items in each list by default."""

    @property
    def most(self) -> int:
        """Maximum hits by default."""

    def plan(
        self, query: str, corpora: Iterable[str] | None, mode: RetrievalMode | None, available: Sequence[str]
    ) -> RetrievalPlan:
        """Return the plan; the caller may name corpora and a mode.

        Raises:
            QueryError: a corpus is unknown.
        """

    def order(self, request: Asked, answers: Sequence[Reply]) -> Ordered:
        """Return the fused order of replies."""

    def judge(self, request: Asked, answers: Sequence[Reply], ordered: Ordered) -> Judgement:
        """Return the judgement of the order."""

    def verifies(self, plan: RetrievalPlan, judgement: Judgement) -> tuple[str, str] | None:
        """Return the rewritten query of a second wave and its reason; None for no second wave."""

    def is_better(self, first: Judgement, second: Judgement) -> bool:
        """Return True if the second of two waves replaces the first."""

    def hops(self, plan: RetrievalPlan) -> int:
        """Return the maximum number of follow-up hops."""

    def follow_ups(self, request: Asked, judgement: Judgement, ordered: Ordered) -> Sequence[str]:
        """Return the follow-up queries of an order; empty if the evidence suffices."""

    def kept(self, ordered: Ordered) -> int:
        """Return how many items of an order, best first, score high enough to be hits."""

    def least_score(self, ordered: Ordered) -> float:
        """Return the minimum score of a hit."""


class RecallRules:
    """A recall: all lists by reciprocal rank, k 60, ranks from 0; one wave, and no judgement.

    Args:
        settings: of the recall.
        clock: returns the present, from which ages are counted, in epoch seconds.
    """

    def __init__(self, settings: RecallSettings, clock: Callable[[], float]) -> None:
        self._settings, self._clock, self._policy = settings, clock, Policy()
        self.limit = settings.limit
        self.most = int(settings.recall.max_results)

    def plan(
        self, query: str, corpora: Iterable[str] | None, mode: RetrievalMode | None, available: Sequence[str]
    ) -> RetrievalPlan:
        """Return the plan that searches every source.

        Raises:
            QueryError: a corpus named by the caller is unknown.
        """
        plan = make_plan(
            query,
            policy=self._policy,
            intent="broad_research",
            mode=mode,
            corpora=corpora,
            available=available,
        )
        if corpora is not None:
            return replace(plan, allow_verification_pass=False)
        why = "a recall searches every source"
        return replace(
            plan,
            corpora=tuple(available),
            allow_verification_pass=False,
            rationale=(why,),
            notes=(),
            overrides=(),
            reasons=tuple((name, why) for name in available),
        )

    def order(self, request: Asked, answers: Sequence[Reply]) -> Ordered:
        """Return the order of the lists that count."""
        settings = self._settings
        answered = answered_lists(answers)
        lists = recall_lists(answered, settings, query=request.query, now=self._clock(), scope=request.scope)
        return by_rank(lists, k=settings.rrf_k, first_rank=0)

    def judge(self, request: Asked, answers: Sequence[Reply], ordered: Ordered) -> Judgement:
        """Return the documented numbers, which a recall does not act on."""
        return judgement_of(request.query, answers, self._policy)

    def verifies(self, plan: RetrievalPlan, judgement: Judgement) -> tuple[str, str] | None:
        """Return None: one wave is all."""
        return None

    def is_better(self, first: Judgement, second: Judgement) -> bool:
        """Return False."""
        return False

    def hops(self, plan: RetrievalPlan) -> int:
        """Return 0."""
        return 0

    def follow_ups(self, request: Asked, judgement: Judgement, ordered: Ordered) -> Sequence[str]:
        """Return none."""
        return ()

    def kept(self, ordered: Ordered) -> int:
        """Return the number of good items: at least three, at most ``most_results`` times the limit of a list."""
        least = self.least_score(ordered)
        enough = max(min(3, len(ordered.items)), sum(1 for item in ordered.items if item.fused.score >= least))
        return min(enough, self._settings.most_results * self._settings.limit)

    def least_score(self, ordered: Ordered) -> float:
        """Return the relevance floor's share of the best score."""
        return self._settings.recall.relevance_floor * max((item.fused.score for item in ordered.items), default=0.0)


class PlannedRules:
    """A planned retrieval: the documented plan, evidence, verification and follow-ups, by the knobs of a policy.

    Args:
        policy: the knobs.
        order: fuses lists.
        limit: of hits, and of each list; None for 10.
        hops: follow-up hops in every plan; None for the policy's in plans that use the web.
        contradicting: counts the items that contradict another one; None to not count.
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
        """Return the plan of the heuristics.

        Raises:
            QueryError: a corpus named by the caller is unknown.
        """
        return make_plan(query, policy=self._policy, mode=mode, corpora=corpora, available=available)

    def order(self, request: Asked, answers: Sequence[Reply]) -> Ordered:
        """Return the order of all lists."""
        return self._order(answered_lists(answers))

    def judge(self, request: Asked, answers: Sequence[Reply], ordered: Ordered) -> Judgement:
        """Return the documented or calibrated judgement, by the policy."""
        linked = 0
        if self._contradicting is not None and not (request.deadline is not None and request.deadline.passed):
            linked = self._contradicting([item.item for item in ordered.items[: request.limit]])
        return judgement_of(request.query, answers, self._policy, linked=linked)

    def verifies(self, plan: RetrievalPlan, judgement: Judgement) -> tuple[str, str] | None:
        """Return the rewritten query and the reason if the evidence is weak and the rewritten query differs."""
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

    def is_better(self, first: Judgement, second: Judgement) -> bool:
        """Return True if quality or diversity is higher."""
        return is_better(first.evidence, second.evidence)

    def hops(self, plan: RetrievalPlan) -> int:
        """Return the hops of the configuration, or the policy's for plans that use the web."""
        if self._hops is not None:
            return self._hops
        return self._policy.web_search_max_hops if WEB in plan.corpora else 0

    def follow_ups(self, request: Asked, judgement: Judgement, ordered: Ordered) -> Sequence[str]:
        """Return the next queries; empty if the quality reaches the policy's target."""
        if not continues(judgement.evidence.evidence_quality, 1, self._policy):
            return ()
        best = ordered.items[: self.most]
        flagged = judgement.evidence.contradiction_count
        clues = [
            Clue(_share(item.item.hit.confidence), item.item.hit.snippet, place < flagged)
            for place, item in enumerate(best)
        ]
        return follow_up_queries(request.query, clues, self._policy)

    def kept(self, ordered: Ordered) -> int:
        """Return the number of all items."""
        return len(ordered.items)

    def least_score(self, ordered: Ordered) -> float:
        """Return 0: no hit is dropped by score."""
        return 0.0


def _share(confidence: float) -> float | None:
    # Hits of other programs carry no confidence.
    return confidence if confidence > 0 else None
