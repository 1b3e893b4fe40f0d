"""The MCP server over standard input and output, until end of input or a signal."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic_core import from_json

from septet.mcp.protocol import make_server
from septet.system.session import session
from septet.system.threads import call_on_thread

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from septet.service.served import Served

#: Maximum bytes of a line; a longer one ends the input.
MOST_LINE = 64 * 2**20
#: Maximum queued messages; beyond it the client's writes block.
MOST_WAITING = 64
CHUNK = 2**16
#: Maximum seconds to shut down after a signal or end of input, even if the client reads nothing.
END_S = 10.0
#: Event-loop turns at shutdown that start calls already read and send responses already produced.
TURNS = 100


def serve_stdio(served: Served, *, documented_names: bool = False) -> None:
    """Serve a memory until end of input or a signal.

    At end of input, all pending calls are answered. After a signal, running calls finish and queued ones are dropped.
    Standard output carries only the protocol; prints are redirected to standard error.

    Args:
        served: the memory; it stays open.
        documented_names: see `septet.service.tools.tools_of`.
    """
    # A client that closes its end must not kill the process before the memory is closed.
    session.raise_at_broken_pipes()
    try:
        asyncio.run(_serve(served, documented_names))
    except Exception as fault:
        if not _disconnected(fault):
            raise


def _disconnected(fault: BaseException) -> bool:
    """Return True if an error, or every error of a group, means that the client disconnected."""
    if (inner := getattr(fault, "exceptions", None)) is not None:
        return all(map(_disconnected, inner))
    if isinstance(fault, OSError) and session.is_closed_pipe(fault):
        return True
    return isinstance(fault, (BrokenPipeError, ConnectionResetError, BrokenResourceError, ClosedResourceError))


async def _serve(served: Served, documented_names: bool) -> None:
    server = make_server(served, documented_names=documented_names)
    serving = asyncio.ensure_future(_until_end(server))

    def stop() -> None:
        watchdog = threading.Timer(END_S, os._exit, (1,))
        watchdog.daemon = True
        watchdog.start()
        serving.cancel()

    session.on_stop(asyncio.get_running_loop(), stop)
    with suppress(asyncio.CancelledError):
        await serving


async def _until_end(server: Server[Any]) -> None:
    pending = _Pending(server)
    lines: Any = _lines(os.dup(sys.stdin.fileno()), pending)
    async with stdio_server(stdin=lines) as (reader, writer):
        outgoing = _Outgoing(writer, pending)
        incoming = cast("Any", _Incoming(reader, pending, outgoing))
        await server.run(incoming, outgoing, server.create_initialization_options())


class _Pending:
    """Counts the calls that run and the responses that are being sent; ``line`` is the line read last."""

    line = ""

    def __init__(self, server: Server[Any]) -> None:
        entry = server.get_request_handler("tools/call")
        assert entry is not None
        self._call = entry.handler
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()
        server.add_request_handler("tools/call", entry.params_type, self._counted_call)

    async def _counted_call(self, *arguments: Any) -> Any:
        with self.counted():
            return await self._call(*arguments)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the block as pending."""
        self._count += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._idle.set()

    async def drain(self) -> None:
        """Wait until nothing is pending, for at most `END_S`."""

        async def idle() -> None:
            # A message passes through several tasks before its call starts, and a response before it is sent.
            await _turns()
            while self._count:
                await self._idle.wait()
                await _turns()

        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(idle(), END_S)


class _Outgoing:
    """The stream to the client; counts responses while they are sent."""

    def __init__(self, stream: Any, pending: _Pending) -> None:
        self._stream, self._pending = stream, pending

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        with self._pending.counted():
            await self._stream.send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> _Outgoing:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Incoming:
    """The stream from the client; answers invalid lines with an error."""

    def __init__(self, stream: Any, pending: _Pending, outgoing: _Outgoing) -> None:
        self._stream, self._pending, self._outgoing = stream, pending, outgoing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def receive(self) -> SessionMessage:
        """Return the next message."""
        while True:
            item = await self._stream.receive()
            # The item belongs to the last line: the stream is unbuffered.
            line = self._pending.line
            if not isinstance(item, Exception) and (
                not isinstance(item.message, types.JSONRPCNotification) or without_answer(line)
            ):
                return cast("SessionMessage", item)
            if (error := refusal(line)) is not None:
                await self._outgoing.send(SessionMessage(error))

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


