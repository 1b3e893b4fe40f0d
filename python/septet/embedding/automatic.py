"""Automatic embedding: after writes, on a background thread."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from septet.embedding.chain import Chain
from septet.embedding.report import EmbedReport, Tally, log_report
from septet.errors import Closed, SeptetError
from septet.notes import Note
from septet.store.owners import new_owner
from septet.system.contexts import without_context
from septet.system.forks import renew_in_children
from septet.system.living import Living
from septet.watch import log

#: State of the thread: nothing to do, embedding, or waiting to retry a failure.
Activity: TypeAlias = Literal["idle", "running", "waiting"]

#: Wait for further writes, to embed them together.
GATHER_S = 0.05
#: Pause after the last write before a batch begins, and maximum wait for such a pause.
QUIET_S, LONGEST_WAIT_S = 0.1, 10.0
#: Maximum duration of a batch of an embedder that computes in Python: concurrent writes share the interpreter with it.
BATCH_S = 0.05
#: First and last wait after failed runs; each wait is twice the previous one.
FIRST_RETRY_S, LAST_RETRY_S = 1.0, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """One model of a vault's embedder and its fallbacks.

    Attributes:
        model: its space; empty for a local model that could not be read.
        fault: the missing requirement or the last failure that keeps it from being used; None if none is known.
        configured: True if nothing is missing, such as a key.
    """

    model: str
    fault: str | None
    configured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceStatus:
    """A space: a model with a dimension, and its coverage.

    Attributes:
        model: ``provider/model``, or the caller's name of supplied vectors.
        dimensions: None before the first vector if the embedder does not know it.
        entries: entries with a vector, including memories unless the profile fixes their score.
        missing: entries without a vector.
        active: True if searches may use it; an inactive space is incomplete or standby.
        given: True if the caller supplied the vectors.
        standby: True if it belongs to a fallback, and answers only while the models before it do not.
    """

    model: str
    dimensions: int | None
    entries: int
    missing: int
    active: bool
    given: bool
    standby: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus:
    """The state of a vault's embedding.

    Attributes:
        model: the space of the vault's embedder, the first usable one of a chain; None without one.
        activity: of automatic embedding: ``idle``, ``running``, or ``waiting`` to retry what failed.
        asking: True if queries are embedded; False while the embedder backs off after a failure.
        report: of the last automatic run; None before the first.
        notes: problems of the configuration and of the last automatic run.
        models: the embedder and its fallbacks, in order.
        spaces: each space with its coverage, those that answer searches first.
    """

    model: str | None
    activity: Activity
    asking: bool
    report: EmbedReport | None
    notes: tuple[Note, ...]
    models: tuple[ModelStatus, ...] = ()
    spaces: tuple[SpaceStatus, ...] = ()


class Automatic:
    """Embeds missing texts in the background, one run at a time, by this thread or by the holder of `lock`.

    Args:
        close_wait_s: maximum wait of `close` and of the program's exit for a running batch.
    """

    def __init__(self, chain: Chain, close_wait_s: float) -> None:
        self._chain = chain
        self._close_wait_s = close_wait_s
        self.report: EmbedReport | None = None
        self.notes: tuple[Note, ...] = ()
        self._owner = new_owner()
        #: Texts that the provider has refused: only explicit runs retry them.
        self._refused: set[str] = set()
        self.after_fork()
        _living.enlist(self)
        renew_in_children(self)

    def after_fork(self) -> None:
        """Reset the state; a forked child does not have the thread."""
        self.lock = threading.Lock()
        self._state = threading.Condition()
        self._thread: threading.Thread | None = None
        self._woken = False
        self._closing = False
        self.activity: Activity = "idle"
        #: Counters of the current or last run.
        self._tally = Tally()
        #: Number of calls waiting for `lock`; True if a run stopped early for one.
        self._waiting, self._cut_short = 0, False
        #: Number of calls that write many entries; time of the last write in monotonic seconds.
        self._loads, self._written_at = 0, -QUIET_S

    def wake(self) -> None:
        """Start a run for new texts soon."""
        with self._state:
            if self._closing:
                return
            self._woken = True
            self._written_at = time.monotonic()
            self._state.notify_all()
            if self._thread is None:
                self._begin()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Delay the next batches while many entries are written, each by at most 10 s."""
        with self._state:
            self._loads += 1
        try:
            yield
        finally:
            with self._state:
                self._loads -= 1
                self._state.notify_all()

    @contextmanager
    def taken_over(self) -> Iterator[Tally]:
        """Hold `lock` after the current batch; yield a tally of the texts embedded since the call."""
        with self._state:
            running, gained = self._tally, Tally()
            before = running.embedded, running.cached, running.requests
            self._waiting += 1
            self._state.notify_all()
        try:
            with self.lock:
                now = self._tally
                base = before if now is running else (0, 0, 0)
                gained.embedded, gained.cached = now.embedded - base[0], now.cached - base[1]
                gained.requests, gained.dimensions = now.requests - base[2], now.dimensions
                yield gained
        finally:
            with self._state:
                self._waiting -= 1
                again = self._cut_short and not self._waiting
                self._cut_short = self._cut_short and not again
            if again:
                # The caller may have been interrupted before all texts were embedded.
                self.wake()

    def _must_stop(self) -> bool:
        """Wait at most `LONGEST_WAIT_S` for a pause between writes. Return True if the run must stop."""
        until = time.monotonic() + LONGEST_WAIT_S
        with self._state:
            while not (self._closing or self._waiting):
                now = time.monotonic()
                quiet_at = until if self._loads else min(until, self._written_at + QUIET_S)
                if now >= quiet_at:
                    break
                self._state.wait(quiet_at - now)
            self._cut_short = self._cut_short or self._waiting > 0
            return self._closing or self._waiting > 0

    def _begin(self) -> None:
        thread = threading.Thread(target=without_context(self._drain), name="septet-embedding", daemon=True)
        try:
            self._thread, self.activity = thread, "running"
            thread.start()
        except BaseException as fault:
            # `wait` would block forever on a thread that did not start, after an interrupt too.
            if not thread.is_alive():
                self._thread, self.activity = None, "idle"
            # The interpreter is exiting, or out of threads: the next write retries.
            if not isinstance(fault, RuntimeError):
                raise

    def wait(self, timeout_s: float | None) -> None:
        """Wait until the thread is idle; waiting to retry is not idle."""
        with self._state:
            self._state.wait_for(lambda: self._thread is None, timeout_s)

    def close(self) -> None:
        """End the thread after the running batch, or after `close_wait_s`; do not retry failed texts. Idempotent."""
        with self._state:
            if self._closing:
                return
            until = time.monotonic() + self._close_wait_s
            self._state.wait_for(lambda: self._thread is None or self.activity == "waiting", self._close_wait_s)
            self._closing = True
            self._state.notify_all()
            ended = self._state.wait_for(lambda: self._thread is None, max(0.0, until - time.monotonic()))
        if not ended:
            # The answer will not be stored; let other processes claim its texts at once.
            self._chain.release(self._owner)

    def _drain(self) -> None:
        try:
            self._loop()
        finally:
            with self._state:
                if self._thread is threading.current_thread():
                    self.activity, self._thread = "idle", None
                    self._state.notify_all()

    def _loop(self) -> None:
        retry_s = FIRST_RETRY_S
        while True:
            with self._state:
                # Gather writes; closing ends the wait early.
                self._state.wait_for(lambda: self._closing, GATHER_S)
                self._woken = False
                self.activity = "running"
            retry = self._run()
            with self._state:
                if not (self._closing or self._woken) and retry:
                    self.activity = "waiting"
                    self._state.notify_all()
                    self._state.wait_for(lambda: self._closing or self._woken, retry_s)
                    retry_s = min(2 * retry_s, LAST_RETRY_S)
                    self._woken = self._woken or not self._closing
                if self._closing or not self._woken:
                    self.activity, self._thread = "idle", None
                    self._state.notify_all()
                    return

    def _run(self) -> bool:
        """Run the chain once. Return True if a retry may help."""
        try:
            with self.lock:
                if not self._chain.first.begun():
                    cause = f"the vault's vectors are not of {self._chain.first.model}: automatic embedding is paused"
                    self.notes = (Note("other_model", cause, "call embed() once to change the vault's model"),)
                    return False
                self._owner, self._tally = new_owner(), Tally()
                self.report, tally = self._chain.run(
                    stopped=self._must_stop,
                    skip=self._refused,
                    owner=self._owner,
                    begin=False,
                    tally=self._tally,
                    batch_s=BATCH_S,
                )
        except Closed:
            return False
        except SeptetError as fault:
            log.say("embedding", log.WARNING, "automatic embedding stopped: %s", type(fault).__name__)
            self.notes = (Note("embedding_stopped", str(fault), "it is retried automatically"),)
            return True
        log_report(self.report, self._chain.first.store.path)
        self.notes = self.report.notes
        self._refused |= tally.refused
        return tally.wants_retry


_living: Living[Automatic] = Living()


def _at_exit() -> None:
    # Daemon threads die with the interpreter; their pending answers are paid for.
    for automatic in _living:
        automatic.close()


atexit.register(_at_exit)
