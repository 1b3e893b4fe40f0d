"""Automatic embedding: after writes, on a background thread."""

from __future__ import annotations

import atexit
import threading
import time
from typing import Literal, TypeAlias
from weakref import WeakSet

from septet.embedding.chain import Chain
from septet.embedding.report import EmbedReport, log_report
from septet.errors import Closed, SeptetError
from septet.results import Note
from septet.storage.forks import renew_in_children
from septet.storage.tables.claims import new_owner
from septet.watch import log

__all__ = ["Activity", "Automatic"]

#: What the thread does: nothing, embedding, or waiting to retry what failed.
Activity: TypeAlias = Literal["idle", "running", "waiting"]

#: Writes in quick succession are embedded together.
GATHER_S = 0.05
#: The waits after failed runs; each is twice the one before.
FIRST_RETRY_S, LAST_RETRY_S = 1.0, 60.0


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

    def after_fork(self) -> None:
        """Start afresh in a forked child, which has no such thread."""
        self._renew()

    def wake(self) -> None:
        """Embed what was written, soon."""
        with self._state:
            if self._closing:
                return
            self._woken = True
            self._state.notify_all()
            if self._thread is None:
                self._begin()

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
                self._owner = new_owner()
                self.report, tally = self._chain.run(
                    stopped=lambda: self._closing, skip=self._refused, owner=self._owner, begin=False
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
