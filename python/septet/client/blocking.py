"""Client: a vault on a server, for blocking calls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

from septet.client.reading import Reads
from septet.client.steps import Steps, blocking, steps_of
from septet.client.tier import RemoteMember
from septet.client.transport import (
    LEAST_S,
    RETRIES,
    ConnectionSettings,
    ServerCall,
    decoded,
    error_of_fault,
    may_retry,
    outgoing,
    settings_of,
)
from septet.client.writing import Writes
from septet.errors import Closed
from septet.model.entry import Entry
from septet.net.calls import Answer
from septet.system.forks import OfOneProcess
from septet.vault.faces import RemoteMethods, declared

_R = TypeVar("_R")

#: Default maximum time of a call, in seconds.
TIMEOUT_S = 30.0
#: Default maximum size of an answer, in bytes.
MAX_BYTES = 256_000_000


class Calls(Reads, Writes):
    """The steps of the methods of a client that are more than one call."""

    @classmethod
    def of(cls, method: Any) -> Any:
        """Return the steps of a method of the vault."""
        return getattr(cls, method.__name__, None) or steps_of(method)


class ServerConnection(OfOneProcess):
    """The settings and connections of a client."""

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
        self._connections = self._settings.connections()

    @property
    def url(self) -> str:
        """The address of the server, without a token."""
        return self._settings.url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.url!r})"


class Client(ServerConnection, RemoteMethods, RemoteMember):
    """A vault on a server (``septet serve``): the methods of `Vault`, with its arguments, results and errors.

    A `Federation` accepts it as a tier, with the results of a local vault. Threads may share it; a forked child opens
    its own connections. Calls that only read are retried at most twice after a failed connection.

    Args:
        url: the address of the server, such as ``http://127.0.0.1:8000``; proxies of the environment are not used.
        token: the token of the server. It is sent to this server only: redirects are not followed.
        timeout_s: maximum time of a call, 0.01 to 86,400 seconds; a search with ``timeout_s=`` uses its own.
        max_bytes: maximum size of an answer, in bytes; a larger one is an error.
        tier: the tier to write to, and to use in a `Federation`, if the server has several.
        transport: an `httpx.BaseTransport` that sends the requests; None for the network.

    Raises:
        StoreError: an argument is invalid. The constructor does not connect.
    """

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; using the client afterwards raises `Closed`. Closing twice is fine."""
        self._connections.close()

    # -- methods -------------------------------------------------------------------------------------------------------

    retrieve = blocking(Calls.retrieve)
    status = blocking(Calls.status)

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over all entries in the order in which they were first stored; see `Vault.__iter__`."""
        for part in self._parts():
            yield from part

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        # A client of an empty vault is true.
        return True

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(self.load([id]))

    # -- inside --------------------------------------------------------------------------------------------------------

    def _run(self, steps: Steps[_R]) -> _R:
        """Run the steps of a method and return its result."""
        try:
            call = next(steps)
            while True:
                try:
                    answer = self._send(call)
                except BaseException as fault:  # noqa: BLE001 - raised inside the steps
                    call = steps.throw(fault)
                else:
                    call = steps.send(answer)
        except StopIteration as end:
            result: _R = end.value
            return result

    def _send(self, call: ServerCall) -> Any:
        """Return the answer to a call.

        Raises:
            SeptetError: the error of the server; `Unreachable` without an answer.
        """
        send, pauses = outgoing(call, self._settings), iter(RETRIES)
        ends_at = time.monotonic() + send.timeout_s
        while True:
            left_s = max(ends_at - time.monotonic(), LEAST_S)
            reply = self._connections.fetch(replace(send, timeout_s=left_s))
            if isinstance(reply, Answer):
                return decoded(reply, call, self._settings)
            if reply.kind == "closed":
                raise Closed(f"{self!r} was closed: create another one")
            pause = next(pauses, None) if may_retry(reply, call) else None
            if pause is None or time.monotonic() + pause >= ends_at:
                raise error_of_fault(reply, send, self._settings)
            time.sleep(pause)


for _name, _method in declared(Client):
    setattr(Client, _name, blocking(Calls.of(_method)))
