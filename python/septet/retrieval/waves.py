"""Waves: corpora asked side by side, in several phrasings, under one deadline."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple, Protocol

from septet._core import Lock
from septet.errors import QueryError, SeptetError, StoreError
from septet.model.results import Note
from septet.query.deadline import Deadline
from septet.retrieval.answers import NoAnswer, checked_answer
from septet.retrieval.corpus import Answered, Asked, Corpus
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread
from septet.watch import log

__all__ = ["Answer", "CorpusThreads", "Phrasings", "State", "Wave", "ask"]

#: A corpus that was left behind so often, and is still at it, is not asked again before it ends one of these calls.
MOST_LATE = 4
#: Corpora of this machine go to threads if that hides so many milliseconds or more; see `septet.search.tier_threads`.
LEAST_HIDDEN_MS = 2.0

#: Codes of notes that tell who wrote a query about its words.
OF_WORDS = frozenset({"did_you_mean", "no_terms", "query_too_vague", "words_relaxed"})

#: What became of a question: answered; not answered in time; raised; not asked, because earlier calls have not ended.
State = Literal["answered", "late", "failed", "resting"]


class Answer(NamedTuple):
    """What became of one phrasing that was asked of one corpus.

    Attributes:
        corpus: its name.
        variant: which phrasing; 0 is the original.
        query: its text.
        state: what became of it.
        found: what the corpus answered; None if it did not.
        took_ms: how long that took; of what is late, how long it was waited for.
    """

    corpus: str
    variant: int
    query: str
    state: State
    found: Answered | None
    took_ms: float


class Wave(NamedTuple):
    """One round of asking.

    Attributes:
        variants: the phrasings, the original first.
        answers: by corpus, in the order in which they were given, and phrasing.
        notes: what is missing, and why; then those of the corpora.
        took_ms: from the beginning to the last answer, or the deadline.
        phrased_ms: how long other phrasings took; None if none were wanted.
    """

    variants: tuple[str, ...]
    answers: tuple[Answer, ...]
    notes: tuple[Note, ...]
    took_ms: float
    phrased_ms: float | None = None


class Phrased(Protocol):
    """Other phrasings, with what went wrong."""

    @property
    def variants(self) -> Sequence[str]:
        """The original first."""

    @property
    def notes(self) -> Sequence[Note]:
        """What went wrong."""

    @property
    def took_ms(self) -> float:
        """How long they took."""


class Phrasings(Protocol):
    """Phrasings that are being made while the original is searched."""

    def result(self) -> Phrased:
        """Wait for them, no longer than their own time limit and the deadline."""


class CorpusThreads:
    """Daemon threads on which corpora are asked, and what is known of how long each takes.

    Each question has a thread of its own, so a corpus that hangs holds up no other one. One that was left behind by
    deadlines and has not come back is not asked again and again: so many threads wait for it at most.
    """

    def __init__(self, most_late: int = MOST_LATE) -> None:
        self._most_late = most_late
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Begin anew in a forked child: the parent's threads are not there."""
        self._lock = Lock()
        self._late: Counter[str] = Counter()
        #: By corpus the milliseconds of the last two times; the shorter counts, as first times load what others have.
        self._took: dict[str, tuple[float, float]] = {}

    def rests(self, name: str) -> bool:
        """Whether as many calls of a corpus as may be were left behind and have not ended."""
        with self._lock.hold():
            return self._late[name] >= self._most_late

    def leave(self, name: str, task: Future[None]) -> None:
        """Count a call that nobody waits for any more, until it ends."""
        late, lock = self._late, self._lock
        with lock.hold():
            late[name] += 1

        def ended(_: Future[None]) -> None:
            with lock.hold():
                late[name] -= 1

        task.add_done_callback(ended)

    def measured(self, name: str, took_ms: float) -> None:
        """Keep how long a corpus took."""
        self._took[name] = took_ms, self._took.get(name, (took_ms,))[0]

    def here(self, corpora: Sequence[Corpus], deadline: Deadline | None) -> set[str]:
        """Return the names of the corpora that the caller's thread should ask itself.

        These are of this machine (`local`), and either all so fast that handing them over costs more than it hides,
        or the slowest one. With a deadline there are none, as nothing may hold up the caller.
        """
        if deadline is not None:
            return set()
        expected = {one.name: min(self._took.get(one.name, (0.0,))) for one in corpora if _is_local(one)}
        if not expected or sum(expected.values()) - max(expected.values()) < LEAST_HIDDEN_MS:
            return {*expected}
        return {max(expected, key=lambda name: expected[name])}


