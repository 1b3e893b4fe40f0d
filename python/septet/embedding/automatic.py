"""Automatic embedding: after writes, on a thread that nobody waits for."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from typing import Literal, TypeAlias
from weakref import WeakSet

from septet.embedding.pipeline import Pipeline
from septet.embedding.report import EmbedReport
from septet.errors import Closed, SeptetError
from septet.results import Note
from septet.storage.forks import renew_in_children
from septet.storage.tables.claims import new_owner

__all__ = ["Activity", "Automatic"]

#: What the thread is at: nothing, embedding, or waiting to try again what failed.
Activity: TypeAlias = Literal["idle", "running", "waiting"]

#: Writes that follow each other closely are embedded together.
GATHER_S = 0.05
#: Waits after runs that failed, each twice the one before.
FIRST_RETRY_S, LAST_RETRY_S = 1.0, 60.0


class Automatic:
    """Drains what is missing in the background; one run at a time, by this thread or by who holds `lock`.

    Args:
        pipeline: what embeds.
        close_wait_s: how long `close` and the exit of the program wait for what is under way.
        answered: called after each run in which the provider answered.
    """

    def __init__(self, pipeline: Pipeline, close_wait_s: float, answered: Callable[[], None]) -> None:
        self._pipeline = pipeline
        self._close_wait_s = close_wait_s
        self._answered = answered
        self.report: EmbedReport | None = None
        self.notes: tuple[Note, ...] = ()
        self._owner = new_owner()
        #: Texts that the provider has refused: tried again by explicit runs only.
        self._refused: set[str] = set()
        self._renew()
        _living.add(self)
        renew_in_children(self)

    def _renew(self) -> None:
        self.lock = threading.Lock()
        self._state = threading.Condition()
        self._thread: threading.Thread | None = None
        self._asked = False
        self._closing = False
        self.activity: Activity = "idle"

    def after_fork(self) -> None:
        """Begin anew in a forked child: the thread is not there."""
        self._renew()

    def wake(self) -> None:
        """Say that something was written."""
        with self._state:
            if self._closing:
                return
            self._asked = True
            self._state.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._drain, name="septet-embedding", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:
                    # The interpreter is on its way out, or has no threads left: the next write tries again.
                    self._thread = None

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until nothing is under way, and say whether that came true; a run that waits to try again counts."""
        with self._state:
            return self._state.wait_for(lambda: self._thread is None, timeout_s)

    def close(self) -> None:
        """End the thread: what is being embedded is waited for, within bounds; what failed is left to the next run.

        Closing again waits for nothing.
        """
        with self._state:
            if self._closing:
                return
            until = time.monotonic() + self._close_wait_s
            self._state.wait_for(lambda: self._thread is None or self.activity == "waiting", self._close_wait_s)
            self._closing = True
            self._state.notify_all()
            left = self._state.wait_for(lambda: self._thread is None, max(0.0, until - time.monotonic()))
        if not left:
            # Its answer comes too late to be stored; others need not wait for the end of its lease.
            self._pipeline.give_up(self._owner)

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
                # Gather: an early end of the wait means the vault is being closed.
                self._state.wait_for(lambda: self._closing, GATHER_S)
                self._asked = False
                self.activity = "running"
            wants_retry = self._run()
            with self._state:
                if not (self._closing or self._asked) and wants_retry:
                    self.activity = "waiting"
                    self._state.notify_all()
                    self._state.wait_for(lambda: self._closing or self._asked, retry_s)
                    retry_s = min(2 * retry_s, LAST_RETRY_S)
                    self._asked = self._asked or not self._closing
                if self._closing or not self._asked:
                    self.activity, self._thread = "idle", None
                    self._state.notify_all()
                    return

    def _run(self) -> bool:
        """Run the pipeline once and say whether trying again later may help."""
        try:
            with self.lock:
                if not self._pipeline.begun():
                    self.notes = (self._other_model(),)
                    return False
                self._owner = new_owner()
                self.report, tally = self._pipeline.run(
                    stopped=lambda: self._closing, skip=self._refused, owner=self._owner, begin=False
                )
        except Closed:
            return False
        except SeptetError as fault:
            self.notes = (Note("embedding_stopped", str(fault), "it is tried again"),)
            return True
        self.notes = self.report.notes
        self._refused |= tally.refused
        if tally.embedded:
            self._answered()
        return tally.wants_retry

    def _other_model(self) -> Note:
        cause = f"the vault's vectors are of another model than {self._pipeline.model}: nothing is embedded by itself"
        return Note("other_model", cause, "call embed() once to change the vault's model")


_living: WeakSet[Automatic] = WeakSet()


def _at_exit() -> None:
    # Daemon threads die with the interpreter; what they have on the way is paid for.
    for one in list(_living):
        one.close()


atexit.register(_at_exit)
