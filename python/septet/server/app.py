"""The application: every operation as a route, the page, and what surrounds them.

It is written as plain ASGI: a request goes through one function per concern, and no layer that starts a task for it.
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
from septet.server.bodies import Gone
from septet.server.calling import Caller
from septet.server.docs_page import docs_page
from septet.server.entry_operations import HTTP_OPERATIONS
from septet.server.exchange import CURRENT, Exchange
from septet.server.exposition import CONTENT_TYPE
from septet.server.guard import Guard
from septet.server.health import Health
from septet.server.metrics import Metrics
from septet.server.mounted import MountedMcp
from septet.server.openapi import document
from septet.server.page_files import PageFile, page_files
from septet.server.replies import encoded, failed, reply
from septet.server.routing import Found, Own, Refused, Route, Routes
from septet.server.scopes import expect_scope, scope_of
from septet.server.settings import Settings
from septet.server.streaming import Streams
from septet.server.tools import Tools
from septet.service.faults import Fault, fault_of
from septet.service.served import Served
from septet.service.tier_calls import TIER
from septet.service.tools import MOST_BODY

__all__ = ["App", "make_app"]

#: Of every answer, unless it has its own.
HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
}
#: What may be asked without a token, and while the server stops.
OPEN = frozenset({b"/healthz", b"/readyz"})
STOPPING = Fault("stopping", "the server is stopping", 503)


def make_app(served: Served, settings: Settings | None = None, log: AccessLog | None = None) -> App:
    """Return the ASGI application that serves a memory.

    Args:
        served: the memory, and whether it may be changed; it stays open.
        settings: what is allowed; default `Settings()`.
        log: what is told of each request.
    """
    return App(served, settings or Settings(), log)


class App:
    """An ASGI application.

    Attributes:
        running: requests that are not over.
        stopping: no further requests are answered.
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
        own = [
            Route("GET", "/healthz", Own(self._healthz)),
            Route("GET", "/readyz", Own(self._readyz)),
            Route("GET", "/metrics", Own(self._metrics_page)),
            Route("GET", "/openapi.json", Own(self._openapi)),
            Route("POST", "/v1/tools/call", Own(Tools(served).call)),
            Route("POST", "/v1/bulk", Own(self._streams.bulk, 0)),
            Route("GET", "/v1/export", Own(self._streams.export)),
            Route("POST", "/mcp", Own(self._mcp.answer, MOST_BODY)),
            Route(*TIER.route, TIER),
        ]
        self._routes = Routes([*own, *(Route(*one.route, one) for one in HTTP_OPERATIONS.values())])

    def begin_stop(self) -> None:
        """Answer no further requests; those that run go on."""
        self.stopping = True

    def end(self) -> None:
        """End what goes on between requests."""
        self._mcp.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await _without_requests(scope, receive, send)
            return
        exchange = Exchange(scope)
        CURRENT.set(exchange)
        # Answers too count as work until they are sent.
        self.running += 1
        try:
            response = await self._answer(scope, receive, exchange)
            await response(scope, receive, _headed(send, exchange))
        except Gone:
            pass
        except asyncio.CancelledError:
            # What has not ended by then is cut off when the server does.
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
            found = self._routes.find(exchange.method, path)
            exchange.route = found.route
            if path not in OPEN:
                expect_scope(exchange.scope, scope_of(found.route, found.target), f"{exchange.method} {found.route}")
                if self.stopping:
                    raise Refused(STOPPING, {**AGAIN, "Connection": "close"})
            return await self._found(scope, receive, exchange, found)
        except Refused as refused:
            return failed(refused.fault, refused.headers)
        except Gone:
            raise
        except Exception as error:
            fault = fault_of(error)
            if fault.code == "internal_error":
                self._logger.error("%s failed", exchange.route, exc_info=error)
            return failed(fault, AGAIN if fault.status == 503 else None)

    def _file(self, path: bytes) -> PageFile | None:
        """Return what stands at a path of the page; the page of the API is made when it is first asked for."""
        if path != b"/docs":
            return self._files.get(path)
        self._docs = self._docs or docs_page(document(token=self._settings.wants_token))
        return self._docs

    async def _found(self, scope: Scope, receive: Receive, exchange: Exchange, found: Found) -> ASGIApp:
        target, admission = found.target, self._admission
        most = target.most_body if isinstance(target, Own) else None
        body = b"" if most == 0 else await admission.body(scope, receive, most)
        work: Callable[[], Coroutine[Any, Any, ASGIApp]]
        if isinstance(target, Own):
            work = partial(target.handler, scope, body, exchange)
        else:
            work = partial(self._caller.answer, scope, body, target, found.named, exchange)
        # Lines take their places one by one, when they have come.
        begin = admission.without_place if exchange.path in OPEN or most == 0 else admission.at_once
        return await begin(work, receive)

    async def _healthz(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        return reply({"status": "ok"})

    async def _readyz(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        found = {"status": "stopping", "notes": []} if self.stopping else await self._health.ready()
        return reply(found, 503 if found["status"] in ("stopping", "failed") else 200)

    async def _metrics_page(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        text = await self._served.memory.on_thread(lambda memory: self._metrics.text(memory, self.running))
        return Response(text, 200, {"Content-Type": CONTENT_TYPE})

    async def _openapi(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        self._document = self._document or encoded(document(token=self._settings.wants_token))
        return Response(self._document, media_type="application/json")


def _headed(send: Send, exchange: Exchange) -> Send:
    """Return what sends, adds the headers of every answer, and notes what was sent."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
            has = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(one for one in HEADERS.items() if one[0] not in has)]
        else:
            exchange.sent += len(message.get("body", b""))
        await send(message)

    return sending


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