def ask(
    corpora: Sequence[Corpus],
    asked: Asked,
    threads: CorpusThreads,
    phrasings: Phrasings | None = None,
    *,
    required: bool = True,
) -> Wave:
    """Ask corpora side by side, and return what they answered until the deadline.

    Other phrasings are asked as soon as they are there, while slow corpora still look for the original. They are
    matched by words alone, so nothing is asked of them in mode ``vector``; corpora that say so (``phrasings = False``)
    get the original alone.

    Args:
        corpora: each with a name of its own.
        asked: the original phrasing, with the deadline; None waits for everything.
        phrasings: what makes the others.
        required: raise if all corpora fail; if not, notes say so.

    Raises:
        SeptetError: all corpora failed, and answers are required; the error of the first one, those of a store or of
            an argument before others.
    """
    started = time.perf_counter()
    wave = _Asking(threads, asked.deadline)
    wave.ask(corpora, [asked])
    variants: tuple[str, ...] = (asked.query,)
    notes: list[Note] = []
    phrased_ms = None
    if phrasings is not None and asked.mode != "vector":
        made = phrasings.result()
        variants = (asked.query, *made.variants[1:])
        notes += made.notes
        phrased_ms = made.took_ms
        others = [
            asked._replace(query=text, variant=number, mode="full_text", vector=None, model=None)
            for number, text in enumerate(variants)
            if number
        ]
        if others:
            wave.ask([one for one in corpora if getattr(one, "phrasings", True)], others)
    answers = wave.ended()
    if required and wave.faults and not any(one.found or one.state != "failed" for one in answers):
        # As of tiers: what fails is a note, unless nothing is left.
        raise next((fault for fault in wave.faults if isinstance(fault, (StoreError, QueryError))), wave.faults[0])
    order = {one.name: place for place, one in enumerate(corpora)}
    answers.sort(key=lambda one: (order[one.corpus], one.variant))
    notes += _missing(answers, wave.said, asked.deadline)
    notes += _said(answers)
    return Wave(variants, tuple(answers), tuple(notes), (time.perf_counter() - started) * 1e3, phrased_ms)


class _Task(NamedTuple):
    """Phrasings that one corpus is asked on a thread, and the answers that are there."""

    corpus: Corpus
    asked: Sequence[Asked]
    #: Grows on the thread; whoever does not wait longer takes what is there.
    answers: list[Answer]
    future: Future[None]
    began: float


