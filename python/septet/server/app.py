"""The application: every operation as a route, the page, and the concerns around them.

Written as plain ASGI: a request passes one function per concern, and no middleware that starts a task for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote_to_bytes

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from septet.server.access_log import AccessLog
from septet.server.admission import AGAIN, Admission
from septet.server.bodies import whole
from septet.server.calling import HTTP_OPERATIONS, Caller, MountedMcp, Tools
from septet.server.exchange import CURRENT, ClientDisconnected, Exchange, RequestError, encoded, failed, reply
from septet.server.guard import Guard, expect_scope, scope_of
from septet.server.metrics import CONTENT_TYPE, Health, Metrics
from septet.server.openapi import document
from septet.server.page_files import PageFile, docs_page, page_files
from septet.server.settings import Settings
from septet.server.streaming import Streams
from septet.service.faults import CallerFault, fault_of
from septet.service.operations import Operation
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
#: The part of a path that is a field.
_ID = "{id}"
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
        stopping: True to refuse further requests; those in progress continue.
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
        self._routes = Routes(
            {
                ("GET", "/healthz"): Endpoint(self._healthz),
                ("GET", "/readyz"): Endpoint(self._readyz),
                ("GET", "/metrics"): Endpoint(self._metrics_page),
                ("GET", "/openapi.json"): Endpoint(self._openapi),
                ("POST", "/v1/tools/call"): Endpoint(Tools(served).call),
                ("POST", "/v1/bulk"): Endpoint(self._streams.bulk, 0),
                ("GET", "/v1/export"): Endpoint(self._streams.export),
                ("POST", "/mcp"): Endpoint(self._mcp.answer, MOST_BODY),
                **{operation.route: operation for operation in (TIER, *HTTP_OPERATIONS.values())},
            }
        )

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
            if type(response) is not Response:
                await response(scope, receive, _with_headers(send, exchange))
                return
            # As the response would send itself, without a function between.
            exchange.status, headers = response.status_code, _with_defaults(response.raw_headers)
            await send({"type": "http.response.start", "status": exchange.status, "headers": headers})
            exchange.sent = len(response.body)
            await send({"type": "http.response.body", "body": response.body})
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
            route, target, named = self._routes.find(exchange.method, path)
            exchange.route = route
            if path not in OPEN:
                if exchange.scope != "admin":
                    expect_scope(exchange.scope, scope_of(route, target), f"{exchange.method} {route}")
                if self.stopping:
                    raise RequestError(STOPPING, {**AGAIN, "Connection": "close"})
            most = target.most_body if isinstance(target, Endpoint) else None
            body = b"" if most == 0 else await whole(scope, receive, self._settings, self._admission.bodies, most)
            if not isinstance(target, Endpoint):
                return await self._admission.on_thread(
                    partial(self._caller.begin, scope, body, target, named, exchange), receive
                )
            work = partial(target.handler, scope, body, exchange)
            # Lines of a body take places one by one.
            begin = self._admission.without_place if path in OPEN or most == 0 else self._admission.at_once
            return await begin(work, receive)
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
            message["headers"] = _with_defaults(message["headers"])
        else:
            exchange.sent += len(message.get("body", b""))
        await send(message)

    return send_with_headers


def _with_defaults(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers with the default ones that they lack."""
    complete = [*headers]
    present = dict(complete)
    complete += [header for header in HEADERS.items() if header[0] not in present]
    return complete


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


class Endpoint(NamedTuple):
    """A route that is no operation.

    Attributes:
        handler: answers a request: its scope, its body, its exchange.
        most_body: maximum size of the body in bytes; None for that of the settings, 0 if the handler reads it.
    """

    handler: Callable[[Any, bytes, Exchange], Coroutine[Any, Any, ASGIApp]]
    most_body: int | None = None


Target: TypeAlias = Operation | Endpoint


class Routes:
    """The targets by verb and path; a path may end in ``{id}``.

    Paths are matched before percent-decoding: an id may contain any character, such as an encoded slash.
    """

    def __init__(self, routes: Mapping[tuple[str, str], Target]) -> None:
        self._plain: dict[str, dict[str, Target]] = {}
        self._by_id: dict[str, dict[str, Target]] = {}
        for (verb, path), target in routes.items():
            table = self._by_id if path.endswith(_ID) else self._plain
            table.setdefault(path.removesuffix(_ID), {})[verb] = target

    def find(self, verb: str, raw_path: bytes) -> tuple[str, Target, dict[str, str]]:
        """Return the route of a request, its target, and the fields from the path; HEAD matches GET.

        Raises:
            RequestError: an unknown path (404), another verb (405), or an id that is not UTF-8 (400).
        """
        path = raw_path.decode("latin-1")
        verbs, named, route = self._plain.get(path), {}, path
        if verbs is None:
            prefixes = (prefix for prefix in self._by_id if path.startswith(prefix) and len(path) > len(prefix))
            prefix = next(prefixes, None)
            if prefix is None:
                raise RequestError(CallerFault("no_such_route", "unknown path; see /openapi.json for all routes", 404))
            verbs, named, route = self._by_id[prefix], {"id": _text(raw_path[len(prefix) :])}, prefix + _ID
        target = verbs.get("GET" if verb == "HEAD" else verb)
        if target is None:
            allowed = [*verbs, *(["HEAD"] if "GET" in verbs else [])]
            fault = CallerFault(
                "method_not_allowed", f"this path supports {', '.join(allowed)}", 405, {"allowed": allowed}
            )
            raise RequestError(fault, {"Allow": ", ".join(allowed)})
        return route, target, named


def _text(quoted: bytes) -> str:
    try:
        return unquote_to_bytes(quoted).decode()
    except UnicodeDecodeError:
        raise RequestError(CallerFault("invalid_request", "the id in the path is not UTF-8", 400)) from None
