"""Waves: corpora searched in parallel, in several phrasings, under one deadline."""

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
from septet.notes import Note
from septet.query.refine import Deadline
from septet.retrieval.corpus import Corpus, CorpusAnswer, CorpusRequest, InvalidAnswer, checked_answer
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread
from septet.watch import log

#: Maximum abandoned calls of a corpus still running; at the maximum it is skipped until one ends.
MOST_LATE = 4
#: Local corpora run on threads if that hides at least this many milliseconds; see `septet.search.threads`.
LEAST_HIDDEN_MS = 2.0

#: Codes of notes about the words of a query.
OF_WORDS = frozenset({"did_you_mean", "no_terms", "query_too_vague", "words_relaxed"})

#: Outcome of a request: answered; late (not in time); failed (raised); resting (skipped, earlier calls are still
#: running).
State = Literal["answered", "late", "failed", "resting"]


class Reply(NamedTuple):
    """The outcome of one phrasing in one corpus.

    Attributes:
        corpus: name of the corpus.
        variant: number of the phrasing; 0 is the original.
        query: text of the phrasing.
        state: the outcome.
        answered: the answer; None if there is none.
        took_ms: duration; for late replies, the time waited.
    """

    corpus: str
    variant: int
    query: str
    state: State
    answered: CorpusAnswer | None
    took_ms: float


class Wave(NamedTuple):
    """One round of requests.

    Attributes:
        variants: the phrasings, the original first.
        answers: replies in the order of the corpora, then by phrasing.
        notes: missing corpora with the reason, then the notes of the corpora.
        took_ms: from the start to the last reply or the deadline.
        phrased_ms: duration of the rephrasing; None if there was none.
    """

    variants: tuple[str, ...]
    answers: tuple[Reply, ...]
    notes: tuple[Note, ...]
    took_ms: float
    phrased_ms: float | None = None


class Expansion(NamedTuple):
    """The phrasings of a query.

    Attributes:
        variants: the original query, then the others without duplicates.
        notes: the reason if there are no others.
        took_ms: duration from the request; 0 for cached phrasings.
    """

    variants: tuple[str, ...]
    notes: tuple[Note, ...] = ()
    took_ms: float = 0.0


class Phrasings(Protocol):
    """Phrasings in the making, while the original is searched."""

    def result(self) -> Expansion:
        """Wait for them, at most until their own time limit or the deadline."""


class CorpusThreads:
    """Daemon threads for corpora, and their measured durations.

    Each request has its own thread, so a hanging corpus blocks no other. A corpus with four abandoned calls still
    running is skipped.
    """

    def __init__(self) -> None:
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Reset in a forked child: the parent's threads do not exist there."""
        self._lock = Lock()
        self._late: Counter[str] = Counter()
        #: Last two durations by corpus, in milliseconds; the shorter counts, because first calls load data.
        self._took: dict[str, tuple[float, float]] = {}

    def rests(self, name: str) -> bool:
        """Return True if the maximum of abandoned calls of a corpus is still running."""
        return self._late.get(name, 0) >= MOST_LATE

    def leave(self, name: str, task: Future[None]) -> None:
        """Count an abandoned call until it ends."""
        late, lock = self._late, self._lock
        with lock.hold():
            late[name] += 1

        def ended(_: Future[None]) -> None:
            with lock.hold():
                late[name] -= 1

        task.add_done_callback(ended)

    def measured(self, name: str, took_ms: float) -> None:
        """Record the duration of a corpus."""
        self._took[name] = took_ms, self._took.get(name, (took_ms,))[0]

    def here(self, corpora: Sequence[Corpus], deadline: Deadline | None) -> set[str]:
        """Return the names of the corpora to run on the caller's thread.

        These are local: either all of them, if they are so fast that threads cost more than they hide, or the slowest.
        With a deadline there are none, because nothing may block the caller.
        """
        if deadline is not None:
            return set()
        expected = {}
        for corpus in corpora:
            if getattr(corpus, "local", False):
                expected[corpus.name] = min(self._took.get(corpus.name, (0.0,)))
        if not expected or sum(expected.values()) - max(expected.values()) < LEAST_HIDDEN_MS:
            return {*expected}
        return {max(expected, key=expected.__getitem__)}


