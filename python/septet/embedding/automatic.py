"""Automatic embedding: after writes, on a background thread."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias
from weakref import WeakSet

from septet.embedding.chain import Chain
from septet.embedding.report import EmbedReport, Tally, log_report
from septet.errors import Closed, SeptetError
from septet.model.results import Note
from septet.sqlite.tables.claims import new_owner
from septet.system.forks import renew_in_children
from septet.watch import log

__all__ = ["Activity", "Automatic", "EmbeddingStatus", "ModelStatus"]

#: What the thread does: nothing, embedding, or waiting to retry what failed.
Activity: TypeAlias = Literal["idle", "running", "waiting"]

#: Writes in quick succession are embedded together.
GATHER_S = 0.05
#: Pause after the last write before a batch begins, and the longest wait for a pause, in seconds.
QUIET_S, LONGEST_WAIT_S = 0.1, 10.0
#: An embedder that computes in Python computes so long for a batch, in seconds: a write that begins meanwhile shares
#: the interpreter with it until the batch ends.
BATCH_S = 0.05
#: The waits after failed runs; each is twice the one before.
FIRST_RETRY_S, LAST_RETRY_S = 1.0, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """One model of a vault's embedder and its fallbacks.

    Attributes:
        model: its space; empty for a local model that could not be read.
        fault: why it is not used: what it lacks, or how it last failed; None while it answers, as far as is known.
        configured: whether it has what it needs, such as a key.
    """

    model: str
    fault: str | None
    configured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus:
    """The state of a vault's embedding.

    Attributes:
        model: the space of the vault's embedder, the first one of a chain that can be used; None without one.
        activity: of automatic embedding: ``idle``, ``running``, or ``waiting`` to retry what failed.
        asking: whether queries are embedded; False while the embedder backs off after a failure.
        report: of the last automatic run; None before the first.
        notes: what went wrong, in the last automatic run and before.
        models: the embedder and its fallbacks, in order.
    """

    model: str | None
    activity: Activity
    asking: bool
    report: EmbedReport | None
    notes: tuple[Note, ...]
    models: tuple[ModelStatus, ...] = ()


class Automatic:
    """Embeds missing texts in the background. One run at a time, by this thread or by the holder of `lock`.

    Args:
        close_wait_s: how long `close` and the program's exit wait for a running batch.
    """

    def __init__(self, chain: Chain, close_wait_s: float) -> None:
        self._chain = chain
        self._close_wait_s = close_wait_s
        self.report: EmbedReport | None = None
        self.notes: tuple[Note, ...] = ()
        self._owner = new_owner()
        #: Texts that the provider has refused: only explicit runs retry them.
        self._refused: set[str] = set()
        self._renew()
        _living.add(self)
        renew_in_children(self)

    def _renew(self) -> None:
        self.lock = threading.Lock()
        self._state = threading.Condition()
        self._thread: threading.Thread | None = None
        self._woken = False
        self._closing = False
        self.activity: Activity = "idle"
        #: What the run in progress has done, or the last one.
        self._tally = Tally()
        #: Calls that wait for `lock`, and whether a run made way for one.
        self._asking, self._cut_short = 0, False
        #: Calls that write many entries, and when the last write was, in monotonic seconds.
        self._loads, self._written_at = 0, -QUIET_S

    def after_fork(self) -> None:
        """Start afresh in a forked child, which has no such thread."""
        self._renew()

    def wake(self) -> None:
        """Embed what was written, soon."""
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
        """Put off the next batches while many entries are written, 10 s each at most."""
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
        """Hold `lock` once the current batch has ended; yield a tally of what was embedded since the call."""
        with self._state:
            running, gained = self._tally, Tally()
            before = running.embedded, running.cached, running.requests
            self._asking += 1
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
                self._asking -= 1
                again = self._cut_short and not self._asking
                self._cut_short = self._cut_short and not again
            if again:
                # The caller may have been interrupted before everything was embedded.
                self.wake()

    def _stopped(self) -> bool:
        """Wait for a pause between writes, `LONGEST_WAIT_S` at most; return whether the run must stop."""
        until = time.monotonic() + LONGEST_WAIT_S
        with self._state:
            while not (self._closing or self._asking):
                now = time.monotonic()
                quiet_at = until if self._loads else min(until, self._written_at + QUIET_S)
                if now >= quiet_at:
                    break
                self._state.wait(quiet_at - now)
            self._cut_short = self._cut_short or self._asking > 0
            return self._closing or self._asking > 0

    def _begin(self) -> None:
        thread = threading.Thread(target=self._drain, name="septet-embedding", daemon=True)
        try:
            self._thread = thread
            thread.start()
        except RuntimeError:
            # The interpreter is exiting, or out of threads: the next write tries again.
            self._thread = None
        except BaseException:
            # An interrupt: a thread that did not begin would be waited for.
            if not thread.is_alive():
                self._thread = None
            raise

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until the thread is idle, and say whether it is. Waiting to retry is not idle."""
        with self._state:
            return self._state.wait_for(lambda: self._thread is None, timeout_s)

    def close(self) -> None:
        """End the thread. Wait for the running batch, within bounds; leave failed texts to the next run.

        Closing again returns at once.
        """
        with self._state:
            if self._closing:
                return
            until = time.monotonic() + self._close_wait_s
            self._state.wait_for(lambda: self._thread is None or self.activity == "waiting", self._close_wait_s)
            self._closing = True
            self._state.notify_all()
            ended = self._state.wait_for(lambda: self._thread is None, max(0.0, until - time.monotonic()))
        if not ended:
            # Its answer comes too late to be stored; other processes need not wait for its claims to expire.
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
                # Gather writes. The wait ends early only when the vault is being closed.
                self._state.wait_for(lambda: self._closing, GATHER_S)
                self._woken = False
                self.activity = "running"
            wants_retry = self._run()
            with self._state:
                if not (self._closing or self._woken) and wants_retry:
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
        """Run the pipeline once and say whether a later retry may help."""
        try:
            with self.lock:
                if not self._chain.begun():
                    self.notes = (self._other_model(),)
                    return False
                self._owner, self._tally = new_owner(), Tally()
                self.report, tally = self._chain.run(
                    stopped=self._stopped,
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
            self.notes = (Note("embedding_stopped", str(fault), "it is tried again automatically"),)
            return True
        log_report(self.report, self._chain.store.path)
        self.notes = self.report.notes
        self._refused |= tally.refused
        return tally.wants_retry

    def _other_model(self) -> Note:
        cause = f"the vault's vectors are not of {self._chain.model}: nothing is embedded automatically"
        return Note("other_model", cause, "call embed() once to change the vault's model")


_living: WeakSet[Automatic] = WeakSet()


def _at_exit() -> None:
    # Daemon threads die with the interpreter, and their pending answers are paid for.
    for one in list(_living):
        one.close()


atexit.register(_at_exit)
