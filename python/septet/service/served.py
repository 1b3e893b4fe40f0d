"""Served: a memory with its permissions, for the interfaces over a wire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from septet.aio import AsyncFederation, AsyncVault
from septet.aio.vault import AsyncAnyVault
from septet.aio.workers import ended_or_cancelled
from septet.errors import ReadOnly, SeptetError
from septet.service.operations import Operation
from septet.service.requests import WireRequest
from septet.service.running import Memory, in_tier
from septet.service.slow import SlowSearches
from septet.system.threads import call_on_thread
from septet.vault.anywhere import AnyVault
from septet.watch.hooks import listen
from septet.watch.log import WARNING, say

if TYPE_CHECKING:
    from septet.client.external import ExternalFirst
    from septet.retrieval.config import RetrievalConfig, RetrievalProfile
    from septet.retrieval.retriever import Retriever
    from septet.service.tier_sessions import TierSessions

AsyncMemory: TypeAlias = AsyncVault | AsyncFederation
Form = TypeVar("Form")


class Served:
    """A memory for async interfaces: work runs on its threads, never on that of the loop.

    Args:
        memory: an open vault or federation, sync or async; closing `Served` leaves it open.
        writable: True if operations may write.
        max_workers: maximum number of threads, as for `AsyncVault`.
        retrieval: the settings of retrievals; None for the default.
        first: the external memory that is searched before this one; None without one.

    Attributes:
        left_out: the reasons why optional tiers are missing, a sentence each.
    """

    left_out: tuple[str, ...] = ()

    def __init__(
        self,
        memory: Memory | AsyncMemory,
        *,
        writable: bool = True,
        max_workers: int | None = None,
        retrieval: RetrievalConfig | None = None,
        first: ExternalFirst | None = None,
    ) -> None:
        if isinstance(memory, (AsyncAnyVault, AsyncFederation)):
            self.memory: AsyncMemory = memory
        elif isinstance(memory, AnyVault):
            self.memory = AsyncVault.of(memory, max_workers=max_workers)
        else:
            self.memory = AsyncFederation.of(memory, max_workers=max_workers)
        self.writable = writable
        self.slow = SlowSearches()
        self._first, self._retrieval = first, retrieval
        self._retrievers: dict[str, Retriever] = {}
        self._tier_sessions: TierSessions | None = None
        self._lock = Lock()

    @property
    def blocking(self) -> Memory:
        """The vault or federation, for blocking code."""
        return self.memory.blocking

    @property
    def searched(self) -> Memory | ExternalFirst:
        """The memory that searches use: the external one, if there is one."""
        return self.blocking if self._first is None else self._first

    def retriever(self, profile: RetrievalProfile | None = None) -> Retriever:
        """Return the retriever of a profile, None for the configured one; created on first use."""
        from septet.retrieval.config import RetrievalConfig, ignored, with_environment

        config = RetrievalConfig() if self._retrieval is None else self._retrieval
        chosen = config.profile if profile is None else profile
        with self._lock:
            if chosen not in self._retrievers:
                settings = with_environment(config.model_copy(update={"profile": chosen}))
                for line in ignored(settings) if profile is None else ():
                    say("service", WARNING, "%s", line)
                self._retrievers[chosen] = self.blocking.retriever(settings)
            return self._retrievers[chosen]

    def tier_sessions(self) -> TierSessions:
        """Return the sessions of remote tiers; created on first use."""
        from septet.service.tier_sessions import TierSessions

        with self._lock:
            if self._tier_sessions is None:
                self._tier_sessions = TierSessions()
            return self._tier_sessions

    def watch_searches(self, *, queries: bool) -> None:
        """Record the slowest searches from now on, for the operation `slow_searches`.

        Args:
            queries: True to record the text of queries too.
        """
        self.slow.watching, self.slow.queries = True, queries
        listen(self.blocking, self.slow.tell, lambda _: None)

    async def call(self, operation: Operation, request: WireRequest) -> dict[str, Any]:
        """Return the answer of an operation. A cancelled call that no thread has started is dropped.

        Raises:
            ReadOnly: it writes, but the memory is read-only.
            SeptetError: as the method of the vault.
        """
        return await ended_or_cancelled(self.begin(operation, request, _unchanged))

    def begin(self, operation: Operation, request: WireRequest, form: Callable[[dict[str, Any]], Form]) -> Future[Form]:
        """Begin an operation on a thread, which brings the answer into another form; return its future.

        Raises:
            ReadOnly: it writes, but the memory is read-only.
            Closed: the memory was closed.
        """
        if operation.effect != "reads" and not self.writable:
            raise ReadOnly(f"{operation.name}: this memory is read-only")
        self.memory.blocking  # noqa: B018 - raises if it was closed
        return self.memory._workers.submit(partial(self._answered, operation, request, form))

    def _answered(self, operation: Operation, request: WireRequest, form: Callable[[dict[str, Any]], Form]) -> Form:
        try:
            answer = operation.run(in_tier(self, operation.name, request), request)
        except SeptetError as fault:
            self.hide_paths(fault)
            raise
        self._hide_paths_of(answer)
        return form(answer)

    def hide_paths(self, fault: SeptetError) -> None:
        """Remove the paths of this machine from the message of an error."""
        if fault.args and isinstance(fault.args[0], str):
            fault.args = (self._without_paths(fault.args[0]), *fault.args[1:])

    def _hide_paths_of(self, answer: dict[str, Any]) -> None:
        """Remove the paths of this machine from the notes and tier reports of an answer."""
        for result in answer.get("results", [answer]):
            for note in result.get("notes", ()):
                note.update(cause=self._without_paths(note["cause"]), cure=self._without_paths(note["cure"]))
            tiers = result.get("tiers")
            for report in tiers if isinstance(tiers, list) else ():
                if report.get("error"):
                    report["error"] = self._without_paths(report["error"])

    def _without_paths(self, message: str) -> str:
        vaults = [self.blocking] if isinstance(self.blocking, AnyVault) else self.blocking._by_priority()
        for path in sorted((getattr(vault, "path", "") for vault in vaults), key=len, reverse=True):
            message = message.replace(path, "the vault") if path else message
        return message

    async def aclose(self) -> None:
        """Close retrievers, sessions and threads; the memory stays open. Closing twice is fine."""
        for retriever in self._retrievers.values():
            retriever.close()
        if self._tier_sessions is not None:
            self._tier_sessions.close()
        await self.memory.close()

    def close(self) -> None:
        """Call `aclose` and wait for it, with or without a running loop in this thread."""
        call_on_thread(lambda: asyncio.run(self.aclose()), "septet-served-close").result()


def _unchanged(answer: dict[str, Any]) -> dict[str, Any]:
    return answer
