"""Runs a retrieval: waves in sequence, until the evidence suffices or the deadline passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from septet.retrieval.corpus import Corpus, CorpusAnswer, CorpusRequest
from septet.retrieval.planning.evidence import is_better
from septet.retrieval.rules import Reason, Round, Rules
from septet.retrieval.waves import CorpusThreads, Wave, ask

if TYPE_CHECKING:
    from septet.model.entry import Entry
    from septet.retrieval.expansion.expanding import Expanding
    from septet.retrieval.planning.plan import RetrievalPlan

#: Reason of follow-up queries.
WEAK = "weak_evidence_quality"
#: Reason of a correction when no other corpus has hits.
EMPTY = "local_empty"


class Correcting(Corpus, Protocol):
    """A corpus with a second, different search for when the others have little."""

    def corrective(self, request: CorpusRequest, *, local_empty: bool, quality: float) -> CorpusAnswer | None:
        """Search again; None if the policy does not allow it."""


class Runner:
    """Runs plans over corpora, by the rules of a profile. Threads may share it."""

    def __init__(self, corpora: Mapping[str, Corpus], rules: Rules, expanding: Expanding | None) -> None:
        self._corpora, self._rules, self._expanding = corpora, rules, expanding
        self._threads = CorpusThreads()

    def rounds(self, plan: RetrievalPlan, request: CorpusRequest) -> list[Round]:
        """Return the waves of a plan; one of them is marked as used.

        Raises:
            SeptetError: every corpus failed in the first wave.
        """
        corpora = [self._corpora[name] for name in plan.corpora if name in self._corpora]
        phrasings = None if self._expanding is None else self._expanding.begin(request.query, request.deadline)
        first = self._round("query", "", request, ask(corpora, request, self._threads, phrasings))
        rounds = [first]
        verification = self._rules.verifies(plan, first.judgement) if plan.allow_verification_pass else None
        if verification is not None and not _is_late(request):
            rewritten, why = verification
            again = request._replace(query=rewritten, mode="hybrid")
            wave = ask(corpora, again, self._threads, required=False)
            second = self._round("verification", why, again, wave)._replace(used=False)
            if is_better(first.judgement.evidence, second.judgement.evidence):
                first, second = first._replace(used=False), second._replace(used=True)
            rounds = [first, second]
        if plan.allow_verification_pass:
            self._correct(request, corpora, rounds)
        self._hop(plan, request, corpora, rounds)
        return rounds

    def _correct(self, request: CorpusRequest, corpora: Sequence[Corpus], rounds: list[Round]) -> None:
        """Run the corpora with a corrective search; their hits join the order."""
        for corpus in corpora:
            if not callable(getattr(corpus, "corrective", None)) or _is_late(request):
                continue
            best = next(entry for entry in rounds if entry.used)
            evidence = best.judgement.evidence
            is_empty = not any(count for name, count in evidence.hit_counts.items() if name != corpus.name)
            # Unknown quality is not weak quality.
            quality = 1.0 if evidence.evidence_quality is None else evidence.evidence_quality
            correction = _Correction(cast("Correcting", corpus), is_empty, quality)
            again = ask([correction], request, self._threads, required=False)
            if correction.is_needless or not (again.notes or _keys(again) - _keys(best.wave)):
                continue
            wave = best.wave._replace(
                answers=(*best.wave.answers, *again.answers),
                notes=tuple(dict.fromkeys((*best.wave.notes, *again.notes))),
                took_ms=best.wave.took_ms + again.took_ms,
            )
            rounds[rounds.index(best)] = best._replace(used=False)
            rounds.append(self._round("corrective", EMPTY if is_empty else WEAK, request, wave))

    def _hop(self, plan: RetrievalPlan, request: CorpusRequest, corpora: Sequence[Corpus], rounds: list[Round]) -> None:
        """Search follow-up queries, hop by hop; their hits join the order as further phrasings."""
        hops = self._rules.hops(plan)
        known = {text.casefold() for entry in rounds for text in entry.wave.variants} if hops else set()
        for _ in range(hops):
            best = next(entry for entry in rounds if entry.used)
            queries = self._rules.follow_ups(request, best.judgement, best.ordered)
            new = [query for query in dict.fromkeys(queries) if query.casefold() not in known]
            known.update(query.casefold() for query in new)
            wave = best.wave
            for query in new:
                if _is_late(request):
                    break
                again = ask(corpora, request._replace(query=query), self._threads, required=False)
                wave = _joined(wave, again, query)
            if len(wave.variants) == len(best.wave.variants):
                return
            rounds[rounds.index(best)] = best._replace(used=False)
            rounds.append(self._round("follow_up", WEAK, request, wave))

    def _round(self, reason: Reason, why: str, request: CorpusRequest, wave: Wave) -> Round:
        ordered = self._rules.order(request, wave.answers)
        judgement = self._rules.judge(request, wave.answers, ordered)
        return Round(reason, why, wave, ordered, judgement, True, request)


class _Correction:
    """A corpus, called for a correction."""

    local = phrasings = False

    def __init__(self, corpus: Correcting, local_empty: bool, quality: float) -> None:
        self.name, self._corpus, self._local_empty, self._quality = corpus.name, corpus, local_empty, quality
        #: True if the policy did not allow the search.
        self.is_needless = False

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        answer = self._corpus.corrective(request, local_empty=self._local_empty, quality=self._quality)
        self.is_needless = answer is None
        return answer or CorpusAnswer(())

    def get(self, entry_id: str) -> Entry | None:
        return self._corpus.get(entry_id)


def _keys(wave: Wave) -> set[str]:
    answers = (reply.answered for reply in wave.answers if reply.answered is not None)
    return {item.key for answered in answers for ranked in answered.lists for item in ranked.items}


def _joined(wave: Wave, again: Wave, query: str) -> Wave:
    """Merge two waves; the second becomes a further phrasing of the first."""
    number = len(wave.variants)
    replies = []
    for reply in again.answers:
        answered = reply.answered
        if answered is not None:
            answered = answered._replace(lists=[ranked._replace(variant=number) for ranked in answered.lists])
        replies.append(reply._replace(variant=number, answered=answered))
    notes = tuple(dict.fromkeys((*wave.notes, *again.notes)))
    return Wave(
        (*wave.variants, query), (*wave.answers, *replies), notes, wave.took_ms + again.took_ms, wave.phrased_ms
    )


def _is_late(request: CorpusRequest) -> bool:
    return request.deadline is not None and request.deadline.passed
