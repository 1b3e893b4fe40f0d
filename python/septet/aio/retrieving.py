"""AsyncRetriever: a retriever for asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from septet.aio.mirror import mirrored
from septet.aio.workers import Workers
from septet.retrieval.retriever import Retriever
from septet.system.forks import OfOneProcess

if TYPE_CHECKING:
    from typing_extensions import Self


class AsyncRetriever(OfOneProcess):
    """A `Retriever` for asyncio: the same methods with the same arguments, awaited, on the threads of its vault.

    `AsyncVault.retriever` and `AsyncFederation.retriever` return it.

    Attributes:
        blocking: the synchronous retriever; both may be used at the same time.
    """

    _elsewhere = "create it in the other process, from a vault opened there"

    def __init__(self, retriever: Retriever, workers: Workers) -> None:
        self.blocking = retriever
        self._workers = workers

    def __repr__(self) -> str:
        return f"Async{self.blocking!r}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    retrieve = mirrored(Retriever.retrieve)
    plan = mirrored(Retriever.plan)
    explain = mirrored(Retriever.explain)
    get = mirrored(Retriever.get)
    close = mirrored(Retriever.close)
