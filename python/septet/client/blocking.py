"""Client: a vault that a server holds, for programs that wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from septet._core import Lock
from septet.client.calls import Calls
from septet.client.steps import Steps, blocking
from septet.client.tier import RemoteMember
from septet.client.transport import (
    RETRIES,
    Ask,
    Body,
    Outgoing,
    Settings,
    decoded,
    failed,
    may_retry,
    outgoing,
    settings_of,
)
from septet.errors import Closed
from septet.model.entry import Entry
from septet.system.forks import OfOneProcess, renew_in_children

if TYPE_CHECKING:
    import httpx

__all__ = ["MAX_BYTES", "TIMEOUT_S", "Client"]

_R = TypeVar("_R")

#: How long a call takes at most, unless the caller says otherwise.
TIMEOUT_S = 30.0
#: How many bytes its answer has at most.
MAX_BYTES = 256_000_000
#: Idle connections are closed before the server does it: a call that writes is not sent twice.
IDLE_S = 2.0
MOST_CONNECTIONS = 64


class Client(RemoteMember, OfOneProcess):
    """A vault that a server holds (``septet serve``): the methods of `Vault`, with its arguments, results and errors.

    A `Federation` takes it as a tier, with the results of a vault on this machine. Threads may share it, and a forked
    child makes connections of its own. Calls that only read are sent again, twice at most, when a connection fails.

    Args:
        url: where the server is, such as ``http://127.0.0.1:8000``; no proxies of the environment are used.
        token: what the server wants to be shown. It goes to this server alone: no redirect is followed.
        timeout_s: how long a call may take, 0.01 to 86,400 seconds; a search with ``timeout_s=`` has its own time.
        max_bytes: of an answer; a larger one is an error.
        tier: of a server that holds several tiers, the one that is written, and that is a tier of a `Federation` here.
        transport: an `httpx.BaseTransport` that sends the requests; None for the network.

    Raises:
        StoreError: an argument is none of these. The server is asked when a method is called, not before.
    """

    _elsewhere = "make it in the other process by its url"

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
        self._settings: Settings = settings_of(url, token, timeout_s, max_bytes, tier, transport)
        self._calls = Calls(self._settings)
        self._closed = False
        self._pool: httpx.Client | None = None
        self.after_fork()
        renew_in_children(self)

    @property
    def url(self) -> str:
        """The address of the server, without a token."""
        return self._settings.url

    def __repr__(self) -> str:
        return f"Client({self._settings.url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; using the client afterwards raises `Closed`. Closing twice is fine."""
        with self._lock.hold():
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def after_fork(self) -> None:
        """Begin with other connections in a forked child: the parent goes on with its own."""
        self._lock = Lock()
        self._pool = None

    # -- methods -------------------------------------------------------------------------------------------------------

    search = blocking(Calls.search)
    search_many = blocking(Calls.search_many)
    recall = blocking(Calls.recall)
    explain = blocking(Calls.explain)
    similar = blocking(Calls.similar)
    weights = blocking(Calls.weights)
    retrieve = blocking(Calls.retrieve)
    load = blocking(Calls.load)
    get = blocking(Calls.get)
    get_many = blocking(Calls.get_many)
    ids_beginning = blocking(Calls.ids_beginning)
    entries = blocking(Calls.entries)
    count = blocking(Calls.count)
    facets = blocking(Calls.facets)
    history = blocking(Calls.history)
    links = blocking(Calls.links)
    stats = blocking(Calls.stats)
    status = blocking(Calls.status)

    add = blocking(Calls.add)
    add_many = blocking(Calls.add_many)
    update = blocking(Calls.update)
    update_many = blocking(Calls.update_many)
    delete = blocking(Calls.delete)
    forget = blocking(Calls.forget)
    remember = blocking(Calls.remember)
    supersede = blocking(Calls.supersede)
    reinstate = blocking(Calls.reinstate)
    link = blocking(Calls.link)
    link_many = blocking(Calls.link_many)
    unlink = blocking(Calls.unlink)
    feedback = blocking(Calls.feedback)

    def __iter__(self) -> Iterator[Entry]:
        """Go through all entries in the order in which they were first stored; see `Vault.__iter__`."""
        for part in self._parts():
            yield from part

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        # A client of an empty vault is one.
        return True

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(self.load([id]))

    # -- inside --------------------------------------------------------------------------------------------------------

    def _take(self, steps: Steps[_R]) -> _R:
        """Take the steps of a method, and return what it returns."""
        try:
            ask = next(steps)
            while True:
                try:
                    answer = self._sent(ask)
                except BaseException as fault:  # noqa: BLE001 - raised where it was asked
                    ask = steps.throw(fault)
                else:
                    ask = steps.send(answer)
        except StopIteration as end:
            result: _R = end.value
            return result

    def _sent(self, ask: Ask) -> Any:
        """Return the answer to a call.

        Raises:
            SeptetError: the error that the server tells; `Unreachable` when it does not answer.
        """
        import httpx

        from septet.embedding.transport.network import until

        sent = outgoing(ask, self._settings)
        ends_at, pauses = time.monotonic() + sent.within_s, iter(RETRIES)
        while True:
            try:
                with until(ends_at):
                    status, body = self._received(sent, ends_at)
                return decoded(status, body, ask, self._settings)
            except (httpx.RequestError, httpx.InvalidURL) as error:
                fault, again = failed(error, sent, self._settings), may_retry(error, sent)
            pause = next(pauses, None) if again else None
            if pause is None or time.monotonic() + pause >= ends_at:
                # Without its cause, which holds the request and so the token.
                raise fault from None
            time.sleep(pause)

    def _received(self, sent: Outgoing, ends_at: float) -> tuple[int, bytes]:
        left = max(ends_at - time.monotonic(), 0.001)
        with self._connections().stream(
            sent.method, sent.url, content=sent.content, headers=dict(sent.headers), timeout=left
        ) as response:
            body = Body(response, sent, self._settings, ends_at)
            # A transport of a test may have read it.
            for piece in (response.content,) if response.is_stream_consumed else response.iter_raw():
                body.add(piece)
            return body.status, body.whole()

    def _connections(self) -> httpx.Client:
        with self._lock.hold():
            if self._closed:
                raise Closed(f"{self!r} was closed: make another one")
            if self._pool is None:
                import httpx

                from septet.embedding.transport.network import keep_deadlines

                pool = httpx.Client(
                    transport=self._settings.transport, trust_env=False, limits=limits(), follow_redirects=False
                )
                keep_deadlines(pool)
                self._settings.mask_logs()
                self._pool = pool
            return self._pool


def limits() -> httpx.Limits:
    """Return how many connections are kept, and how long."""
    import httpx

    return httpx.Limits(
        max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS, keepalive_expiry=IDLE_S
    )
