"""Retrieval: what a retriever returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from septet.model.results import Hit, Hits
from septet.notes import Note, printed
from septet.retrieval.account.envelope import Envelope
from septet.retrieval.corpus import RankedList
from septet.retrieval.ordering import Ordered
from septet.retrieval.planning.plan import RetrievalPlan

if TYPE_CHECKING:
    from septet.retrieval.recall.settings import PresentSettings
    from septet.retrieval.rounds import Round

__all__ = ["Retrieval"]


@dataclass(frozen=True, slots=True)
class Retrieval(Hits):
    """The hits of one retrieval, best first, and how it went.

    Attributes:
        hits: the results. ``breakdown`` has what each list contributed, which sums to ``score``; ``signals`` the rank
            in each list, from 1; ``tier`` the corpus.
        query: as it was given.
        profile: the name of the profile.
        plan: what was asked, and why; it can be given back to `Retriever.retrieve`.
        envelope: the account of the retrieval, for logs and other programs.
        lists: the ranked lists that were fused.
        notes: what the retrieval could not do, or did differently.
        confidence: how likely an answer is there, 0 to 1; None where no corpus can tell.
        took_ms: how long it took, in milliseconds.
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
        """Return the hits as text for a prompt within a budget of characters, more of the good ones than of others.

        Args:
            char_budget: so many characters of texts in total, at least 80; see `septet.retrieval.recall.presenting`.
                None for what the configuration says, as of the others.
            relevance_floor: leave out what scores less than this part of the best score, 0 to 1; the first three stay.
            max_results: so many at most.
            citations: number the passages, and ask for the numbers.
            boundary: as for `to_prompt`.

        Raises:
            QueryError: an argument is out of range, or a passage holds the boundary.
        """
        from septet.retrieval.recall.presenting import formatted

        said = self._shown
        return formatted(
            self.hits,
            char_budget=said.char_budget if char_budget is None else char_budget,
            relevance_floor=said.relevance_floor if relevance_floor is None else relevance_floor,
            max_results=said.max_results if max_results is None else max_results,
            citations=citations,
            boundary=boundary,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict; of the lists the ids that they hold."""
        return {
            "query": self.query,
            "profile": self.profile,
            "took_ms": self.took_ms,
            "confidence": self.confidence,
            "hits": [h.to_dict() for h in self.hits],
            "notes": [n.to_dict() for n in self.notes],
            "plan": self.plan.to_dict(),
            "envelope": self.envelope.to_dict(),
            "lists": [
                {
                    "corpus": one.corpus,
                    "name": one.name,
                    "variant": one.variant,
                    "weight": one.weight,
                    "ids": [item.hit.id for item in one.items],
                }
                for one in self.lists
            ],
        }