def ask(
    corpora: Sequence[Corpus],
    request: CorpusRequest,
    threads: CorpusThreads,
    phrasings: Phrasings | None = None,
    *,
    required: bool = True,
) -> Wave:
    """Search corpora with different names in parallel, and return the replies until the deadline of the request.

    Other phrasings start as soon as they exist, while slow corpora still search the original. They match by words
    alone, so mode ``vector`` skips them; so do corpora with ``phrasings = False``.

    Raises:
        SeptetError: all corpora failed and `required` is True: the first error, those of a store or an argument
            before others.
    """
    started = time.perf_counter()
    wave = _Asking(threads, request.deadline)
    wave.ask(corpora, [request])
    variants: tuple[str, ...] = (request.query,)
    notes: list[Note] = []
    phrased_ms = None
    if phrasings is not None and request.mode != "vector":
        phrased = phrasings.result()
        variants = (request.query, *phrased.variants[1:])
        notes += phrased.notes
        phrased_ms = phrased.took_ms
        others = [
            request._replace(query=text, variant=number, mode="full_text", vector=None, model=None)
            for number, text in enumerate(variants)
            if number
        ]
        if others:
            wave.ask([corpus for corpus in corpora if getattr(corpus, "phrasings", True)], others)
    answers = wave.ended()
    if required and wave.faults and not any(reply.answered or reply.state != "failed" for reply in answers):
        # As with tiers: a failure is a note, unless everything fails.
        raise next((fault for fault in wave.faults if isinstance(fault, (StoreError, QueryError))), wave.faults[0])
    if len(corpora) > 1:
        order = {corpus.name: place for place, corpus in enumerate(corpora)}
        answers.sort(key=lambda reply: (order[reply.corpus], reply.variant))
    notes += _missing(answers, wave.reasons, request.deadline)
    notes += _notes(answers)
    return Wave(variants, tuple(answers), tuple(notes), (time.perf_counter() - started) * 1e3, phrased_ms)


class _CorpusTask(NamedTuple):
    """The phrasings for one corpus on a thread, and its replies so far."""

    corpus: Corpus
    requests: Sequence[CorpusRequest]
    #: Appended to by the thread; read after the deadline.
    answers: list[Reply]
    future: Future[None]
    began: float