class _Asking:
    """A wave while it runs."""

    def __init__(self, threads: CorpusThreads, deadline: Deadline | None) -> None:
        self._threads, self._deadline = threads, deadline
        self._tasks: list[_Task] = []
        self._answers: list[Answer] = []
        #: Why corpora failed, by name; and errors of Septet's own.
        self.said: dict[str, str] = {}
        self.faults: list[SeptetError] = []

    def ask(self, corpora: Sequence[Corpus], asked: Sequence[Asked]) -> None:
        """Begin to ask each corpus all phrasings; those of the caller's thread are done when this returns."""
        here = self._threads.here(corpora, self._deadline)
        own = []
        for corpus in corpora:
            if self._threads.rests(corpus.name):
                self._answers += [Answer(corpus.name, one.variant, one.query, "resting", None, 0.0) for one in asked]
            elif corpus.name in here or not self._begun(corpus, asked):
                own.append(corpus)
        for corpus in own:
            there: list[Answer] = []
            self._serve(corpus, asked, there)
            self._answers += there + _late(corpus, asked[len(there) :], 0.0)

    def ended(self) -> list[Answer]:
        """Wait for all of it, until the deadline, and return the answers."""
        left_s = None if self._deadline is None else self._deadline.left_s
        done = wait([task.future for task in self._tasks], left_s).done
        for task in self._tasks:
            # The thread may be about to add one more.
            there = [*task.answers]
            waited = (time.perf_counter() - task.began) * 1e3
            rest = _late(task.corpus, task.asked[len(there) :], waited)
            if task.future not in done:
                self._threads.leave(task.corpus.name, task.future)
            elif rest and (fault := task.future.exception()) is not None:
                # What ends a thread, such as an exit that foreign code asks for, ends no retrieval.
                self._failed(task.corpus.name, fault)
                rest = [one._replace(state="failed") for one in rest]
            self._answers += there + rest
        return self._answers

    def _begun(self, corpus: Corpus, asked: Sequence[Asked]) -> bool:
        answers: list[Answer] = []
        began = time.perf_counter()
        try:
            future = call_on_thread(partial(self._serve, corpus, asked, answers), "septet-corpus")
        except RuntimeError:
            # Where no thread can be started, the caller asks.
            return False
        self._tasks.append(_Task(corpus, asked, answers, future, began))
        return True

    def _serve(self, corpus: Corpus, asked: Sequence[Asked], answers: list[Answer]) -> None:
        for one in asked:
            if self._deadline is not None and self._deadline.passed:
                return
            answers.append(self._answer(corpus, one))

    def _answer(self, corpus: Corpus, one: Asked) -> Answer:
        started = time.perf_counter()
        found: Answered | None = None
        try:
            found = checked_answer(corpus.search(one))
        except NoAnswer as wrong:
            self.said.setdefault(corpus.name, str(wrong))
        except Exception as fault:  # noqa: BLE001 - a corpus may be foreign code, which may raise anything
            self._failed(corpus.name, fault)
        took = (time.perf_counter() - started) * 1e3
        if found is None:
            return Answer(corpus.name, one.variant, one.query, "failed", None, took)
        if _is_local(corpus):
            self._threads.measured(corpus.name, took)
        return Answer(corpus.name, one.variant, one.query, "answered", found, took)

    def _failed(self, name: str, fault: BaseException) -> None:
        if isinstance(fault, SeptetError):
            self.faults.append(fault)
            self.said.setdefault(name, str(fault))
            return
        # Without its words, which may hold a key or repeat the query.
        self.said.setdefault(name, f"it raised {type(fault).__name__}")
        listener = log.logger("retrieval")
        if listener is not None:
            listener.debug("what a corpus raised", exc_info=fault)


def _late(corpus: Corpus, asked: Sequence[Asked], waited_ms: float) -> list[Answer]:
    return [Answer(corpus.name, one.variant, one.query, "late", None, waited_ms) for one in asked]


def _is_local(corpus: Corpus) -> bool:
    return bool(getattr(corpus, "local", False))


def _missing(answers: Sequence[Answer], said: dict[str, str], deadline: Deadline | None) -> list[Note]:
    """Return a note for each corpus that did not answer, and why."""
    by_corpus: dict[str, list[Answer]] = {}
    for one in answers:
        by_corpus.setdefault(one.corpus, []).append(one)
    notes = []
    for name, own in by_corpus.items():
        missing = [one for one in own if one.found is None]
        if not missing:
            continue
        part = "" if len(missing) == len(own) else f" to {len(missing)} of {len(own)} phrasings"
        states = {one.state for one in missing}
        if "failed" in states:
            cause = f"{name} failed{part and f' in {len(missing)} of {len(own)} phrasings'}: {said[name]}"
            notes.append(Note("corpus_failed", cause, "the other corpora answered", name))
        if "late" in states and deadline is not None:
            cause = f"{name} gave no answer{part} within {deadline.timeout_s:.3g} s; the retrieval went on without it"
            notes.append(Note("deadline", cause, "raise timeout_s", name))
        if "resting" in states:
            cause = f"{name} was not asked: it still works on earlier questions that were not waited for"
            notes.append(Note("deadline", cause, "it is asked again when one of them ends", name))
    return notes


def _said(answers: Sequence[Answer]) -> list[Note]:
    """Return the notes of the corpora, each once; none about the words of phrasings that nobody wrote."""
    told = (
        (note, one.corpus)
        for one in answers
        if one.found is not None
        for note in one.found.notes
        if not (one.variant and note.code in OF_WORDS)
    )
    return [*dict.fromkeys(note if note.tier else replace(note, tier=name) for note, name in told)]
