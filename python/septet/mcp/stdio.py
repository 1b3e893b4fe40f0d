"""The server over standard input and output, from the first message to the end of the input or a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from septet.mcp.protocol import make_server
from septet.mcp.refusing import refusal, without_answer
from septet.system.threads import call_on_thread

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from septet.service.served import Served

__all__ = ["serve_stdio"]

#: A line of more bytes is no message: whoever sends it is not followed any further.
MOST_LINE = 64 * 2**20
#: So many messages wait for the server; then the client waits.
MOST_WAITING = 64
CHUNK = 2**16
#: After a signal, or the end of the input, the server ends within so many seconds, even if the client reads nothing.
END_S = 10.0
#: Of the loop: so many are enough for what was read to be begun, and for what was answered to be sent.
TURNS = 100


def serve_stdio(served: Served, *, documented_names: bool = False) -> None:
    """Serve a memory until the client closes the input, or a signal asks for the end.

    At the end of the input, all calls before it are answered first; after a signal, calls that run are waited for, and
    those that wait are dropped. Nothing but the protocol is written to standard
    output: what is printed meanwhile goes to standard error.

    Args:
        served: the memory; it stays open.
        documented_names: see `septet.service.tools.tools_of`.
    """
    # What the client leaves unread when it goes away shall not end the process before the memory is closed.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        asyncio.run(_serve(served, documented_names))
    except Exception as fault:
        if not _left(fault):
            raise


def _left(fault: BaseException) -> bool:
    """Return whether an error, or each of a group, says that the client is gone, or that the streams to it are."""
    if (inner := getattr(fault, "exceptions", None)) is not None:
        return all(map(_left, inner))
    return isinstance(fault, (BrokenPipeError, ConnectionResetError, BrokenResourceError, ClosedResourceError))


async def _serve(served: Served, documented_names: bool) -> None:
    server = make_server(served, documented_names=documented_names)
    serving = asyncio.ensure_future(_until_end(server))
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for one in (signal.SIGTERM, signal.SIGINT):
            # A second one ends the process at once.
            loop.remove_signal_handler(one)
            signal.signal(one, signal.SIG_DFL)
        last = threading.Timer(END_S, os._exit, (1,))
        last.daemon = True
        last.start()
        serving.cancel()

    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, stop)
    with suppress(asyncio.CancelledError):
        await serving


async def _until_end(server: Server[Any]) -> None:
    open_ = _Open(server)
    lines = _Lines(os.dup(sys.stdin.fileno()), open_)
    async with stdio_server(stdin=cast("Any", lines)) as (incoming, outgoing):
        answers = _Outgoing(outgoing, open_)
        taken = cast("Any", _Incoming(incoming, lines, answers))
        await server.run(taken, answers, server.create_initialization_options())


class _Open:
    """The calls of a server that are not answered yet, and answers that are not sent."""

    def __init__(self, server: Server[Any]) -> None:
        entry = server.get_request_handler("tools/call")
        assert entry is not None
        self._call = entry.handler
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()
        server.add_request_handler("tools/call", entry.params_type, self._counted)

    async def _counted(self, *asked: Any) -> Any:
        with self.one():
            return await self._call(*asked)

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one more inside the block."""
        self._count += 1
        self._none.clear()
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._none.set()

    async def closed(self) -> None:
        """Wait until there is none any more, `END_S` at most."""

        async def none() -> None:
            # A message goes through some tasks before its call begins, and an answer before it is sent.
            await _turns()
            while self._count:
                await self._none.wait()
                await _turns()

        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(none(), END_S)


class _Outgoing:
    """A stream of messages to the client that counts those that it is sending."""

    def __init__(self, stream: Any, open_: _Open) -> None:
        self._stream, self._open = stream, open_

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        with self._open.one():
            await self._stream.send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> _Outgoing:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Incoming:
    """A stream of messages from the client, in which a line that is none is answered with an error."""

    def __init__(self, stream: Any, lines: _Lines, answers: _Outgoing) -> None:
        self._stream, self._lines, self._answers = stream, lines, answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def receive(self) -> SessionMessage:
        """Return the next message."""
        while True:
            item = await self._stream.receive()
            # Each item is taken before the next line is read.
            line = self._lines.last
            if isinstance(item, Exception):
                refused = refusal(line)
            elif not isinstance(item.message, types.JSONRPCNotification) or without_answer(line):
                return cast("SessionMessage", item)
            else:
                refused = refusal(line)
            if refused is not None:
                await self._answers.send(SessionMessage(refused))

    def __aiter__(self) -> _Incoming:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _Incoming:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stream.aclose()


async def _turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


class _Lines:
    """The lines of a file.

    Attributes:
        last: the one that was given last.
    """

    def __init__(self, file: int, open_: _Open) -> None:
        self._found = _lines(file, open_)
        self.last = ""

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        self.last = await self._found.__anext__()
        return self.last


async def _lines(file: int, open_: _Open) -> AsyncIterator[str]:
    """Yield the lines of a file, which a thread reads: one that waits for a line does not keep the process alive.

    The end comes when all calls before it are answered, so that commands can be piped in.
    """
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[bytes | None] = asyncio.Queue(MOST_WAITING)

    def put(line: bytes | None) -> None:
        step = waiting.put(line)
        try:
            asyncio.run_coroutine_threadsafe(step, loop).result()
        finally:
            # Python would warn of one that a closed loop did not begin.
            step.close()

    def read() -> None:
        # When the loop is closed, nobody wants what is read.
        with suppress(RuntimeError):
            begun = bytearray()
            while len(begun) <= MOST_LINE and (chunk := os.read(file, CHUNK)):
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    put(bytes(begun + line))
                    begun.clear()
                begun += rest
            if begun and len(begun) <= MOST_LINE:
                # `printf` and many a program end the input without a last newline.
                put(bytes(begun))
            put(None)

    call_on_thread(read, "septet-mcp-input")
    while (line := await waiting.get()) is not None:
        yield line.decode("utf-8", "replace")
    await open_.closed()
