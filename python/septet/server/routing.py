"""Routes: the operations by verb and path."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp

from septet.server.exchange import Exchange
from septet.service.faults import CallerFault
from septet.service.operations import Operation

_ID = "{id}"


class RequestError(Exception):
    """A request to answer with an error.

    Attributes:
        fault: the error.
        headers: further headers of the response.
    """

    def __init__(self, fault: CallerFault, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(fault.message)
        self.fault, self.headers = fault, headers


class Endpoint(NamedTuple):
    """A route that is no operation.

    Attributes:
        handler: answers a request: its scope, its body, its exchange.
        most_body: maximum size of the body in bytes; None for that of the settings, 0 if the handler reads it.
    """

    handler: Callable[[Any, bytes, Exchange], Coroutine[Any, Any, ASGIApp]]
    most_body: int | None = None


class Route(NamedTuple):
    """A verb, a path that may end in ``{id}``, and its target: an `Operation` or an `Endpoint`."""

    verb: str
    path: str
    target: Operation | Endpoint


class RouteMatch(NamedTuple):
    """The route of a request, its target, and the fields from the path."""

    route: str
    target: Operation | Endpoint
    named: dict[str, str]


class Routes:
    """A table of routes.

    Paths are matched before percent-decoding: an id may contain any character, such as an encoded slash.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._plain: dict[str, dict[str, Operation | Endpoint]] = {}
        self._by_id: dict[str, dict[str, Operation | Endpoint]] = {}
        for route in routes:
            table = self._by_id if route.path.endswith(_ID) else self._plain
            table.setdefault(route.path.removesuffix(_ID), {})[route.verb] = route.target

    def find(self, verb: str, raw_path: bytes) -> RouteMatch:
        """Return the route of a request; HEAD matches GET.

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
        return RouteMatch(route, target, named)


def _text(quoted: bytes) -> str:
    try:
        return unquote_to_bytes(quoted).decode()
    except UnicodeDecodeError:
        raise RequestError(CallerFault("invalid_request", "the id in the path is not UTF-8", 400)) from None
