"""Running a retrieval: waves of questions, one after the other, until the evidence is good enough or time is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from septet.retrieval.corpus import Answered, Asked, Corpus
from septet.retrieval.rounds import Reason, Round
from septet.retrieval.rules import Rules
from septet.retrieval.waves import CorpusThreads, Wave, ask

if TYPE_CHECKING:
    from typing import TypeGuard

    from septet.model.entry import Entry
    from septet.retrieval.expansion.expanding import Expanding
    from septet.retrieval.planning.planner import RetrievalPlan

__all__ = ["Runner"]

#: Why follow-up queries are asked.
WEAK = "weak_evidence_quality"
#: Why a correction is asked where nothing else found anything.
EMPTY = "local_empty"


class Correcting(Corpus, Protocol):
    """A corpus that may be asked once more, in another way, when it is known how little the others found."""

    def corrective(self, asked: Asked, *, local_empty: bool, quality: float) -> Answered | None:
        """Return what it finds then; None if it is not to be asked."""


class Runner:
    """Runs plans over corpora. Threads may share it.

    Args:
        corpora: what can be asked, by name.
        rules: of the profile.
        expanding: says queries in other words; None for no other phrasings.
    """

    def __init__(self, corpora: Mapping[str, Corpus], rules: Rules, expanding: Expanding | None) -> None:
        self._corpora, self._rules, self._expanding = corpora, rules, expanding
        self._threads = CorpusThreads()

    def rounds(self, plan: RetrievalPlan, asked: Asked) -> list[Round]:
        """Return the waves of a plan, the one that counts among them.

        Raises:
            SeptetError: every corpus failed in the first wave.
        """
        corpora = [self._corpora[name] for name in plan.corpora if name in self._corpora]
        phrasings = None if self._expanding is None else self._expanding.begin(asked.query, asked.deadline)
        first = self._round("query", "", asked, ask(corpora, asked, self._threads, phrasings))
        rounds = [first]
        wanted = self._rules.verifies(plan, first.judged) if plan.allow_verification_pass else None
        if wanted is not None and not _over(asked):
            again = asked._replace(query=wanted[0], mode="hybrid")
            wave = ask(corpora, again, self._threads, required=False)
            second = self._round("verification", wanted[1], again, wave)._replace(kept=False)
            if self._rules.is_better(first.judged, second.judged):
                first, second = first._replace(kept=False), second._replace(kept=True)
            rounds = [first, second]
        if plan.allow_verification_pass:
            self._correct(asked, corpora, rounds)
        self._hop(plan, asked, corpora, rounds)
        return rounds

    def _correct(self, asked: Asked, corpora: Sequence[Corpus], rounds: list[Round]) -> None:
        """Ask the corpora that correct what the others found; what they find joins it."""
        for corpus in corpora:
            if _over(asked) or not _corrects(corpus):
                continue
            kept = next(one for one in rounds if one.kept)
            evidence = kept.judged.evidence
            is_empty = not any(count for name, count in evidence.hit_counts.items() if name != corpus.name)
            # What is unknown is not weak.
            quality = 1.0 if evidence.evidence_quality is None else evidence.evidence_quality
            correction = _Correction(corpus, is_empty, quality)
            again = ask([correction], asked, self._threads, required=False)
            if correction.is_needless or not (again.notes or _keys(again) - _keys(kept.wave)):
                continue
            wave = kept.wave._replace(
                answers=(*kept.wave.answers, *again.answers),
                notes=tuple(dict.fromkeys((*kept.wave.notes, *again.notes))),
                took_ms=kept.wave.took_ms + again.took_ms,
            )
            rounds[rounds.index(kept)] = kept._replace(kept=False)
            rounds.append(self._round("corrective", EMPTY if is_empty else WEAK, asked, wave))

    def _hop(self, plan: RetrievalPlan, asked: Asked, corpora: Sequence[Corpus], rounds: list[Round]) -> None:
        """Ask follow-up queries, hop by hop; what they find joins what was found, as of further phrasings."""
        known = {text.casefold() for one in rounds for text in one.wave.variants}
        for _ in range(self._rules.hops(plan)):
            kept = next(one for one in rounds if one.kept)
            queries = self._rules.follow_ups(asked, kept.judged, kept.ordered)
            new = [query for query in dict.fromkeys(queries) if query.casefold() not in known]
            known.update(query.casefold() for query in new)
            wave = kept.wave
            for query in new:
                if _over(asked):
                    break
                again = ask(corpora, asked._replace(query=query), self._threads, required=False)
                wave = _joined(wave, again, query)
            if len(wave.variants) == len(kept.wave.variants):
                return
            rounds[rounds.index(kept)] = kept._replace(kept=False)
            rounds.append(self._round("follow_up", WEAK, asked, wave))

    def _round(self, reason: Reason, why: str, asked: Asked, wave: Wave) -> Round:
        ordered = self._rules.order(asked, wave.answers)
        judged = self._rules.judge(asked, wave.answers, ordered)
        return Round(reason, asked.query, why, wave, ordered, judged, True, asked)


class _Correction:
    """A corpus as it is asked for a correction."""

    local = phrasings = False

    def __init__(self, corpus: Correcting, local_empty: bool, quality: float) -> None:
        self.name, self._corpus, self._local_empty, self._quality = corpus.name, corpus, local_empty, quality
        #: It was not asked: the policy does not want it.
        self.is_needless = False

    def search(self, asked: Asked) -> Answered:
        found = self._corpus.corrective(asked, local_empty=self._local_empty, quality=self._quality)
        self.is_needless = found is None
        return found or Answered(())

    def get(self, entry_id: str) -> Entry | None:
        return self._corpus.get(entry_id)


def _corrects(corpus: Corpus) -> TypeGuard[Correcting]:
    return callable(getattr(corpus, "corrective", None))


def _keys(wave: Wave) -> set[str]:
    found = (one.found for one in wave.answers if one.found is not None)
    return {item.key for answered in found for ranked in answered.lists for item in ranked.items}


def _joined(wave: Wave, again: Wave, query: str) -> Wave:
    """Return two waves as one, the second as a further phrasing of the first."""
    number = len(wave.variants)
    answers = []
    for one in again.answers:
        found = one.found
        if found is not None:
            found = found._replace(lists=[ranked._replace(variant=number) for ranked in found.lists])
        answers.append(one._replace(variant=number, found=found))
    notes = tuple(dict.fromkeys((*wave.notes, *again.notes)))
    return Wave(
        (*wave.variants, query), (*wave.answers, *answers), notes, wave.took_ms + again.took_ms, wave.phrased_ms
    )


def _over(asked: Asked) -> bool:
    return asked.deadline is not None and asked.deadline.passed
