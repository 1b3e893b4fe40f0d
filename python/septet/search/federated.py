"""The tiers of one search: opened together, searched in parallel, skipped on failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from septet.errors import SeptetError, StoreError
from septet.model.results import TierReport
from septet.notes import Note
from septet.query.plan import MOST, SearchPlan
from septet.ranking.pool import EMPTY, Candidate
from septet.system.records import NamedTuple
from septet.tiers.protocol import SearchAgain, Session, Tier, TierCandidates, TierFacts, TierLost
from septet.watch.hooks import STAGES

if TYPE_CHECKING:
    from septet._core import Ranking
    from septet.model.pages import Facets
    from septet.query.refine import Deadline
    from septet.ranking.profile import WeightSet
    from septet.search.threads import TierThreads

_Answer = TypeVar("_Answer")
_Nothing = TypeVar("_Nothing")

#: Standing of a tier that failed to report one.
UNKNOWN = TierFacts({}, False)

#: Maximum attempts of a search whose tiers discard damaged data.
MOST_ATTEMPTS = 5


class TierReply(NamedTuple):
    """The answer of one tier.

    Attributes:
        place: position of the tier among the searched ones.
        candidates: of each query.
    """

    place: int
    session: Session
    candidates: Sequence[TierCandidates]
    standing: TierFacts


class FixedMemory(NamedTuple):
    """A memory of fixed score, with the place of its tier."""

    tier: int
    entry: Candidate


class PageRange(NamedTuple):
    """The range of ranked results to return, for a search with an offset; see `septet.search.arranging`.

    Attributes:
        decided: names of the results in the first places, fixed by earlier stages.
        first: first place of the range.
        last: place after the end of the range.
    """

    decided: tuple[Hashable, ...]
    first: int
    last: int

    @property
    def most(self) -> int:
        """Number of best results that determine the page."""
        # Decided results may have any rank in this ranking.
        return self.last if self.first >= len(self.decided) else MOST


class FederatedSearch:
    """A batch of queries over some tiers, from the highest priority to the lowest.

    Attributes:
        plans: one for each query; they differ in query and query vector only.
        answers: of the tiers that answered, by priority.
        page: range of the results, for a search with an offset.
        facets: of each query by field, if requested.
    """

    page: PageRange | None = None
    facets: Sequence[Mapping[str, Facets]] = ()

    def __init__(self, tiers: Sequence[Tier], plans: Sequence[SearchPlan]) -> None:
        """Open a session in every tier, which reads one generation throughout.

        A tier that fails to open is skipped with a note.
        """
        #: Start of the search, by `time.perf_counter`.
        self.started = time.perf_counter()
        if len(tiers) > 1:
            plan = plans[0]
            compare = "bm25" in plan.corpus_columns
            plans = [p._replace(comparable=compare and p.asks_text, needs_ids=True) for p in plans]
        self.tiers, self.plans, self.plan = tiers, plans, plans[0]
        self.answers: list[TierReply] = []
        #: Notes in order of occurrence; an answer stands for the notes of its tier.
        self._events: list[Note | TierReply] = []
        self._tier_events = 0
        self._sessions: dict[int, Session] = {}
        self._took_ms: dict[int, float] = {}
        self._failures: list[SeptetError] = []
        self._errors: dict[int, str] = {}
        #: Places of tiers that missed the deadline.
        self.late: list[int] = []
        stages = STAGES.get()
        #: Stage timings, if a hook watches the search.
        self.stages = stages if stages is not None and stages.single else None
        if self.plan.deadline is not None:
            # `find_candidates` opens the tiers: opening counts against the deadline.
            return
        try:
            for place, tier in enumerate(tiers):
                try:
                    self._sessions[place] = tier.open(plans, place)
                except SeptetError as fault:
                    self._fail(place, fault)
        except BaseException:
            self.close()
            raise
        if self.stages is not None:
            self.stages.mark("open")

    def close(self) -> None:
        """End the search in every tier."""
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in reversed(sessions):
            session.close()

    def find_candidates(self, threads: TierThreads | None = None) -> FederatedSearch:
        """Search the tiers independently, and return the search; it is closed on an error.

        Args:
            threads: for searching slow tiers in parallel; None searches sequentially.

        Raises:
            SeptetError: no tier answered.
        """
        sessions = self._sessions

        def timed(place: int) -> Sequence[TierCandidates] | SeptetError:
            started = time.perf_counter()
            try:
                return sessions[place].candidates()
            except SeptetError as fault:
                return fault
            finally:
                self._took_ms[place] = (time.perf_counter() - started) * 1e3

        try:
            places = list(sessions)
            if self.plan.deadline is not None:
                self._find_until(self.plan.deadline)
                places = []
            if threads is None or len(places) < 2:
                outcomes = [timed(place) for place in places]
            else:
                names = [self.tiers[place].name for place in places]
                outcomes = threads.each(lambda i: timed(places[i]), names, len(self.plans))
            for place, outcome in zip(places, outcomes):
                if isinstance(outcome, SeptetError):
                    self._fail(place, outcome)
                else:
                    self._take(place, outcome)
            self._tier_events = len(self._events)
            if self.stages is not None:
                self.stages.mark("recall")
            if not self.answers:
                raise self._failures[0]
        except BaseException:
            self.close()
            raise
        return self

    def _take(self, place: int, candidates: Sequence[TierCandidates]) -> None:
        session = self._sessions[place]
        answer = TierReply(place, session, candidates, self.or_degrade(place, session.standing, UNKNOWN))
        self.answers.append(answer)
        self._events.append(answer)

    def _find_until(self, deadline: Deadline) -> None:
        """Open and search the tiers; skip those that miss the deadline."""
        # Imported here: most searches have no deadline.
        from septet.search.threads import LATE, candidates_until

        for place, outcome in candidates_until(self.tiers, self.plans, deadline):
            if outcome is None:
                self.late.append(place)
                self._errors[place] = f"no answer within {deadline.timeout_s:g} s"
                cause = f"the tier did not answer within {deadline.timeout_s:g} s"
                self._events.append(Note("deadline", cause, "raise timeout_s", self.tiers[place].name))
            elif isinstance(outcome, SeptetError):
                self._fail(place, outcome)
            else:
                self._sessions[place], candidates, self._took_ms[place] = outcome
                self._take(place, candidates)
        if self.late and not self.answers:
            nothing = TierCandidates(EMPTY, 0, False, None, (), None, ())
            self.answers.append(TierReply(self.late[0], LATE, [nothing] * len(self.plans), UNKNOWN))

    def or_degrade(self, place: int, ask: Callable[[], _Answer], nothing: _Nothing) -> _Answer | _Nothing:
        """Return ``ask()``; if the tier fails, add a note and return ``nothing``."""
        try:
            return ask()
        except SeptetError as fault:
            self._fail(place, fault)
            return nothing

    def recover(self, fault: Exception) -> None:
        """Let the tiers drop the damaged rows that caused an error: rows are not fully checked before ranking.

        Raises:
            SearchAgain: a tier dropped rows.
        """
        recovered = [answer.session.recovers(fault) for answer in self.answers]
        if any(recovered):
            raise SearchAgain(str(fault)) from fault

    def with_remaining(self, ask: Callable[[FederatedSearch], _Answer]) -> _Answer:
        """Return ``ask(self)``; retry without each tier lost on the way.

        Raises:
            SeptetError: no tier remains; the error of the last one.
        """
        while True:
            try:
                return ask(self)
            except TierLost as lost:
                self.without(lost)

    def without(self, lost: TierLost) -> FederatedSearch:
        """Drop a tier that had answered, with a note; its session still has to be closed. Returns the search.

        Raises:
            SeptetError: no tier remains; the error of this one.
        """
        self._failures.append(lost.fault)
        self._errors[lost.place] = str(lost.fault)
        note = Note("tier_failed", str(lost.fault), "the other tiers answered", self.tiers[lost.place].name)
        dropped = [answer for answer in self.answers if answer.place == lost.place]
        self._events = [note if any(event is answer for answer in dropped) else event for event in self._events]
        self.answers = [answer for answer in self.answers if answer.place != lost.place]
        if not self.answers:
            raise lost.fault from lost
        return self

    def add_note(self, note: Note) -> None:
        """Add a note after those of the tiers."""
        self._events.append(note)

    @property
    def linked(self) -> bool:
        """True if any answering tier contains links."""
        return any(answer.standing.linked for answer in self.answers)

    def feedback(self) -> Mapping[str, int]:
        """Return the number of feedback rows in all tiers, by action."""
        if len(self.answers) == 1:
            return self.answers[0].standing.feedback
        total: dict[str, int] = {}
        for answer in self.answers:
            for action, count in answer.standing.feedback.items():
                total[action] = total.get(action, 0) + count
        return total

    def notes(self, query: int, mismatches: Sequence[Note] = ()) -> list[Note]:
        """Return the tiers' notes on a query.

        Args:
            mismatches: notes on its vector, placed after those of the tiers.
        """
        notes: list[Note] = []
        for event in self._events[: self._tier_events]:
            notes += (event,) if isinstance(event, Note) else event.candidates[query].notes
        later = [event for event in self._events[self._tier_events :] if isinstance(event, Note)]
        return [*notes, *mismatches, *later]

    def reports(self, query: int) -> tuple[TierReport, ...]:
        """Return the report of each tier on a query."""
        answered = {answer.place: answer for answer in self.answers}
        reports = []
        for place, tier in enumerate(self.tiers):
            answer, session = answered.get(place), self._sessions.get(place)
            candidates = 0 if answer is None else len(answer.candidates[query].pool)
            generation = 0 if session is None else session.generation
            took_ms = self._took_ms.get(place, 0.0)
            reports.append(
                TierReport(tier.name, tier.priority, candidates, generation, took_ms, self._errors.get(place, ""))
            )
        return tuple(reports)

    def _fail(self, place: int, fault: SeptetError) -> None:
        self._failures.append(fault)
        self._errors[place] = str(fault)
        self._events.append(Note("tier_failed", str(fault), "the other tiers answered", self.tiers[place].name))


def next_attempt(attempts: int, fault: SearchAgain) -> int:
    """Return the number of the next attempt at a search.

    Raises:
        StoreError: all attempts are used up.
    """
    if attempts >= MOST_ATTEMPTS:
        cure = "check which program writes there, or open the vault with sidecar=False"
        raise StoreError(f"{fault}, in each of {MOST_ATTEMPTS} attempts: {cure}") from fault
    return attempts + 1


def memories_of(search: FederatedSearch, query: int, ranking: Ranking) -> list[FixedMemory]:
    """Return the memories of all tiers; for equal ids, that of the highest tier."""
    seen = set(ranking.pool.ids or ())
    memories = []
    for answer in search.answers:
        for memory in answer.candidates[query].memories:
            if memory.id not in seen:
                seen.add(memory.id)
                memories.append(FixedMemory(answer.place, memory))
    return memories


def query_notes(plan: SearchPlan, guesses: Mapping[str, str], answers: Sequence[TierCandidates]) -> list[Note]:
    """Return the notes on a query and its words, given the tiers' candidates."""
    notes = list(plan.notes)
    if guesses:
        notes.append(guess_note(guesses, used=False))
    if plan.query.vague:
        if "text" in plan.legs:
            cause = "the query contains only stop words and single letters: neither text nor vectors were searched"
            notes.append(Note("query_too_vague", cause, "ask with a more specific word"))
    elif not plan.query.terms and "text" in plan.legs:
        cause = "the query contains no letter or digit" if plan.query.text.strip() else "the query is empty"
        cure = "ask with at least one word"
        if plan.filters:
            cure += "; entries(where) lists matching entries without a query"
        notes.append(Note("no_terms", cause, cure))
    if plan.query.cut:
        cause = f"the query is too long: its last {plan.query.cut} terms were dropped"
        notes.append(Note("query_cut", cause, "ask with fewer words, or raise the profile's text.max_terms"))
    if plan.query.needed and all(r.whole == 0 for r in answers) and any(r.matches for r in answers):
        cause = "no entry contains every word of the query: entries with some of them were searched"
        notes.append(Note("words_relaxed", cause, "ask with fewer words"))
    if plan.query.steps and (name := matched_by(plan, answers)) not in (None, "all"):
        cause = f"no entry contains all {len(plan.query.terms)} words of the query: entries with {name} were searched"
        notes.append(Note("words_relaxed", cause, "ask with fewer words"))
    return notes


