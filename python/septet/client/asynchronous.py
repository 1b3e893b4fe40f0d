"""AsyncClient: a vault on a server, for asyncio; without threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from septet.aio.feeding import Feeding
from septet.client.blocking import Calls, ServerConnection
from septet.client.steps import Steps, awaited
from septet.client.tier import answer_in, part_of
from septet.client.transport import (
    LEAST_S,
    RETRIES,
    ServerCall,
    decoded,
    error_of_fault,
    may_retry,
    outgoing,
)
from septet.errors import Closed
from septet.model.entry import Entry
from septet.net.calls import Answer
from septet.tiers.remote.shapes import shape_of
from septet.vault.faces import AwaitedOfOneStore, declared

if TYPE_CHECKING:
    from typing_extensions import Self


_R = TypeVar("_R")


class AsyncClient(ServerConnection, Feeding, AwaitedOfOneStore):
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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections of this loop; using it afterwards raises `Closed`. Closing twice is fine."""
        await self._connections.aclose()

    # -- methods -------------------------------------------------------------------------------------------------------

    _add_many = awaited(Calls.add_many)
    retrieve = awaited(Calls.retrieve)
    status = awaited(Calls.status)

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
        send, pauses = outgoing(call, self._settings), iter(RETRIES)
        clock = asyncio.get_running_loop().time
        ends_at = clock() + send.timeout_s
        while True:
            left_s = max(ends_at - clock(), LEAST_S)
            reply = await self._connections.afetch(replace(send, timeout_s=left_s))
            if isinstance(reply, Answer):
                return decoded(reply, call, self._settings)
            if reply.kind == "closed":
                raise Closed(f"{self!r} was closed: create another one")
            pause = next(pauses, None) if may_retry(reply, call) else None
            if pause is None or clock() + pause >= ends_at:
                raise error_of_fault(reply, send, self._settings)
            await asyncio.sleep(pause)


for _name, _method in declared(AsyncClient):
    setattr(AsyncClient, _name, awaited(Calls.of(_method)))