async def _lines(file: int, pending: _Pending) -> AsyncIterator[str]:
    """Yield the lines of a file, read on a daemon thread so that a blocked read does not keep the process alive.

    At the end, wait for pending calls: a client may pipe in requests and close the input.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue(MOST_WAITING)

    def put(line: bytes | None) -> None:
        step = queue.put(line)
        try:
            asyncio.run_coroutine_threadsafe(step, loop).result()
        finally:
            # Python warns of a coroutine that a closed loop never started.
            step.close()

    def read() -> None:
        # Raised once the loop is closed: drop the rest of the input.
        with suppress(RuntimeError):
            partial = bytearray()
            while len(partial) <= MOST_LINE and (chunk := os.read(file, CHUNK)):
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    put(bytes(partial + line))
                    partial.clear()
                partial += rest
            if partial and len(partial) <= MOST_LINE:
                # `printf` and other programs omit the last newline.
                put(bytes(partial))
            put(None)

    call_on_thread(read, "septet-mcp-input")
    while (line := await queue.get()) is not None:
        pending.line = line.decode("utf-8", "replace")
        yield pending.line
    await pending.drain()


#: Maximum digits of an integer; longer ones are read as null.
MOST_DIGITS = 20
#: Maximum characters of a too deeply nested line whose outermost object is still searched for an id.
MOST_OUTLINED = 2 * 2**20
#: A string, or a run of brackets of one direction. Matches an unterminated string once, in linear time.
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]+|[\]}]+', re.DOTALL)


def refusal(line: str) -> types.JSONRPCError | None:
    """Return the error response for a line that is no message, with the id of the request or null.

    None for an empty line, a notification or a response: they expect no answer.
    """
    if not line.strip():
        return None
    code, message = types.INVALID_REQUEST, "the line is no request of JSON-RPC 2.0"
    try:
        from_json(line)
    except ValueError as fault:
        code, message = types.PARSE_ERROR, f"the line is no JSON: {fault}"
    item = _read(line)
    if ("id" not in item) if "method" in item else item.keys() & {"result", "error"}:
        return None
    return types.JSONRPCError(jsonrpc="2.0", id=_id(item.get("id")), error=types.ErrorData(code=code, message=message))


def without_answer(line: str) -> bool:
    """Return True if a line has no id. The SDK takes requests with an invalid id for notifications."""
    return "id" not in _read(line)


def _read(line: str) -> dict[str, Any]:
    """Return the JSON object of a line, of its outermost level if nested too deeply; empty if it is none."""
    try:
        value = _loaded(line)
    except RecursionError:
        try:
            value = _loaded(_outline(line)) if len(line) <= MOST_OUTLINED else None
        except ValueError:
            return {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _loaded(text: str) -> Any:
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) <= MOST_DIGITS else None)


def _outline(line: str) -> str:
    """Return the outermost object or array of a line, with nested ones replaced by null."""
    parts, depth, end = list[str](), 0, 0
    for match in _NESTING.finditer(line):
        if match[0][0] == '"':
            continue
        before, opens = depth, match[0][0] in "[{"
        depth += len(match[0]) if opens else -len(match[0])
        if opens and before <= 1 < depth:
            parts.append(line[end : match.start()] + match[0][: 1 - before] + "null")
        elif not opens and depth <= 1 < before:
            end = match.end() + min(depth - 1, 0)
    return "".join(parts) + line[end:] if depth == 0 else ""


def _id(value: Any) -> str | int | None:
    if isinstance(value, str):
        # A lone surrogate cannot be encoded.
        return value if value == value.encode("utf-8", "ignore").decode() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