def guess_note(guesses: Mapping[str, str], *, used: bool) -> Note:
    """Return the note on words that no entry contains; ``used`` if the guesses were searched for instead."""
    cause, meant = f"no entry holds {', '.join(map(repr, guesses))}", ", ".join(map(repr, guesses.values()))
    if not used:
        return Note("did_you_mean", cause, f"did you mean {meant}?")
    return Note("did_you_mean", f"{cause}: searched for {meant} instead", "pass typos=False to turn off correction")


def matched_by(plan: SearchPlan, answers: Sequence[TierCandidates]) -> str | None:
    """Return the name of the first step of a cascade with matches in any tier; None without matches."""
    steps = [r.step for r in answers if r.step is not None]
    return plan.query.steps[min(steps)].name if steps else None


def total_of(search: FederatedSearch, query: int, plan: SearchPlan) -> int | None:
    """Return the number of entries in all tiers that match the words; None if no words were searched for."""
    # `SearchPlan.asks_text`, inlined.
    if plan.scans_words or "text" not in plan.legs:
        return None
    if plan.vector is not None and not plan.query.terms and not plan.query.vague:
        return None
    answers = search.answers
    if len(answers) == 1:
        return answers[0].candidates[query].matches + answers[0].candidates[query].more
    return sum([answer.candidates[query].matches + answer.candidates[query].more for answer in answers])


def mismatches(search: FederatedSearch, query: int, mode: WeightSet) -> list[Note]:
    """Return a note for each tier that the query vector does not fit; raise if it fits none."""
    notes = []
    for place, _, candidates, _ in search.answers:
        mismatch = candidates[query].mismatch
        if mismatch is not None:
            if mode == "text":
                raise mismatch
            name = search.tiers[place].name
            notes.append(Note("vector_mismatch", str(mismatch), "use one model for all tiers", name))
    return notes
