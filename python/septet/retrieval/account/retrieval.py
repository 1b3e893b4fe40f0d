"""Retrieval: the result of a retriever."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from septet.model.codec import attributes
from septet.model.results import Hit, Hits
from septet.notes import Note, printed
from septet.retrieval.account.envelope import Envelope
from septet.retrieval.corpus import RankedList
from septet.retrieval.ordering import Ordered
from septet.retrieval.planning.plan import RetrievalPlan

if TYPE_CHECKING:
    from septet.retrieval.judging import Round
    from septet.retrieval.recall.settings import PresentSettings


@dataclass(frozen=True, slots=True)
class Retrieval(Hits):
    """The hits of one retrieval, best first, with its account.

    Attributes:
        hits: the results. ``breakdown`` has the contribution of each list, which sum to ``score``; ``signals`` the rank
            in each list, from 1; ``tier`` the corpus.
        query: as passed by the caller.
        profile: name of the profile.
        plan: the plan with its reasons; pass it to `Retriever.retrieve` to repeat it.
        envelope: the account of the retrieval, for logs and other programs.
        lists: the ranked lists that were fused.
        notes: problems and deviations.
        confidence: probability that the hits contain an answer, 0 to 1; None if no corpus reports one.
        took_ms: duration in milliseconds.
    """

    hits: tuple[Hit, ...]
    query: str
    profile: str
    plan: RetrievalPlan
    envelope: Envelope
    lists: tuple[RankedList, ...]
    notes: tuple[Note, ...]
    confidence: float | None
    took_ms: float
    _ordered: Ordered = field(repr=False, compare=False)
    _rounds: tuple[Round, ...] = field(repr=False, compare=False)
    _shown: PresentSettings = field(repr=False, compare=False)

    def __repr__(self) -> str:
        lines = [f"<Retrieval {len(self)} for {self.query[:60]!r} in {self.took_ms:.1f} ms>"]
        lines += [f"  {h.score:.4f}  {h.tier}  {h.id}  {h.title}" for h in self.hits]
        lines += [f"  note {line}" for line in printed(self.notes)]
        return "\n".join(lines)

    def format(
        self,
        *,
        char_budget: float | None = None,
        relevance_floor: float | None = None,
        max_results: float | None = None,
        citations: bool = True,
        boundary: str | None = None,
    ) -> str:
        """Return the hits as text for a prompt, within a budget of characters that favours better hits.

        Args:
            char_budget: maximum characters of all texts, at least 80; see `septet.retrieval.recall.presenting`.
                None for the configuration's, as for the others.
            relevance_floor: minimum score as a share of the best score, 0 to 1; the first three hits always stay.
            max_results: maximum number of hits.
            citations: number the passages, and request these numbers as citations.
            boundary: as for `to_prompt`.

        Raises:
            QueryError: an argument is out of range, or a passage contains the boundary.
        """
        from septet.retrieval.recall.presenting import formatted

        settings = self._shown
        return formatted(
            self.hits,
            char_budget=settings.char_budget if char_budget is None else char_budget,
            relevance_floor=settings.relevance_floor if relevance_floor is None else relevance_floor,
            max_results=settings.max_results if max_results is None else max_results,
            citations=citations,
            boundary=boundary,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; lists are given by their ids."""
        names = ("query", "profile", "took_ms", "confidence", "hits", "notes", "plan", "envelope")
        lists = [
            attributes(ranked, ("corpus", "name", "variant", "weight"))
            | {"ids": [item.hit.id for item in ranked.items]}
            for ranked in self.lists
        ]
        return attributes(self, names) | {"lists": lists}
