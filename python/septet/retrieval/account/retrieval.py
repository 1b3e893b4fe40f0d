"""Retrieval: the result of a retriever, built from its waves."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from septet.model.codec import attributes
from septet.model.results import Hit, Hits
from septet.notes import Note, printed
from septet.retrieval.account.accounts import CorpusTrace, ExpansionTrace, WaveTrace
from septet.retrieval.account.envelope import Envelope, envelope_of
from septet.retrieval.corpus import RankedList
from septet.retrieval.ordering import Ordered, hits_of
from septet.retrieval.planning.plan import RetrievalPlan
from septet.retrieval.recall.settings import PresentSettings
from septet.retrieval.rules import Round, Rules, used_backends
from septet.retrieval.waves import Reply


@dataclass(frozen=True, slots=True)
class Retrieval(Hits):
    """The hits of one retrieval, best first, with its account.

    Attributes:
        hits: the results. ``breakdown`` has the contribution of each list, which sum to ``score``; ``signals`` the rank
            in each list, from 1; ``tier`` the corpus.
        query: as passed by the caller.
        profile: name of the profile.
        plan: the plan with its reasons; pass it to `Retriever.retrieve` to repeat it.
        envelope: the account of the retrieval, for logs and other programs; made on first use.
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
    #: Further fields of the envelope.
    _sqlite: Mapping[str, Any] = field(repr=False, compare=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name != "envelope":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            object.__setattr__(self, "envelope", _envelope_of(self))
            return self.envelope

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


def retrieval_of(
    query: str,
    plan: RetrievalPlan,
    rounds: Sequence[Round],
    rules: Rules,
    most: int,
    profile: str,
    started: float,
    sqlite: Mapping[str, Any],
    presentation: PresentSettings,
) -> Retrieval:
    """Return the retrieval of the waves; ``started`` is from `time.perf_counter`, ``sqlite`` has envelope fields."""
    notes: dict[Note, None] = {}
    for entry in rounds:
        notes.update(dict.fromkeys(entry.wave.notes))
        if entry.used:
            best = entry
    ordered = best.ordered
    hits = hits_of(ordered, ordered.items[: min(most, rules.kept(ordered))])
    took_ms = (time.perf_counter() - started) * 1e3
    account = (tuple(ordered.lists), tuple(notes), best.judgement.confidence, took_ms)
    values = (hits, query, profile, plan, *account, ordered, tuple(rounds), presentation, sqlite)
    # Without its envelope, which most callers do not read.
    retrieval = object.__new__(Retrieval)
    for name, value in zip(_FIELDS, values):
        object.__setattr__(retrieval, name, value)
    return retrieval


_FIELDS: tuple[str, ...] = tuple(member.name for member in fields(Retrieval) if member.name != "envelope")


def _envelope_of(retrieval: Retrieval) -> Envelope:
    rounds = retrieval._rounds
    first, (best,) = rounds[0], [entry for entry in rounds if entry.used]
    verified = next((entry for entry in rounds if entry.reason == "verification"), None)
    phrased_ms = first.wave.phrased_ms
    return envelope_of(
        query=retrieval.query,
        profile=retrieval.profile,
        plan=retrieval.plan,
        evidence=best.judgement.evidence,
        waves=[_wave(entry) for entry in rounds],
        initial=first.judgement.evidence,
        verified=None if verified is None else verified.judgement.evidence,
        notes=retrieval.notes,
        fused=len(best.ordered.items),
        returned=len(retrieval.hits),
        confidence=best.judgement.confidence,
        expansion=None if phrased_ms is None else ExpansionTrace(first.wave.variants, phrased_ms),
        took_ms=retrieval.took_ms,
        **retrieval._sqlite,
    )


def attributes_of(retrieval: Retrieval) -> dict[str, Any]:
    """Return the span attributes of a retrieval; they contain no text of the query or an entry."""
    envelope = retrieval.envelope
    values: dict[str, Any] = {
        "db.response.returned_rows": len(retrieval),
        "septet.profile": retrieval.profile,
        "septet.corpora": list(retrieval.plan.corpora),
        "septet.intent": envelope.search_intent,
        "septet.waves": len(envelope.waves),
        "septet.tier": envelope.retrieval_tier,
        "septet.source_diversity": envelope.source_diversity,
        "septet.notes": [note.code for note in retrieval.notes],
    }
    if envelope.evidence_quality is not None:
        values["septet.evidence_quality"] = envelope.evidence_quality
    return values


def _wave(entry: Round) -> WaveTrace:
    corpora = tuple(_corpus(answer) for answer in entry.wave.answers)
    return WaveTrace(entry.reason, entry.request.query, entry.why, entry.used, entry.wave.took_ms, corpora)


def _corpus(reply: Reply) -> CorpusTrace:
    answered = reply.answered
    if answered is None:
        return CorpusTrace(reply.corpus, reply.variant, reply.state, reply.took_ms)
    return CorpusTrace(
        reply.corpus,
        reply.variant,
        reply.state,
        reply.took_ms,
        len({item.key for ranked in answered.lists for item in ranked.items}),
        {ranked.name: len(ranked.items) for ranked in answered.lists},
        used_backends(answered),
        answered.step,
        answered.contradictions,
        answered.confidence,
    )
