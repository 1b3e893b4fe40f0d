"""The application: every operation as a route, the page, and the concerns around them.

Written as plain ASGI: a request passes one function per concern, and no middleware that starts a task for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from septet.server.access_log import AccessLog
from septet.server.admission import AGAIN, Admission
from septet.server.bodies import ClientDisconnected
from septet.server.calling import Caller, MountedMcp, Tools
from septet.server.entry_operations import HTTP_OPERATIONS
from septet.server.exchange import CURRENT, Exchange, encoded, failed, reply
from septet.server.guard import Guard, expect_scope, scope_of
from septet.server.health import Health
from septet.server.metrics import CONTENT_TYPE, Metrics
from septet.server.openapi import document
from septet.server.page_files import PageFile, docs_page, page_files
from septet.server.routing import Endpoint, RequestError, Route, RouteMatch, Routes
from septet.server.settings import Settings
from septet.server.streaming import Streams
from septet.service.faults import CallerFault, fault_of
from septet.service.served import Served
from septet.service.tier_calls import TIER
from septet.service.tools import MOST_BODY

#: Default headers of every answer.
HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
}
#: Paths without a token, also answered while the server stops.
OPEN = frozenset({b"/healthz", b"/readyz"})
STOPPING = CallerFault("stopping", "the server is stopping", 503)


def make_app(served: Served, settings: Settings | None = None, log: AccessLog | None = None) -> App:
    """Return the ASGI application of a memory.

    Args:
        served: the memory; it stays open.
        settings: the limits and tokens; default `Settings()`.
        log: the access log; None for none.
    """
    return App(served, settings or Settings(), log)


class App:
    """An ASGI application.

    Attributes:
        running: number of requests in progress.
        stopping: True if further requests are refused.
    """

    def __init__(self, served: Served, settings: Settings, log: AccessLog | None) -> None:
        self._served, self._settings, self._log = served, settings, log
        self._guard, self._health, self._files = Guard(settings), Health(served), page_files()
        self._metrics, self._caller = Metrics(served.blocking), Caller(served, settings)
        served.watch_searches(queries=settings.log_queries)
        self._admission = Admission(settings)
        self._streams = Streams(served, settings, self._admission)
        self._logger = logging.getLogger("septet.server")
        self._mcp = MountedMcp(served)
        self._document = b""
        self._docs: PageFile | None = None
        self.stopping = False
        self.running = 0
        routes = [
            Route("GET", "/healthz", Endpoint(self._healthz)),
            Route("GET", "/readyz", Endpoint(self._readyz)),
            Route("GET", "/metrics", Endpoint(self._metrics_page)),
            Route("GET", "/openapi.json", Endpoint(self._openapi)),
            Route("POST", "/v1/tools/call", Endpoint(Tools(served).call)),
            Route("POST", "/v1/bulk", Endpoint(self._streams.bulk, 0)),
            Route("GET", "/v1/export", Endpoint(self._streams.export)),
            Route("POST", "/mcp", Endpoint(self._mcp.answer, MOST_BODY)),
            Route(*TIER.route, TIER),
        ]
        routes += [Route(*operation.route, operation) for operation in HTTP_OPERATIONS.values()]
        self._routes = Routes(routes)

    def begin_stop(self) -> None:
        """Refuse further requests; those in progress continue."""
        self.stopping = True

    def end(self) -> None:
        """Stop background tasks."""
        self._mcp.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await _without_requests(scope, receive, send)
            return
        exchange = Exchange(scope)
        CURRENT.set(exchange)
        # A request counts as work until its answer is sent.
        self.running += 1
        try:
            response = await self._answer(scope, receive, exchange)
            await response(scope, receive, _with_headers(send, exchange))
        except ClientDisconnected:
            pass
        except asyncio.CancelledError:
            # The server closes at a stop the connections of requests that did not finish.
            if not self.stopping:
                raise
        finally:
            self.running -= 1
            self._metrics.on_request(exchange)
            if self._log is not None:
                self._log.tell(exchange)

    async def _answer(self, scope: Scope, receive: Receive, exchange: Exchange) -> ASGIApp:
        try:
            path = exchange.path
            file = self._file(path) if exchange.method in ("GET", "HEAD") else None
            exchange.scope = self._guard.check(scope, by_page=file is not None or path in OPEN)
            if file is not None:
                exchange.route = "page"
                return file.response(scope)
            match = self._routes.find(exchange.method, path)
            exchange.route = match.route
            if path not in OPEN:
                expect_scope(exchange.scope, scope_of(match.route, match.target), f"{exchange.method} {match.route}")
                if self.stopping:
                    raise RequestError(STOPPING, {**AGAIN, "Connection": "close"})
            return await self._run_route(scope, receive, exchange, match)
        except RequestError as error:
            return failed(error.fault, error.headers)
        except ClientDisconnected:
            raise
        except Exception as error:
            fault = fault_of(error)
            if fault.code == "internal_error":
                self._logger.error("%s failed", exchange.route, exc_info=error)
            return failed(fault, AGAIN if fault.status == 503 else None)

    def _file(self, path: bytes) -> PageFile | None:
        """Return the page file at a path; the API page is rendered on first use."""
        if path != b"/docs":
            return self._files.get(path)
        self._docs = self._docs or docs_page(document(token=self._settings.wants_token))
        return self._docs

    async def _run_route(self, scope: Scope, receive: Receive, exchange: Exchange, match: RouteMatch) -> ASGIApp:
        target, admission = match.target, self._admission
        most = target.most_body if isinstance(target, Endpoint) else None
        body = b"" if most == 0 else await admission.body(scope, receive, most)
        work: Callable[[], Coroutine[Any, Any, ASGIApp]]
        if isinstance(target, Endpoint):
            work = partial(target.handler, scope, body, exchange)
        else:
            work = partial(self._caller.answer, scope, body, target, match.named, exchange)
        # Lines of a body take places one by one.
        begin = admission.without_place if exchange.path in OPEN or most == 0 else admission.at_once
        return await begin(work, receive)

    async def _healthz(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        return reply({"status": "ok"})

    async def _readyz(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        state = {"status": "stopping", "notes": []} if self.stopping else await self._health.ready()
        return reply(state, 503 if state["status"] in ("stopping", "failed") else 200)

    async def _metrics_page(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        text = await self._served.memory.on_thread(lambda memory: self._metrics.text(memory, self.running))
        return Response(text, 200, {"Content-Type": CONTENT_TYPE})

    async def _openapi(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        self._document = self._document or encoded(document(token=self._settings.wants_token))
        return Response(self._document, media_type="application/json")


def _with_headers(send: Send, exchange: Exchange) -> Send:
    """Return a `send` that adds the default headers and records status and size."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
            present = {name for name, _ in message["headers"]}
            defaults = [header for header in HEADERS.items() if header[0] not in present]
            message["headers"] = [*message["headers"], *defaults]
        else:
            exchange.sent += len(message.get("body", b""))
        await send(message)

    return send_with_headers


async def _without_requests(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1000})
        return
    while scope["type"] == "lifespan":
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
