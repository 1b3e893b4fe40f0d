"""Rules: how a profile makes hits of answers, and when it asks again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from septet.retrieval.corpus import Asked, Item, RankedList, RetrievalMode
from septet.retrieval.judging import Judged, judged
from septet.retrieval.ordering import Ordered, answered_lists, by_rank
from septet.retrieval.planning.evidence import is_better, wants_verification
from septet.retrieval.planning.followups import Clue, continues, follow_up_queries, rewritten_query
from septet.retrieval.planning.plan import RetrievalPlan
from septet.retrieval.planning.planner import plan as make_plan
from septet.retrieval.planning.policy import Policy
from septet.retrieval.recall.recalling import recall_lists

if TYPE_CHECKING:
    from septet.retrieval.recall.settings import RecallSettings
    from septet.retrieval.waves import Answer

__all__ = ["PlannedRules", "RecallRules", "Rules"]

WEB = "web_research"
#: A list of a planned retrieval has so many items, unless the caller names a limit.
PLANNED_LIMIT = 10


class Rules(Protocol):
    """How a profile makes hits of answers, and when it asks again."""

    @property
    def limit(self) -> int:
        """At most so many items in each list, unless the caller names a limit."""

    @property
    def most(self) -> int:
        """At most so many hits, unless the caller names a limit."""

    def plan(
        self, query: str, corpora: Iterable[str] | None, mode: RetrievalMode | None, available: Sequence[str]
    ) -> RetrievalPlan:
        """Return what is asked; the caller may name corpora and a mode.

        Raises:
            QueryError: they are not there.
        """

    def order(self, asked: Asked, answers: Sequence[Answer]) -> Ordered:
        """Return one order of what was answered."""

    def judge(self, asked: Asked, answers: Sequence[Answer], ordered: Ordered) -> Judged:
        """Return how good it is."""

    def verifies(self, plan: RetrievalPlan, judged: Judged) -> tuple[str, str] | None:
        """Return the rewritten query of a second wave, and why it is wanted; None if it is not."""

    def is_better(self, first: Judged, second: Judged) -> bool:
        """Return whether the second of two waves is to be kept."""

    def hops(self, plan: RetrievalPlan) -> int:
        """Return how often follow-up queries may be asked."""

    def follow_ups(self, asked: Asked, judged: Judged, ordered: Ordered) -> Sequence[str]:
        """Return the follow-up queries of what was found; none if it is good enough."""

    def kept(self, ordered: Ordered) -> int:
        """Return how many of an order, the best first, are good enough to be hits."""

    def least_score(self, ordered: Ordered) -> float:
        """Return the score below which hits are dropped."""


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
        """Return the plan that asks every source.

        Raises:
            QueryError: one that the caller names is not there.
        """
        made = make_plan(
            query,
            policy=self._policy,
            intent="broad_research",
            mode=mode,
            corpora=corpora,
            available=available,
        )
        if corpora is not None:
            return replace(made, allow_verification_pass=False)
        why = "a recall asks every source"
        return replace(
            made,
            corpora=tuple(available),
            allow_verification_pass=False,
            rationale=(why,),
            notes=(),
            overrides=(),
            reasons=tuple((name, why) for name in available),
        )

    def order(self, asked: Asked, answers: Sequence[Answer]) -> Ordered:
        """Return the order of the lists that count."""
        settings = self._settings
        lists = answered_lists(answers)
        made = recall_lists(lists, settings, query=asked.query, now=self._clock(), scope=asked.scope)
        return by_rank(made, k=settings.rrf_k, first_rank=0)

    def judge(self, asked: Asked, answers: Sequence[Answer], ordered: Ordered) -> Judged:
        """Return the documented numbers, which a recall does not act on."""
        return judged(asked.query, answers, self._policy)

    def verifies(self, plan: RetrievalPlan, judged: Judged) -> tuple[str, str] | None:
        """Return None: one wave is all."""
        return None

    def is_better(self, first: Judged, second: Judged) -> bool:
        """Return False."""
        return False

    def hops(self, plan: RetrievalPlan) -> int:
        """Return 0."""
        return 0

    def follow_ups(self, asked: Asked, judged: Judged, ordered: Ordered) -> Sequence[str]:
        """Return none."""
        return ()

    def kept(self, ordered: Ordered) -> int:
        """Return how many score enough, three at least; at most so many times the limit of a list."""
        least = self.least_score(ordered)
        enough = max(min(3, len(ordered.found)), sum(1 for one in ordered.found if one.fused.score >= least))
        return min(enough, self._settings.most_results * self._settings.limit)

    def least_score(self, ordered: Ordered) -> float:
        """Return the relevance floor's share of the best score."""
        return self._settings.recall.relevance_floor * max((one.fused.score for one in ordered.found), default=0.0)


