"""EmbeddingServer: HTTP on loopback, a free port, threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from embedding_server.parts import Embed, Fault, Reply, Request, Route, text_rows
from embedding_server.providers import ROUTES


class EmbeddingServer:
    """Answers as the providers do, from the view the block is entered.

    Args:
        embed: texts to rows.
        keys: the keys that are taken.
        context_words: a text with more words is too long.
        request_words: a request with more words is too large.
        models: what Ollama has pulled; None for everything.
        routes: where it answers.
    """

    def __init__(
        self,
        embed: Embed = text_rows,
        *,
        keys: Collection[str] = ("good-key",),
        context_words: int | None = None,
        request_words: int | None = None,
        models: Collection[str] | None = None,
        routes: Sequence[Route] = ROUTES,
    ) -> None:
        self.embed = embed
        self.keys = keys
        self.context_words = context_words
        self.request_words = request_words
        self.models = models
        self.routes = routes
        self.requests: list[Request] = []
        self._faults: deque[Fault] = deque()
        self._lock = threading.Lock()
        self.closing = threading.Event()
        #: Set when a client closes the connection before its answer ends; and how much it had taken by then.
        self.hung_up = threading.Event()
        self.taken_bytes = 0

    def script(self, *faults: Fault) -> None:
        """Let the next requests meet these faults, one each; those that follow are answered."""
        with self._lock:
            self._faults.extend(faults)

    @property
    def url(self) -> str:
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}"

    def answer(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            fault = self._faults.popleft() if self._faults else None
        for route in self.routes:
            match = route.pattern.fullmatch(request.path)
            if match and route.method == request.method:
                answer = partial(route.handler, self, request, match)
                return answer() if fault is None else fault(route.provider, answer)
        return Reply(404, {"error": {"message": f"no route for {request.method} {request.path}"}})

    def __enter__(self) -> EmbeddingServer:
        server = self

        class Handler(_Handler):
            owner = server

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    owner: EmbeddingServer
    protocol_version = "HTTP/1.1"
    # Small answers go out at once.
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        length = int(self.headers.get("content-length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, self.rfile.read(length))
        try:
            self._send(self.owner.answer(request))
        except ConnectionError:
            # The client gave up, as some tests want it to.
            self.close_connection = True
            self.owner.hung_up.set()

    do_GET = do_POST = do_DELETE = _serve

    def _send(self, reply: Reply) -> None:
        if reply.sending == "dropped":
            self.close_connection = True
            return
        kind, payload = reply.payload()
        if reply.sending in ("endless", "trickling"):
            self._send_without_end(1 if reply.sending == "trickling" else 2**16)
            return
        self.send_response(reply.status)
        for name, value in {"content-type": kind, **reply.headers, "content-length": str(len(payload))}.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.sending == "whole":
            self.wfile.write(payload)
            return
        self.wfile.write(payload[: len(payload) // 2])
        self.wfile.flush()
        if reply.sending == "stalled":
            self.owner.closing.wait()
        self.close_connection = True

    def _send_without_end(self, size: int) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("connection", "close")
        self.end_headers()
        while not self.owner.closing.wait(0 if size > 1 else 0.005):
            self.wfile.write(b" " * size)
            self.owner.taken_bytes += size

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the requests are kept."""
