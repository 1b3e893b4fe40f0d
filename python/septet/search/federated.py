"""The tiers of one search: opened together, searched in parallel, left out when they fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from septet.errors import SeptetError, StoreError
from septet.model.results import Note, TierReport
from septet.query.plan import MOST, Plan
from septet.tiers.protocol import Recalled, SearchAgain, Session, Standing, Tier, TierLost
from septet.watch.stages import STAGES

if TYPE_CHECKING:
    from septet._core import Ranking
    from septet.model.pages import Facets
    from septet.query.deadline import Deadline
    from septet.ranking.pool import Candidate
    from septet.ranking.profile import WeightSet
    from septet.search.tier_threads import TierThreads

__all__ = [
    "Answer",
    "FederatedSearch",
    "Page",
    "matched_by",
    "memories_of",
    "mismatches",
    "next_attempt",
    "query_notes",
]

_Answer = TypeVar("_Answer")
_Nothing = TypeVar("_Nothing")


#: Of a tier that does not say.
UNKNOWN = Standing({}, False)


#: So often a search begins again because a tier let go of something damaged.
MOST_ATTEMPTS = 5


class Answer(NamedTuple):
    """What one tier answered.

    Attributes:
        place: of the tier among those that are searched.
        recalled: what it found, for each query.
    """

    place: int
    session: Session
    recalled: Sequence[Recalled]
    standing: Standing


class Page(NamedTuple):
    """Which of the ranked results are returned, where these are not the first ones; see `septet.search.pages`.

    Attributes:
        decided: what has the first places, whatever this ranking says.
        first: the first place that is returned.
        last: the place after the last one that is returned.
    """

    decided: tuple[Hashable, ...]
    first: int
    last: int

    @property
    def most(self) -> int:
        """How many of the best are enough to know the page."""
        # What has a place already may be anywhere in this ranking.
        return self.last if self.first >= len(self.decided) else MOST


class FederatedSearch:
    """A batch of queries over some tiers, from the highest priority to the lowest.

    Attributes:
        plans: one for each query; they differ in query and query vector only.
        answers: of the tiers that answered, in their order.
        page: which of the ranked results are returned, for a search with an offset.
        facets: of each query by field, where they are asked for.
    """

    page: Page | None = None
    facets: Sequence[Mapping[str, Facets]] = ()

    def __init__(self, tiers: Sequence[Tier], plans: Sequence[Plan]) -> None:
        """Begin the search in every tier; everything that is read of one is of one generation.

        A tier that cannot be opened is noted and left out.
        """
        #: When the search began, by `time.perf_counter`.
        self.started = time.perf_counter()
        if len(tiers) > 1:
            plan = plans[0]
            compare = "bm25" in plan.corpus_columns
            plans = [p._replace(comparable=compare and p.asks_text, needs_ids=True) for p in plans]
        self.tiers, self.plans, self.plan = tiers, plans, plans[0]
        self.answers: list[Answer] = []
        #: What there is to say, in the order in which it came up: of a tier that answered, what it says itself.
        self._events: list[Note | Answer] = []
        self._recalled = 0
        self._sessions: dict[int, Session] = {}
        self._took_ms: dict[int, float] = {}
        self._failures: list[SeptetError] = []
        self._errors: dict[int, str] = {}
        #: The places of tiers that did not answer in time.
        self.late: list[int] = []
        stages = STAGES.get()
        #: Of a search that somebody watches.
        self.stages = stages if stages is not None and stages.single else None
        if self.plan.deadline is not None:
            # Opening a tier takes its share of the time: it is part of `recall`.
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

    def recall(self, threads: TierThreads | None = None) -> None:
        """Search the tiers, each for itself.

        Args:
            threads: search slow tiers side by side; None searches one after the other.

        Raises:
            SeptetError: no tier answered.
        """
        if (deadline := self.plan.deadline) is not None:
            self._recall_until(deadline)
            if self.stages is not None:
                self.stages.mark("recall")
            return
        sessions = self._sessions

        def timed(place: int) -> Sequence[Recalled] | SeptetError:
            started = time.perf_counter()
            try:
                return sessions[place].recall()
            except SeptetError as fault:
                return fault
            finally:
                self._took_ms[place] = (time.perf_counter() - started) * 1e3

        places = list(sessions)
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
        self._recalled = len(self._events)
        if self.stages is not None:
            self.stages.mark("recall")
        if not self.answers:
            raise self._failures[0]

    def _take(self, place: int, found: Sequence[Recalled]) -> None:
        session = self._sessions[place]
        answer = Answer(place, session, found, self.or_degrade(place, session.standing, UNKNOWN))
        self.answers.append(answer)
        self._events.append(answer)

    def _recall_until(self, deadline: Deadline) -> None:
        """Open and search the tiers; leave out those that have not answered at the deadline."""
        # Most searches have none.
        from septet.search.in_time import LATE, nothing_found, recalled_until

        for place, outcome in recalled_until(self.tiers, self.plans, deadline):
            if outcome is None:
                self.late.append(place)
                self._errors[place] = f"no answer within {deadline.timeout_s:g} s"
                cause = f"the tier did not answer within {deadline.timeout_s:g} s"
                self._events.append(Note("deadline", cause, "raise timeout_s", self.tiers[place].name))
            elif isinstance(outcome, SeptetError):
                self._fail(place, outcome)
            else:
                self._sessions[place], found, self._took_ms[place] = outcome
                self._take(place, found)
        if not self.answers:
            if not self.late:
                raise self._failures[0]
            self.answers.append(Answer(self.late[0], LATE, nothing_found(self.plans), UNKNOWN))
        self._recalled = len(self._events)

    def or_degrade(self, place: int, ask: Callable[[], _Answer], nothing: _Nothing) -> _Answer | _Nothing:
        """Ask a tier that answered before; if it fails now, note it and return ``nothing``."""
        try:
            return ask()
        except SeptetError as fault:
            self._fail(place, fault)
            return nothing

    def recover(self, fault: Exception) -> None:
        """Have tiers leave out what an error over their candidates came from: not all of a row is looked at before.

        Raises:
            SearchAgain: a tier did.
        """
        recovered = [answer.session.recovers(fault) for answer in self.answers]
        if any(recovered):
            raise SearchAgain(str(fault)) from fault

    def with_all_left(self, ask: Callable[[FederatedSearch], _Answer]) -> _Answer:
        """Return what ``ask`` gives for the search; where a tier is lost meanwhile, what it gives without this tier.

        Raises:
            SeptetError: no tier is left; why the last one was lost.
        """
        while True:
            try:
                return ask(self)
            except TierLost as lost:
                self.without(lost)

    def without(self, lost: TierLost) -> FederatedSearch:
        """Return the search without a tier that had answered, of which a note says why; its session stays to be closed.

        Raises:
            SeptetError: no tier is left; why this one was lost.
        """
        self._failures.append(lost.fault)
        self._errors[lost.place] = str(lost.fault)
        note = Note("tier_failed", str(lost.fault), "the other tiers answered", self.tiers[lost.place].name)
        gone = [answer for answer in self.answers if answer.place == lost.place]
        self._events = [note if any(event is one for one in gone) else event for event in self._events]
        self.answers = [answer for answer in self.answers if answer.place != lost.place]
        if not self.answers:
            raise lost.fault from lost
        return self

    def tell(self, note: Note) -> None:
        """Add what there is to say behind what recall said."""
        self._events.append(note)

    @property
    def linked(self) -> bool:
        """Whether any tier that answered holds links."""
        return any(answer.standing.linked for answer in self.answers)

    def feedback(self) -> Mapping[str, int]:
        """Return the feedback rows of all tiers by action."""
        if len(self.answers) == 1:
            return self.answers[0].standing.feedback
        total: dict[str, int] = {}
        for answer in self.answers:
            for action, count in answer.standing.feedback.items():
                total[action] = total.get(action, 0) + count
        return total

    def notes(self, query: int, mismatches: Sequence[Note] = ()) -> list[Note]:
        """Return what there is to say of the tiers about a query.

        Args:
            mismatches: about its vector; they come behind what recall says.
        """
        notes: list[Note] = []
        for event in self._events[: self._recalled]:
            notes += (event,) if isinstance(event, Note) else event.recalled[query].notes
        later = [event for event in self._events[self._recalled :] if isinstance(event, Note)]
        return [*notes, *mismatches, *later]

    def reports(self, query: int) -> tuple[TierReport, ...]:
        """Return what each tier did for a query."""
        answered = {answer.place: answer for answer in self.answers}
        reports = []
        for place, tier in enumerate(self.tiers):
            answer, session = answered.get(place), self._sessions.get(place)
            found = 0 if answer is None else len(answer.recalled[query].pool)
            generation = 0 if session is None else session.generation
            took_ms = self._took_ms.get(place, 0.0)
            reports.append(
                TierReport(tier.name, tier.priority, found, generation, took_ms, self._errors.get(place, ""))
            )
        return tuple(reports)

    def _fail(self, place: int, fault: SeptetError) -> None:
        self._failures.append(fault)
        self._errors[place] = str(fault)
        self._events.append(Note("tier_failed", str(fault), "the other tiers answered", self.tiers[place].name))


def next_attempt(attempts: int, fault: SearchAgain) -> int:
    """Return the number of the next attempt at a search.

    Raises:
        StoreError: there were enough.
    """
    if attempts >= MOST_ATTEMPTS:
        raise StoreError(
            f"{fault}, each time anew: see what writes there, or open the vault with sidecar=False"
        ) from fault
    return attempts + 1


def memories_of(search: FederatedSearch, query: int, ranking: Ranking) -> list[tuple[int, Candidate]]:
    """Return the tiers' memories, of equal ids the highest tier's."""
    seen = set(ranking.pool.ids or ())
    found = []
    for answer in search.answers:
        for memory in answer.recalled[query].memories:
            if memory.id not in seen:
                seen.add(memory.id)
                found.append((answer.place, memory))
    return found


def query_notes(plan: Plan, guesses: Mapping[str, str], recalled: Sequence[Recalled]) -> list[Note]:
    """Return what there is to say of a query and its words, given what the tiers found."""
    notes = list(plan.notes)
    if guesses:
        from septet.search.typos import guess_note

        notes.append(guess_note(guesses, used=False))
    if plan.query.vague:
        notes += _of_vague(plan)
    elif not plan.query.terms and "text" in plan.legs:
        cause = "no letter or digit is left of the query" if plan.query.text.strip() else "the query is empty"
        cure = "ask with at least one word"
        if plan.filters:
            cure += "; entries(where) lists what passes a filter without a query"
        notes.append(Note("no_terms", cause, cure))
    if plan.query.cut:
        cause = f"the query is too long: its last {plan.query.cut} terms were left out"
        notes.append(Note("query_cut", cause, "ask with fewer words, or raise the profile's text.max_terms"))
    if plan.query.needed and all(one.whole == 0 for one in recalled) and any(one.matches for one in recalled):
        cause = "no entry holds every word of the query: those that hold some were searched"
        notes.append(Note("words_relaxed", cause, "ask with fewer words"))
    if plan.query.steps and (name := matched_by(plan, recalled)) not in (None, "all"):
        cause = f"no entry holds all {len(plan.query.terms)} words of the query: those that hold {name} were searched"
        notes.append(Note("words_relaxed", cause, "ask with fewer words"))
    return notes


def matched_by(plan: Plan, recalled: Sequence[Recalled]) -> str | None:
    """Return the name of the first step of a cascade that has an answer in a tier; None where none has."""
    answered = [found.step for found in recalled if found.step is not None]
    return plan.query.steps[min(answered)].name if answered else None


def _of_vague(plan: Plan) -> list[Note]:
    if "text" not in plan.legs:
        return []
    cause = "nothing but stop words and single letters is in the query: nothing was searched, vectors neither"
    return [Note("query_too_vague", cause, "ask with a word that tells more")]


def total_of(search: FederatedSearch, query: int, plan: Plan) -> int | None:
    """Return how many entries match the words, over all tiers that answered; None where no word was searched for."""
    # As `Plan.asks_text` says, without a call.
    if plan.scans_words or "text" not in plan.legs:
        return None
    if plan.vector is not None and not plan.query.terms and not plan.query.vague:
        return None
    answers = search.answers
    if len(answers) == 1:
        return answers[0].recalled[query].matches + answers[0].recalled[query].more
    return sum([answer.recalled[query].matches + answer.recalled[query].more for answer in answers])


def mismatches(search: FederatedSearch, query: int, mode: WeightSet) -> list[Note]:
    """A query vector that fits no tier is the caller's mistake; one that fits some is a note for the others."""
    notes = []
    for place, _, recalled, _ in search.answers:
        mismatch = recalled[query].mismatch
        if mismatch is not None:
            if mode == "text":
                raise mismatch
            name = search.tiers[place].name
            notes.append(Note("vector_mismatch", str(mismatch), "use one model for all tiers", name))
    return notes