class _Asking:
    """A wave in progress."""

    def __init__(self, threads: CorpusThreads, deadline: Deadline | None) -> None:
        self._threads, self._deadline = threads, deadline
        self._tasks: list[_CorpusTask] = []
        self._answers: list[Reply] = []
        #: Reasons of failures by corpus, and Septet's own errors.
        self.reasons: dict[str, str] = {}
        self.faults: list[SeptetError] = []

    def ask(self, corpora: Sequence[Corpus], requests: Sequence[CorpusRequest]) -> None:
        """Start all phrasings on each corpus; those on the caller's thread are done on return."""
        here = self._threads.here(corpora, self._deadline)
        inline = []
        for corpus in corpora:
            if self._threads.rests(corpus.name):
                self._answers += [
                    Reply(corpus.name, request.variant, request.query, "resting", None, 0.0) for request in requests
                ]
            elif corpus.name in here or not self._begun(corpus, requests):
                inline.append(corpus)
        for corpus in inline:
            replies: list[Reply] = []
            self._serve(corpus, requests, replies)
            self._answers += replies
            if len(replies) < len(requests):
                self._answers += _late(corpus, requests[len(replies) :], 0.0)

    def ended(self) -> list[Reply]:
        """Wait for all corpora until the deadline, and return the replies."""
        if not self._tasks:
            return self._answers
        left_s = None if self._deadline is None else self._deadline.left_s
        done = wait([task.future for task in self._tasks], left_s).done
        for task in self._tasks:
            # The thread may still append.
            replies = [*task.answers]
            waited = (time.perf_counter() - task.began) * 1e3
            rest = _late(task.corpus, task.requests[len(replies) :], waited)
            if task.future not in done:
                self._threads.leave(task.corpus.name, task.future)
            elif rest and (fault := task.future.exception()) is not None:
                # An exit raised by foreign code ends its thread, not the retrieval.
                self._failed(task.corpus.name, fault)
                rest = [reply._replace(state="failed") for reply in rest]
            self._answers += replies + rest
        return self._answers

    def _begun(self, corpus: Corpus, requests: Sequence[CorpusRequest]) -> bool:
        answers: list[Reply] = []
        began = time.perf_counter()
        try:
            future = call_on_thread(partial(self._serve, corpus, requests, answers), "septet-corpus")
        except RuntimeError:
            # No thread can be started: run on the caller's.
            return False
        self._tasks.append(_CorpusTask(corpus, requests, answers, future, began))
        return True

    def _serve(self, corpus: Corpus, requests: Sequence[CorpusRequest], answers: list[Reply]) -> None:
        for request in requests:
            if self._deadline is not None and self._deadline.passed:
                return
            answers.append(self._answer(corpus, request))

    def _answer(self, corpus: Corpus, request: CorpusRequest) -> Reply:
        started = time.perf_counter()
        answer: CorpusAnswer | None = None
        try:
            response = corpus.search(request)
            answer = response if getattr(corpus, "trusted", False) else checked_answer(response)
        except InvalidAnswer as wrong:
            self.reasons.setdefault(corpus.name, str(wrong))
        except Exception as fault:  # noqa: BLE001 - a corpus may be foreign code, which may raise anything
            self._failed(corpus.name, fault)
        took = (time.perf_counter() - started) * 1e3
        if answer is None:
            return Reply(corpus.name, request.variant, request.query, "failed", None, took)
        if getattr(corpus, "local", False):
            self._threads.measured(corpus.name, took)
        return Reply(corpus.name, request.variant, request.query, "answered", answer, took)

    def _failed(self, name: str, fault: BaseException) -> None:
        if isinstance(fault, SeptetError):
            self.faults.append(fault)
            self.reasons.setdefault(name, str(fault))
            return
        # The message is omitted: it may contain a key or the query.
        self.reasons.setdefault(name, f"it raised {type(fault).__name__}")
        listener = log.logger("retrieval")
        if listener is not None:
            listener.debug("what a corpus raised", exc_info=fault)


def _late(corpus: Corpus, requests: Sequence[CorpusRequest], waited_ms: float) -> list[Reply]:
    return [Reply(corpus.name, request.variant, request.query, "late", None, waited_ms) for request in requests]


def _missing(answers: Sequence[Reply], reasons: dict[str, str], deadline: Deadline | None) -> list[Note]:
    """Return a note for each corpus that did not answer, and why."""
    by_corpus: dict[str, list[Reply]] = {}
    unanswered = 0
    for reply in answers:
        by_corpus.setdefault(reply.corpus, []).append(reply)
        unanswered += reply.answered is None
    notes: list[Note] = []
    if not unanswered:
        return notes
    for name, replies in by_corpus.items():
        missing = [reply for reply in replies if reply.answered is None]
        if not missing:
            continue
        part = "" if len(missing) == len(replies) else f" to {len(missing)} of {len(replies)} phrasings"
        states = {reply.state for reply in missing}
        if "failed" in states:
            cause = f"{name} failed{part and f' in {len(missing)} of {len(replies)} phrasings'}: {reasons[name]}"
            notes.append(Note("corpus_failed", cause, "the other corpora answered", name))
        if "late" in states and deadline is not None:
            cause = f"{name} gave no answer{part} within {deadline.timeout_s:.3g} s; the retrieval went on without it"
            notes.append(Note("deadline", cause, "raise timeout_s", name))
        if "resting" in states:
            cause = f"{name} was skipped: earlier requests are still running"
            notes.append(Note("deadline", cause, "it is searched again when one of them ends", name))
    return notes


def _notes(answers: Sequence[Reply]) -> list[Note]:
    """Return the notes of the corpora without duplicates; notes about words only for the original query."""
    notes: dict[Note, None] = {}
    for reply in answers:
        for note in () if reply.answered is None else reply.answered.notes:
            if not (reply.variant and note.code in OF_WORDS):
                notes[note if note.tier else replace(note, tier=reply.corpus)] = None
    return [*notes]
