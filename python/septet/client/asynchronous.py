"""AsyncSeptet: a vault on a server, for asyncio; without threads."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from septet._core import Lock
from septet.aio.feeding import add_many_from
from septet.client.blocking import MAX_BYTES, TIMEOUT_S, Calls, limits
from septet.client.steps import Steps, awaited
from septet.client.tier import answer_in, part_of
from septet.client.transport import (
    RETRIES,
    AnswerBody,
    ConnectionSettings,
    HttpRequest,
    ServerCall,
    decoded,
    failed,
    late,
    may_retry,
    outgoing,
    settings_of,
)
from septet.errors import Closed, EntryError
from septet.model.entry import Entry
from septet.system.forks import OfOneProcess, renew_in_children
from septet.tiers.remote.shapes import shape_of
from septet.vault.alike import KEEP, SIMILARITY

if TYPE_CHECKING:
    import httpx
    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from septet.model.fields import EntryItem, FrameLike, OnSimilar, Split
    from septet.watch.progress import Progress

_R = TypeVar("_R")


class AsyncSeptet(OfOneProcess):
    """A vault on a server, for asyncio: the methods of `Client` with the same arguments, awaited.

    Event loops of several threads may share it; each has connections of its own. Cancelling a call drops it: the server
    discards work it has not begun.

    Args:
        url: as for `Client`, as are the others.
        token: the token of the server.
        timeout_s: maximum time of a call, in seconds.
        max_bytes: maximum size of an answer, in bytes.
        tier: the tier to write to, if the server has several.
        transport: an `httpx.AsyncBaseTransport` that sends the requests; None for the network.

    Raises:
        StoreError: an argument is invalid.
    """

    _elsewhere = "create one by its url in the other process"

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
        tier: str | None = None,
        transport: Any = None,
    ) -> None:
        self._settings: ConnectionSettings = settings_of(url, token, timeout_s, max_bytes, tier, transport)
        self._calls = Calls(self._settings)
        self._closed = False
        self.after_fork()
        renew_in_children(self)

    @property
    def url(self) -> str:
        """The address of the server, without a token."""
        return self._settings.url

    def __repr__(self) -> str:
        return f"AsyncSeptet({self._settings.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections of this loop; using it afterwards raises `Closed`. Closing twice is fine."""
        self._closed = True
        with self._lock.hold():
            pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()

    def after_fork(self) -> None:
        """Drop the connections in a forked child: they belong to the parent."""
        self._lock = Lock()
        self._pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]
        self._pools = weakref.WeakKeyDictionary()

    # -- methods -------------------------------------------------------------------------------------------------------

    search = awaited(Calls.search)
    search_many = awaited(Calls.search_many)
    recall = awaited(Calls.recall)
    explain = awaited(Calls.explain)
    similar = awaited(Calls.similar)
    weights = awaited(Calls.weights)
    retrieve = awaited(Calls.retrieve)
    load = awaited(Calls.load)
    get = awaited(Calls.get)
    get_many = awaited(Calls.get_many)
    ids_beginning = awaited(Calls.ids_beginning)
    entries = awaited(Calls.entries)
    count = awaited(Calls.count)
    facets = awaited(Calls.facets)
    history = awaited(Calls.history)
    links = awaited(Calls.links)
    stats = awaited(Calls.stats)
    status = awaited(Calls.status)

    add = awaited(Calls.add)

    async def add_many(
        self,
        items: Iterable[Entry | EntryItem | Mapping[str, object]]
        | AsyncIterable[Entry | EntryItem | Mapping[str, object]]
        | FrameLike,
        *,
        vectors: ArrayLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        progress: Progress | None = None,
        on_similar: OnSimilar = KEEP,
        similarity: float = SIMILARITY,
    ) -> list[str]:
        """Store many entries; see `Client.add_many`. The items may come from an async iterable too.

        Raises:
            BatchError: an item could not be stored, or ``items`` raised; ``written`` is the number of stored entries.
            EntryError: ``progress`` is no plain function, or ``vectors`` are combined with an async iterable.
            Unreachable: the server did not answer; entries of earlier calls are stored.
        """
        near: Any = {"on_similar": on_similar, "similarity": similarity}
        if isinstance(items, AsyncIterable):
            if vectors is not None or model is not None:
                raise EntryError("vectors= requires a list or a frame of items: make a list first")
            return await add_many_from(items, self._add_many, progress, split=split, **near)
        more: Any = {"vectors": vectors, "model": model, "split": split, "progress": progress}
        return await self._add_many(items, **more, **near)

    _add_many = awaited(Calls.add_many)
    update = awaited(Calls.update)
    update_many = awaited(Calls.update_many)
    delete = awaited(Calls.delete)
    forget = awaited(Calls.forget)
    remember = awaited(Calls.remember)
    supersede = awaited(Calls.supersede)
    reinstate = awaited(Calls.reinstate)
    link = awaited(Calls.link)
    link_many = awaited(Calls.link_many)
    unlink = awaited(Calls.unlink)
    feedback = awaited(Calls.feedback)

    async def __aiter__(self) -> AsyncIterator[Entry]:
        row, last = 0, None
        named = {} if self._settings.tier is None else {"tier": self._settings.tier}
        while True:
            call = {"method": "part", "row": row, "last": last, **named}
            answer = answer_in(await self._send(ServerCall("tier", call, shape=shape_of(call))), self._settings.url)
            rows, last = part_of(answer, row, self._settings.url), answer["last"]
            if not rows:
                return
            row = rows[-1].row
            for candidate in rows:
                yield candidate.to_entry()

    # -- inside --------------------------------------------------------------------------------------------------------

    async def _run(self, steps: Steps[_R]) -> _R:
        """Run the steps of a method and return its result."""
        try:
            call = next(steps)
            while True:
                try:
                    answer = await self._send(call)
                except BaseException as fault:  # noqa: BLE001 - raised inside the steps
                    call = steps.throw(fault)
                else:
                    call = steps.send(answer)
        except StopIteration as end:
            result: _R = end.value
            return result

    async def _send(self, call: ServerCall) -> Any:
        """Return the answer to a call; see `Client`."""
        import httpx

        request = outgoing(call, self._settings)
        clock = asyncio.get_running_loop().time
        ends_at, pauses = clock() + request.within_s, iter(RETRIES)
        while True:
            try:
                status, body = await asyncio.wait_for(self._receive(request), max(ends_at - clock(), 0.0))
                return decoded(status, body, call, self._settings)
            except (httpx.RequestError, httpx.InvalidURL) as error:
                fault, again = failed(error, request, self._settings), may_retry(error, request)
            except asyncio.TimeoutError:
                fault, again = late(self._settings.url, request.within_s), False
            pause = next(pauses, None) if again else None
            if pause is None or clock() + pause >= ends_at:
                raise fault from None
            await asyncio.sleep(pause)

    async def _receive(self, request: HttpRequest) -> tuple[int, bytes]:
        headers, timeout_s = dict(request.headers), request.within_s
        async with self._connections().stream(
            request.method, request.url, content=request.content, headers=headers, timeout=timeout_s
        ) as response:
            body = AnswerBody(response, request, self._settings, float("inf"))
            if response.is_stream_consumed:
                body.add(response.content)
            else:
                async for piece in response.aiter_raw():
                    body.add(piece)
            return body.status, body.whole()

    def _connections(self) -> httpx.AsyncClient:
        if self._closed:
            raise Closed(f"{self!r} was closed: create another one")
        # A connection belongs to the loop that opened it.
        loop = asyncio.get_running_loop()
        with self._lock.hold():
            pool = self._pools.get(loop)
            if pool is None:
                import httpx

                self._settings.mask_logs()
                pool = self._pools[loop] = httpx.AsyncClient(
                    transport=self._settings.transport, trust_env=False, limits=limits(), follow_redirects=False
                )
            return pool