class PlannedRules:
    """A planned retrieval: the documented plan, evidence, verification and follow-ups, by the knobs of a policy.

    Args:
        policy: the knobs.
        order: makes one order of lists.
        limit: of hits, and of each list; None for 10.
        hops: so many follow-up hops in every plan; None for the policy's where a plan asks the web.
        contradicting: how many of some items contradict another one; None where nobody tells.
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
            QueryError: a corpus that the caller names is not there.
        """
        return make_plan(query, policy=self._policy, mode=mode, corpora=corpora, available=available)

    def order(self, asked: Asked, answers: Sequence[Answer]) -> Ordered:
        """Return the order of all lists."""
        return self._order(answered_lists(answers))

    def judge(self, asked: Asked, answers: Sequence[Answer], ordered: Ordered) -> Judged:
        """Return the documented numbers, or the calibrated ones, as the policy says."""
        linked = 0
        if self._contradicting is not None and not (asked.deadline is not None and asked.deadline.passed):
            linked = self._contradicting([one.item for one in ordered.found[: asked.limit]])
        return judged(asked.query, answers, self._policy, linked=linked)

    def verifies(self, plan: RetrievalPlan, judged: Judged) -> tuple[str, str] | None:
        """Return the rewritten query and the reason, where the evidence is weak and there is another query."""
        rewritten = rewritten_query(plan.query, self._policy)
        why = wants_verification(
            judged.evidence,
            allowed=plan.allow_verification_pass,
            query=plan.query,
            rewritten=rewritten,
            asked=judged.asked,
            policy=self._policy,
        )
        return None if why is None or rewritten is None else (rewritten, why)

    def is_better(self, first: Judged, second: Judged) -> bool:
        """Return whether quality or diversity is higher."""
        return is_better(first.evidence, second.evidence)

    def hops(self, plan: RetrievalPlan) -> int:
        """Return the hops of the configuration, or of the policy where the web is asked."""
        if self._hops is not None:
            return self._hops
        return self._policy.web_search_max_hops if WEB in plan.corpora else 0

    def follow_ups(self, asked: Asked, judged: Judged, ordered: Ordered) -> Sequence[str]:
        """Return what to ask next; nothing where the quality is what the policy aims at."""
        if not continues(judged.evidence.evidence_quality, 1, self._policy):
            return ()
        best = ordered.found[: self.most]
        flagged = judged.evidence.contradiction_count
        clues = [
            Clue(_share(found.item.hit.confidence), found.item.hit.snippet, place < flagged)
            for place, found in enumerate(best)
        ]
        return follow_up_queries(asked.query, clues, self._policy)

    def kept(self, ordered: Ordered) -> int:
        """Return all."""
        return len(ordered.found)

    def least_score(self, ordered: Ordered) -> float:
        """Return 0: nothing is dropped for its score."""
        return 0.0


def _share(confidence: float) -> float | None:
    # Hits of other programs were compared with nothing.
    return confidence if confidence > 0 else None
